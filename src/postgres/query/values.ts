/**
 * Values while a statement is evaluated. bool: boolean; int2, int4, oid, xid, reg…, float4: number; int8: bigint; timestamps:
 * bigint, µs since 2000; arrays: arrays; rows: `RowValue`; all other types: their text.
 */

/** A value of any type; null is SQL's NULL. */
export type Value = null | boolean | number | bigint | string | readonly Value[] | RowValue

/** A value of a row type. */
export class RowValue {
  readonly names: readonly string[]
  readonly types: readonly number[]
  readonly values: readonly Value[]

  constructor(names: readonly string[], types: readonly number[], values: readonly Value[]) {
    this.names = names
    this.types = types
    this.values = values
  }
}

/** Compares two values of one type, neither null: negative, 0 or positive. Text compares by its characters' code, as in "C". */
export function compareValues(left: Value, right: Value): number {
  if (Array.isArray(left) && Array.isArray(right)) return compareLists(left, right)
  if (typeof left === 'string' && typeof right === 'string' && left !== right)
    return compareTexts(left, right)
  return left! < right! ? -1 : left === right ? 0 : 1
}

const surrogate = /[\ud800-\udfff]/

function compareTexts(left: string, right: string): number {
  if (surrogate.test(left) || surrogate.test(right))
    return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : 1
}

function compareLists(left: readonly Value[], right: readonly Value[]): number {
  for (let index = 0; index < left.length && index < right.length; index++) {
    const [a, b] = [left[index]!, right[index]!]
    const order = a === null || b === null ? Number(a === null) - Number(b === null) : compareValues(a, b)
    if (order !== 0) return order
  }
  return left.length - right.length
}

/** A text that is the same for values of one type that are equal, null included. */
export function keyOf(value: Value): string {
  if (value === null) return 'n'
  if (typeof value === 'string') return `s${value.length}:${value}`
  return Array.isArray(value) ? `[${value.map(keyOf).join()}]` : String(value)
}
