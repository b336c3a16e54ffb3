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
export type Tuple = readonly (Row | null | undefined)[]

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
    const next = open.find(({ part }) => isLinked(part, present, filters)) ?? open[0]!
    open.splice(open.indexOf(next), 1)
    result.push(next)
    present |= next.part.bits
  }
  return end < 0 ? result : [...result, ...parts.slice(end)]
}

/** Whether a part has a column that must be equal to what is known before it. */
function isLinked({ bits }: Part, present: number, filters: readonly Expression[]): boolean {
  const isOwn = (uses: number) => uses !== 0 && (uses & ~bits) === 0
  return filters.some(({ equality }) => {
    if (equality === undefined) return false
    const [left, right] = equality.map(({ uses }) => uses) as [number, number]
    return (isOwn(right) && (left & ~present) === 0) || (isOwn(left) && (right & ~present) === 0)
  })
}

function stepOf(
  part: Part,
  isLeft: boolean,
  conditions: readonly Expression[],
  after: readonly Expression[],
): Step {
  const isOwn = ({ uses, isOpen }: Expression) => uses !== 0 && (uses & ~part.bits) === 0 && !isOpen
  const own: Expression[] = []
  const keys: Key[] = []
  const others: Expression[] = []
  for (const condition of conditions) {
    const key = keyOfStep(condition, isOwn, part)
    if (key !== undefined) keys.push(key)
    // An equality with a constant narrows the rows that are looked at, too.
    if (isOwn(condition)) own.push(condition)
    else if (key === undefined) others.push(condition)
  }
  return { part, isLeft, own, keys, others, after }
}

function keyOfStep(
  { equality }: Expression,
  isOwn: (each: Expression) => boolean,
  { bits }: Part,
): Key | undefined {
  if (equality === undefined) return undefined
  const [left, right] = equality
  if (isOwn(right) && (left.uses & bits) === 0) return { probe: left, build: right }
  if (isOwn(left) && (right.uses & bits) === 0) return { probe: right, build: left }
  return undefined
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
  const { part, isLeft, after } = step
  const { outer, run, slots } = frame
  const result: Tuple[] = []
  const { conditions, find } = accessOf(step, frame)
  for (const tuple of tuples) {
    let isFound = false
    for (const each of find({ rows: tuple, outer, run, slots })) {
      run.spend(1)
      const rows = withPart(tuple, each)
      const whole = { rows, outer, run, slots }
      if (!holdAll(conditions, whole)) continue
      isFound = true
      if (!holdAll(after, whole)) continue
      run.keep(1)
      result.push(rows)
    }
    if (isFound || !isLeft) continue
    const rows = withNulls(tuple, part.bits)
    if (!holdAll(after, { rows, outer, run, slots })) continue
    run.keep(1)
    result.push(rows)
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

function withNulls(tuple: Tuple, bits: number): Tuple {
  const whole = tuple.slice()
  for (let item = 0; 1 << item <= bits && item < 31; item++) if (bits & (1 << item)) whole[item] = null
  return whole
}

/** What finds the rows of a part that may join a row so far, and the conditions that are still open. */
type Access = {
  readonly conditions: readonly Expression[]
  readonly find: (frame: Frame) => readonly Tuple[]
}

function accessOf(step: Step, frame: Frame): Access {
  const { part, own, keys, others } = step
  if (part.depends === 'tuple') {
    const tests = keys.map(({ probe, build }) => equalityOf(probe, build))
    return { conditions: [...own, ...tests, ...others], find: part.tuples }
  }
  const looked = part.table && lookUp(step, part.table, frame)
  if (looked !== undefined) return looked
  const { memory } = frame.run
  const isShared = part.depends === 'nothing'
  const made = (isShared ? (memory.get(step) as Index | undefined) : undefined) ?? indexOf(step, frame)
  if (isShared) memory.set(step, made)
  return {
    conditions: others,
    find(each) {
      const key = keyOfAll(keys, 'probe', each)
      return (key !== undefined && made.get(key)) || []
    },
  }
}

type Index = ReadonlyMap<string, readonly Tuple[]>

/** The rows of a part for which its own conditions hold, by their keys. */
function indexOf({ part, own, keys }: Step, frame: Frame): Index {
  const all = part.table ? tuplesOf(part.table.item, scan(part.table, own, frame)) : part.tuples(frame)
  const index = new Map<string, Tuple[]>()
  for (const tuple of all) {
    const each = { ...frame, rows: tuple }
    const key = part.table || holdAll(own, each) ? keyOfAll(keys, 'build', each) : undefined
    if (key === undefined) continue
    const known = index.get(key)
    if (known) known.push(tuple)
    else index.set(key, [tuple])
  }
  return index
}

/** The values of keys; undefined: one is null. */
function keyOfAll(keys: readonly Key[], side: keyof Key, frame: Frame): string | undefined {
  let all = ''
  for (const key of keys) {
    const value = key[side].run(frame)
    if (value === null) return undefined
    all += `${keyOf(value)},`
  }
  return all
}

function tuplesOf(item: number, rows: readonly Row[]): Tuple[] {
  return rows.map((row) => tupleOf(item, row))
}

function tupleOf(item: number, row: Row): Tuple {
  const tuple: Row[] = []
  tuple[item] = row
  return tuple
}

/** The rows of a table for which its own conditions hold. */
function scan(
  { table, item }: NonNullable<Part['table']>,
  own: readonly Expression[],
  frame: Frame,
): readonly Row[] {
  const holds = (row: Row) => holdAll(own, { ...frame, rows: tupleOf(item, row) })
  for (const { membership } of own) {
    if (membership?.operand.column === undefined || membership.list.uses !== 0) continue
    const values = membership.list.run(frame) as readonly Value[] | null
    const found =
      values &&
      rowsWith(
        table,
        membership.operand.column.column,
        values.filter((value) => value !== null),
        frame.run,
      )
    if (found) return found.filter(holds)
  }
  return rowsOfTable(table, holds, frame.run)
}

/** Looks rows of a table up by a column that a key is; undefined: it has no such column. */
function lookUp(
  { own, keys, others }: Step,
  { table, item }: NonNullable<Part['table']>,
  { run }: Frame,
): Access | undefined {
  const key = keys.find(({ build }) => build.column && rowsWith(table, build.column.column, [], run))
  if (key === undefined) return undefined
  const rest = keys.filter((each) => each !== key).map(({ probe, build }) => equalityOf(probe, build))
  return {
    conditions: [...own, ...rest, ...others],
    find(frame) {
      const value = key.probe.run(frame)
      return value === null ? [] : tuplesOf(item, rowsWith(table, key.build.column!.column, [value], run)!)
    },
  }
}

function equalityOf(probe: Expression, build: Expression): Expression {
  return {
    type: probe.type,
    modifier: -1,
    uses: probe.uses | build.uses,
    isOpen: true,
    run(frame) {
      const [left, right] = [probe.run(frame), build.run(frame)]
      return left !== null && right !== null && keyOf(left) === keyOf(right)
    },
  }
}
