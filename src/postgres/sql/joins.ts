/**
 * Runs what stands behind FROM: tables, subqueries and functions, joined by hashes where a condition is an equality, and else row
 * by row.
 *
 * Inner joins have no order of their own: the smallest part comes first, then parts that a condition connects. A table that
 * shows sequences is read last, and only for the keys that the other side has, because there may be a million of them.
 */

import { countKey, keyOfAll, stepParts } from './costs.ts'
import {
  type FromNode,
  type IsLong,
  itemsOf,
  type JoinKeys,
  type Leaf,
  merged,
  nextPart,
  type Sides,
  sidesOf,
  type Tuple,
  withNulls,
  without,
  withRow,
} from './join-parts.ts'
import type { Compiled, Context, Frame, Row, Steps, Table } from './plan.ts'
import { keyOf, type Value } from './values.ts'

/** More keys are no reason to look rows up one by one. */
const lookupsMax = 500

/** Runs FROM. */
export class Joins {
  readonly #context: Context
  readonly #outer: Frame | undefined
  readonly #isLong: IsLong

  constructor(context: Context, outer: Frame | undefined, isLong: IsLong) {
    this.#context = context
    this.#outer = outer
    this.#isLong = isLong
  }

  /** The tuples of a node for which all conditions hold. `base` has rows that it may depend on. */
  *run(
    node: FromNode,
    base: Tuple,
    conditions: readonly Compiled[],
    keys: readonly JoinKeys[] = [],
  ): Steps<Tuple[]> {
    if (node.kind === 'leaf') return yield* this.#leaf(node, base, conditions, keys)
    if (node.kind === 'inner') return yield* this.#inner(node, base, [...node.conditions, ...conditions])
    return yield* this.#outerJoin(node, base, conditions)
  }

  frame(rows: Tuple): Frame {
    return { rows, outer: this.#outer, context: this.#context }
  }

  *#leaf(
    leaf: Leaf,
    base: Tuple,
    conditions: readonly Compiled[],
    joinKeys: readonly JoinKeys[],
  ): Steps<Tuple[]> {
    const { item, table } = leaf
    const extend = (row: Row) => withRow(base, item, row)
    const admits = (row: Row) => this.#holds(conditions, extend(row))
    const rows = table
      ? yield* this.#scan(table, [...this.#keys(leaf, base, conditions), ...joinKeys], admits)
      : yield* leaf.rows(this.frame(base))
    const tuples: Tuple[] = []
    for (const row of rows) {
      if (this.#step()) yield
      if (admits(row)) tuples.push(extend(row))
    }
    this.#context.budget.keep(tuples.length)
    return tuples
  }

  *#scan(
    table: Table,
    keys: readonly { column: number; values: readonly Value[] }[],
    admits: (row: Row) => boolean,
  ): Steps<readonly Row[]> {
    // The same object each time: what has been loaded is known by it.
    const narrowing = { keys, admits }
    for (;;) {
      const found = this.#context.scan(table, narrowing)
      if (!(found instanceof Promise)) return found
      yield found
    }
  }

  #keys(leaf: Leaf, base: Tuple, conditions: readonly Compiled[]) {
    return conditions.flatMap(({ keys }) => {
      if (!keys || keys.column.item !== leaf.item || (keys.uses & leaf.bits) !== 0) return []
      const values = keys.values(this.frame(base))
      return values ? [{ column: keys.column.column, values }] : []
    })
  }

  *#inner(node: FromNode & { kind: 'inner' }, base: Tuple, conditions: readonly Compiled[]): Steps<Tuple[]> {
    const { bits } = node
    const baseFrame = this.frame(base)
    const fixed = conditions.filter(({ uses }) => (uses & bits) === 0)
    if (!fixed.every((condition) => condition.run(baseFrame) === true)) return []
    let open = conditions.filter(({ uses }) => (uses & bits) !== 0)
    const local = (part: FromNode) => open.filter(({ uses }) => (uses & bits & ~part.bits) === 0)
    const ready = new Map<FromNode, Tuple[]>()
    for (const part of node.parts) {
      if ((part.needs & bits) !== 0 || this.#isDelayed(part, local(part), node.parts.length)) continue
      const tuples = yield* this.run(part, base, local(part))
      if (tuples.length === 0) return []
      ready.set(part, tuples)
    }
    for (const part of node.parts) if (ready.has(part)) open = without(open, local(part))
    let bound = 0
    let tuples: Tuple[] = [base]
    const left = new Set(node.parts)
    while (left.size > 0 && tuples.length > 0) {
      const part = nextPart([...left], ready, open, bound, bits)
      left.delete(part)
      const within = bound | part.bits
      const join = open.filter(({ uses }) => (uses & bits & ~within) === 0)
      open = without(open, join)
      tuples = yield* this.#join(tuples, part, ready.get(part), join, base, bound, bits, false)
      bound = within
    }
    return tuples
  }

  /** Long tables wait for the keys of the other parts, unless a condition of their own gives keys. */
  #isDelayed(part: FromNode, conditions: readonly Compiled[], parts: number): boolean {
    if (part.kind !== 'leaf' || !part.table || parts === 1) return false
    return this.#isLong(part.table) && !conditions.some(({ keys }) => keys !== undefined)
  }

  *#outerJoin(node: FromNode & { kind: 'outer' }, base: Tuple, pushed: readonly Compiled[]): Steps<Tuple[]> {
    const { left, right, conditions, isFull, bits } = node
    const first = isFull ? [] : pushed.filter(({ uses }) => (uses & bits & ~left.bits) === 0)
    const tuples = yield* this.run(left, base, first)
    const joined = yield* this.#join(
      tuples,
      right,
      undefined,
      conditions,
      base,
      left.bits,
      bits,
      true,
      isFull ? left.bits : 0,
    )
    const rest = without(pushed, first)
    return rest.length === 0 ? joined : yield* this.#filtered(joined, rest)
  }

  /** Joins a part to tuples. `keepsLeft`: tuples without a match stay, with nulls. `nullable`: elements that are null for rows of the part without a match. */
  *#join(
    tuples: readonly Tuple[],
    part: FromNode,
    known: Tuple[] | undefined,
    conditions: readonly Compiled[],
    base: Tuple,
    bound: number,
    all: number,
    keepsLeft: boolean,
    nullable = 0,
  ): Steps<Tuple[]> {
    const isLocal = ({ uses }: Compiled) => (uses & all & ~part.bits) === 0
    const joinOnly = known ? conditions : conditions.filter((each) => !isLocal(each))
    const pushed = known ? [] : conditions.filter(isLocal)
    if ((part.needs & all) !== 0) return yield* this.#lateral(tuples, part, pushed, joinOnly, keepsLeft)
    const hashes = joinOnly.flatMap((condition) => sidesOf(condition, bound, part.bits, all) ?? [])
    const residual = joinOnly.filter((condition) => !sidesOf(condition, bound, part.bits, all))
    const rights = known ?? (yield* this.run(part, base, pushed, yield* this.#joinKeys(part, tuples, hashes)))
    return yield* this.#match(tuples, rights, part, hashes, residual, keepsLeft, nullable)
  }

  *#match(
    tuples: readonly Tuple[],
    rights: readonly Tuple[],
    part: FromNode,
    hashes: readonly Sides[],
    residual: readonly Compiled[],
    keepsLeft: boolean,
    nullable: number,
  ): Steps<Tuple[]> {
    const items = itemsOf(part.bits)
    const buckets = hashes.length > 0 ? yield* this.#buckets(rights, hashes) : undefined
    const result: Tuple[] = []
    const matched = new Set<Tuple>()
    for (const tuple of tuples) {
      const candidates = buckets ? this.#bucket(buckets, tuple, hashes) : rights
      let found = false
      for (const candidate of candidates) {
        if (this.#step()) yield
        const joined = merged(tuple, candidate, items)
        if (!this.#holds(residual, joined)) continue
        found = true
        if (nullable !== 0) matched.add(candidate)
        result.push(joined)
        this.#context.budget.keep(1 + (joined.length >> 1))
      }
      if (!found && keepsLeft) result.push(withNulls(tuple, items))
    }
    if (nullable === 0) return result
    return [
      ...result,
      ...rights.filter((each) => !matched.has(each)).map((each) => withNulls(each, itemsOf(nullable))),
    ]
  }

  *#lateral(
    tuples: readonly Tuple[],
    part: FromNode,
    pushed: readonly Compiled[],
    conditions: readonly Compiled[],
    keepsLeft: boolean,
  ): Steps<Tuple[]> {
    const items = itemsOf(part.bits)
    const result: Tuple[] = []
    for (const tuple of tuples) {
      if (this.#step()) yield
      const rows = yield* this.#filtered(yield* this.run(part, tuple, pushed), conditions)
      for (const row of rows) result.push(row)
      if (rows.length === 0 && keepsLeft) result.push(withNulls(tuple, items))
      this.#context.budget.keep(rows.length)
    }
    return result
  }

  *#joinKeys(part: FromNode, tuples: readonly Tuple[], hashes: readonly Sides[]): Steps<JoinKeys[]> {
    const keys: JoinKeys[] = []
    if (part.kind !== 'leaf' || !part.table || !this.#isLong(part.table)) return keys
    for (const { left, right } of hashes) {
      if (right.column?.item !== part.item) continue
      const values = new Map<string, Value>()
      for (const tuple of tuples) {
        if (this.#step()) yield
        const value = left.run(this.frame(tuple))
        if (value !== null) values.set(keyOf(value), value)
        if (values.size > lookupsMax && right.type !== 26) break
      }
      if (values.size <= lookupsMax || right.type === 26)
        keys.push({ item: part.item, column: right.column.column, values: [...values.values()] })
    }
    return keys
  }

  *#buckets(rights: readonly Tuple[], hashes: readonly Sides[]): Steps<Map<string, Tuple[]>> {
    const buckets = new Map<string, Tuple[]>()
    for (const tuple of rights) {
      if (this.#step()) yield
      const key = this.#key(
        tuple,
        hashes.map(({ right }) => right),
      )
      if (key === undefined) continue
      const bucket = buckets.get(key)
      if (bucket) bucket.push(tuple)
      else {
        countKey(this.#context.budget, key)
        buckets.set(key, [tuple])
      }
    }
    return buckets
  }

  #bucket(buckets: ReadonlyMap<string, Tuple[]>, tuple: Tuple, hashes: readonly Sides[]): readonly Tuple[] {
    this.#context.budget.step()
    const key = this.#key(
      tuple,
      hashes.map(({ left }) => left),
    )
    return (key === undefined ? undefined : buckets.get(key)) ?? []
  }

  /** Null equals nothing: such a row has no key. */
  #key(tuple: Tuple, sides: readonly Compiled[]): string | undefined {
    const frame = this.frame(tuple)
    const values = sides.map((side) => side.run(frame))
    if (values.includes(null)) return undefined
    const key = keyOfAll(values, this.#context.budget)
    this.#context.budget.step(key.length >> 6)
    return key
  }

  *#filtered(tuples: Tuple[], conditions: readonly Compiled[]): Steps<Tuple[]> {
    if (conditions.length === 0) return tuples
    const kept: Tuple[] = []
    for (const tuple of tuples) {
      if (this.#step()) yield
      if (this.#holds(conditions, tuple)) kept.push(tuple)
    }
    return kept
  }

  #holds(conditions: readonly Compiled[], tuple: Tuple): boolean {
    if (conditions.length === 0) return true
    this.#context.budget.step(Math.floor(conditions.length / stepParts))
    const frame = this.frame(tuple)
    return conditions.every((condition) => condition.run(frame) === true)
  }

  #step(): boolean {
    this.#context.budget.step()
    return this.#context.budget.isDue
  }
}
