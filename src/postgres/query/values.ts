/**
 * Values while a statement is evaluated. bool: boolean; int2, int4, oid, xid, reg…, float4: number; int8: bigint; timestamps:
 * bigint, µs since 2000; arrays and rows: lists; all other types: their text.
 */
import { refused } from './tree.ts'

/** A value of any type; null is SQL's NULL. */
export type Value = null | boolean | number | bigint | string | readonly Value[]

/** Names behind the oids of types such as regclass, and oids behind names. */
export interface ObjectNames {
  /** The name of an object, qualified and quoted where SQL needs it. */
  nameOf(type: number, oid: number): string | undefined
  /** The object that a text names. Throws SqlError: 42P01, 42704, 3F000, 0A000. */
  oidOf(type: number, text: string): number
}

/** Stands in rows of system catalogs for a value that is not known here. */
export const unknownHere: Value = Object.freeze([])

/** A value of a row. Throws 0A000 for one that is not known here. */
export function known(value: Value): Value {
  if (value === unknownHere) throw refused('A value of this column')
  return value
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
  if (known(value) === null) return 'n'
  if (typeof value === 'string') return `s${value.length}:${value}`
  return Array.isArray(value) ? `[${value.map(keyOf).join()}]` : String(value)
}
