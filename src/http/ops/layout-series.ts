/** How long each layout in use lasts. */
import type { Generator } from '../../catalogue/catalogue.ts'
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
  const texts = new Set<string>()
  for (const { definition } of generators) if (definition.layout !== undefined) texts.add(definition.layout)
  return [...texts].map((text) => ({
    layout: presetNames.get(text) ?? text,
    seconds: (Number(timeEndUs(parseLayout(text))) - nowUs) / 1_000_000,
  }))
}
