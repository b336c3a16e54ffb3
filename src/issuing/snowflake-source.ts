/**
 * The stock of `snowflake`: ids from the time that this node's worker id has reserved.
 *
 * Invariants
 *  1. An id carries the worker id whose reserved time its own time lies in, whole units of it only.
 *  2. A new claim of a worker id, the same or another, starts above everything that its bound covered before.
 *  3. A new stock starts above what any stock of this process used under the same claim: an incarnation that
 *     follows another within a unit of time repeats nothing.
 *  4. More time is used only if, after it had been reserved, this incarnation was still the generator's own: one
 *     that follows with another layout starts above every worker id's reserved time.
 */
import { FahaoError } from '../base/errors.ts'
import type { ClockBuffer } from '../ids/clock-buffer.ts'
import type { Layout } from '../ids/layout.ts'
import { ClockSource, fullTime } from './clock-source.ts'
import type { Incarnation } from './incarnation.ts'
import type { Worker } from './worker.ts'

/** What the stocks of all generators that are defined alike share. */
export type SnowflakeSourceOptions = {
  readonly worker: Worker
  readonly layout: Layout
  /** Rejects with STALE when another incarnation has taken this one's place. */
  readonly confirm: (life: Incarnation) => Promise<void>
}

/** See the invariants at the top of the file. */
export class SnowflakeSource extends ClockSource {
  readonly reserved = 0
  readonly released = 0
  readonly #options: SnowflakeSourceOptions
  #claim = 0
  #start = 0

  constructor(hand: ClockBuffer, life: Incarnation, options: SnowflakeSourceOptions) {
    super(hand, life, options.layout)
    this.#options = options
  }

  async refill(demand: number, _contiguous: number, ratePerSecond: number): Promise<void> {
    this.low = false
    const { worker, layout, confirm } = this.#options
    const position = Math.max(this.hand.position, Number(this.life.floor))
    const spare = this.spare(demand, ratePerSecond, worker.leadUs)
    await worker.secure(layout.epochUs + Math.min(position + spare, this.unitMax) * layout.unitUs)
    const { boundUs, claim } = worker
    const end = Math.min(this.#unitAt(boundUs), this.unitMax)
    if (end > this.hand.end || claim !== this.#claim) {
      await confirm(this.life)
      // What was reserved belongs to the claim that it was reserved under.
      if (worker.claim !== claim || worker.id < 0) throw changedHands(this.name)
      this.#grant(end)
    }
    this.markAt(boundUs - worker.leadUs, spare)
    const full = this.hand.end >= this.unitMax && this.hand.waitMs() === undefined
    if (full && demand > this.hand.available()) throw fullTime(this.name)
  }

  override whyDry(cause: unknown): FahaoError {
    const isWorkers = this.waitMs() === undefined && cause instanceof FahaoError && cause.code === 'WORKERID'
    return isWorkers ? cause : super.whyDry(cause)
  }

  moveTo(): Promise<void> {
    return Promise.reject(
      new FahaoError('WRONGTYPE', `'${this.name}' is a snowflake: it follows the clock and cannot be set`),
    )
  }

  /** Time is the worker id's and not the generator's. */
  adopt(): void {}

  leave(): undefined {
    const { worker, layout } = this.#options
    if (this.hand.lastIssued() !== undefined)
      worker.used(this.#claim, layout.epochUs + this.hand.untouched * layout.unitUs)
    this.hand.clear()
    this.low = false
  }

  async close(): Promise<void> {
    this.leave()
  }

  #grant(end: number): void {
    const { worker, layout } = this.#options
    const nodes = 2 ** layout.nodeBits
    if (worker.id >= nodes) {
      throw new FahaoError(
        'WORKERID',
        `worker id ${worker.id} does not fit the ${layout.nodeBits} node bits of generator '${this.name}'; give this node one below ${nodes}`,
      )
    }
    if (worker.claim !== this.#claim) {
      this.#claim = worker.claim
      this.#start = Math.max(
        0,
        Number(this.life.floor),
        Math.ceil((worker.unusedUs - layout.epochUs) / layout.unitUs),
      )
    }
    this.hand.grant(worker.id, this.#start, end)
  }

  /** The unit of time that `us`, in Unix µs, lies in. */
  #unitAt(us: number): number {
    const { epochUs, unitUs } = this.#options.layout
    return Math.floor((us - epochUs) / unitUs)
  }
}

function changedHands(name: string): FahaoError {
  return new FahaoError(
    'CONFLICT',
    `this node's worker id changed while time was reserved for '${name}'; retry`,
  )
}
