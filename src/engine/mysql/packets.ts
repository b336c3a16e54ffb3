/** Parts of the packets of MySQL and MariaDB: transactions, and rows of values. */
import type { Row, SqlCommand } from '../sql/driver.ts'
import { doneStateColumns, type PutValue } from '../sql/statements.ts'

/** The changed columns of the state, if the variable `@done` is 1. */
export const doneState = doneStateColumns((column) => `IF(@done = 1, s.${column}, NULL)`)

/** Rows, the first with the columns of the state; one row where there is none. */
export function withState(
  state: unknown,
  [first = { done_version: null }, ...others]: readonly Row[],
): readonly Row[] {
  return [{ ...(state as readonly Row[])[0], ...first }, ...others]
}

/**
 * Statements of one transaction; the last of them returns rows. If the client disconnects in the middle, MariaDB carries
 * out the rest with ROW_COUNT() at −1: so ROW_COUNT() may decide what is returned, and never what is written.
 */
export function transaction(...statements: string[]): SqlCommand {
  return {
    text: ['START TRANSACTION', ...statements, 'COMMIT'].join(';\n'),
    answer: (answers) => answers[statements.length] as readonly Row[],
    writes: true,
  }
}

/** A query that returns these rows. */
export function query(rows: readonly Readonly<Record<string, bigint | string>>[], put: PutValue): string {
  return selected(
    Object.keys(rows[0]!),
    rows.map((row) => Object.values(row).map(put)),
  )
}

/** A query that returns rows of these columns, whose values are expressions. */
export function selected(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const selects = rows.map((row, at) => {
    const values = row.map((value, place) => value + (at === 0 ? ` AS ${columns[place]}` : ''))
    return `SELECT ${values.join(', ')}`
  })
  return selects.join(' UNION ALL ')
}
