/** What a statement gives: columns, rows, and the words of its end. */
import type { Output } from './output.ts'
import { encoded, formatAt } from './wire-values.ts'

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

/** The formats of columns, as Bind has them: 0 is text, 1 is binary. None: text. */
export type Formats = readonly number[]

/** What a statement gives. */
export type Result = {
  /** The words of CommandComplete; the number of rows is added to `SELECT`. */
  readonly tag: string
  /** The number of rows. */
  readonly count: number
  /** About how much memory it takes until it is sent, in bytes. Default: little. */
  readonly heldBytes?: number
  /** Writes the message of a row, in the formats that the statement ran with. Throws 0A000 for a type without a binary form. */
  write(output: Output, row: number): void
}

/** The result of a statement that gives no rows. */
export function done(tag: string): Result {
  return { tag, count: 0, write() {} }
}

/** Writes a row of values in the text form of their types. */
export function writeRow(
  output: Output,
  types: readonly number[],
  formats: Formats,
  valueAt: (column: number) => string | null,
): void {
  output.begin('D')
  output.count(types.length)
  for (const [column, type] of types.entries())
    output.value(encoded(valueAt(column), type, formatAt(formats, column)))
  output.end()
}

/** Goes on with a value: at once, unless it is a promise. */
export function after<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
