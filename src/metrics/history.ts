/**
 * The last hour of a node, and this second: what was issued, by all generators and by those that issue most, and the errors that
 * clients got.
 *
 * Invariants
 *  1. Memory is bounded for any number of generators: some 3 KB for each of `keptMax` of them, and for each code of errors.
 *  2. So is the work of a second: `partsPerSecond` parts of a survey of all generators, and a look at each generator that is kept.
 *  3. No count falls, also where a generator leaves memory and begins at 0 again.
 *  4. What all generators have issued together is late by one survey, which takes a second for each 10,000 of them.
 *  5. Kept are the busiest and what is asked for; of the others, those that were so last.
 */
import { type Clock, repeat, type Timer } from '../base/clock.ts'
import type { ErrorCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Parts, Turns } from '../base/turns.ts'
import type { Catalogue, Survey } from '../catalogue/catalogue.ts'
import type { IssuerStats } from '../issuing/issuer.ts'
import { EvenTotal, RisingCount, SteppedCount, stepSeconds } from './steps.ts'

/** How many of the busiest generators are shown. */
export const busiestMax = 200
/** How many generators are kept: the busiest, and all that readers can ask for at a time. */
export const keptMax = 3200
const partsPerSecond = 10
/** The time of a part of a survey, as the bytes of a reply that take as long: a thousand generators take 0.2 ms. */
const partWork = 65_536
const stepUs = stepSeconds * 1_000_000

/** What a history is of. */
export type HistorySources = {
  readonly catalogue: Pick<Catalogue, 'survey' | 'shown'>
  readonly clock: Clock
  readonly timeline: Pick<Timeline, 'nowUs'>
  readonly turns: Turns
  /** The errors by code that each protocol has counted. */
  readonly errors: () => Iterable<ReadonlyMap<ErrorCode, number>>
}

/** One generator that is kept. */
class Kept {
  readonly #name: string
  readonly issued: SteppedCount
  readonly #refills = new RisingCount()
  readonly #waits = new RisingCount()
  #buffered = 0
  #bufferedSeconds = 0
  #text: string | undefined

  constructor(name: string, stats: IssuerStats) {
    this.#name = JSON.stringify(name)
    this.issued = new SteppedCount(stats.issued)
    this.take(stats)
  }

  take({ issued, refills, waits, inHand, inHandSeconds }: IssuerStats): void {
    this.issued.take(issued)
    this.#refills.take(refills)
    this.#waits.take(waits)
    this.#buffered = inHand
    this.#bufferedSeconds = inHandSeconds
    this.#text = undefined
  }

  /** Its name and figures as a member in JSON: made once for all readers. */
  get text(): string {
    this.#text ??= `${this.#name}:${JSON.stringify({
      issued: this.issued.total,
      buffered: this.#buffered,
      // Infinity becomes null.
      bufferedSeconds: this.#bufferedSeconds,
      refills: this.#refills.total,
      waits: this.#waits.total,
    })}`
    return this.#text
  }
}

/** Follows a node until it is closed. */
export class History {
  /** The names of the busiest generators. */
  busiest: readonly string[] = []
  readonly #sources: HistorySources
  readonly #timer: Timer
  readonly #kept = new Map<string, Kept>()
  readonly #errors = new Map<ErrorCode, SteppedCount>()
  readonly #all: EvenTotal
  readonly #issued = new SteppedCount()
  /** What readers ask for. */
  readonly #readers = new Map<() => void, readonly string[]>()
  #survey: Parts<Survey> | undefined
  /** The newest step that is over. */
  #step: number

  constructor(sources: HistorySources) {
    const nowUs = sources.timeline.nowUs()
    this.#sources = sources
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
    await this.#goOnSurvey()
    for (const names of this.#readers.values()) this.#keep(names)
    const { catalogue, timeline, errors } = this.#sources
    for (const [name, kept] of this.#kept) {
      const stats = catalogue.shown(name)?.stats()
      if (stats !== undefined) kept.take(stats)
    }
    const nowUs = timeline.nowUs()
    this.#issued.take(this.#all.at(nowUs))
    this.#countErrors(errors())
    const step = stepBefore(nowUs)
    const passed = step - this.#step
    if (passed > 0) {
      this.#step = step
      for (const { issued } of this.#kept.values()) issued.end(step, passed)
      for (const count of [this.#issued, ...this.#errors.values()]) count.end(step, passed)
    }
    for (const tell of this.#readers.keys()) tell()
  }

  async #goOnSurvey(): Promise<void> {
    const { catalogue, timeline, turns } = this.#sources
    this.#survey ??= catalogue.survey(busiestMax)
    for (let part = 0; part < partsPerSecond; part++) {
      await turns.take(partWork)
      const { done, value } = this.#survey.next()
      if (!done) continue
      this.#survey = undefined
      this.#all.know(value.issued, timeline.nowUs())
      this.busiest = value.busiest
      return this.#keep(value.busiest)
    }
  }

  /** Keeps these longer than the others. */
  #keep(names: readonly string[]): void {
    for (const name of names) {
      const stats = this.#kept.has(name) ? undefined : this.#sources.catalogue.shown(name)?.stats()
      const kept = this.#kept.get(name) ?? (stats && new Kept(name, stats))
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
