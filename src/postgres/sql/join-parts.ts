/** What joins are made of: the parts of FROM, tuples of rows, and the order of parts. */
import type { Compiled, Frame, Row, Steps, Table } from './plan.ts'
import type { Value } from './values.ts'

/** One row of each element of FROM so far. */
export type Tuple = readonly (Row | null | undefined)[]

/** A table, a subquery or a function. */
export type Leaf = {
  readonly kind: 'leaf'
  readonly item: number
  readonly bits: number
  /** The elements of the same FROM that it depends on, as bits. */
  readonly needs: number
  readonly table?: Table
  readonly rows: (frame: Frame) => Steps<readonly Row[]>
}

/** What stands behind FROM. */
export type FromNode =
  | Leaf
  | {
      readonly kind: 'inner'
      readonly parts: readonly FromNode[]
      readonly conditions: readonly Compiled[]
      readonly bits: number
      readonly needs: number
    }
  | {
      readonly kind: 'outer'
      readonly isFull: boolean
      readonly left: FromNode
      readonly right: FromNode
      readonly conditions: readonly Compiled[]
      readonly bits: number
      readonly needs: number
    }

/** Values that a column may have, because the other side of a join has no others. */
export type JoinKeys = { readonly column: number; readonly item: number; readonly values: readonly Value[] }

/** Tables whose rows show sequences: there may be many of them. */
export type IsLong = (table: Table) => boolean

/** The two sides of an equality: of what is joined already, and of the part to join. */
export type Sides = { readonly left: Compiled; readonly right: Compiled }

/** The sides of an equality between what is bound and a part. */
export function sidesOf({ equality }: Compiled, bound: number, part: number, all: number): Sides | undefined {
  if (!equality) return undefined
  const { left, right } = equality
  const reads = ({ uses }: Compiled, bits: number) => (uses & all) !== 0 && (uses & all & ~bits) === 0
  if (reads(left, bound) && reads(right, part)) return { left, right }
  return reads(right, bound) && reads(left, part) ? { left: right, right: left } : undefined
}

/** The part to join next: one that a condition connects, the smallest of these. */
export function nextPart(
  left: readonly FromNode[],
  ready: ReadonlyMap<FromNode, readonly Tuple[]>,
  open: readonly Compiled[],
  bound: number,
  all: number,
): FromNode {
  const possible = left.filter(({ needs }) => (needs & all & ~bound) === 0)
  const connected = possible.filter(({ bits }) =>
    open.some((condition) => condition.equality && sidesOf(condition, bound, bits, all) !== undefined),
  )
  const candidates = connected.length > 0 ? connected : possible
  const sizeOf = (part: FromNode) => ready.get(part)?.length ?? Number.POSITIVE_INFINITY
  return candidates.reduce((best, part) => (sizeOf(part) < sizeOf(best) ? part : best))
}

/** The conditions that are not among `removed`. */
export function without(list: readonly Compiled[], removed: readonly Compiled[]): Compiled[] {
  return list.filter((each) => !removed.includes(each))
}

/** The numbers of elements from bits. */
export function itemsOf(bits: number): number[] {
  return Array.from({ length: 30 }, (_, item) => item).filter((item) => (bits & (1 << item)) !== 0)
}

/** A tuple with a row more. */
export function withRow(tuple: Tuple, item: number, row: Row): Tuple {
  const copy = [...tuple]
  copy[item] = row
  return copy
}

/** A tuple with nulls for elements without a row. */
export function withNulls(tuple: Tuple, items: readonly number[]): Tuple {
  const copy = [...tuple]
  for (const item of items) copy[item] = null
  return copy
}

/** A tuple with the rows of another one. */
export function merged(left: Tuple, right: Tuple, items: readonly number[]): Tuple {
  const copy = [...left]
  for (const item of items) copy[item] = right[item]
  return copy
}
