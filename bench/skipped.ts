/** What a crash skips: ten thousand sequences, each used at a rate of its own, on a clock that the program moves. */
import type { Lifetime } from '../test/launch/lifetime.ts'
import { everyMaxMs, horizonMs, type Skipped, skippedByCrash } from '../test/unit/catalogue/skipped-ids.ts'
import type { Figure, Section } from './report.ts'
import type { Effort } from './rounds.ts'

/** More than a horizon, after which the rate of each is known. */
const seconds = 900
/** Sequences by the time from one id to the next, in ms: up to the bound, and more than the one before. */
const bands: readonly (readonly [what: string, upToMs: number])[] = [
  ['100 to 1,000 a second', 10],
  ['10 to 100 a second', 100],
  ['1 to 10 a second', 1000],
  ['6 to 60 a minute', 10_000],
  ['1 to 6 a minute', everyMaxMs - 1],
  ['1 a minute', everyMaxMs],
]
const histogram = [0, 10, 100, 1000, 10_000, 100_000, 1_000_000, Number.POSITIVE_INFINITY]

/** With an adaptive step, and beside it with the default step of named generators. */
export async function skipped(_lifetime: Lifetime, { quick }: Effort): Promise<Section[]> {
  const trial = { sequences: quick ? 1000 : 10_000, seconds }
  const how = `${trial.sequences} sequences, used at rates from once a minute to 1,000 a second (a tenth of them once a minute, of the others as many in each decade) for ${seconds} s; then a crash. Skipped: the ids between the last one before it and the first one after it. Median; all sequences.`
  const sections: Section[] = []
  for (const step of ['adaptive', 1000] as const) {
    const all = await skippedByCrash({ ...trial, options: { kind: 'sequence', step } })
    sections.push({
      name: `Ids that a crash skips, step ${step}`,
      how,
      figures: [...byRate(all, step === 'adaptive'), ...counts(all)],
    })
  }
  return sections
}

function byRate(all: readonly Skipped[], isBounded: boolean): Figure[] {
  return bands.flatMap(([what, upToMs], at) => {
    const aboveMs = bands[at - 1]?.[1] ?? 0
    const some = all.filter(({ everyMs }) => everyMs > aboveMs && everyMs <= upToMs)
    const sizes = some.map((each) => each.skipped).sort((a, b) => a - b)
    if (sizes.length === 0) return []
    const median: Figure = {
      what: `skipped, used ${what}`,
      unit: 'ids',
      value: sizes[Math.floor(sizes.length / 2)]!,
      low: sizes[0]!,
      high: sizes.at(-1)!,
    }
    if (!isBounded) return [median]
    if (upToMs === everyMaxMs) {
      const value = sizes.at(-1)!
      return [median, { ...median, what: `the most, used ${what}`, value, low: value, budget: { most: 10 } }]
    }
    const shares = some.map(({ everyMs, skipped: size }) => size / Math.ceil((horizonMs + 1000) / everyMs))
    const most = Math.max(...shares)
    const bound: Figure = {
      what: `the most, to what a horizon needs, used ${what}`,
      unit: '×',
      value: most,
      low: most,
      high: most,
      budget: { most: 1 },
    }
    return [median, bound]
  })
}

function counts(all: readonly Skipped[]): Figure[] {
  return histogram.map((upTo, at) => {
    const above = at === 0 ? -1 : histogram[at - 1]!
    const value = all.filter(({ skipped: size }) => size > above && size <= upTo).length
    const what =
      upTo === 0
        ? 'that skip none'
        : `that skip ${(above + 1).toLocaleString('en')}${Number.isFinite(upTo) ? ` to ${upTo.toLocaleString('en')}` : ' or more'}`
    return { what, unit: 'sequences', value, low: value, high: value }
  })
}
