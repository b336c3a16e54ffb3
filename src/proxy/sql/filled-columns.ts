/** The columns that get ids, as they are configured: at most one for each table. */
import { FahaoError } from '../../base/errors.ts'
import { shortText } from './short-texts.ts'
import { latin1 } from './words.ts'

/** A column whose missing values the proxy fills in. */
export type FilledColumn = {
  readonly database: string
  readonly table: string
  readonly column: string
  /** The generator of its ids. */
  readonly generator: string
}

/** How names of a server compare. */
export type NameRules = {
  /** Names of databases and tables ignore case: `lower_case_table_names` is 1 or 2. */
  readonly ignoreCase?: boolean
}

/** Longer texts are searched piece by piece, so that no long string is made of them. */
const pieceBytes = 65_536
const writingVerb = /insert|replace|load/i
/** Statements of these verbs execute a text, in which a name may be hidden by what `hiding` finds. */
const dynamicVerb = /\b(?:prepare|execute)\b/i
/** Escapes, more than one string, and texts in digits. */
const hiding = /\\|['"][^'"]*['"][^'"]*['"]|(?<!['"])\b[xb]'|\b0[xb]/i
/** CREATE TABLE … SELECT inserts rows, too. */
const anyVerb = /insert|replace|load|\bcreate\b/i
/** Statements of these verbs define no table. SET STATEMENT contains another statement. */
const rowVerb = /^(?:select|insert|update|delete|replace|commit|rollback|start|show|use)$/i
const none: readonly FilledColumn[] = []
const definingVerb = /\b(?:create|alter|drop|rename|call|execute)\b/i
/** Statements of these verbs change no fact of the session besides. */
const quietVerb = /^(?:select|update|delete|commit|rollback|start|show)$/i
/** Statements of these verbs insert no rows of given values. */
const harmlessVerb = /^(?:select|update|delete|commit|rollback|begin|start|show|use)$/i
const [semicolon, space, slash, lastOfVerb] = [59, 32, 47, 9]
/** The start of a statement in which its verb and its table are looked for, in bytes. */
const headBytes = 400
/** Spaces, and comments of ASCII, whose end is the same in every character set. */
const leading = /^(?:[ \t-\r]|\/\*(?!M?!)[\0-)+-\x7f]*\*\/)*/
/**
 * Servers that ignore case take the Kelvin sign for a k, and a capital I with a dot for an i: in UTF-8, in Turkish sets of
 * single bytes, and any character of four bytes of gb18030. The alternatives differ in their first byte.
 */
const foldings: Readonly<Record<string, string>> = {
  k: '(?:k|\\xe2\\x84\\xaa|\\x81[0-9][\\x81-\\xfe][0-9])',
  i: '(?:i|\\xc4\\xb0|\\xdd|\\x81[0-9][\\x81-\\xfe][0-9])',
}
const foldedBytes = 4
/** The end of a word. */
const wordEnd = '(?![\\w$\\x80-\\xff])'
const modifier = `(?:low_priority|delayed|high_priority|ignore)${wordEnd}`
/** A name that means the same in every character set and SQL mode. */
const plainName = `(?:\`[^\`\\x80-\\xff]+\`|[\\w$]+${wordEnd})`
/** INSERT or REPLACE and a table, whose name is taken, up to what shows that the name is over. */
const insertHead = new RegExp(
  [
    leading.source,
    `(?:insert|replace)S+(?:${modifier}S+)*(?:intoS+)?(?:${plainName}S*\\.S*)?`,
    `(?!${modifier}|into${wordEnd})(${plainName})S*(?:\\(|values?${wordEnd}|setS)`,
  ]
    .join('')
    .replaceAll('S', '[ \\t-\\r]'),
  'i',
)

/** Finds the filled column of a table. */
export class FilledColumns {
  readonly #ignoreCase: boolean
  readonly #columns = new Map<string, FilledColumn>()
  /** The names of the tables, in lower case. */
  readonly #tables = new Set<string>()
  /** Whether a text has one of these names. */
  readonly #names: RegExp
  /** The most bytes that a name may take in a text. */
  readonly #longestName: number

  /** Throws a FahaoError `CONFIG` if two columns are of one table. */
  constructor(columns: readonly FilledColumn[], rules: NameRules = {}) {
    this.#ignoreCase = rules.ignoreCase ?? false
    for (const column of columns) {
      const key = this.#key(column.database, column.table)
      const other = this.#columns.get(key)
      if (other)
        throw new FahaoError(
          'CONFIG',
          `the table ${column.database}.${column.table} is given twice, for ${other.column} and for ${column.column}; name one column of each table`,
        )
      this.#columns.set(key, column)
      this.#tables.add(column.table.toLowerCase())
    }
    this.#names = this.#patternOf(columns)
    this.#longestName = Math.max(0, ...columns.map(({ table }) => foldedBytes * table.length))
  }

  /** The column of a table that is filled in, if there is one. */
  find(database: string, table: string): FilledColumn | undefined {
    return this.#columns.get(this.#key(database, table))
  }

  /** Whether it is the name of a table, in some database. */
  hasTable(name: string): boolean {
    return this.#tables.has(name.replaceAll('\u0130', 'i').toLowerCase())
  }

  /** Whether a name of a table, or of a column of one, has characters outside of ASCII. */
  get hasForeignNames(): boolean {
    return [...this.#columns.keys()].some((key) => !isAscii(key))
  }

  /**
   * Whether a statement can insert rows into one of the tables: a cheap test of its bytes, which is never wrong with
   * `false`. No name of a table is hidden from it: servers know no escapes in names but doubled quotes.
   */
  mayMatter(sql: Buffer): boolean {
    if (this.#columns.size === 0 || startsHarmless(sql)) return false
    const table = tableOf(sql)
    if (table !== undefined) {
      if (this.#tables.has(table)) return true
      if (isSingle(sql)) return false
    }
    return (
      this.#hasWords(sql, anyVerb) || (hasWord(sql, dynamicVerb) && hiding.test(latin1(sql, 0, sql.length)))
    )
  }

  /** Columns whose table, or a temporary one of its name, the statement may define anew. */
  defined(sql: Buffer): readonly FilledColumn[] {
    if (this.#columns.size === 0 || (rowVerb.test(verbOf(sql)) && isSingle(sql))) return none
    if (!this.#hasWords(sql, definingVerb)) return none
    return [...this.#columns.values()].filter((column) =>
      hasWord(sql, this.#patternOf([column]), this.#longestName),
    )
  }

  /** Whether a word that inserts and the name of a table stand in the text, also in strings and comments. */
  mentions(sql: Buffer): boolean {
    return this.#hasWords(sql, writingVerb)
  }

  #hasWords(sql: Buffer, verbs: RegExp): boolean {
    if (sql.length > pieceBytes) return hasWord(sql, verbs) && hasWord(sql, this.#names, this.#longestName)
    const text = latin1(sql, 0, sql.length)
    return verbs.test(text) && this.#names.test(text)
  }

  /** Matches a text that names one of these tables, in any character set and quotes; each text, if a name has no ASCII. */
  #patternOf(columns: readonly FilledColumn[]): RegExp {
    const parts = columns.map(({ table }) => escaped(plainPart(table)))
    const folded = this.#ignoreCase
      ? parts.map((part) => part.replace(/[ki]/gi, (letter) => foldings[letter.toLowerCase()]!))
      : parts
    return new RegExp(columns.length === 0 ? '(?!)' : folded.join('|'), 'i')
  }

  #key(database: string, table: string): string {
    const key = `${database}\0${table}`
    return this.#ignoreCase ? key.replaceAll('\u0130', 'i').toLowerCase() : key
  }
}

/** Whether a word stands in the text, which is searched piece by piece. `longest`: the most bytes of the word. */
function hasWord(sql: Buffer, word: RegExp, longest = lastOfVerb): boolean {
  for (let at = 0; at < sql.length; at += pieceBytes)
    if (word.test(latin1(sql, at, Math.min(at + pieceBytes + longest, sql.length)))) return true
  return false
}

/** The first word, behind spaces and comments that no server executes; '' if it is longer than a verb. */
function verbOf(sql: Buffer): string {
  const first = sql[0] ?? slash
  let start = 0
  if (first <= space || first === slash) start = leading.exec(latin1(sql, 0, headBytes))?.[0].length ?? 0
  let end = start
  while (end <= start + lastOfVerb && (sql[end] ?? space) > space) end++
  return shortText(sql, start, end)
}

/** The table, in lower case, of an INSERT or REPLACE that names it in a way that does not depend on the session. */
function tableOf(sql: Buffer): string | undefined {
  const table = insertHead.exec(latin1(sql, 0, Math.min(sql.length, headBytes)))?.[1]
  return table === undefined ? undefined : unquoted(table.toLowerCase())
}

/** Whether the text is one statement for certain. */
function isSingle(sql: Buffer): boolean {
  const at = sql.indexOf(semicolon)
  return at < 0 || at === sql.length - 1
}

/**
 * Whether the text is one statement that inserts no rows of given values, defines no table, and leaves the session as it is: a
 * cheap test of its first word, which is never wrong with `true`.
 */
export function isQuiet(sql: Buffer): boolean {
  return quietVerb.test(verbOf(sql)) && isSingle(sql)
}

/** Whether the text is one statement whose first word is a harmless verb. */
function startsHarmless(sql: Buffer): boolean {
  return harmlessVerb.test(verbOf(sql)) && isSingle(sql)
}

/** The longest part of a name that stands in every statement that has the name, in all character sets and quotes. */
function plainPart(name: string): string {
  const parts = name.split(/[^\x20-\x7e]|[`"]/)
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), '')
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the key of a table contains a NUL
  return /^[\x00-\x7f]*$/.test(text)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
}

/** The parts of a configured name: without quotes, or in backquotes. */
const name = '(?:[^\\s.=`]+|`(?:[^`]|``)+`)'
const shape = new RegExp(`^(${name})\\.(${name})\\.(${name})=([^\\s=]+)$`, 'u')

/** Reads `database.table.column=generator`; names with special characters stand in backquotes. Throws `CONFIG`. */
export function parseFilledColumn(text: string): FilledColumn {
  const match = shape.exec(text)
  if (!match)
    throw new FahaoError(
      'CONFIG',
      `'${text.slice(0, 100)}' names no column; write DATABASE.TABLE.COLUMN=GENERATOR, such as shop.orders.id=order`,
    )
  const [database, table, column] = match.slice(1, 4).map(unquoted)
  return { database: database!, table: table!, column: column!, generator: match[4]! }
}

function unquoted(name: string): string {
  return name.startsWith('`') ? name.slice(1, -1).replaceAll('``', '`') : name
}
