/**
 * Values while a statement is evaluated. bool: boolean; int2, int4, oid, xid, reg…, float: number; int8: bigint; numeric:
 * string of decimal digits; timestamps: bigint, µs since 2000; date: number, days since 2000; bytea: bytes; arrays: arrays;
 * rows: `RowValue`; all other types: their text.
 */
import { compareDecimals } from './decimals.ts'
import { elementOf, oids } from './types.ts'

/** A value of any type; null is SQL's NULL. */
export type Value = null | boolean | number | bigint | string | Uint8Array | readonly Value[] | RowValue

/** A value of a row type. */
export class RowValue {
  readonly names: readonly string[]
  readonly types: readonly number[]
  readonly values: readonly Value[]
  /** About how many characters its text has, as `sizeOf`. A row in a row is quoted, and its quotes are doubled. */
  readonly size: number

  constructor(names: readonly string[], types: readonly number[], values: readonly Value[]) {
    this.names = names
    this.types = types
    this.values = values
    this.size = values.reduce<number>(
      (size, value) => size + 1 + (typeof value === 'object' ? 2 : 1) * sizeOf(value),
      0,
    )
  }
}

/** About how much a value takes and how long its text is, in characters and elements; 1 for a short one. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return 1 + value.length
  if (value instanceof RowValue) return value.size
  if (!Array.isArray(value)) return 1
  return (value as readonly Value[]).reduce<number>(
    (size, item) => size + (typeof item === 'object' ? 2 : 1) * sizeOf(item),
    1,
  )
}

/** Compares two values of a type, neither null: negative, 0 or positive. Text compares by its characters' code, as in "C". */
export function compareValues(left: Value, right: Value, type: number): number {
  if (type === oids.numeric) return compareDecimals(String(left), String(right))
  if (Array.isArray(left) && Array.isArray(right)) return compareLists(left, right, elementOf(type))
  if (left instanceof RowValue && right instanceof RowValue)
    return compareLists(left.values, right.values, 0, left.types)
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right)
  if (typeof left === 'string' && typeof right === 'string' && left !== right)
    return compareTexts(left, right)
  // A bigint and a number compare by their values.
  // biome-ignore lint/suspicious/noDoubleEquals: see above
  return left! < right! ? -1 : left == right ? 0 : 1
}

function compareTexts(left: string, right: string): number {
  const isSurrogate = /[\ud800-\udfff]/
  if (isSurrogate.test(left) || isSurrogate.test(right))
    return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : 1
}

function compareLists(
  left: readonly Value[],
  right: readonly Value[],
  element: number,
  types?: readonly number[],
): number {
  for (let index = 0; index < left.length && index < right.length; index++) {
    const order = compareNullable(left[index]!, right[index]!, types?.[index] ?? element)
    if (order !== 0) return order
  }
  return left.length - right.length
}

/** Compares two values that may be null; null comes last. */
export function compareNullable(left: Value, right: Value, type: number): number {
  if (left === null || right === null) return left === right ? 0 : left === null ? 1 : -1
  return compareValues(left, right, type)
}

/** A text that is the same for values that are equal, null included. */
export function keyOf(value: Value): string {
  if (value === null) return 'n'
  if (typeof value === 'string') return `s${value.length}:${value}`
  if (Array.isArray(value)) return `[${value.map(keyOf).join()}]`
  if (value instanceof RowValue) return `(${value.values.map(keyOf).join()})`
  if (value instanceof Uint8Array) return `b${Buffer.from(value).toString('hex')}`
  return String(value)
}
