/** What a SELECT does with its frames: groups, sets in its list, DISTINCT, the order of rows. All of it pauses for others. */
import { cellsOfShortText, countKey, keyOfAll } from './costs.ts'
import type { Compiled, Context, Frame, Row, Steps } from './plan.ts'
import type { AggregateCall, SlotCall } from './scope.ts'
import { compareKeys, sorted } from './sorting.ts'
import type { Value } from './values.ts'

/** One frame for each group: that of its first row, with the results of the aggregates. */
export function* grouped(
  groupKeys: readonly Compiled[],
  aggregates: readonly AggregateCall[],
  frames: readonly Frame[],
  outer: Frame | undefined,
  context: Context,
): Steps<Frame[]> {
  const groups = new Map<string, Frame[]>()
  for (const frame of frames) {
    const key = keyOfAll(
      groupKeys.map((each) => each.run(frame)),
      context.budget,
    )
    if (context.budget.isDueAfter(1 + groupKeys.length + (key.length >> 6))) yield
    const group = groups.get(key)
    if (group) group.push(frame)
    else {
      countKey(context.budget, key)
      groups.set(key, [frame])
    }
  }
  // Without GROUP BY there is one group, of no rows too.
  if (groupKeys.length === 0 && groups.size === 0) groups.set('', [])
  const result: Frame[] = []
  for (const group of groups.values()) {
    const values: Value[] = []
    for (const aggregate of aggregates) values.push(yield* aggregate.compute(context, group))
    result.push({ ...(group[0] ?? { rows: [], outer, context }), aggregates: values })
  }
  return result
}

/** The frames for which a condition holds. */
export function* having(condition: Compiled, frames: readonly Frame[], { budget }: Context): Steps<Frame[]> {
  const kept: Frame[] = []
  for (const frame of frames) {
    if (budget.isDueAfter()) yield
    if (condition.run(frame) === true) kept.push(frame)
  }
  return kept
}

/** One frame for each element of the sets in the list; the longest set counts, shorter ones end in nulls. */
export function* expanded(
  slots: readonly SlotCall[],
  frames: readonly Frame[],
  { budget }: Context,
): Steps<Frame[]> {
  const result: Frame[] = []
  for (const frame of frames) {
    const lists: Value[][] = []
    for (const slot of slots) {
      const known = { ...frame, slots: lists.map((list) => list[0] ?? null) }
      const list: Value[] = []
      if (slot.kind === 'set')
        for (const item of slot.items(known)) {
          if (budget.isDueAfter()) yield
          list.push(item)
        }
      lists.push(list)
    }
    const length = Math.max(...lists.map((list) => list.length))
    budget.keep(length)
    for (let index = 0; index < length; index++) {
      if (budget.isDueAfter()) yield
      result.push({
        ...frame,
        slots: lists.map((list, slot) => list[index] ?? frame.slots?.[slot] ?? null),
      })
    }
  }
  return result
}

/** The first frame of those whose keys are equal. */
export function* distinct(
  keys: readonly Compiled[],
  frames: readonly Frame[],
  { budget }: Context,
): Steps<Frame[]> {
  const seen = new Set<string>()
  const kept: Frame[] = []
  for (const frame of frames) {
    const key = keyOfAll(
      keys.map((each) => each.run(frame)),
      budget,
    )
    if (budget.isDueAfter(keys.length + (key.length >> 6))) yield
    if (seen.has(key)) continue
    countKey(budget, key)
    seen.add(key)
    kept.push(frame)
  }
  return kept
}

/** The cells of the short texts of a result: they are counted when they stay. */
export function* cellsOfShortTexts(rows: readonly Row[], { budget }: Context): Steps<number> {
  let cells = 0
  for (const { values } of rows) {
    if (budget.isDueAfter(1 + (values.length >> 4))) yield
    for (const value of values) if (typeof value === 'string') cells += cellsOfShortText(value)
  }
  return cells
}

/** Rows in the order of keys that name columns. */
export function* sortRows(
  rows: readonly Row[],
  keys: readonly {
    readonly column: number
    readonly type: number
    readonly descending: boolean
    readonly nullsFirst: boolean | undefined
  }[],
  { budget }: Context,
): Steps<readonly Row[]> {
  const compare = (a: Row, b: Row) => {
    for (const { column, type, descending, nullsFirst = descending } of keys) {
      const order = compareKeys(
        a.values[column] ?? null,
        b.values[column] ?? null,
        type,
        descending,
        nullsFirst,
      )
      if (order !== 0) return order
    }
    return 0
  }
  return yield* sorted(rows, compare, budget)
}
