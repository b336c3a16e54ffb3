/** How long each layout in use lasts, and for how many nodes. */
import type { GeneratorInUse } from '../catalogue/catalogue.ts'
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

/** How long until the time field of each layout of these generators is full, in seconds. `nowUs`: Unix µs. */
export function layoutEnds(generators: Iterable<GeneratorInUse>, nowUs: number): LayoutValue[] {
  const secondsLeft = (layout: Layout) => (Number(timeEndUs(layout)) - nowUs) / 1_000_000
  return layoutValues(generators, secondsLeft)
}

/** How many worker ids fit into each layout of these snowflakes. */
export function layoutWorkers(generators: Iterable<GeneratorInUse>): LayoutValue[] {
  const snowflakes = [...generators].filter(({ kind }) => kind === 'snowflake')
  return layoutValues(snowflakes, ({ nodeBits }) => 2 ** nodeBits)
}

/** How many worker ids callers can lease of each layout of these snowflakes; none while it is unknown. */
export function freeWorkers(
  generators: Iterable<GeneratorInUse>,
  count: Pick<WorkerIdCount, 'free'> | undefined,
): LayoutValue[] {
  if (count === undefined) return []
  const snowflakes = [...generators].filter(({ kind }) => kind === 'snowflake')
  return layoutValues(snowflakes, ({ nodeBits }) => count.free(nodeBits))
}

function layoutValues(
  generators: Iterable<GeneratorInUse>,
  value: (layout: Layout) => number,
): LayoutValue[] {
  const texts = new Set([...generators].flatMap(({ definition }) => definition.layout ?? []))
  return [...texts].map((text) => [{ layout: presetNames.get(text) ?? text }, value(parseLayout(text))])
}
