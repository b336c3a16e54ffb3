/** How long each layout in use lasts, and for how many nodes. */
import { type Layout, timeEndUs } from '../ids/layout.ts'
import { formatLayout, parseLayout } from '../ids/layout-text.ts'
import { layouts } from '../ids/presets.ts'
import type { WorkerIdCount } from '../leasing/worker-id-usage.ts'

// The first of several equal presets gives the name.
const presetNames = new Map(
  Object.entries(layouts)
    .reverse()
    .map(([name, layout]) => [formatLayout(layout), name]),
)

/** A layout by its preset's name, or by its text. */
type LayoutValue = readonly [labels: { layout: string }, value: number]

/** How long until the time field of each of these layouts is full, in seconds. `nowUs`: Unix µs. */
export function layoutEnds(texts: Iterable<string>, nowUs: number): LayoutValue[] {
  return layoutValues(texts, (layout) => (Number(timeEndUs(layout)) - nowUs) / 1_000_000)
}

/** How many worker ids fit into each of these layouts of snowflakes. */
export function layoutWorkers(texts: Iterable<string>): LayoutValue[] {
  return layoutValues(texts, ({ nodeBits }) => 2 ** nodeBits)
}

/** How many worker ids callers can lease of each of these layouts of snowflakes; none while it is unknown. */
export function freeWorkers(
  texts: Iterable<string>,
  count: Pick<WorkerIdCount, 'free'> | undefined,
): LayoutValue[] {
  return count === undefined ? [] : layoutValues(texts, ({ nodeBits }) => count.free(nodeBits))
}

function layoutValues(texts: Iterable<string>, value: (layout: Layout) => number): LayoutValue[] {
  return Array.from(texts, (text) => [{ layout: presetNames.get(text) ?? text }, value(parseLayout(text))])
}
