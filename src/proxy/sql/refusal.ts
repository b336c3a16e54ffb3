/** Statements that the proxy does not send, and the errors that clients get instead. */
import type { FilledColumn } from './filled-columns.ts'

/** A MySQL error. */
export type Refusal = {
  /** MySQL's number of the error. */
  readonly code: number
  readonly state: string
  /** One sentence that says what to do. */
  readonly message: string
}

/** ER_NOT_SUPPORTED_YET: a form of statement in which the proxy cannot fill in ids. */
export function unsupported(message: string): Refusal {
  return { code: 1235, state: '42000', message }
}

/** ER_PARSE_ERROR: an INSERT into a filled table that the proxy cannot read. */
export function unreadable(message: string): Refusal {
  return { code: 1064, state: '42000', message }
}

/** ER_WRONG_VALUE_COUNT_ON_ROW, in the server's words. `row` counts from 1. */
export function wrongValueCount(row: number): Refusal {
  return {
    code: 1136,
    state: '21S01',
    message: `Column count doesn't match value count at row ${row}`,
  }
}

/** More rows than are read at once. */
export function tooManyRows(max: number): Refusal {
  return unsupported(`ids are filled into at most ${max} rows of a statement; send the rows in several`)
}

/** ER_PS_MANY_PARAM, in the server's words. */
export const tooManyParameters: Refusal = {
  code: 1390,
  state: 'HY000',
  message: 'Prepared statement contains too many placeholders',
}

/** ER_FIELD_SPECIFIED_TWICE, in the server's words. */
export function specifiedTwice(column: string): Refusal {
  return { code: 1110, state: '42000', message: `Column '${column}' specified twice` }
}

/** The rows come from a query. */
export function rowsOfQuery(column: FilledColumn): Refusal {
  return unsupported(
    `the rows come from a query, so ids of ${nameOf(column)} cannot be filled in; insert rows of values`,
  )
}

/** The statement names no columns, and the table hides the id. */
export function notShown(column: FilledColumn): Refusal {
  return unsupported(`SELECT * shows no column ${nameOf(column)}; name the columns of the statement`)
}

/** The statement names no columns, and the user may not read the table. */
export function notReadable({ database, table }: FilledColumn): Refusal {
  return unsupported(
    `the columns of ${database}.${table} have to be known, and the user may not read them; name the columns of the statement, or grant SELECT`,
  )
}

/** SHOW COLUMNS does not show the filled column. */
export function notSeen(column: FilledColumn): Refusal {
  return unsupported(
    `whether ids fit ${nameOf(column)} is not known, because SHOW COLUMNS does not show it to this user; check its name, and grant INSERT on it`,
  )
}

/** `SET insert_id` has named the id that AUTO_INCREMENT would use. */
export function idForced(column: FilledColumn): Refusal {
  return unsupported(
    `insert_id is set, and ids of ${nameOf(column)} come from a generator; give the id in the statement, or SET insert_id = 0`,
  )
}

/** A table is created with rows, which get no ids. */
export function createdWithRows(column: FilledColumn): Refusal {
  return unsupported(
    `the rows of the new table come from a query, so ids of ${nameOf(column)} cannot be filled in; create the table first, then insert rows of values`,
  )
}

/** The statement would insert into the filled table once the temporary one is dropped. */
export function preparedForTemporary({ database, table }: FilledColumn): Refusal {
  return unsupported(
    `a temporary table has the name of ${database}.${table}, whose ids are filled in, and lacks their column; send the statement as text, or give the temporary table another name`,
  )
}

/** The statement reads what the proxy's own question has changed. */
export const diagnosticsLost: Refusal = unsupported(
  'the statement reads ROW_COUNT(), FOUND_ROWS(), warning_count or error_count, which the proxy has changed because it had to ask the server; read them in a statement before it',
)

/** The statement uses LAST_INSERT_ID where the new id would be seen. */
export function readsOwnId(column: FilledColumn): Refusal {
  return unsupported(
    `ids of ${nameOf(column)} are filled in, which sets LAST_INSERT_ID while the statement runs; give the id, or read LAST_INSERT_ID() in a statement of its own`,
  )
}

/** Names in characters that the proxy does not know. */
export function foreignNames(charset: string): Refusal {
  return unsupported(
    `the proxy fills in ids of tables or columns with names that it cannot read or write in the character set ${charset}; use utf8mb4`,
  )
}

/** The id's place holds an expression. */
export function unknownValue(column: FilledColumn): Refusal {
  return unsupported(
    `the value of ${nameOf(column)} is an expression, so whether it needs an id is not known; give a value, NULL or DEFAULT`,
  )
}

function nameOf({ database, table, column }: FilledColumn): string {
  return `${database}.${table}.${column}`
}

/** Servers may find different ends of a hint. */
export const unclearHint: Refusal = unsupported(
  'the statement has a hint with quotes or SET_VAR, and may insert into a table whose ids are filled in; remove the hint',
)
