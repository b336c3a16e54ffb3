/**
 * Joins: each step adds a part to the rows of those before it, by a look-up where a condition is an equality, else by trying all.
 *
 * Invariants
 *  1. A condition of WHERE, or of an inner join, is asked as soon as all that it reads is there; one of a LEFT JOIN only of
 *     the rows that its part offers.
 *  2. What does not depend on the rows of earlier steps is made once.
 */

import type { Expression, Frame, Row } from './analysed.ts'
import { rowsOfTable, rowsWith, type Table } from './catalog-rows.ts'
import { keyOf, type Value } from './values.ts'

/** A row of each element of FROM that earlier steps have joined. */
export type Tuple = Frame['rows']

/** One element of FROM. */
export type Part = {
  readonly item: number
  /** On what its rows depend, beside the run. */
  readonly depends: 'nothing' | 'outer' | 'tuple'
  readonly rows: (frame: Frame) => readonly Row[]
  /** The table, if the element is one. */
  readonly table?: Table
}

/** How an element is joined to those before it. `on`: the conditions of a LEFT JOIN. */
export type Joined = { readonly part: Part; readonly on?: readonly Expression[] }

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
  /** Conditions of a query without FROM. */
  readonly filters: readonly Expression[]
}

/** Puts each filter where all that it reads is there. */
export function planOf(parts: readonly Joined[], filters: readonly Expression[]): Plan {
  const open = new Set(filters)
  let present = 0
  const steps = arranged(parts, filters).map(({ part, on }): Step => {
    present |= bitOf(part)
    const ready = [...open].filter(({ uses }) => (uses & ~present) === 0)
    for (const each of ready) open.delete(each)
    const conditions = on ?? ready
    const { own = [], others = [] } = Object.groupBy(conditions, (each) =>
      isOwn(each, part) ? 'own' : 'others',
    )
    const after = on ? ready : []
    return { part, isLeft: on !== undefined, own, keys: keysOf(part, conditions), others, after }
  })
  return { steps, filters: [...open] }
}

function bitOf({ item }: Part): number {
  return 1 << item
}

/** Inner joins before the first other one, in an order in which each is looked up by what is there already. */
function arranged(parts: readonly Joined[], filters: readonly Expression[]): readonly Joined[] {
  const end = parts.findIndex(({ part, on }) => on || part.depends === 'tuple')
  const open = end < 0 ? [...parts] : parts.slice(0, end)
  const result: Joined[] = []
  let present = 0
  while (open.length > 0) {
    // An element with a column that must be equal to a value of the elements before it.
    const isLinked = ({ part }: Joined) => keysOf(part, filters).some(({ probe }) => !(probe.uses & ~present))
    const next = open.find(isLinked) ?? open[0]!
    open.splice(open.indexOf(next), 1)
    result.push(next)
    present |= bitOf(next.part)
  }
  return end < 0 ? result : [...result, ...parts.slice(end)]
}

function isOwn({ uses, isOpen }: Expression, part: Part): boolean {
  return uses === bitOf(part) && !isOpen
}

function keysOf(part: Part, conditions: readonly Expression[]): Key[] {
  return conditions.flatMap(({ equality }): Key[] => {
    if (equality === undefined) return []
    const [left, right] = equality
    if (isOwn(right, part) && !(left.uses & bitOf(part))) return [{ probe: left, build: right }]
    return isOwn(left, part) && !(right.uses & bitOf(part)) ? [{ probe: right, build: left }] : []
  })
}

/** The rows of a FROM. */
export function runPlan({ steps, filters }: Plan, frame: Frame): readonly Tuple[] {
  let tuples: readonly Tuple[] = [[]]
  if (!holdAll(filters, frame)) return []
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
    for (const row of find({ ...frame, rows: tuple })) {
      run.spend(1)
      const next = { ...frame, rows: withRow(tuple, part, row) }
      if (holdAll(others, next)) found.push(next)
    }
    if (isLeft && found.length === 0) found.push({ ...frame, rows: withRow(tuple, part, null) })
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

function withRow(tuple: Tuple, { item }: Part, row: Row | null): Tuple {
  const whole = tuple.slice()
  whole[item] = row
  return whole
}

/**
 * What finds the rows of a part that its own conditions hold for, and that its first key admits. The condition of the key is
 * asked again with the others, so that a look-up only narrows what is tried.
 */
function finderOf(step: Step, frame: Frame): (frame: Frame) => readonly Row[] {
  const { part, own, keys } = step
  const { run } = frame
  const alone = (row: Row) => ({ ...frame, rows: withRow([], part, row) })
  const holds = (row: Row) => holdAll(own, alone(row))
  if (part.depends === 'tuple') return (each) => part.rows(each).filter(holds)
  const { table } = part
  const rows = (column: number, values: readonly Value[]) => table && rowsWith(table, column, values, run)
  const looked = keys.find(({ build }) => build.column && rows(build.column.column, []))
  if (looked !== undefined)
    return (each) => {
      const value = looked.probe.run(each)
      return value === null ? [] : rows(looked.build.column!.column, [value])!.filter(holds)
    }
  const [key] = keys
  const isShared = part.depends === 'nothing'
  const known = isShared ? (run.memory.get(step) as ReadonlyMap<string, readonly Row[]>) : undefined
  const all = known ? [] : table ? scan(table, own, holds, frame) : part.rows(frame).filter(holds)
  const index = known ?? Map.groupBy(all, (row) => (key ? keyOf(key.build.run(alone(row))) : ''))
  if (isShared) run.memory.set(step, index)
  return (each) => {
    const value = key ? key.probe.run(each) : ''
    return (value !== null && index.get(key ? keyOf(value) : '')) || []
  }
}

/** The rows of a table for which its own conditions hold. */
function scan(
  table: Table,
  own: readonly Expression[],
  holds: (row: Row) => boolean,
  frame: Frame,
): readonly Row[] {
  for (const { membership } of own) {
    if (membership?.operand.column === undefined || membership.list.uses !== 0) continue
    const values = (membership.list.run(frame) as readonly Value[] | null)?.filter((value) => value !== null)
    const found = values && rowsWith(table, membership.operand.column.column, values, frame.run)
    if (found) return found.filter(holds)
  }
  return rowsOfTable(table, holds, frame.run)
}
