/**
 * `sequence` where several processes share an engine and nobody leads: one reserve after the other, each for exactly
 * those who wait for it.
 *
 * Invariants
 *  1. A caller gets ids only from a reserve that was sent after it had come. So between a reply that was received
 *     and a request sent after it, on whatever node, lies the order of two reserves, and the counter keeps it (P3).
 *  2. Nothing is ever in hand: what a reserve opened for callers who have left meanwhile is dropped, and so is what
 *     may have been opened by one that failed (P8).
 *  3. Every reserve's floor is at least the highest end seen here, so that an engine which forgot does not open a
 *     range twice to this process.
 *  4. A caller gets all its ids from one reserve, so they are one run.
 */
import type { Timer } from '../base/clock.ts'
import { describe, FahaoError, hasCode } from '../base/errors.ts'
import type { Engine, Range } from '../engine/engine.ts'
import { Run } from '../ids/run.ts'
import { type Incarnation, reserveFor } from './incarnation.ts'
import { type DrawOptions, exhausted, type Issuer, type IssuerStats, unsafe } from './issuer.ts'
import { Meter } from './meter.ts'
import { countBelow, firstFrom } from './progression.ts'
import { Refills } from './refills.ts'
import type { ReservoirOptions } from './reservoir.ts'
import { aborted, type Waiter, WaitQueue } from './wait-queue.ts'

/** What those share that are defined alike. */
export type GroupCommitOptions = ReservoirOptions & {
  readonly engine: Engine
  /** The largest id. */
  readonly max: bigint
  /** Ids are ≡ `offset` (mod `increment`). */
  readonly increment: number
  readonly offset: bigint
}

/** Numbers hold ids below this. */
const safeEnd = 2n ** 53n
/** Of the time that a reserve takes; in whole milliseconds, so an engine that answers at once is never waited for. */
const gatherShare = 0.25

/** See the invariants at the top of the file. */
export class GroupCommit implements Issuer {
  readonly #life: Incarnation
  readonly #options: GroupCommitOptions
  readonly #line: WaitQueue
  readonly #refills: Refills
  readonly #meter: Meter
  /** The highest end seen here: no id below it is issued any more. */
  #floor: bigint
  #sending = false
  /** Runs while those whom the newest reserve served may come back. */
  #gathering: Timer | undefined
  /** How many it served, and how many the next one is for, if all of them do. */
  #served = 0
  #crowd = 0
  #issued = 0
  #reserved = 0
  #waits = 0
  #closed: Error | undefined

  /** @param bound the counter's bound when the generator was opened; 0 when it had never been used. */
  constructor(bound: bigint, life: Incarnation, options: GroupCommitOptions) {
    this.#life = life
    this.#options = options
    this.#floor = bound > life.floor ? bound : life.floor
    this.#meter = new Meter(options.clock.monoUs())
    this.#refills = new Refills(life.name, options, () => this.#commit())
    this.#line = new WaitQueue(
      options.clock,
      options.waitersMax,
      () => this.#whyDry(),
      () => {},
    )
  }

  /** Always 0: nothing is ever in hand. */
  take(): number {
    return 0
  }

  /** Always −1: nothing is ever in hand. */
  takeNumber(): number {
    return -1
  }

  draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    if (options.signal?.aborted) return Promise.reject(aborted())
    const { refusal } = this.#refills
    if (refusal !== undefined) return Promise.reject(refusal)
    const wish = { count, contiguous: true, safe: options.safe === true }
    if (wish.safe && !this.nextIsSafe()) return Promise.reject(unsafe())
    this.#waits++
    const place = this.#line.join(wish, this.#options.issueTimeoutMs, options.signal)
    this.#commitSoon()
    return place
  }

  nextIsSafe(): boolean {
    return this.#firstFrom(this.#floor) < safeEnd
  }

  /** As far as this process knows; what others have issued since stands in the counter alone. */
  lastIssued(): bigint | undefined {
    const newest = this.#firstFrom(this.#floor) - BigInt(this.#options.increment)
    return newest < this.#life.floor ? undefined : newest
  }

  moveTo(newest: bigint): Promise<void> {
    return this.#refills.alone(
      () => this.#seal(newest),
      () => this.#goOn(),
    )
  }

  stats(): IssuerStats {
    const ratePerSecond = this.#meter.observe(this.#issued, this.#options.clock.monoUs())
    return {
      issued: this.#issued,
      ratePerSecond,
      peakPerSecond: this.#meter.peakPerSecond,
      inHand: 0,
      inHandSeconds: ratePerSecond > 0 ? 0 : Number.POSITIVE_INFINITY,
      reserved: this.#reserved,
      released: 0,
      refills: this.#refills.succeeded,
      refillFailures: this.#refills.failed,
      refillSeconds: this.#refills.seconds,
      waits: this.#waits,
      drySeconds: this.#line.drySeconds,
      waiting: this.#line.length,
    }
  }

  async close(reason: Error): Promise<void> {
    this.#closed ??= reason
    this.#refills.stop(reason)
    this.#gathering?.cancel()
    this.#line.sift(() => reason)
    await this.#refills.idle()
  }

  /** At the end of this callback: what comes in one callback travels in one reserve. */
  #commitSoon(): void {
    if (this.#sending || this.#refills.busy) return
    if (this.#gathering !== undefined && this.#line.length < this.#crowd) return
    this.#sending = true
    queueMicrotask(() => {
      this.#sending = false
      this.#commit()
    })
  }

  #commit(): void {
    this.#gathering?.cancel()
    this.#gathering = undefined
    if (this.#refills.busy || this.#line.length === 0) return
    this.#refills.start(
      true,
      () => this.#reserve(),
      () => this.#goOn(),
    )
  }

  #goOn(): void {
    const { refusal } = this.#refills
    if (refusal !== undefined) this.#line.sift(() => refusal)
    this.#gather()
  }

  /**
   * Callers who have just been served tend to come back at once. Without waiting for them, for a small part of what
   * a reserve takes, about half of a steady crowd would miss each reserve.
   */
  #gather(): void {
    this.#crowd = this.#line.length + this.#served
    this.#served = 0
    const waitMs = Math.floor(this.#refills.newestMs * gatherShare)
    if (waitMs === 0 || this.#line.length === this.#crowd) return this.#commit()
    this.#gathering = this.#options.clock.timer(waitMs, () => this.#commit())
  }

  /** Reserves for those in line, and serves them. */
  async #reserve(): Promise<void> {
    const { engine, increment, max } = this.#options
    this.#refuseBeyondMax()
    if (this.#line.length === 0) return
    const joined = this.#line.joined
    const wanted = BigInt(this.#line.demand) * BigInt(increment)
    const left = max + 1n - this.#floor
    const size = wanted < left ? wanted : left
    const floor = this.#floor
    try {
      const range = await reserveFor(this.#life, engine, { size, floor, max: max + 1n })
      this.#reserved += Number(size)
      this.#see(range.end)
      this.#serve(range, joined)
    } catch (error) {
      if (!hasCode(error, 'EXHAUSTED')) throw error
      // Others have come further than was known here: the next reserve is for those for whom enough is left.
      this.#see((await engine.counter(this.#life.counter)).bound)
      if (this.#floor === floor) throw error
    }
  }

  /** Serves those who had joined when the range was asked for, in order. */
  #serve(range: Range, joined: number): void {
    const { increment } = this.#options
    let next = this.#firstFrom(range.start)
    let left = countBelow(next, range.end, increment)
    const isIn = (waiter: Waiter) => waiter.place < joined && waiter.count <= left
    for (let waiter = this.#line.first(); waiter !== undefined && isIn(waiter); waiter = this.#line.first()) {
      if (waiter.safe && next >= safeEnd) {
        this.#line.settleFirst(unsafe())
        continue
      }
      const run = new Run()
      run.set(next, waiter.count, increment)
      next += BigInt(waiter.count) * BigInt(increment)
      left -= waiter.count
      this.#issued += waiter.count
      this.#served++
      this.#line.settleFirst([run])
    }
  }

  /** Sends those home for whom not enough is left. */
  #refuseBeyondMax(): void {
    const { increment, max } = this.#options
    let left = countBelow(this.#firstFrom(this.#floor), max + 1n, increment)
    if (this.#line.demand <= left) return
    this.#line.sift(({ count }) => {
      if (count > left) return exhausted(this.#life.name, max)
      left -= count
      return undefined
    })
  }

  async #seal(newest: bigint): Promise<void> {
    this.#refuseMoveBack(newest, this.#floor)
    const floor = newest + 1n
    const { end } = await reserveFor(this.#life, this.#options.engine, { size: 0n, floor })
    this.#see(end)
    this.#refuseMoveBack(newest, end)
  }

  /** @param bound what is below it may have been issued. */
  #refuseMoveBack(newest: bigint, bound: bigint): void {
    const last = this.#firstFrom(bound) - BigInt(this.#options.increment)
    if (last <= newest || last < this.#life.floor) return
    throw new FahaoError(
      'ERR',
      `generator '${this.#life.name}' has issued ${last} already; it moves forward only`,
    )
  }

  #see(end: bigint): void {
    if (end > this.#floor) this.#floor = end
  }

  #firstFrom(value: bigint): bigint {
    return firstFrom(value, this.#options.increment, this.#options.offset)
  }

  #whyDry(): FahaoError {
    const cause = this.#refills.failure
    const why = cause === undefined ? 'it has not answered in time' : `the engine said: ${describe(cause)}`
    return new FahaoError(
      'DRY',
      `generator '${this.#life.name}' asks the engine for each request, and ${why}; retry`,
      { cause },
    )
  }
}
