/**
 * Whether the database itself refuses a row of a filled table that has no id, and the DDL that makes it do so.
 *
 * A guard stands where the column is NOT NULL, without a default and without AUTO_INCREMENT, and a CHECK or a BEFORE INSERT
 * trigger refuses what servers store in place of a missing value: 0, or ''. All of that is read from information_schema; a
 * CHECK or a trigger of a form that is not known here counts as none.
 */
import type { FilledColumn } from './sql/configured-columns.ts'

/** Runs a statement of the proxy's own; resolves to its rows, whose values are texts or null. */
export type Query = (sql: string, values: readonly string[]) => Promise<readonly Row[]>
type Row = Readonly<Record<string, string | null>>

/** What a filled column can hold. */
export type ColumnType =
  /** Every integer from 0 to `max`. */
  | { readonly holds: 'integers'; readonly max: bigint }
  /** Every text of at most `max` characters; of any characters, or of ASCII alone. */
  | { readonly holds: 'texts'; readonly max: number; readonly isUnicode: boolean }

/** What was seen of one table. */
export type Guard = {
  /** What keeps the guard from standing, a clause each; empty: it stands. */
  readonly missing: readonly string[]
  /** Statements that make it stand. */
  readonly ddl: readonly string[]
  /** What is the guard; undefined: there is none. */
  readonly by: 'CHECK' | 'trigger' | undefined
  /** Whether a session can switch CHECKs off, as MariaDB lets it. */
  readonly canSwitchChecks: boolean
  /** Undefined: the column is not there, or holds no ids. */
  readonly type: ColumnType | undefined
  /** The columns of an INSERT without a list, in order. */
  readonly columns: readonly string[]
}

/** What was seen of a server. */
export type GuardsOfServer = {
  readonly guards: ReadonlyMap<FilledColumn, Guard>
  readonly ignoreCase: boolean
}

type Server = { readonly isMariaDb: boolean; readonly hasChecks: boolean; readonly enforcesChecks: boolean }

const integerBits: Readonly<Record<string, bigint>> = {
  tinyint: 8n,
  smallint: 16n,
  mediumint: 24n,
  int: 32n,
  bigint: 64n,
}
const texts = new Set(['char', 'varchar', 'varbinary', 'tinytext', 'text', 'mediumtext', 'longtext'])
const triggerMessage = 'fahao: no id was filled in'

/** Looks at the tables of `columns`. Rejects as `query` does. */
export async function readGuards(query: Query, columns: readonly FilledColumn[]): Promise<GuardsOfServer> {
  const [facts] = await query('SELECT @@version AS version, @@lower_case_table_names AS lower_case', [])
  const version = facts?.version ?? ''
  const isMariaDb = /mariadb/i.test(version)
  // MariaDB can switch the checks of all sessions off.
  const switches = await query("SHOW GLOBAL VARIABLES LIKE 'check_constraint_checks'", [])
  const hasChecks = isAtLeast(version, isMariaDb ? [10, 2, 1] : [8, 0, 16])
  const server = { isMariaDb, hasChecks, enforcesChecks: hasChecks && switches[0]?.Value !== 'OFF' }
  const guards = new Map<FilledColumn, Guard>()
  for (const column of columns) guards.set(column, await lookAt(query, column, server))
  return { guards, ignoreCase: facts?.lower_case !== '0' }
}

async function lookAt(query: Query, filled: FilledColumn, server: Server): Promise<Guard> {
  const { database, table, column } = filled
  const names = [database, table]
  const [kind] = await query(
    'SELECT TABLE_TYPE AS type FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?',
    names,
  )
  const all = await query(
    `SELECT COLUMN_NAME AS name, COLUMN_DEFAULT AS value, IS_NULLABLE AS nullable, DATA_TYPE AS type,
     COLUMN_TYPE AS declared, EXTRA AS extra, CHARACTER_SET_NAME AS charset, COLLATION_NAME AS collation,
     CHARACTER_MAXIMUM_LENGTH AS length, NUMERIC_PRECISION AS digits, NUMERIC_SCALE AS scale, COLUMN_COMMENT AS comment
     FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
    names,
  )
  const columns = all.filter(({ extra }) => !/invisible/i.test(extra ?? '')).map(({ name }) => name ?? '')
  const own = all.find(({ name }) => name?.toLowerCase() === column.toLowerCase())
  const none = { ddl: [], by: undefined, columns, canSwitchChecks: server.isMariaDb }
  const absent = absence(filled, kind?.type, own)
  if (absent !== undefined || own === undefined) return { ...none, missing: [absent ?? ''], type: undefined }
  const type = typeOf(own)
  if (type === undefined) {
    const clause = `its type ${own.declared} does not hold ids as they are; make it a BIGINT or a VARCHAR`
    return { ...none, missing: [clause], type }
  }
  const lacks = lackingOf(own)
  // A session in the SQL mode PAD_CHAR_TO_FULL_LENGTH takes '' for spaces in a CHECK, and they differ where nothing is padded.
  const isPadded = own.type === 'char'
  const seesSpaces = isPadded && /nopad|_0900_/i.test(own.collation ?? '')
  const checking = { ...server, enforcesChecks: server.enforcesChecks && !seesSpaces }
  const by = await guardBy(query, filled, type, checking, isPadded)
  const ddl = lacks.length > 0 ? [modification(filled, own)] : []
  if (by === undefined) ddl.push(...guardDdl(filled, type, checking))
  const missing = by === undefined ? [...lacks, 'no guard refuses a row without an id'] : lacks
  return { ...none, missing, ddl, by, type }
}

function absence(
  { database, table, column }: FilledColumn,
  kind: string | null | undefined,
  own: Row | undefined,
) {
  if (kind == null)
    return `there is no table ${database}.${table}, or the user of upstream has no privilege on it`
  if (/view/i.test(kind)) return `${database}.${table} is a view; name the table behind it`
  if (own === undefined)
    return `${database}.${table} has no column ${column}, or the user of upstream has no privilege on it`
  return undefined
}

/** What the column has that it must not have. */
function lackingOf({ nullable, value, extra }: Row): string[] {
  const lacks: string[] = []
  if (nullable !== 'NO') lacks.push('the column may be NULL')
  if (/auto_increment/i.test(extra ?? '')) lacks.push('it has AUTO_INCREMENT')
  if (/(?:virtual|stored|persistent) generated|^(?:virtual|persistent)/i.test(extra ?? ''))
    lacks.push('it is generated')
  // MariaDB shows NULL as a default of columns that may be NULL, MySQL the text 'NULL' without quotes.
  const isNull = value === null || (value === 'NULL' && nullable !== 'NO')
  const hasDefault = !isNull || /default_generated/i.test(extra ?? '')
  if (hasDefault) lacks.push('it has a default')
  return lacks
}

function typeOf({ type, declared, length, digits, scale, charset }: Row): ColumnType | undefined {
  const bits = integerBits[type ?? '']
  if (bits !== undefined) {
    const valueBits = /unsigned/i.test(declared ?? '') ? bits : bits - 1n
    return { holds: 'integers', max: 2n ** valueBits - 1n }
  }
  // 0.4 would be an id of a DECIMAL with a scale.
  if (type === 'decimal' && scale === '0') return { holds: 'integers', max: 10n ** BigInt(digits ?? 0) - 1n }
  if (!texts.has(type ?? '')) return undefined
  return { holds: 'texts', max: Number(length), isUnicode: charset === null || charset === 'utf8mb4' }
}

async function guardBy(
  query: Query,
  filled: FilledColumn,
  type: ColumnType,
  server: Server,
  isPadded: boolean,
): Promise<Guard['by']> {
  const names = [filled.database, filled.table]
  if (server.enforcesChecks) {
    const clauses = await query(
      server.isMariaDb
        ? 'SELECT CHECK_CLAUSE AS clause FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ?'
        : `SELECT c.CHECK_CLAUSE AS clause FROM information_schema.CHECK_CONSTRAINTS c
           JOIN information_schema.TABLE_CONSTRAINTS t USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME)
           WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ? AND t.CONSTRAINT_TYPE = 'CHECK' AND t.ENFORCED = 'YES'`,
      names,
    )
    const isGuarding = (clause: string) =>
      isGuardingCheck(clause, filled.column, type) && !(isPadded && /length\W*\(/i.test(clause))
    if (clauses.some(({ clause }) => isGuarding(clause ?? ''))) return 'CHECK'
  }
  const triggers = await query(
    `SELECT ACTION_STATEMENT AS body FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = ?
     AND EVENT_OBJECT_TABLE = ? AND EVENT_MANIPULATION = 'INSERT' AND ACTION_TIMING = 'BEFORE'
     AND SQL_MODE NOT LIKE '%PAD_CHAR_TO_FULL_LENGTH%' ORDER BY ACTION_ORDER`,
    names,
  )
  const bodies = triggers.map(({ body }) => body ?? '')
  const at = bodies.findLastIndex((body) => isGuardingTrigger(body, filled.column, type))
  // A later trigger may take the id away again.
  const name = filled.column.toLowerCase()
  const isLast = !bodies.slice(at + 1).some((body) => body.toLowerCase().includes(name))
  return at >= 0 && isLast ? 'trigger' : undefined
}

/**
 * Whether a CHECK, as a server shows it, refuses 0 or '': one comparison of the column with a literal, in any order. Of texts also
 * a length of at least one character.
 */
export function isGuardingCheck(clause: string, column: string, { holds }: ColumnType): boolean {
  const name = nameIn(column)
  const is = (pattern: string) => new RegExp(`^${pattern}$`, 'i').test(plain(clause))
  if (holds === 'texts') {
    const length = `(?:char_length|character_length|length|octet_length)\\(${name}\\)`
    return (
      is(`${name}(?:<>|!=|>)''`) || is(`''(?:<>|!=|<)${name}`) || is(`${length}(?:>0|<>0|!=0|>=[1-9]\\d*)`)
    )
  }
  return is(`${name}(?:>\\d+|>=0*[1-9]\\d*|(?:<>|!=)0)`) || is(`(?:\\d+<|0*[1-9]\\d*<=|0(?:<>|!=))${name}`)
}

/** Whether a trigger begins with the statement that `guardDdl` has, and does nothing else. */
export function isGuardingTrigger(body: string, column: string, { holds }: ColumnType): boolean {
  const name = `new\\.${nameIn(column)}`
  const lacks = holds === 'texts' ? `${name}=''` : `${name}(?:<=?0*[1-9]\\d*|<?=0)`
  const signal = "signalsqlstate(?:value)?'45\\d{3}'(?:setmessage_text='(?:[^'\\\\]|'')*')?"
  const shape = `^(?:begin)?if\\(?${name}isnullor(?:${lacks})\\)?then${signal};endif;?(?:end;?)?$`
  return new RegExp(shape, 'i').test(plain(body))
}

/** Without spaces, parentheses around all of it, backslashes in front of quotes, and introducers of character sets. */
function plain(text: string): string {
  let bare = text
    .replaceAll("\\'", "'")
    .replace(/('(?:[^'\\]|'')*'|`(?:[^`]|``)*`)|_[a-z0-9]+(?=')|\s+/gi, (_, whole = '') => whole)
  while (/^\([^()]*(?:\([^()]*\)[^()]*)*\)$/.test(bare)) bare = bare.slice(1, -1)
  return bare
}

function nameIn(column: string): string {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  const bare = /^\w+$/.test(column) ? `|${column}` : ''
  return `(?:${escaped(quoted(column))}${bare})`
}

/** The column as it should be, in place. */
function modification({ database, table }: FilledColumn, own: Row): string {
  const { name, declared, charset, collation, comment, extra } = own
  const parts = [
    `ALTER TABLE ${quoted(database)}.${quoted(table)} MODIFY ${quoted(name ?? '')} ${declared}`,
    charset === null ? '' : `CHARACTER SET ${charset} COLLATE ${collation}`,
    'NOT NULL',
    /invisible/i.test(extra ?? '') ? 'INVISIBLE' : '',
    comment ? `COMMENT '${comment.replace(/['\\]/g, '$&$&')}'` : '',
  ]
  return `${parts.filter((part) => part !== '').join(' ')};`
}

/** A CHECK, or for servers that enforce none a trigger. */
function guardDdl(filled: FilledColumn, type: ColumnType, { enforcesChecks }: Server): string[] {
  const { database, table, column } = filled
  const [place, name] = [`${quoted(database)}.${quoted(table)}`, quoted(column)]
  const constraint = quoted(`fahao_${table}_${column}`.slice(0, 64))
  if (enforcesChecks)
    return [
      `ALTER TABLE ${place} ADD CONSTRAINT ${constraint} CHECK (${name} ${type.holds === 'texts' ? "<> ''" : '> 0'});`,
    ]
  return [triggerDdl(filled, type)]
}

/** A trigger that is a guard, as the command line of MySQL takes it. */
export function triggerDdl({ database, table, column }: FilledColumn, { holds }: ColumnType): string {
  const [place, name] = [`${quoted(database)}.${quoted(table)}`, quoted(column)]
  const trigger = `${quoted(database)}.${quoted(`fahao_${table}_${column}`.slice(0, 64))}`
  const lacks = `NEW.${name} IS NULL OR NEW.${name} ${holds === 'texts' ? "= ''" : '<= 0'}`
  return `DELIMITER //
CREATE TRIGGER ${trigger} BEFORE INSERT ON ${place} FOR EACH ROW
IF ${lacks} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '${triggerMessage}'; END IF//
DELIMITER ;`
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

function isAtLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map(Number)
  for (const [index, part] of least.entries()) {
    const own = parts[index] ?? 0
    if (own !== part) return own > part
  }
  return true
}
