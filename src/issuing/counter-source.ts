/**
 * The stock of `sequence` and `segment`: ranges reserved from a counter.
 *
 * Invariants
 *  1. Only values below a bound that the engine has acknowledged are in hand (P2).
 *  2. Every reserve's floor is at least the highest end that this process has held, so that an engine which
 *     forgot does not open a range twice here.
 *  3. A range whose reserve failed or whose outcome is unknown is never in hand (P8).
 *  4. Release takes everything out of hand first, and happens once, at the end, with no reserve from here under way. So
 *     does leaving it to another holder.
 *  5. Neither goes lower than where the range began before which somebody else was last at the counter: they may
 *     have raised its floor to anywhere below, also into what is in hand.
 */
import { describe, FahaoError, hasCode } from '../base/errors.ts'
import type { Engine, Reservation } from '../engine/engine.ts'
import type { FastRun } from '../ids/fast-run.ts'
import type { Run } from '../ids/run.ts'
import type { IdSource } from './id-source.ts'
import { type Incarnation, reserveFor, type WriterIdentity, writerOf } from './incarnation.ts'
import { exhausted } from './issuer.ts'
import type { RangeBuffer } from './range-buffer.ts'
import { lowMark, type RefillNeed, type RefillSizes, refillSize, stepAfter, stepMaxBinds } from './step.ts'

/**
 * One horizon of ids is at most this many times what this process has issued: the reserve grows with traffic that
 * lasts, and a short burst costs a counter no more than a few tens of times what it used.
 */
const sustainedShare = 16

/** What the stocks of all generators that are defined alike share. */
export type CounterSourceOptions = RefillSizes & {
  readonly engine: Engine
  /** The largest id. */
  readonly max: bigint
  /** Distance between ids. */
  readonly increment: number
  /** For how long ids should last without the engine, in seconds. */
  readonly horizonSeconds: number
  /** Refills are a multiple of this many ids. */
  readonly stepMultiple: number
  /** Rejects when this process may not reserve (a strict kind that another process owns). */
  readonly mayReserve: (name: string) => Promise<void>
  /** Told when `stepMax` begins to keep refills of a generator from lasting the horizon. */
  readonly onStepMax?: (name: string) => void
}

/** See the invariants at the top of the file. */
export class CounterSource implements IdSource {
  low = false
  reserved = 0
  released = 0
  readonly #hand: RangeBuffer
  readonly #life: Incarnation
  readonly #options: CounterSourceOptions
  #sizes: RefillSizes
  /** The least that a refill reserves now, in ids. */
  #step: number
  /** A refill starts when fewer ids are in hand. */
  #mark = 0
  /** The highest end that was ever held here. */
  #floor: bigint
  /** The version that the counter has if it has been there since it was last moved from here. */
  #version: bigint | undefined
  /** From here on, nobody else has been at the counter as long as its version is that one. */
  #aloneFrom = 0n
  /** The bound as last seen. */
  #bound: bigint
  /** Whether the step has grown since the last refill: an engine that is away is no reason to grow on. */
  #grown = false
  #stepMaxBinds = false

  /** @param bound the counter's bound when the generator was opened; 0 when it had never been used. */
  constructor(hand: RangeBuffer, bound: bigint, life: Incarnation, options: CounterSourceOptions) {
    this.#hand = hand
    this.#life = life
    this.#options = options
    this.#sizes = options
    this.#step = options.step
    this.#bound = bound > life.floor ? bound : life.floor
    this.#floor = this.#bound
  }

  get ready(): FastRun {
    return this.#hand.ready
  }

  get name(): string {
    return this.#life.name
  }

  take(count: number, run: Run): number {
    const taken = this.#hand.take(count, run)
    this.#look()
    // Once a refill is due, ids below the mark are as ready as those above it.
    this.#hand.prepare(this.low ? 0 : this.#mark)
    return taken
  }

  get issued(): number {
    return this.#hand.issued
  }

  available(): number {
    return this.#hand.left
  }

  collect(count: number, contiguous: boolean): Run[] | undefined {
    if (this.#hand.left < count || (contiguous && !this.#hand.align(count))) return undefined
    const runs = this.#hand.collect(count)
    this.#look()
    return runs
  }

  async refill(demand: number, contiguous: number, ratePerSecond: number): Promise<void> {
    this.low = false
    const need = this.#need(demand, contiguous, ratePerSecond)
    const wanted = refillSize(need)
    this.#step = stepAfter(need)
    this.#mark = Math.ceil(lowMark({ ...need, step: this.#step }))
    if (wanted === 0) return
    this.#warn(need)
    await this.#options.mayReserve(this.name)
    await this.#reserve(wanted)
  }

  observe(ratePerSecond: number): void {
    const mark = Math.ceil(lowMark(this.#need(0, 0, ratePerSecond)))
    if (mark <= this.#mark) return
    this.#mark = mark
    this.#look()
  }

  resize({ step, stepMax }: RefillSizes): void {
    this.#sizes = { step, stepMax }
    this.#step = step
  }

  ranDry(): void {
    // The very first ids are always waited for.
    if (this.reserved === 0 || this.#grown) return
    this.#grown = true
    this.#step = Math.min(this.#sizes.stepMax, this.#step * 2)
  }

  waitMs(): undefined {
    return undefined
  }

  whyDry(cause: unknown): FahaoError {
    const why =
      cause === undefined ? 'the engine has not answered in time' : `the engine said: ${describe(cause)}`
    return new FahaoError('DRY', `generator '${this.name}' has no ids in hand and ${why}; retry`, {
      cause,
    })
  }

  nextIsSafe(): boolean {
    return this.#hand.nextIsSafe(this.#bound)
  }

  lastIssued(): bigint | undefined {
    return this.#hand.newest(this.#bound, this.#life.floor)
  }

  seconds(ratePerSecond: number): number {
    return ratePerSecond > 0 ? this.#hand.left / ratePerSecond : Number.POSITIVE_INFINITY
  }

  async moveTo(newest: bigint): Promise<void> {
    const floor = newest + 1n
    await this.#options.mayReserve(this.name)
    const sealed = await reserveFor(this.#life, this.#options.engine, { size: 0n, floor })
    // If what is left in hand is on top of the bound, it is so under the version that the seal has made.
    this.#raise(sealed)
    this.#hand.dropBelow(floor)
  }

  adopt(tail: Reservation): void {
    this.#options.engine.acquire(this.#counter, tail.end)
    this.#raise(tail)
    this.#hand.add(tail)
    this.low = true
  }

  leave(): Reservation | undefined {
    const tail = this.#takeOut()
    if (tail !== undefined) this.#options.engine.transfer(this.#counter, tail.start)
    return tail
  }

  async close(): Promise<void> {
    const tail = this.#takeOut()
    if (tail === undefined) return
    // A refused or lost release is a gap, which is allowed; trying again is not.
    const gone = await this.#options.engine
      .release(this.#counter, tail, tail.start, this.#holder)
      .catch(() => false)
    if (gone) this.released += Number(tail.end - tail.start)
  }

  get #counter(): string {
    return this.#life.counter
  }

  get #holder(): WriterIdentity {
    return writerOf(this.#life)
  }

  /** Lets go of everything. What of it is on top of the bound, and nobody else can have raised a floor into. */
  #takeOut(): Reservation | undefined {
    const end = this.#floor
    const version = this.#version
    const untouched = this.#hand.untouchedUpTo(end)
    this.#hand.clear()
    this.low = false
    this.#mark = 0
    if (version === undefined || untouched === undefined) return undefined
    const start = untouched > this.#aloneFrom ? untouched : this.#aloneFrom
    return start < end ? { start, end, version } : undefined
  }

  #look(): void {
    if (this.#hand.left < this.#mark) this.low = true
  }

  #need(demand: number, contiguous: number, rate: number): RefillNeed {
    const { increment, max } = this.#options
    const { step, stepMax } = this.#sizes
    const horizonSeconds = Math.min(this.#options.horizonSeconds, (sustainedShare * this.issued) / rate)
    return {
      rate,
      horizonSeconds: rate > 0 ? horizonSeconds : this.#options.horizonSeconds,
      inHand: this.#hand.left,
      demand,
      contiguous,
      space: Number(max + 1n - this.#bound) / increment,
      step: this.#step,
      stepMin: step,
      stepMax,
    }
  }

  #warn(need: RefillNeed): void {
    const binds = stepMaxBinds(need)
    if (binds && !this.#stepMaxBinds) this.#options.onStepMax?.(this.name)
    this.#stepMaxBinds = binds
  }

  /** Reserves `ids` ids, or all that are left. */
  async #reserve(ids: number): Promise<void> {
    const { engine, max, increment, stepMultiple } = this.#options
    const size = BigInt(Math.ceil(ids / stepMultiple) * stepMultiple) * BigInt(increment)
    const request = { floor: this.#floor, max: max + 1n }
    try {
      this.#own(await reserveFor(this.#life, engine, { ...request, size }))
    } catch (error) {
      if (!hasCode(error, 'EXHAUSTED')) throw error
      const { bound } = await engine.counter(this.#counter)
      if (bound > this.#bound) this.#bound = bound
      const left = max + 1n - (bound > this.#floor ? bound : this.#floor)
      if (left <= 0n) throw exhausted(this.name, max)
      this.#own(await reserveFor(this.#life, engine, { ...request, size: left < size ? left : size }))
    }
  }

  #own(reservation: Reservation): void {
    this.#grown = false
    this.reserved += Number(reservation.end - reservation.start)
    this.#raise(reservation)
    this.#hand.add(reservation)
  }

  #raise({ start, end, version }: Reservation): void {
    if (this.#version === undefined || version !== this.#version + 1n) this.#aloneFrom = start
    // An engine that forgot can end below what is held: that is not on top of this bound.
    this.#version = end < this.#floor ? undefined : version
    if (end > this.#bound) this.#bound = end
    if (end > this.#floor) this.#floor = end
  }
}
