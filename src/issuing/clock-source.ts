/** What the stocks of the kinds that follow the clock have in common: a hand of time, and two marks for its refill. */
import { describe, FahaoError } from '../base/errors.ts'
import type { Reservation } from '../engine/engine.ts'
import type { ClockBuffer } from '../ids/clock-buffer.ts'
import type { FastRun } from '../ids/fast-run.ts'
import type { Layout } from '../ids/layout.ts'
import type { Run } from '../ids/run.ts'
import type { IdSource } from './id-source.ts'
import type { Incarnation } from './incarnation.ts'

/** Time that is always in hand beyond where ids stand. */
const spareUs = 1_000_000

/** All of a stock but where its time comes from. */
export abstract class ClockSource implements IdSource {
  low = false
  abstract readonly reserved: number
  abstract readonly released: number
  protected readonly hand: ClockBuffer
  protected readonly life: Incarnation
  protected readonly layout: Layout
  /** Beyond this unit the time field is full. */
  protected readonly unitMax: number
  /** A refill is due when the timeline, or when ids, have come this far. */
  #markUs = 0
  #markTime = 0

  constructor(hand: ClockBuffer, life: Incarnation, layout: Layout) {
    this.hand = hand
    this.life = life
    this.layout = layout
    this.unitMax = 2 ** Math.min(layout.timeBits, 53)
  }

  get ready(): FastRun {
    return this.hand.ready
  }

  get name(): string {
    return this.life.name
  }

  take(count: number, run: Run): number {
    const taken = this.hand.take(count, run)
    this.#look()
    return taken
  }

  get issued(): number {
    return this.hand.issued
  }

  available(): number {
    return this.hand.available()
  }

  collect(count: number): Run[] | undefined {
    const runs = this.hand.collect(count)
    this.#look()
    return runs
  }

  abstract refill(demand: number, contiguous: number, ratePerSecond: number): Promise<void>

  abstract moveTo(newest: bigint): Promise<void>

  /** Time in hand lasts whatever the rate, and the marks tell when rate uses it up sooner. */
  observe(): void {}

  /** Time is reserved for so long, not in sizes. */
  resize(): void {}

  ranDry(): void {}

  waitMs(): number | undefined {
    return this.hand.waitMs()
  }

  whyDry(cause: unknown): FahaoError {
    const { name } = this
    if (this.hand.waitMs() !== undefined) return borrowedUp(name)
    const why =
      cause === undefined ? 'the engine has not answered in time' : `the engine said: ${describe(cause)}`
    return new FahaoError('DRY', `generator '${name}' has no reserved time in hand and ${why}; retry`, {
      cause,
    })
  }

  nextIsSafe(): boolean {
    return this.layout.totalBits <= 53
  }

  lastIssued(): bigint | undefined {
    return this.hand.lastIssued()
  }

  seconds(): number {
    const units = Math.max(0, this.hand.end - this.hand.position)
    return (units * this.layout.unitUs) / 1_000_000
  }

  abstract adopt(tail: Reservation): void

  abstract leave(): Reservation | undefined

  abstract close(): Promise<void>

  /** Units that should be in hand beyond where ids stand, at a rate that is to last for `forUs`. */
  protected spare(demand: number, ratePerSecond: number, forUs: number): number {
    const filled = ((ratePerSecond * forUs) / 1_000_000 + demand) / this.hand.capacity
    return Math.ceil(Math.max(filled, spareUs / this.layout.unitUs))
  }

  /** The next refill is due when the timeline has come to `us`, in Unix µs, or ids so near to the end. */
  protected markAt(us: number, spare: number): void {
    this.#markUs = us
    this.#markTime = this.hand.end - spare + 1
  }

  #look(): void {
    if (this.hand.seenUs >= this.#markUs || this.hand.seenTime >= this.#markTime) this.low = true
  }
}

/** What to tell callers when no time is left. */
export function fullTime(name: string): FahaoError {
  return new FahaoError(
    'EXHAUSTED',
    `the time field of generator '${name}' is full; use a layout with a later epoch under another name`,
  )
}

/** What to tell callers who wait for time itself. */
function borrowedUp(name: string): FahaoError {
  return new FahaoError(
    'CLOCK',
    `generator '${name}' has borrowed all of borrowMax from the future; retry, or use a layout with more sequence bits or a finer unit`,
  )
}
