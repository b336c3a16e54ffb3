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
import { describe, FahaoError } from '../base/errors.ts'
import type { Layout } from '../ids/layout.ts'
import type { Run } from '../ids/run.ts'
import type { ClockHand } from './clock-hand.ts'
import type { Life } from './life.ts'
import type { Ready } from './ready.ts'
import type { Stock } from './stock.ts'
import { borrowedUp, fullTime } from './timestamp-stock.ts'
import type { Worker } from './worker.ts'

/** What the stocks of all generators that are defined alike share. */
export type SnowflakeStockOptions = {
  readonly worker: Worker
  readonly layout: Layout
  /** Rejects with STALE when another incarnation has taken this one's place. */
  readonly confirm: (life: Life) => Promise<void>
}

/** Time that is always in hand beyond where ids stand. */
const spareUs = 1_000_000

/** See the invariants at the top of the file. */
export class SnowflakeStock implements Stock {
  low = false
  readonly reserved = 0
  readonly released = 0
  readonly #hand: ClockHand
  readonly #life: Life
  readonly #options: SnowflakeStockOptions
  #claim = 0
  #start = 0
  /** A refill is due when the timeline, or when ids, have come this far. */
  #markUs = 0
  #markTime = 0
  /** Beyond this unit the time field is full. */
  readonly #unitMax: number

  constructor(hand: ClockHand, life: Life, options: SnowflakeStockOptions) {
    this.#hand = hand
    this.#life = life
    this.#options = options
    this.#unitMax = 2 ** Math.min(options.layout.timeBits, 53)
  }

  get ready(): Ready {
    return this.#hand.ready
  }

  get name(): string {
    return this.#life.name
  }

  take(count: number, run: Run): number {
    const taken = this.#hand.take(count, run)
    this.#look()
    return taken
  }

  get issued(): number {
    return this.#hand.issued
  }

  available(): number {
    return this.#hand.available()
  }

  collect(count: number): Run[] | undefined {
    const runs = this.#hand.collect(count)
    this.#look()
    return runs
  }

  async refill(demand: number, _contiguous: number, ratePerSecond: number): Promise<void> {
    this.low = false
    const { worker, layout, confirm } = this.#options
    const position = Math.max(this.#hand.position, Number(this.#life.floor))
    const filled = ((ratePerSecond * worker.leadUs) / 1_000_000 + demand) / this.#hand.capacity
    const spare = Math.ceil(Math.max(filled, spareUs / layout.unitUs))
    await worker.secure(layout.epochUs + Math.min(position + spare, this.#unitMax) * layout.unitUs)
    const { boundUs, claim } = worker
    const end = Math.min(this.#unitAt(boundUs), this.#unitMax)
    if (end > this.#hand.end || claim !== this.#claim) {
      await confirm(this.#life)
      // What was reserved belongs to the claim that it was reserved under.
      if (worker.claim !== claim || worker.id < 0) throw changedHands(this.name)
      this.#grant(end)
    }
    this.#markUs = boundUs - worker.leadUs
    this.#markTime = this.#hand.end - spare + 1
    const full = this.#hand.end >= this.#unitMax && this.#hand.waitMs() === undefined
    if (full && demand > this.#hand.available()) throw fullTime(this.name)
  }

  /** Time in hand lasts whatever the rate, and the marks tell when rate uses it up sooner. */
  observe(): void {}

  ranDry(): void {}

  waitMs(): number | undefined {
    return this.#hand.waitMs()
  }

  whyDry(cause: unknown): FahaoError {
    const { name } = this
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

  moveTo(): Promise<void> {
    return Promise.reject(
      new FahaoError('WRONGTYPE', `'${this.name}' is a snowflake: it follows the clock and cannot be set`),
    )
  }

  close(): Promise<void> {
    const { worker, layout } = this.#options
    if (this.#hand.lastIssued() !== undefined)
      worker.used(this.#claim, layout.epochUs + this.#hand.untouched * layout.unitUs)
    this.#hand.clear()
    this.low = false
    return Promise.resolve()
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
        Number(this.#life.floor),
        Math.ceil((worker.unusedUs - layout.epochUs) / layout.unitUs),
      )
    }
    this.#hand.grant(worker.id, this.#start, end)
  }

  /** The unit of time that `us`, in Unix µs, lies in. */
  #unitAt(us: number): number {
    const { epochUs, unitUs } = this.#options.layout
    return Math.floor((us - epochUs) / unitUs)
  }

  #look(): void {
    if (this.#hand.seenUs >= this.#markUs || this.#hand.seenTime >= this.#markTime) this.low = true
  }
}

function changedHands(name: string): FahaoError {
  return new FahaoError(
    'CONFLICT',
    `this node's worker id changed while time was reserved for '${name}'; retry`,
  )
}
