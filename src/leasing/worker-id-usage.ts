/**
 * How many worker ids of the store are taken, as last read.
 *
 * Invariants
 *  1. A scrape of metrics never waits for the engine: it gets the last count, and begins the next one if that is old.
 *  2. For metrics at most one count runs at a time, and one begins at most every `countEveryUs`.
 *  3. Descriptions of generators wait for a count that is at most `recentUs` old; all that are asked for meanwhile share it.
 */
import type { Timeline } from '../base/timeline.ts'
import type { Engine } from '../engine/engine.ts'
import { callersShare } from '../ids/limits.ts'
import { type ListedWorker, listedWorkers } from './listed-workers.ts'

const countEveryUs = 10_000_000
const recentUs = 1_000_000

/** Worker ids at one moment. */
export class WorkerIdCount {
  /** By holder. `resting`: returned, or free after an advance, and not yet to be claimed. */
  readonly node: number
  readonly caller: number
  readonly resting: number
  readonly #taken: readonly number[]
  readonly #leased: readonly ListedWorker[]

  constructor(listed: readonly ListedWorker[]) {
    const held = listed.filter(({ state }) => state === 'held')
    this.#leased = held.filter(({ by }) => by === 'caller')
    this.caller = this.#leased.length
    this.node = held.length - this.caller
    this.resting = listed.length - held.length
    this.#taken = listed.map(({ worker }) => worker)
  }

  /** How many worker ids are held or rest. */
  get taken(): number {
    return this.#taken.length
  }

  /** How many worker ids callers can still lease with a layout of `nodeBits`: those in `callersShare` that are not taken. */
  free(nodeBits: number): number {
    const { first, end } = callersShare(nodeBits)
    return end - first - this.#taken.filter((id) => id >= first && id < end).length
  }

  /** How many ids callers hold of those that a layout with `nodeBits` has room for; leased for `generator`, or for all. */
  leased(nodeBits: number, generator?: string): number {
    const fits = this.#leased.filter(({ worker }) => worker < 2 ** nodeBits)
    return generator === undefined ? fits.length : fits.filter((each) => each.generator === generator).length
  }
}

/** Counts worker ids now and then, as long as it is asked. */
export class WorkerIdUsage {
  readonly #engine: Engine
  readonly #timeline: Timeline
  #newest: WorkerIdCount | undefined
  #countedUs = Number.NEGATIVE_INFINITY
  #isCounting = false
  #recent: Promise<WorkerIdCount> | undefined
  #recentFromUs = Number.NEGATIVE_INFINITY

  constructor(engine: Engine, timeline: Timeline) {
    this.#engine = engine
    this.#timeline = timeline
  }

  /** The last count; undefined before the first, and while the engine does not answer. */
  newest(): WorkerIdCount | undefined {
    const nowUs = this.#timeline.monoUs()
    if (!this.#isCounting && nowUs - this.#countedUs >= countEveryUs) {
      this.#countedUs = nowUs
      this.#isCounting = true
      void this.#count()
    }
    return this.#newest
  }

  /** A count from a moment ago at most. Errors: UNAVAILABLE, ENGINE. */
  recent(): Promise<WorkerIdCount> {
    const nowUs = this.#timeline.monoUs()
    if (this.#recent === undefined || nowUs - this.#recentFromUs >= recentUs) {
      this.#recentFromUs = nowUs
      this.#recent = this.#read()
    }
    return this.#recent
  }

  async #read(): Promise<WorkerIdCount> {
    const listed: ListedWorker[] = []
    for await (const worker of listedWorkers(this.#engine, this.#timeline)) listed.push(worker)
    return new WorkerIdCount(listed)
  }

  async #count(): Promise<void> {
    try {
      this.#newest = await this.#read()
    } catch {
      // The engine's failures have a metric of their own.
      this.#newest = undefined
    } finally {
      this.#isCounting = false
    }
  }
}
