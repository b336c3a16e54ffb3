/**
 * Joins: each step adds a part to the rows so far, by a look-up where a condition is an equality, else by trying all.
 *
 * Invariants
 *  1. A condition of WHERE, or of an inner join, is asked as soon as all that it reads is there; one of a LEFT JOIN only of
 *     the rows that its part offers.
 *  2. What does not depend on the rows so far is made once.
 */

import type { Expression, Frame, Row } from './expression.ts'
import { rowsOfTable, rowsWith, type Table } from './tables.ts'
import { keyOf, type Value } from './values.ts'

/** A row of each element of FROM that is joined so far. */
export type Tuple = Frame['rows']

/** What a step joins: one element of FROM, or several that are joined already. */
export type Part = {
  /** Its elements, as bits. */
  readonly bits: number
  /** On what its rows depend, beside the run. */
  readonly depends: 'nothing' | 'outer' | 'tuple'
  readonly tuples: (frame: Frame) => readonly Tuple[]
  /** The table that it is. */
  readonly table?: { readonly table: Table; readonly item: number }
}

type Key = { readonly probe: Expression; readonly build: Expression }
type Step = {
  readonly part: Part
  readonly isLeft: boolean
  /** Conditions on the part alone. */
  readonly own: readonly Expression[]
  /** Equalities by which the part is looked up. */
  readonly keys: readonly Key[]
  readonly others: readonly Expression[]
  /** Conditions that are asked once the step is done. */
  readonly after: readonly Expression[]
}

/** The steps of a FROM. */
export type Plan = {
  readonly steps: readonly Step[]
  readonly bits: number
  readonly depends: Part['depends']
  /** Conditions of a query without FROM. */
  readonly filters: readonly Expression[]
}

/** Puts each filter where all that it reads is there. */
export function planOf(
  parts: readonly { readonly part: Part; readonly isLeft: boolean; readonly on: readonly Expression[] }[],
  filters: readonly Expression[],
): Plan {
  const bits = parts.reduce((all, { part }) => all | part.bits, 0)
  const open = new Set(filters)
  let present = 0
  const steps = arranged(parts, filters).map(({ part, isLeft, on }) => {
    present |= part.bits
    const ready = [...open].filter(({ uses }) => ((uses & ~bits ? bits : uses) & ~present) === 0)
    for (const each of ready) open.delete(each)
    return stepOf(part, isLeft, isLeft ? on : [...on, ...ready], isLeft ? ready : [])
  })
  const all = [...parts.flatMap(({ on }) => on), ...filters]
  const isOpen = parts.some(({ part }) => part.depends !== 'nothing') || all.some((each) => each.isOpen)
  return { steps, bits, depends: isOpen ? 'outer' : 'nothing', filters: parts.length === 0 ? filters : [] }
}

type Joined = { readonly part: Part; readonly isLeft: boolean; readonly on: readonly Expression[] }

/** Inner joins before the first other one, in an order in which each is looked up by what is there already. */
function arranged(parts: readonly Joined[], filters: readonly Expression[]): readonly Joined[] {
  const end = parts.findIndex(({ part, isLeft }) => isLeft || part.depends === 'tuple')
  const open = end < 0 ? [...parts] : parts.slice(0, end)
  const result: Joined[] = []
  let present = 0
  while (open.length > 0) {
    // One with a column that must be equal to what is known before it.
    const isLinked = ({ part }: Joined) => keysOf(part, filters).some(({ probe }) => !(probe.uses & ~present))
    const next = open.find(isLinked) ?? open[0]!
    open.splice(open.indexOf(next), 1)
    result.push(next)
    present |= next.part.bits
  }
  return end < 0 ? result : [...result, ...parts.slice(end)]
}

function stepOf(
  part: Part,
  isLeft: boolean,
  conditions: readonly Expression[],
  after: readonly Expression[],
): Step {
  const { own = [], others = [] } = Object.groupBy(conditions, (each) =>
    isOwn(each, part) ? 'own' : 'others',
  )
  return { part, isLeft, own, keys: keysOf(part, conditions), others, after }
}

function isOwn({ uses, isOpen }: Expression, { bits }: Part): boolean {
  return uses !== 0 && (uses & ~bits) === 0 && !isOpen
}

function keysOf(part: Part, conditions: readonly Expression[]): Key[] {
  return conditions.flatMap(({ equality }): Key[] => {
    if (equality === undefined) return []
    const [left, right] = equality
    if (isOwn(right, part) && (left.uses & part.bits) === 0) return [{ probe: left, build: right }]
    return isOwn(left, part) && (right.uses & part.bits) === 0 ? [{ probe: right, build: left }] : []
  })
}

/** The rows of a FROM. `frame.rows` is what is joined before it: nothing, but for the right side of a join. */
export function runPlan({ steps, filters }: Plan, frame: Frame): readonly Tuple[] {
  let tuples: readonly Tuple[] = [[]]
  if (filters.some((each) => each.run(frame) !== true)) return []
  for (const step of steps) {
    tuples = joined(step, tuples, frame)
    if (tuples.length === 0) return tuples
  }
  return tuples
}

function joined(step: Step, tuples: readonly Tuple[], frame: Frame): readonly Tuple[] {
  const { part, isLeft, others, after } = step
  const { run } = frame
  const result: Tuple[] = []
  const find = finderOf(step, frame)
  for (const tuple of tuples) {
    const found: Frame[] = []
    for (const each of find({ ...frame, rows: tuple })) {
      run.spend(1)
      const next = { ...frame, rows: withPart(tuple, each) }
      if (holdAll(others, next)) found.push(next)
    }
    if (isLeft && found.length === 0) found.push({ ...frame, rows: withPart(tuple, nullsOf(part.bits)) })
    for (const next of found) {
      if (!holdAll(after, next)) continue
      run.keep(1)
      result.push(next.rows)
    }
  }
  return result
}

function holdAll(conditions: readonly Expression[], frame: Frame): boolean {
  for (const condition of conditions) if (condition.run(frame) !== true) return false
  return true
}

function withPart(tuple: Tuple, part: Tuple): Tuple {
  const whole = tuple.slice()
  part.forEach((row, item) => {
    whole[item] = row
  })
  return whole
}

function nullsOf(bits: number): Tuple {
  const nulls: null[] = []
  for (let item = 0; 1 << item <= bits && item < 31; item++) if (bits & (1 << item)) nulls[item] = null
  return nulls
}

/**
 * What finds the rows of a part that its own conditions hold for, and that its first key admits. The condition of the key is
 * asked again with the others, so that a look-up only narrows what is tried.
 */
function finderOf(step: Step, frame: Frame): (frame: Frame) => readonly Tuple[] {
  const { part, own, keys } = step
  const { run } = frame
  const holds = (tuple: Tuple) => holdAll(own, { ...frame, rows: tuple })
  if (part.depends === 'tuple') return (each) => part.tuples(each).filter(holds)
  const { table, item } = part.table ?? {}
  const rows = (column: number, values: readonly Value[]) => table && rowsWith(table, column, values, run)
  const looked = keys.find(({ build }) => build.column && rows(build.column.column, []))
  if (looked !== undefined)
    return (each) => {
      const value = looked.probe.run(each)
      const found = value === null ? [] : rows(looked.build.column!.column, [value])!
      return tuplesOf(item!, found).filter(holds)
    }
  const [key] = keys
  const isShared = part.depends === 'nothing'
  const known = isShared ? (run.memory.get(step) as ReadonlyMap<string, readonly Tuple[]>) : undefined
  const all = known ? [] : part.table ? scan(part.table, own, frame) : part.tuples(frame).filter(holds)
  const keyFor = (tuple: Tuple) => (key ? keyOf(key.build.run({ ...frame, rows: tuple })) : '')
  const index = known ?? Map.groupBy(all, keyFor)
  if (isShared) run.memory.set(step, index)
  return (each) => {
    const value = key ? key.probe.run(each) : ''
    return (value !== null && index.get(key ? keyOf(value) : '')) || []
  }
}

/** Rows as tuples of one element. */
export function tuplesOf(item: number, rows: readonly Row[]): Tuple[] {
  return rows.map((row) => {
    const tuple: Row[] = []
    tuple[item] = row
    return tuple
  })
}

/** The rows of a table for which its own conditions hold. */
function scan(
  { table, item }: NonNullable<Part['table']>,
  own: readonly Expression[],
  frame: Frame,
): readonly Tuple[] {
  const holds = (row: Row) => holdAll(own, { ...frame, rows: tuplesOf(item, [row])[0]! })
  for (const { membership } of own) {
    if (membership?.operand.column === undefined || membership.list.uses !== 0) continue
    const values = (membership.list.run(frame) as readonly Value[] | null)?.filter((value) => value !== null)
    const found = values && rowsWith(table, membership.operand.column.column, values, frame.run)
    if (found) return tuplesOf(item, found.filter(holds))
  }
  return tuplesOf(item, rowsOfTable(table, holds, frame.run))
}
