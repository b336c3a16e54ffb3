/** The order of frames and values by the keys of ORDER BY. */
import type { Frame } from './plan.ts'
import type { SortBy } from './scope.ts'
import { compareValues, type Value } from './values.ts'

/** The frames in order. */
export function sortBy(frames: readonly Frame[], keys: readonly SortBy[]): Frame[] {
  const keyed = frames.map((frame) => ({ frame, values: keys.map(({ key }) => key.run(frame)) }))
  keyed.sort((a, b) => {
    a.frame.context.budget.step()
    for (const [index, { key, descending, nullsFirst = descending }] of keys.entries()) {
      const order = compareKeys(a.values[index]!, b.values[index]!, key.type, descending, nullsFirst)
      if (order !== 0) return order
    }
    return 0
  })
  return keyed.map(({ frame }) => frame)
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
