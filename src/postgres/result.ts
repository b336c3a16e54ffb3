/** What a statement gives: columns, rows, and the words of its end. */
import { encoded } from './values.ts'

/** A column of a result. */
export type Column = {
  readonly name: string
  /** The oid of its type. */
  readonly type: number
  /** The modifier of its type, such as a length; none if undefined. */
  readonly modifier?: number
  /** The column of a table that it shows: the table's oid, and the column's number from 1; none if undefined. */
  readonly source?: { readonly table: number; readonly number: number }
}

/** The value of a parameter in the text form of its type; null: NULL. */
export type ParameterValue = string | null

/** What a statement gives. */
export type Result = {
  /** The words of CommandComplete; the number of rows is added to `SELECT`. */
  readonly tag: string
  /** The number of rows. */
  readonly count: number
  /** About how much memory it takes until it is sent, in bytes. Default: little. */
  readonly heldBytes?: number
  /** A value, in the form of a format: 0 is text, 1 is binary. Throws 0A000 for a type without a binary form. */
  cell(row: number, column: number, format: number): string | Uint8Array | null
  /** The whole message of a row, if it is made. */
  message?(row: number): Uint8Array | undefined
}

/** The result of a statement that gives no rows. */
export function done(tag: string): Result {
  return { tag, count: 0, cell: () => null }
}

/** Rows of values in the text form of their types. */
export function resultOf(
  columnTypes: readonly number[],
  rows: readonly (readonly (string | null)[])[],
  tag = 'SELECT',
): Result {
  return {
    tag,
    count: rows.length,
    cell: (row, column, format) => encoded(rows[row]![column]!, columnTypes[column]!, format),
  }
}
