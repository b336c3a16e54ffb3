/** How long each layout in use lasts, and for how many nodes. */
import type { Generator } from '../../catalogue/catalogue.ts'
import type { Definition } from '../../catalogue/definition.ts'
import { timeEndUs } from '../../ids/layout.ts'
import { formatLayout, parseLayout } from '../../ids/layout-text.ts'
import { layouts } from '../../ids/presets.ts'

// Of presets that are the same, the first gives the name.
const presetNames = new Map(
  Object.entries(layouts)
    .reverse()
    .map(([name, layout]) => [formatLayout(layout), name]),
)

/** A layout and when its time field is full. */
export type LayoutEnd = {
  /** A preset's name, or the layout's text. */
  readonly layout: string
  readonly seconds: number
}

/** The layouts of these generators, each once. `nowUs`: Unix µs. */
export function layoutEnds(generators: Iterable<Generator>, nowUs: number): LayoutEnd[] {
  return layoutsOf(generators, () => true).map(({ name, layout }) => ({
    layout: name,
    seconds: (Number(timeEndUs(layout)) - nowUs) / 1_000_000,
  }))
}

/** How many worker ids fit into each layout of these generators that has some. */
export function layoutWorkers(generators: Iterable<Generator>): { layout: string; workers: number }[] {
  return layoutsOf(generators, ({ kind }) => kind === 'snowflake').map(({ name, layout }) => ({
    layout: name,
    workers: 2 ** layout.nodeBits,
  }))
}

function layoutsOf(generators: Iterable<Generator>, isWanted: (definition: Definition) => boolean) {
  const texts = new Set<string>()
  for (const { definition } of generators)
    if (definition.layout !== undefined && isWanted(definition)) texts.add(definition.layout)
  return [...texts].map((text) => ({ name: presetNames.get(text) ?? text, layout: parseLayout(text) }))
}
