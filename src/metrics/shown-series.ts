/**
 * Which generators have series of their own for one reader of the metrics, and what these have counted. All others are one series.
 *
 * Invariants
 *  1. At most twice `seriesMax` names are shown, and no name that the reader's permissions do not reach.
 *  2. A name stays for `stayUs` after it was last in need, or among the `seriesMax` with the most used ids; also when its generator
 *     has left memory. `seriesMax` places are for names in need, as many for the others: a name that waits for a place gets the
 *     next one that is free.
 *  3. A count of a name only rises: it is what was counted while the name was shown. A name that was away goes on from what it
 *     had, if it is remembered, and else begins at 0, as after a restart.
 *  4. A count of all others only rises: it is what was counted of generators while they were not shown. With those that are shown, and
 *     that were, it is all that was counted.
 */
import type { Access } from '../auth/access.ts'
import { LruMap } from '../base/lru-map.ts'
import type { Turns } from '../base/turns.ts'
import type { GeneratorInUse } from '../catalogue/catalogue.ts'
import type { EndedFigures } from '../catalogue/ended-figures.ts'
import {
  counted,
  type GeneratorMetric,
  generatorMetrics,
  needOf,
  type Sample,
  sample,
  usedIds,
} from './generator-series.ts'

/** The label of all generators without series of their own. No generator has it: names have no white space. */
export const otherGenerators = '(all others)'

/** How long a name stays. */
const stayUs = 3_600_000_000
/** How many names that were shown are remembered, as a multiple of `seriesMax`. */
const rememberedTimes = 4
/** The time to sample a generator, as the bytes of a reply that take as long. */
const sampleWork = 512

/** What was counted, in the order of `counted`. */
type Counts = number[]

/** A name with series of its own. */
type Shown = {
  readonly name: string
  /** While it was shown. */
  readonly own: Counts
  /** By its generator, at the last look. */
  seen: Counts
  untilUs: number
  /** Undefined: its generator is not open. */
  sample: Sample | undefined
}

/** The time and the turns of a look, and what was counted of the generators that have left memory before. */
export type LookOptions = { readonly nowUs: number; readonly turns: Turns; readonly ended: EndedFigures }

/** The series for one reader. */
export class ShownSeries {
  readonly #seriesMax: number
  readonly #shown = new Map<string, Shown>()
  /** What names had when they left, which is in `#left`. */
  readonly #remembered: LruMap<Counts>
  /** What was counted of names while they were shown that are not shown now. */
  readonly #left: Counts = counted.map(() => 0)
  readonly #others: Counts = counted.map(() => 0)
  #gauges = new Map<GeneratorMetric, number>()
  /** Whether the counts of a generator that is open may be among those of all others. */
  #isShared = false
  #access: Access | undefined

  constructor(seriesMax: number) {
    this.#seriesMax = seriesMax
    this.#remembered = new LruMap(rememberedTimes * seriesMax)
  }

  /** The samples of the generators that are open and shown. */
  get samples(): Sample[] {
    return [...this.#shown.values()].flatMap(({ sample }) => sample ?? [])
  }

  /** Samples every generator, in parts that let others run. `access`: of the reader. */
  async look(
    generators: Iterable<GeneratorInUse>,
    access: Access,
    { nowUs, turns, ended }: LookOptions,
  ): Promise<void> {
    this.#present(access)
    for (const shown of this.#shown.values()) shown.sample = undefined
    const totals = countsOf(ended)
    const gauges = new Map<GeneratorMetric, number>()
    const needy: Sample[] = []
    const busy: Sample[] = []
    const merge = (samples: readonly Sample[]) => {
      for (const each of samples) mergeGauges(gauges, each)
    }
    for (const generator of generators) {
      await turns.take(sampleWork + access.work)
      const each = sample(generator, nowUs)
      addTo(totals, countsOf(each.stats))
      const shown = this.#shown.get(generator.name)
      if (shown !== undefined) shown.sample = each
      else if (!access.reaches(generator.name)) mergeGauges(gauges, each)
      else if (needOf(each) > 0) needy.push(each)
      else busy.push(each)
      if (needy.length > 2 * this.#seriesMax + 100) merge(firstOf(needy, byNeed, this.#seriesMax))
      if (busy.length > 2 * this.#seriesMax + 100) merge(firstOf(busy, byUse, this.#seriesMax))
    }
    this.#stay(busy, nowUs)
    merge(this.#leave(nowUs))
    // Not of those that have just left: what they have counted since the last look is not shown any more.
    for (const shown of this.#shown.values()) noteCounts(shown)
    merge(this.#admit(needy.sort(byNeed), true, nowUs))
    merge(this.#admit(busy.sort(byUse), false, nowUs))
    this.#isShared ||= gauges.size > 0
    this.#gauges = gauges
    const all = [...this.#shown.values()].map(({ own }) => own)
    for (const [at, total] of totals.entries()) {
      const rest = all.reduce((sum, own) => sum - own[at]!, total - this.#left[at]!)
      // A generator that is closed during the look is in neither of the two for a moment.
      this.#others[at] = Math.max(this.#others[at]!, rest)
    }
  }

  /** The values of one metric. */
  valuesOf(metric: GeneratorMetric): { readonly generator: string; readonly value: number }[] {
    const at = counted.findIndex(({ name }) => name === metric.name)
    const values = [...this.#shown.values()].flatMap(({ name, own, sample }) => {
      const value = at < 0 ? sample && metric.value(sample) : own[at]
      return value === undefined ? [] : [{ generator: name, value }]
    })
    const others =
      at < 0
        ? this.#gauges.get(metric)
        : this.#others[at]! > 0 || this.#isShared
          ? this.#others[at]
          : undefined
    return others === undefined ? values : [...values, { generator: otherGenerators, value: others }]
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    if (this.#shown.size > 2 * this.#seriesMax) throw new Error('more names are shown than may be')
  }

  /** Takes the present permissions of the reader. */
  #present(access: Access): void {
    const before = this.#access
    this.#access = access
    if (before === undefined || before === access || (before.reachesAll && access.reachesAll)) return
    this.#isShared = true
    for (const shown of this.#shown.values()) if (!access.reaches(shown.name)) this.#hide(shown)
  }

  /** Names in need, and those with the most used ids, `busy` among them, stay from now on. */
  #stay(busy: readonly Sample[], nowUs: number): void {
    const shown = new Map(
      [...this.#shown.values()].flatMap((each) => (each.sample ? [[each.sample, each]] : [])),
    )
    const most = [...shown.keys(), ...busy].sort(byUse).slice(0, this.#seriesMax)
    const needy = [...shown.keys()].filter((each) => needOf(each) > 0)
    for (const each of [...most, ...needy]) {
      const staying = shown.get(each)
      if (staying !== undefined) staying.untilUs = nowUs + stayUs
    }
  }

  /** Names whose time is over leave. Returns the samples of their generators. */
  #leave(nowUs: number): Sample[] {
    const over = [...this.#shown.values()].filter(({ untilUs }) => untilUs <= nowUs)
    for (const each of over) this.#hide(each)
    return over.flatMap(({ sample }) => sample ?? [])
  }

  #hide(shown: Shown): void {
    this.#shown.delete(shown.name)
    this.#remembered.set(shown.name, shown.own)
    addTo(this.#left, shown.own)
  }

  /** Shows the first ones, while there are places for those in need or for the others. Returns the rest. */
  #admit(samples: readonly Sample[], inNeed: boolean, nowUs: number): readonly Sample[] {
    const alike = this.samples.filter((each) => needOf(each) > 0 === inNeed).length
    const places = Math.max(0, this.#seriesMax - Math.max(alike, this.#shown.size - this.#seriesMax))
    for (const each of samples.slice(0, places)) this.#show(each, nowUs)
    return samples.slice(places)
  }

  #show(each: Sample, nowUs: number): void {
    const { name } = each.generator
    const counts = countsOf(each.stats)
    const before = this.#remembered.get(name)
    this.#remembered.delete(name)
    for (const [at, count] of (before ?? []).entries()) this.#left[at]! -= count
    // What all others have is not taken from them.
    const own = before ?? (this.#isShared ? counts.map(() => 0) : counts)
    this.#shown.set(name, { name, own: [...own], seen: counts, untilUs: nowUs + stayUs, sample: each })
  }
}

function countsOf(figures: EndedFigures): Counts {
  return counted.map(({ figure }) => figures[figure])
}

function addTo(sum: Counts, counts: Counts): void {
  for (const [at, count] of counts.entries()) sum[at]! += count
}

/** Adds what was counted since the last look. The counts of a generator that was opened again begin at 0. */
function noteCounts(shown: Shown): void {
  if (shown.sample === undefined) {
    // What was counted until it was closed is not known.
    shown.seen = shown.seen.map(() => 0)
    return
  }
  const counts = countsOf(shown.sample.stats)
  for (const [at, count] of counts.entries()) {
    const before = shown.seen[at]!
    shown.own[at]! += count >= before ? count - before : count
  }
  shown.seen = counts
}

/** Keeps the first ones in their order, and returns the others. */
function firstOf(samples: Sample[], order: (a: Sample, b: Sample) => number, most: number): Sample[] {
  return samples.sort(order).splice(most)
}

function byUse(a: Sample, b: Sample): number {
  return usedIds(b) - usedIds(a)
}

function byNeed(a: Sample, b: Sample): number {
  return needOf(b) - needOf(a) || byUse(a, b)
}

function mergeGauges(others: Map<GeneratorMetric, number>, sample: Sample): void {
  for (const metric of generatorMetrics) {
    if (metric.figure !== undefined) continue
    const value = metric.value(sample)
    if (value === undefined) continue
    const before = others.get(metric)
    if (before === undefined) others.set(metric, value)
    else others.set(metric, metric.merge === 'sum' ? before + value : Math.min(before, value))
  }
}
