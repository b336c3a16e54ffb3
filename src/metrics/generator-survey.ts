/**
 * The survey of a node: what its generators have counted together, which of them are used most or in need, and which have series of
 * their own. All other ones are one series.
 *
 * Invariants
 *  1. At most twice `seriesMax` names are shown.
 *  2. A name stays for `stayUs` after it was last in need, or among the `seriesMax` that are used most; also when its generator
 *     has left memory. `seriesMax` places are for names in need, as many for the others: a name that waits for a place gets the
 *     next one that is free.
 *  3. A count of a name only rises: it is what was counted while the name was shown. A name that was away goes on from what it
 *     had, if it is remembered, and else begins at 0, as after a restart.
 *  4. A count of all others only rises: it is what was counted of generators while they were not shown. With those that are shown, and
 *     that were, it is all that was counted, as of the newest survey.
 *  5. What a reader sees depends on no other reader. One that may not name every generator sees fewer of the same series.
 */
import { LruMap } from '../base/lru-map.ts'
import type { Parts, Turns } from '../base/turns.ts'
import type { Catalogue, Sample } from '../catalogue/catalogue.ts'
import type { EndedFigures } from '../catalogue/ended-figures.ts'
import { isBatched } from '../catalogue/issuing-right.ts'
import { sampleOf } from '../catalogue/survey.ts'
import { byNeed, byUse, counted, gauges, generatorMetrics, needOf } from './generator-series.ts'

/** The label of all generators without series of their own. No generator has it: names have no white space. */
export const otherGenerators = '(all others)'

/** How long a name stays. */
const stayUs = 3_600_000_000
/** How many names that were shown are remembered, as a multiple of `seriesMax`. */
const rememberedTimes = 4
/** How many generators are told of first of all. At most half of them are told of because they are in need. */
export const busiestMax = 200
/** How many parts of a survey are done at a time: in each of them, 250 generators are seen. */
const partsTogether = 20
/** The time of a part, as the bytes of a reply that take as long. */
const partWork = 65_536

/** What was counted, in the order of `counted`. */
type Counts = number[]
const issuedAt = counted.findIndex(({ figure }) => figure === 'issued')

/** A name with series of its own. */
type Shown = {
  readonly name: string
  /** What was counted while it was shown. */
  readonly own: Counts
  /** By its generator, at the last look. */
  seen: Counts
  /** What `own` was when the newest survey saw it, and when it was told last. */
  surveyed: Counts
  told: Counts
  untilUs: number
  /** Undefined: its generator is not open. */
  sample: Sample | undefined
}

/** A name with its values, in the order of `generatorMetrics`. */
export type Series = Pick<Shown, 'name' | 'sample'> & { readonly values: readonly (number | undefined)[] }

/** What is surveyed. */
export type SurveySources = {
  readonly catalogue: Pick<Catalogue, 'survey' | 'shown'>
  readonly timeline: { nowUs(): number }
  readonly turns: Turns
}

/** The first ones in an order of all that are added. */
class FirstOf {
  readonly #most: number
  readonly #order: (a: Sample, b: Sample) => number
  readonly #samples: Sample[] = []
  #last: Sample | undefined

  constructor(most: number, order: (a: Sample, b: Sample) => number) {
    this.#most = most
    this.#order = order
  }

  /** Returns those that are not among the first ones. */
  add(sample: Sample): readonly Sample[] {
    if (this.#last !== undefined && this.#order(this.#last, sample) <= 0) return [sample]
    this.#samples.push(sample)
    return this.#samples.length > 2 * this.#most ? this.#sort() : []
  }

  /** The first ones in their order, and the rest. */
  end(): readonly [first: readonly Sample[], rest: readonly Sample[]] {
    const rest = this.#sort()
    return [this.#samples, rest]
  }

  #sort(): Sample[] {
    this.#samples.sort(this.#order)
    const rest = this.#samples.splice(this.#most)
    if (rest.length > 0) this.#last = this.#samples.at(-1)
    return rest
  }
}

/** What a survey has found. */
class Found {
  /** Of all generators, open or not. */
  readonly totals: Counts = zeros()
  /** How many are open. */
  count = 0
  /** How long the buffered ids of the one last whose buffer empties first; undefined: none is used. */
  inHandSeconds: number | undefined
  /** The layouts of the clock kinds, and of snowflakes alone. */
  readonly layouts = new Set<string>()
  readonly workerLayouts = new Set<string>()
  readonly needy: FirstOf
  readonly busy: FirstOf
  /** The names that are told first of all, see `busiest`. */
  busiest: readonly string[] = []
  /** Of the names that were shown when it saw them. */
  readonly shown = new Map<string, Sample>()
  /** Of generators without series of their own. */
  readonly gauges: (number | undefined)[] = gauges.map(() => undefined)

  constructor(most: number) {
    this.needy = new FirstOf(most, byNeed)
    this.busy = new FirstOf(most, byUse)
  }

  /** Adds the gauges of those that have no series of their own. */
  merge(samples: Iterable<Sample>): void {
    for (const sample of samples) {
      if (this.shown.get(sample.name) === sample) continue
      for (const [at, { value: read, merge }] of gauges.entries()) {
        const [before, value] = [this.gauges[at], read(sample)]
        if (before === undefined || value === undefined) this.gauges[at] = before ?? value
        else this.gauges[at] = merge === 'sum' ? before + value : Math.min(before, value)
      }
    }
  }
}

/** Surveys the generators of a node, part by part. */
export class GeneratorSurvey {
  readonly #seriesMax: number
  readonly #sources: SurveySources
  readonly #shown = new Map<string, Shown>()
  /** What names had when they left, which is in `#left`. */
  readonly #remembered: LruMap<Counts>
  /** What was told of names while they were shown that are not shown now. */
  readonly #left: Counts = zeros()
  readonly #others: Counts = zeros()
  /** Whether the counts of a generator that is open may be among those of all others. */
  #isShared = false
  #parts: Parts<EndedFigures> | undefined
  #finding: Found
  #found: Found

  constructor(seriesMax: number, sources: SurveySources) {
    this.#seriesMax = seriesMax
    this.#sources = sources
    this.#remembered = new LruMap(rememberedTimes * seriesMax)
    this.#finding = this.#findNothing()
    this.#found = this.#findNothing()
  }

  /** What the newest survey that has come to its end has found. */
  get found(): Pick<Found, 'count' | 'inHandSeconds' | 'layouts' | 'workerLayouts' | 'busiest'> {
    return this.#found
  }

  /** What all generators have issued together since the node started. */
  get issued(): number {
    return this.#found.totals[issuedAt]!
  }

  /** Goes on with the survey, by five thousand generators at most. Resolves to whether it has come to its end. */
  async goOn(): Promise<boolean> {
    const { catalogue, turns } = this.#sources
    let isOver: boolean | undefined = false
    for (let part = 0; part < partsTogether && !isOver; part++) {
      await turns.take(partWork)
      this.#parts ??= catalogue.survey((sample) => this.#see(sample))
      const { done, value } = this.#parts.next()
      if (done) this.#end(value)
      isOver = done
    }
    // The caller goes on in a turn that is not used up.
    await turns.take(0)
    return isOver === true
  }

  /** The names that have series of their own. */
  get names(): readonly string[] {
    return [...this.#shown.keys()]
  }

  /** The series of now. `mayTell`: which names the reader is told; undefined: all, and all others together. */
  series(mayTell?: (name: string) => boolean): readonly Series[] {
    const own: Series[] = []
    for (const shown of this.#shown.values()) {
      if (mayTell?.(shown.name) === false) continue
      this.#look(shown)
      const { name, sample } = shown
      const counts = [...shown.own]
      if (mayTell === undefined) shown.told = counts
      const values = inOrder(
        counts,
        gauges.map(({ value }) => sample && value(sample)),
      )
      own.push({ name, sample, values })
    }
    if (mayTell !== undefined) return own
    const counts = this.#others.map((count) => (this.#isShared || count > 0 ? count : undefined))
    return [...own, { name: otherGenerators, sample: undefined, values: inOrder(counts, this.#found.gauges) }]
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    if (this.#shown.size > 2 * this.#seriesMax) throw new Error('more names are shown than may be')
  }

  #findNothing(): Found {
    return new Found(Math.max(this.#seriesMax, busiestMax))
  }

  #see(sample: Sample): void {
    const found = this.#finding
    const { name, definition, mode, stats } = sample
    found.count++
    // Batches are never buffered, and would always count as dry.
    if (!isBatched(mode, definition) && (stats.ratePerSecond > 0 || stats.waiting > 0))
      found.inHandSeconds = Math.min(found.inHandSeconds ?? stats.inHandSeconds, stats.inHandSeconds)
    addTo(found.totals, stats)
    if (definition.layout !== undefined) found.layouts.add(definition.layout)
    if (definition.kind === 'snowflake') found.workerLayouts.add(definition.layout!)
    const shown = this.#shown.get(name)
    if (shown !== undefined) {
      found.shown.set(name, sample)
      note(shown, sample)
      shown.surveyed = [...shown.own]
    }
    found.merge((needOf(sample) > 0 ? found.needy : found.busy).add(sample))
  }

  /** Shows what the survey has found. `ended`: counted of generators that had left memory when it began. */
  #end(ended: EndedFigures): void {
    const found = this.#finding
    const nowUs = this.#sources.timeline.nowUs()
    this.#parts = undefined
    this.#finding = this.#findNothing()
    this.#found = found
    addTo(found.totals, ended)
    const [[needy, lessNeedy], [busy, lessBusy]] = [found.needy.end(), found.busy.end()]
    found.merge([...lessNeedy, ...lessBusy])
    const first = needy.slice(0, busiestMax / 2)
    const others = [...busy, ...needy.slice(first.length)].sort(byUse)
    found.busiest = [...first, ...others].slice(0, busiestMax).map(({ name }) => name)
    for (const shown of this.#shown.values()) {
      if (found.shown.has(shown.name)) continue
      this.#look(shown)
      shown.surveyed = [...shown.own]
    }
    const isNew = ({ name }: Sample) => !this.#shown.has(name)
    const [newNeedy, newBusy] = [needy.filter(isNew), busy.filter(isNew)]
    this.#stay(newBusy, nowUs)
    this.#leave(nowUs)
    this.#admit(newNeedy, true, nowUs)
    this.#admit(newBusy, false, nowUs)
    this.#isShared ||= found.gauges.some((value) => value !== undefined)
    const all = [...this.#shown.values()]
    for (const [at, total] of found.totals.entries()) {
      const rest = all.reduce((sum, { surveyed }) => sum - surveyed[at]!, total - this.#left[at]!)
      // A generator that is closed during the survey is in neither of the two.
      this.#others[at] = Math.max(this.#others[at]!, rest)
    }
  }

  #look(shown: Shown): void {
    const { catalogue, timeline } = this.#sources
    const generator = catalogue.shown(shown.name)
    note(shown, generator && sampleOf(generator, timeline.nowUs()))
  }

  /** Names in need, and those that are used most, `busy` among them, stay from now on. */
  #stay(busy: readonly Sample[], nowUs: number): void {
    const samples = [...this.#shown.values()].flatMap(({ sample }) => sample ?? [])
    const most = [...samples, ...busy].sort(byUse).slice(0, this.#seriesMax)
    const needy = samples.filter((each) => needOf(each) > 0)
    for (const { name } of [...most, ...needy]) {
      const staying = this.#shown.get(name)
      if (staying !== undefined) staying.untilUs = nowUs + stayUs
    }
  }

  /** Names whose time is over leave. What was not told of them is a count of all others. */
  #leave(nowUs: number): void {
    for (const { name, untilUs, told } of this.#shown.values()) {
      if (untilUs > nowUs) continue
      this.#shown.delete(name)
      this.#remembered.set(name, told)
      for (const [at, count] of told.entries()) this.#left[at]! += count
      const sample = this.#found.shown.get(name)
      this.#found.shown.delete(name)
      if (sample !== undefined) this.#found.merge([sample])
    }
  }

  /** Shows the first ones, while there are places for those in need or for the others. */
  #admit(samples: readonly Sample[], inNeed: boolean, nowUs: number): void {
    const shown = [...this.#shown.values()]
    const alike = shown.filter(({ sample }) => sample !== undefined && needOf(sample) > 0 === inNeed).length
    const places = Math.max(0, this.#seriesMax - Math.max(alike, shown.length - this.#seriesMax))
    for (const sample of samples.slice(0, places)) this.#show(sample, nowUs)
    this.#found.merge(samples.slice(places))
  }

  #show(sample: Sample, nowUs: number): void {
    const { name, stats } = sample
    const seen = countsOf(stats)
    const before = this.#remembered.get(name)
    this.#remembered.delete(name)
    for (const [at, count] of (before ?? []).entries()) this.#left[at]! -= count
    // What all others have is not taken from them.
    const own = before ?? (this.#isShared ? zeros() : seen)
    const told = before ?? zeros()
    this.#shown.set(name, {
      name,
      own: [...own],
      seen,
      surveyed: [...own],
      told,
      untilUs: nowUs + stayUs,
      sample,
    })
  }
}

/** All values in the order of `generatorMetrics`. */
function inOrder(counts: Series['values'], others: Series['values']): Series['values'] {
  let [count, gauge] = [0, 0]
  return generatorMetrics.map(({ figure }) => (figure === undefined ? others[gauge++] : counts[count++]))
}

function zeros(): Counts {
  return counted.map(() => 0)
}

function countsOf(figures: EndedFigures): Counts {
  return counted.map(({ figure }) => figures[figure])
}

function addTo(sum: Counts, figures: EndedFigures): void {
  for (let at = 0; at < counted.length; at++) sum[at]! += figures[counted[at]!.figure]
}

/** Adds what was counted since the last look. The counts of a generator that was opened again begin at 0. */
function note(shown: Shown, sample: Sample | undefined): void {
  shown.sample = sample
  // Of one that is closed it is not known what was counted since the last look.
  const counts = sample === undefined ? zeros() : countsOf(sample.stats)
  for (const [at, count] of counts.entries()) {
    const before = shown.seen[at]!
    if (sample !== undefined) shown.own[at]! += count >= before ? count - before : count
  }
  shown.seen = counts
}
