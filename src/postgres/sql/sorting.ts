/** The order of frames and values by the keys of ORDER BY. */
import type { Budget } from './budget.ts'
import type { Frame, Steps } from './plan.ts'
import type { SortBy } from './scope.ts'
import { compareValues, type Value } from './values.ts'

/** So many elements are sorted without a pause. */
const runLength = 32

/** The elements in order; those that are equal stay in theirs. Pauses for others. */
export function* sorted<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  budget: Budget,
): Steps<readonly T[]> {
  let from: T[] = []
  for (let start = 0; start < items.length; start += runLength) {
    from.push(...items.slice(start, start + runLength).sort(compare))
    if (budget.isDueAfter(runLength * 4)) yield
  }
  for (let width = runLength; width < items.length; width *= 2) {
    const to: T[] = []
    for (let start = 0; start < items.length; start += 2 * width) {
      const middle = Math.min(start + width, items.length)
      const end = Math.min(start + 2 * width, items.length)
      let [left, right] = [start, middle]
      while (left < middle || right < end) {
        if (budget.isDueAfter()) yield
        const takesLeft = right >= end || (left < middle && compare(from[left]!, from[right]!) <= 0)
        to.push(from[takesLeft ? left++ : right++]!)
      }
    }
    from = to
  }
  return from
}

/** The frames in order. */
export function* sortBy(
  frames: readonly Frame[],
  keys: readonly SortBy[],
  budget: Budget,
): Steps<readonly Frame[]> {
  const keyed: { readonly frame: Frame; readonly values: readonly Value[] }[] = []
  for (const frame of frames) {
    if (budget.isDueAfter(keys.length)) yield
    keyed.push({ frame, values: keys.map(({ key }) => key.run(frame)) })
  }
  const inOrder = yield* sorted(
    keyed,
    (a, b) => {
      for (const [index, { key, descending, nullsFirst = descending }] of keys.entries()) {
        const order = compareKeys(a.values[index]!, b.values[index]!, key.type, descending, nullsFirst)
        if (order !== 0) return order
      }
      return 0
    },
    budget,
  )
  return inOrder.map(({ frame }) => frame)
}

/** Compares two values for ORDER BY. */
export function compareKeys(
  a: Value,
  b: Value,
  type: number,
  descending: boolean,
  nullsFirst: boolean,
): number {
  if (a === null || b === null) return a === b ? 0 : (a === null) === nullsFirst ? -1 : 1
  const order = compareValues(a, b, type)
  return descending ? -order : order
}
