/**
 * SQL expressions that differ between databases. Those that compare names of rows compare bytes, in a form that can use
 * the column's index.
 */

/** The expressions of one kind of database. */
export type LegacyDialect = {
  /** An expression for any text. */
  readonly text: (value: string) => string
  /** A condition that a text column has exactly the bytes of one of these texts, under any collation. */
  readonly sameText: (column: string, values: readonly string[]) => string
  /** A column as an expression that is ordered by the bytes of its text, and a text to compare with it. */
  readonly bytesOf: (column: string) => string
  readonly bytes: (value: string) => string
  /** A hash of some columns, from 0 to 2^32 − 1. A column without a value differs from each text. */
  readonly hash: (columns: readonly string[]) => string
  /** A column of time as Unix µs. A column without a time zone is read in that of the database. */
  readonly unixUs: (column: string) => string
}

const hex = (value: string) => Buffer.from(value).toString('hex')

/** MySQL and MariaDB: a literal of the connection's character set uses the index, and a comparison of bytes decides. */
export const mysqlLegacyDialect: LegacyDialect = {
  text: mysqlText,
  sameText: (column, values) =>
    `${among(column, values, mysqlText)} AND ${among(mysqlBytesOf(column), values, mysqlBytes)}`,
  bytesOf: mysqlBytesOf,
  bytes: mysqlBytes,
  hash: (columns) =>
    `CRC32(CONCAT_WS(',', ${columns.map((column) => `COALESCE(CONCAT('=', CONVERT(${column} USING utf8mb4)), '-')`).join(', ')}))`,
  // UNIX_TIMESTAMP returns 0 for dates that it cannot convert, such as '0000-00-00'.
  unixUs: (column) => `CAST(NULLIF(UNIX_TIMESTAMP(${column}), 0) * 1000000 AS SIGNED)`,
}

/** PostgreSQL. */
export const postgresLegacyDialect: LegacyDialect = {
  text: postgresText,
  sameText: (column, values) =>
    `${among(column, values, postgresText)} AND ${among(postgresBytesOf(column), values, postgresText)}`,
  bytesOf: postgresBytesOf,
  bytes: postgresText,
  hash: (columns) =>
    `('x' || substr(md5(concat_ws(',', ${columns.map((column) => `COALESCE('=' || ${column}::text, '-')`).join(', ')})), 1, 8))::bit(32)::bigint`,
  unixUs: (column) => `(extract(epoch FROM ${column}::timestamptz) * 1000000)::bigint`,
}

function among(column: string, values: readonly string[], put: (value: string) => string): string {
  return `${column} IN (${values.map(put).join(', ')})`
}

function mysqlText(value: string): string {
  return `_utf8mb4 x'${hex(value)}'`
}

function mysqlBytesOf(column: string): string {
  return `CAST(CONVERT(${column} USING utf8mb4) AS BINARY)`
}

function mysqlBytes(value: string): string {
  return `x'${hex(value)}'`
}

function postgresBytesOf(column: string): string {
  return `${column}::text COLLATE "C"`
}

/** A literal whose meaning no setting of the server changes. A function in its place would be called for each comparison. */
function postgresText(value: string): string {
  return `E'${value.replaceAll('\\', '\\\\').replaceAll("'", "''").replaceAll('\0', '\\u0000')}'`
}
