/**
 * The stock of `snowflake`: ids from the time that this node's worker id has reserved.
 *
 * Invariants
 *  1. An id carries the worker id whose reserved time its own time lies in, whole units of it only.
 *  2. A new claim of a worker id, the same or another, starts above everything that its bound covered before.
 *  3. A new stock starts above what any stock of this process used under the same claim: an incarnation that
 *     follows another within a unit of time repeats nothing.
 */
import { describe, FahaoError } from '../base/errors.ts'
import type { Layout } from '../ids/layout.ts'
import type { Run } from '../ids/run.ts'
import type { ClockHand } from './clock-hand.ts'
import type { Stock } from './stock.ts'
import { borrowedUp } from './timestamp-stock.ts'
import type { Worker } from './worker.ts'

/** What a snowflake's stock is made of. */
export type SnowflakeStockOptions = {
  readonly worker: Worker
  readonly layout: Layout
  /** First unit of time of this incarnation. */
  readonly floorUnit: number
  readonly name: string
}

/** See the invariants at the top of the file. */
export class SnowflakeStock implements Stock {
  low = false
  readonly reserved = 0
  readonly released = 0
  readonly #hand: ClockHand
  readonly #options: SnowflakeStockOptions
  #claim = 0
  #start = 0
  #markUnit = 0

  constructor(hand: ClockHand, options: SnowflakeStockOptions) {
    this.#hand = hand
    this.#options = options
  }

  take(count: number, run: Run): number {
    const taken = this.#hand.take(count, run)
    if (this.#hand.seenTime >= this.#markUnit) this.low = true
    return taken
  }

  available(): number {
    return this.#hand.available()
  }

  collect(count: number): Run[] | undefined {
    const runs = this.#hand.collect(count)
    if (this.#hand.seenTime >= this.#markUnit) this.low = true
    return runs
  }

  async refill(demand: number): Promise<void> {
    this.low = false
    const { worker, layout } = this.#options
    const units =
      Math.max(this.#hand.position, this.#options.floorUnit) + 1 + Math.ceil(demand / this.#hand.capacity)
    await worker.secure(layout.epochUs + units * layout.unitUs)
    this.#grant()
  }

  ranDry(): void {}

  waitMs(): number | undefined {
    return this.#hand.waitMs()
  }

  whyDry(cause: unknown): FahaoError {
    const { name } = this.#options
    if (this.#hand.waitMs() !== undefined) return borrowedUp(name)
    if (cause instanceof FahaoError && cause.code === 'WORKERID') return cause
    const why =
      cause === undefined ? 'the engine has not answered in time' : `the engine said: ${describe(cause)}`
    return new FahaoError('DRY', `generator '${name}' has no reserved time in hand and ${why}; retry`, {
      cause,
    })
  }

  nextIsSafe(): boolean {
    return this.#options.layout.totalBits <= 53
  }

  lastIssued(): bigint | undefined {
    return this.#hand.lastIssued()
  }

  seconds(): number {
    const units = Math.max(0, this.#hand.end - this.#hand.position)
    return (units * this.#options.layout.unitUs) / 1_000_000
  }

  close(): Promise<void> {
    const { worker, layout } = this.#options
    if (this.#hand.issuedAny) worker.used(this.#claim, layout.epochUs + this.#hand.untouched * layout.unitUs)
    this.#hand.clear()
    this.low = false
    return Promise.resolve()
  }

  #grant(): void {
    const { worker, layout, floorUnit, name } = this.#options
    const nodes = 2 ** layout.nodeBits
    if (worker.id >= nodes) {
      throw new FahaoError(
        'WORKERID',
        `worker id ${worker.id} does not fit the ${layout.nodeBits} node bits of generator '${name}'; give this node one below ${nodes}`,
      )
    }
    if (worker.claim !== this.#claim) {
      this.#claim = worker.claim
      this.#start = Math.max(floorUnit, Math.ceil((worker.unusedUs - layout.epochUs) / layout.unitUs))
    }
    const end = Math.min(
      Math.floor((worker.boundUs - layout.epochUs) / layout.unitUs),
      2 ** Math.min(layout.timeBits, 53),
    )
    if (end <= this.#hand.position) throw this.#full()
    this.#hand.grant(worker.id, Math.max(0, this.#start), end)
    this.#markUnit = Math.floor((worker.boundUs - worker.leadUs - layout.epochUs) / layout.unitUs)
  }

  #full(): FahaoError {
    return new FahaoError(
      'EXHAUSTED',
      `the time field of generator '${this.#options.name}' is full; use a layout with a later epoch under another name`,
    )
  }
}
