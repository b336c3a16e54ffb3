/**
 * The last hour of a node, and this second: what was issued, by all generators and by those that issue most, and the errors that
 * clients got.
 *
 * Invariants
 *  1. Memory is bounded for any number of generators: some 3 KB for each of `keptMax` of them, and for each code of errors.
 *  2. So is the work of a second: it goes on with the survey of all generators, and looks at each generator that is kept.
 *  3. No count falls, also where a generator leaves memory and begins at 0 again.
 *  4. What all generators have issued together is late by one survey, which takes a second for each 5,000 of them.
 *  5. Kept are the busiest and what is asked for; of the others, those that were so last.
 */
import { type Clock, repeat, type Timer } from '../base/clock.ts'
import type { ErrorCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Catalogue, GeneratorInUse, Sample } from '../catalogue/catalogue.ts'
import { isBatched } from '../catalogue/issuing-right.ts'
import { sampleOf } from '../catalogue/survey.ts'
import { idleStats, type Kind } from '../issuing/issuer.ts'
import type { GeneratorSurvey } from './generator-survey.ts'
import { cpuSeconds } from './process-metrics.ts'
import { EvenTotal, RisingCount, SteppedCount, stepSeconds } from './steps.ts'

/** How many generators are kept: the busiest, and all that readers can ask for at a time. */
export const keptMax = 3200
const stepUs = stepSeconds * 1_000_000

/** What a history is of. */
export type HistorySources = {
  readonly catalogue: Pick<Catalogue, 'shown'>
  readonly survey: GeneratorSurvey
  readonly clock: Clock
  readonly timeline: Pick<Timeline, 'nowUs'>
  /** The errors by code that each protocol has counted. */
  readonly errors: () => Iterable<ReadonlyMap<ErrorCode, number>>
}

/** One generator that is kept. */
class Kept {
  readonly #name: string
  #kind: Kind
  readonly issued: SteppedCount
  readonly #refills = new RisingCount()
  readonly #waits = new RisingCount()
  #read: () => Sample | undefined = () => undefined
  #text: string | undefined

  constructor(generator: GeneratorInUse) {
    this.#name = JSON.stringify(generator.name)
    this.#kind = generator.kind
    this.issued = new SteppedCount(generator.stats().issued)
  }

  /** @param generator undefined: it has left memory. */
  take(generator: GeneratorInUse | undefined, nowUs: number): void {
    this.#text = undefined
    this.#read = () => generator && sampleOf(generator, nowUs)
    if (generator === undefined) return
    this.#kind = generator.kind
    const { issued, refills, waits } = generator.stats()
    this.issued.take(issued)
    this.#refills.take(refills)
    this.#waits.take(waits)
  }

  /** Its name and figures as a member in JSON: made once for all readers. */
  get text(): string {
    this.#text ??= this.#write()
    return this.#text
  }

  #write(): string {
    const sample = this.#read()
    const { stats = idleStats, leftIds = null, endsSeconds = null } = sample ?? {}
    const batched = sample !== undefined && isBatched(sample.mode, sample.definition)
    return `${this.#name}:${JSON.stringify({
      issued: this.issued.total,
      buffered: stats.inHand,
      // Infinity becomes null. Batches are never buffered, and would always count as dry.
      bufferedSeconds: batched ? null : stats.inHandSeconds,
      refills: this.#refills.total,
      waits: this.#waits.total,
      kind: this.#kind,
      waiting: stats.waiting,
      left: leftIds,
      endsSeconds,
      perSecond: stats.ratePerSecond,
      callersPerSecond: stats.callersPerSecond,
    })}`
  }
}

/** Follows a node until it is closed. */
export class History {
  /** What the process has used. */
  process = { cpuSeconds: 0, memoryBytes: 0 }
  readonly #sources: HistorySources
  readonly #timer: Timer
  readonly #kept = new Map<string, Kept>()
  readonly #errors = new Map<ErrorCode, SteppedCount>()
  readonly #all: EvenTotal
  readonly #issued = new SteppedCount()
  /** What readers ask for. */
  readonly #readers = new Map<() => void, readonly string[]>()
  /** The newest step that is over. */
  #step: number
  /** What the newest survey had found whose total is known. */
  #found: GeneratorSurvey['found']

  constructor(sources: HistorySources) {
    const nowUs = sources.timeline.nowUs()
    this.#sources = sources
    this.#found = sources.survey.found
    this.#step = stepBefore(nowUs)
    this.#all = new EvenTotal(nowUs)
    this.#timer = repeat(sources.clock, 1000, () => this.#look())
  }

  /** Calls `tell` once a second, and keeps the generators of these names. Returns what ends that. */
  follow(names: readonly string[], tell: () => void): () => void {
    this.#readers.set(tell, names)
    this.#keep(names)
    return () => this.#readers.delete(tell)
  }

  /** The names of the busiest generators, and of those in need. */
  get busiest(): readonly string[] {
    return this.#sources.survey.found.busiest
  }

  /** What all generators have issued together since the node started. */
  get issued(): number {
    return this.#issued.total
  }

  /** What a generator has issued since it is kept, and before as far as it is known; undefined: it is not kept. */
  issuedBy(name: string): number | undefined {
    return this.#kept.get(name)?.issued.total
  }

  /** The name and the figures of a generator as a member in JSON; undefined: it is not kept. */
  textOf(name: string): string | undefined {
    return this.#kept.get(name)?.text
  }

  /** How often clients got each error since the node started. */
  get errors(): Partial<Record<ErrorCode, number>> {
    return Object.fromEntries([...this.#errors].map(([code, count]) => [code, count.total]))
  }

  /** The newest step that is over. */
  get step(): number {
    return this.#step
  }

  /** See `SteppedCount.upTo`: of all generators, or of one that is kept. */
  steps(step: number, name?: string): number[] {
    return (name === undefined ? this.#issued : this.#kept.get(name)?.issued)?.upTo(step) ?? []
  }

  /** As `steps`, of errors by code. */
  errorSteps(step: number): Partial<Record<ErrorCode, number[]>> {
    return Object.fromEntries([...this.#errors].map(([code, count]) => [code, count.upTo(step)]))
  }

  /** Ends its timer. */
  close(): void {
    this.#timer.cancel()
  }

  async #look(): Promise<void> {
    const { catalogue, survey, timeline, errors } = this.#sources
    await survey.goOn()
    // A scrape may have brought the survey to its end.
    if (survey.found !== this.#found) this.#all.know(survey.issued, timeline.nowUs())
    this.#found = survey.found
    for (const names of [this.busiest, ...this.#readers.values()]) this.#keep(names)
    const nowUs = timeline.nowUs()
    for (const [name, kept] of this.#kept) kept.take(catalogue.shown(name), nowUs)
    this.#issued.take(this.#all.at(nowUs))
    this.#countErrors(errors())
    const step = stepBefore(nowUs)
    const passed = step - this.#step
    if (passed > 0) {
      this.#step = step
      for (const { issued } of this.#kept.values()) issued.end(step, passed)
      for (const count of [this.#issued, ...this.#errors.values()]) count.end(step, passed)
    }
    this.process = { cpuSeconds: cpuSeconds(), memoryBytes: process.memoryUsage.rss() }
    for (const tell of this.#readers.keys()) tell()
  }

  /** Keeps these longer than the others. */
  #keep(names: readonly string[]): void {
    for (const name of names) {
      const generator = this.#kept.has(name) ? undefined : this.#sources.catalogue.shown(name)
      const kept = this.#kept.get(name) ?? (generator && new Kept(generator))
      if (kept === undefined) continue
      this.#kept.delete(name)
      this.#kept.set(name, kept)
    }
    if (this.#kept.size <= keptMax) return
    // There is room for all of these: a reader that asks for ever more names loses its own.
    const wanted = new Set([...this.busiest, ...[...this.#readers.values()].flat()])
    for (const name of this.#kept.keys()) {
      if (this.#kept.size <= keptMax) break
      if (!wanted.has(name)) this.#kept.delete(name)
    }
  }

  #countErrors(protocols: Iterable<ReadonlyMap<ErrorCode, number>>): void {
    const sums = new Map<ErrorCode, number>()
    for (const errors of protocols)
      for (const [code, count] of errors) sums.set(code, (sums.get(code) ?? 0) + count)
    for (const [code, sum] of sums) {
      const known = this.#errors.get(code) ?? new SteppedCount()
      this.#errors.set(code, known)
      known.take(sum)
    }
  }
}

/** The newest step that is over at a time. */
function stepBefore(nowUs: number): number {
  return Math.floor(nowUs / stepUs) - 1
}
