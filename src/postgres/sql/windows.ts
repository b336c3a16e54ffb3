/** row_number, rank and dense_rank: numbers of rows within a partition (PostgreSQL's manual, chapter 9.22). */
import { countKey, keyOfAll } from './costs.ts'
import type { Context, Frame, Steps } from './plan.ts'
import type { SlotCall, SortBy } from './scope.ts'
import { compareKeys, sortBy } from './sorting.ts'
import type { Value } from './values.ts'

type Window = Extract<SlotCall, { kind: 'window' }>

/** The frames with the results of the window functions. */
export function* numbered(
  slots: readonly SlotCall[],
  frames: readonly Frame[],
  context: Context,
): Steps<Frame[]> {
  const results: (ReadonlyMap<Frame, Value> | undefined)[] = []
  for (const slot of slots)
    results.push(slot.kind === 'window' ? yield* numbersOf(slot, frames, context) : undefined)
  return frames.map((frame) => ({ ...frame, slots: results.map((numbers) => numbers?.get(frame) ?? null) }))
}

function* numbersOf(
  { name, partition, order }: Window,
  frames: readonly Frame[],
  { budget }: Context,
): Steps<ReadonlyMap<Frame, Value>> {
  const numbers = new Map<Frame, Value>()
  const groups = new Map<string, Frame[]>()
  for (const frame of frames) {
    const key = keyOfAll(
      partition.map((each) => each.run(frame)),
      budget,
    )
    if (budget.isDueAfter(1 + partition.length + (key.length >> 6))) yield
    const group = groups.get(key)
    if (group) group.push(frame)
    else {
      countKey(budget, key)
      groups.set(key, [frame])
    }
  }
  for (const group of groups.values()) {
    const sorted = yield* sortBy(group, order, budget)
    let rank = 0
    let dense = 0
    for (const [index, frame] of sorted.entries()) {
      if (budget.isDueAfter(1 + order.length)) yield
      if (index === 0 || !isPeer(sorted[index - 1]!, frame, order)) {
        rank = index + 1
        dense++
      }
      numbers.set(frame, BigInt(name === 'row_number' ? index + 1 : name === 'rank' ? rank : dense))
    }
  }
  return numbers
}

/** Whether two frames are equal in the order of the window. */
function isPeer(left: Frame, right: Frame, order: readonly SortBy[]): boolean {
  return order.every(({ key }) => compareKeys(key.run(left), key.run(right), key.type, false, false) === 0)
}
