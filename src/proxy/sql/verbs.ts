/** What the first words of a statement say of it. Cheap: no statement is read for that. */

/** The start of a statement in which its words are looked for, in bytes. */
export const headBytes = 400
const [semicolon, hash, star, minus, slash, bang, letterM, lineFeed, space] = [
  59, 35, 42, 45, 47, 33, 77, 10, 32,
]
const longestVerb = 8

/** What a statement does that begins with its first word. */
export type Verb = {
  /** The statement leaves the facts of the session as they are. */
  readonly keepsSession: boolean
  /** The statement inserts no rows, and defines nothing. */
  readonly isHarmless: boolean
  readonly inserts: boolean
  readonly defines: boolean
}

const verb = (facts: Partial<Verb>): Verb =>
  Object.freeze({ keepsSession: false, isHarmless: false, inserts: false, defines: false, ...facts })
const [plain, inserting, defining] = [
  verb({ keepsSession: true, isHarmless: true }),
  verb({ keepsSession: true, inserts: true }),
  verb({ defines: true }),
]
const unknown = verb({})
const verbs = new Map<string, Verb>([
  ...['select', 'update', 'delete', 'commit', 'rollback', 'show', 'start'].map(
    (word) => [word, plain] as const,
  ),
  ...['insert', 'replace'].map((word) => [word, inserting] as const),
  ...['create', 'alter', 'drop'].map((word) => [word, defining] as const),
  ['rename', verb({ keepsSession: true, defines: true })],
  ...['begin', 'use'].map((word) => [word, verb({ isHarmless: true })] as const),
])
const keepingHead = new RegExp(
  [
    '^(?:savepoint|release|lock|unlock|truncate|with|values',
    'explain|describe|desc|analyze|optimize|check|grant|revoke|flush|do|load',
    '(?:create|alter|drop)[ \\t-\\r]+(?:or[ \\t-\\r]+replace[ \\t-\\r]+)?(?:temporary[ \\t-\\r]+|unique[ \\t-\\r]+)?(?:table|index|view)',
    'set[ \\t-\\r]+(?:session[ \\t-\\r]+|global[ \\t-\\r]+)?transaction)(?![\\w$])',
  ].join('|'),
  'i',
)
const beginning = /^begin(?:[ \t-\r]+work)?[ \t-\r]*;?[ \t-\r]*$/i
/** Variables on which no fact of the session depends, and user variables. */
const keepingSet =
  /^set[ \t-\r]+(?:(?:session[ \t-\r]+|local[ \t-\r]+|@@session\.|@@)?(?:autocommit|(?:foreign_key|unique)_checks|last_insert_id|sql_(?:safe_updates|select_limit|notes|log_bin|auto_is_null|big_selects)|(?:net_(?:read|write)|wait|interactive|innodb_lock_wait|lock_wait)_timeout|max_(?:statement|execution)_time|time_zone|timestamp|insert_id|(?:tx|transaction)_(?:isolation|read_only)|character_set_results|auto_increment_(?:increment|offset)|group_concat_max_len)|@\w+)[ \t-\r]*:?=[ \t-\r]*(?:'[\w +:/-]*'|"[\w +:/-]*"|[\w.@+-]+(?:\(\))?)[ \t-\r]*;?[ \t-\r]*$/i

/** The verb of a statement. `start`: behind spaces and comments, as `startOf` has it. */
export function verbOf(sql: Buffer, start: number): Verb {
  let end = start
  while (end < sql.length && isWordByte(sql[end]!) && end - start <= longestVerb) end++
  const known = verbs.get(sql.toString('latin1', start, end).toLowerCase()) ?? unknown
  if (known.keepsSession) return known
  const head = sql.toString('latin1', start, Math.min(start + headBytes, sql.length))
  const isShort = sql.length - start <= headBytes
  if (!keepingHead.test(head) && !(isShort && (beginning.test(head) || keepingSet.test(head)))) return known
  return { ...known, keepsSession: true }
}

/** Where a text begins behind spaces and comments that no server executes. */
export function startOf(sql: Buffer): number {
  let at = 0
  for (;;) {
    while (at < sql.length && (sql[at] === space || (sql[at]! >= 9 && sql[at]! <= 13))) at++
    const [first, second, third] = [sql[at], sql[at + 1], sql[at + 2]]
    const isLine = first === hash || (first === minus && second === minus && (third ?? 0) <= space)
    if (isLine) at = endOf(sql, sql.indexOf(lineFeed, at), 1)
    else if (first !== slash || second !== star || third === bang || third === letterM) return at
    else at = endOf(sql, sql.indexOf('*/', at + 2, 'latin1'), 2)
  }
}

/** Whether a text is one statement for certain. */
export function isSingle(sql: Buffer): boolean {
  const at = sql.indexOf(semicolon)
  return at < 0 || at === sql.length - 1
}

function endOf(sql: Buffer, found: number, bytes: number): number {
  return found < 0 ? sql.length : found + bytes
}

/** A letter, a digit, `_`, `$`, or a byte of another character. */
export function isWordByte(byte: number): boolean {
  return (
    (byte >= 97 && byte <= 122) ||
    (byte >= 65 && byte <= 90) ||
    (byte >= 48 && byte <= 57) ||
    byte === 95 ||
    byte === 36 ||
    byte >= 128
  )
}
