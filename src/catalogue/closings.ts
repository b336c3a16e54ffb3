/** How many generators are closed: in parts, and those first whose ranges are worth most where time is short. */
import type { Clock } from '../base/clock.ts'
import { nextTurn } from '../engine/next-turn.ts'

/** How many generators are looked at, and closed, before others run: some milliseconds. */
const closedTogether = 100
/** For how long generators give back what they hold when a node stops, and how many parts of them do at a time. */
const closingMaxMs = 2000
const closingLanes = 8

/** How many orders of magnitude are told apart, by powers of two. */
const magnitudes = 54

/**
 * Those with more buffered ids first, without regard to differences below a factor of two. Takes time in proportion to their
 * number, as a sort would not.
 */
export function valuableFirst<Item extends { readonly buffered: number }>(items: Iterable<Item>): Item[] {
  const byMagnitude: Item[][] = Array.from({ length: magnitudes }, () => [])
  for (const item of items) {
    const magnitude = Math.ceil(Math.log2(item.buffered + 1))
    byMagnitude[Math.min(magnitude, magnitudes - 1)]!.push(item)
  }
  return byMagnitude.reverse().flat()
}

/** What was not given back in time, as a log says it. Undefined: nothing. */
export function gapText(left: readonly { readonly buffered: number }[]): string | undefined {
  let generators = 0
  let ids = 0
  for (const { buffered } of left) {
    if (buffered === 0) continue
    generators++
    ids += buffered
  }
  if (generators === 0) return undefined
  return `${generators} generators had no time to give back what they had buffered: gaps of ${ids} ids in all`
}

/**
 * Closes all generators of a table, or those alone of which `rights` says that they are over, and lets others run between
 * parts. No other one is woken.
 */
export async function closeInParts<Item>(
  names: { entries(): Iterable<number>; ownAt(entry: number): Item | undefined },
  close: (item: Item) => Promise<void>,
  rights?: { isOver(entry: number): boolean },
): Promise<void> {
  let part: Promise<void>[] = []
  let looked = 0
  for (const entry of [...names.entries()]) {
    const item = rights?.isOver(entry) === false ? undefined : names.ownAt(entry)
    if (item !== undefined) part.push(close(item))
    if (++looked % closedTogether !== 0) continue
    await Promise.all(part)
    part = []
    await nextTurn()
  }
  await Promise.all(part)
}

/** Closes generators, the most valuable first, and returns those for which there was no time. */
export async function closeInTime<Item extends { readonly buffered: number }>(
  items: Iterable<Item>,
  clock: Clock,
  close: (item: Item) => Promise<void>,
  { lanes, together } = { lanes: closingLanes, together: closedTogether },
): Promise<Item[]> {
  const untilUs = clock.monoUs() + closingMaxMs * 1000
  const queue = valuableFirst(items)
  let next = 0
  const lane = async () => {
    while (next < queue.length && clock.monoUs() < untilUs) {
      const part = queue.slice(next, next + together)
      next += part.length
      await Promise.all(part.map(close))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return queue.slice(next)
}
