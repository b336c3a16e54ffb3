/** How each kind of database compares names of rows: as bytes, and by its index. */

/** What a kind of database has of its own, as far as tables of old services go. */
export type Flavour = {
  /** An expression for a text, whatever it contains. */
  readonly text: (value: string) => string
  /** A condition that a column of text has exactly these bytes; whatever the column's collation takes for equal. */
  readonly sameText: (column: string, value: string) => string
}

const hex = (value: string) => Buffer.from(value).toString('hex')

/** MySQL and MariaDB: a literal of the connection's kind finds the index, and the bytes decide. */
export const mysqlFlavour: Flavour = {
  text: (value) => `_utf8mb4 x'${hex(value)}'`,
  sameText: (column, value) =>
    `${column} = _utf8mb4 x'${hex(value)}' AND CAST(CONVERT(${column} USING utf8mb4) AS BINARY) = x'${hex(value)}'`,
}

/** PostgreSQL. */
export const postgresFlavour: Flavour = {
  text: (value) => postgresText(value),
  sameText: (column, value) =>
    `${column} = ${postgresText(value)} AND ${column}::text COLLATE "C" = ${postgresText(value)}`,
}

function postgresText(value: string): string {
  return `convert_from(decode('${hex(value)}', 'hex'), 'UTF8')`
}
