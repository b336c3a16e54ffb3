/**
 * The source of `sequence` and `segment`: ranges reserved from a counter.
 *
 * Invariants
 *  1. The buffer holds only values below a bound that the engine has acknowledged (P2).
 *  2. A range whose reserve failed or whose outcome is unknown never enters the buffer: it is a gap (P8).
 *  3. The buffer is emptied before its range is released or transferred.
 */
import type { Clock } from '../base/clock.ts'
import { type FahaoError, hasCode } from '../base/errors.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import type { RangeBuffer } from '../buffers/range-buffer.ts'
import { RateMeter } from '../buffers/rate-meter.ts'
import type { Reservation, ReserveRequest, WriterIdentity } from '../engine/engine.ts'
import { type CounterAtRest, leftAtRest, restingStepMax } from './counter-rows.ts'
import type { IdSource } from './id-source.ts'
import type { Incarnation } from './incarnation.ts'
import { dry } from './issuer.ts'
import { isSpare, RecentUse } from './recent-use.ts'
import {
  lowMark,
  type RefillNeed,
  type RefillSizes,
  refillSize,
  stepAfter,
  stepMaxBinds,
} from './refill-size.ts'
import { ReservedCounter, type ReservedCounterOptions } from './reserved-counter.ts'

/**
 * One horizon of ids is at most this many times what this process has issued: the reserve grows with traffic that
 * lasts, and a short burst costs a counter no more than a few tens of times what it used.
 */
const sustainedShare = 16
/**
 * With an adaptive step: a counter is expected to be used this many times in a horizon, and a short horizon once in this many
 * seconds, also when it was used less. So the first ids of a name do not each wait for a reserve.
 */
const leastUse = 8
const leastUseSeconds = 5

/** What the sources of all generators with one definition share. */
export type CounterSourceOptions = RefillSizes &
  ReservedCounterOptions & {
    readonly clock: Pick<Clock, 'monoUs'>
    /** The largest id. */
    readonly max: bigint
    /** Distance between ids, the longest one where it is random. */
    readonly increment: number
    /** For how long ids should last without the engine, in seconds. */
    readonly horizonSeconds: number
    /** Refills are a multiple of this many ids. */
    readonly stepMultiple: number
    /** Called when `stepMax` begins to keep refills of a generator from lasting the horizon. */
    readonly onStepMax?: (name: string) => void
  }

/** What a generator that was never used reserves for callers that wait for `ids` ids, before it has a source. */
export function firstReserve(
  ids: number,
  { floor, ...writer }: Pick<Incarnation, 'floor' | 'incarnation'> & WriterIdentity,
  { step, stepMax, stepMultiple, increment, max, horizonSeconds }: CounterSourceOptions,
): ReserveRequest {
  const left = max + 1n - floor
  const space = Number(left) / increment
  const expected = step === 0 ? leastUseIn(horizonSeconds) / 2 : 0
  const need = { expected, buffered: 0, demand: ids, contiguous: 0, space, step, stepMin: step, stepMax }
  const size = rawSize(refillSize(need), stepMultiple, increment)
  return { size: size < left ? size : left, floor, max: max + 1n, ...writer }
}

/**
 * What a counter at rest reserves now; notes in `state` what was found out of its use. Undefined: nothing. `awake`: it takes more
 * than numbers.
 */
export function refillAtRest(
  state: CounterAtRest,
  { floor, incarnation }: Pick<Incarnation, 'floor' | 'incarnation'>,
  options: CounterSourceOptions,
): ReserveRequest | 'awake' | undefined {
  const { clock, horizonSeconds, increment, stepMultiple } = options
  const nowUs = clock.monoUs()
  const meter = new RateMeter(nowUs).wake(state)
  const rate = meter.observe(state.issued, nowUs)
  meter.rest(state)
  const use = options.step === 0 ? new RecentUse(horizonSeconds * 1_000_000, nowUs) : undefined
  use?.wake(state)
  const buffered = leftAtRest(state, increment)
  const bound = BigInt(state.bound)
  const left = options.max + 1n - bound
  const known = { issued: state.issued, buffered, left, step: state.step, use, sizes: options }
  const need = needOf(known, options, rate)
  use?.rest(state)
  const wanted = refillSize(need)
  state.step = stepAfter(need)
  state.lowMark = Math.ceil(lowMark({ ...need, step: state.step }))
  const size = rawSize(wanted, stepMultiple, increment)
  if (size > left || state.lowMark > restingStepMax || stepMaxBinds(need)) return 'awake'
  if (size === 0n) return undefined
  return { size, floor: bound > floor ? bound : floor, max: options.max + 1n, incarnation }
}

/** What decides the size of a refill, as far as it is known to the counter. */
type KnownOfCounter = {
  readonly issued: number
  readonly buffered: number
  /** The values from the bound on. */
  readonly left: bigint
  readonly step: number
  readonly use: RecentUse | undefined
  readonly sizes: RefillSizes
}

function needOf(
  { issued, buffered, left, step, use, sizes }: KnownOfCounter,
  { clock, horizonSeconds, increment }: CounterSourceOptions,
  ratePerSecond: number,
  demand = 0,
  contiguous = 0,
): RefillNeed {
  const expected =
    use === undefined
      ? Math.min(ratePerSecond * horizonSeconds, sustainedShare * issued)
      : Math.max(use.perHorizon(issued, demand > 0, clock.monoUs()), leastUseIn(horizonSeconds)) / 2
  const space = Number(left) / increment
  return { expected, buffered, demand, contiguous, space, step, stepMin: sizes.step, stepMax: sizes.stepMax }
}

/**
 * Reserves by the recent rate, as `refill-size.ts` says: with a step from one up to two horizons of ids, at least a step;
 * without one from half a horizon up to one horizon of ids.
 */
export class CounterSource implements IdSource {
  readonly buffer: RangeBuffer
  readonly counter: ReservedCounter
  readonly #incarnation: Incarnation
  readonly #options: CounterSourceOptions
  #sizes: RefillSizes
  /** Undefined: there is a step. */
  readonly #use: RecentUse | undefined
  /** The least that a refill reserves now, in ids. */
  #step: number
  /** Whether the step has grown since the last refill: an engine that is away is no reason to grow again. */
  #grown = false
  #stepMaxBinds = false

  /** @param bound the counter's bound when the generator was opened; 0 when it had never been used. */
  constructor(buffer: RangeBuffer, bound: bigint, incarnation: Incarnation, options: CounterSourceOptions) {
    const { floor } = incarnation
    this.buffer = buffer
    this.counter = new ReservedCounter(incarnation, bound > floor ? bound : floor, options)
    this.#incarnation = incarnation
    this.#options = options
    this.#sizes = options
    this.#step = options.step
    if (options.step === 0)
      this.#use = new RecentUse(options.horizonSeconds * 1_000_000, options.clock.monoUs())
  }

  get name(): string {
    return this.#incarnation.name
  }

  async refill(demand: number, contiguous: number, ratePerSecond: number, floor = 0n): Promise<void> {
    this.buffer.low = false
    const need = this.#need(demand, contiguous, ratePerSecond, floor)
    const wanted = refillSize(need)
    this.#step = stepAfter(need)
    this.buffer.lowMark = Math.ceil(lowMark({ ...need, step: this.#step }))
    if (wanted === 0) return
    const binds = stepMaxBinds(need)
    if (binds && !this.#stepMaxBinds) this.#options.onStepMax?.(this.name)
    this.#stepMaxBinds = binds
    await this.#reserve(wanted, floor)
  }

  observe(ratePerSecond: number): void {
    const mark = Math.ceil(lowMark(this.#need(0, 0, ratePerSecond)))
    if (mark <= this.buffer.lowMark) return
    this.buffer.lowMark = mark
    this.buffer.checkLow()
  }

  resize({ step, stepMax }: RefillSizes): void {
    this.#sizes = { step, stepMax }
    this.#step = step
  }

  ranEmpty(): void {
    // The very first ids are always waited for.
    if (this.counter.reserved === 0 || this.#grown) return
    this.#grown = true
    this.#step = Math.min(this.#sizes.stepMax, this.#step * 2)
  }

  whyDry(cause: unknown): FahaoError {
    return dry(`generator '${this.name}' has no buffered ids`, cause)
  }

  nextIsSafe(): boolean {
    return this.buffer.nextIsSafe(this.counter.bound)
  }

  lastIssued(): bigint | undefined {
    return this.buffer.newest(this.counter.bound, this.#incarnation.floor)
  }

  seconds(ratePerSecond: number): number {
    return ratePerSecond > 0 ? this.buffer.available() / ratePerSecond : Number.POSITIVE_INFINITY
  }

  async moveTo(newest: bigint): Promise<void> {
    const floor = newest + 1n
    await this.counter.raise(floor)
    this.buffer.dropBelow(floor)
  }

  skipTo(floor: bigint, count: number): boolean {
    if (this.buffer.leftFrom(floor) < count) return false
    this.buffer.dropBelow(floor)
    return true
  }

  /** Begins with what was reserved as `firstReserve` says. */
  begin(range: Reservation): void {
    this.counter.begin(range)
    this.buffer.add(range)
    this.buffer.lowMark = Math.ceil(lowMark(this.#need(0, 0, 0)))
  }

  async receive(reserved: Promise<Reservation>): Promise<void> {
    try {
      this.buffer.add(await this.counter.receive(reserved))
    } catch (error) {
      // Less may be left than was asked for.
      if (!hasCode(error, 'EXHAUSTED')) throw error
    }
    this.buffer.low = false
    this.buffer.checkLow()
  }

  acquire(leftover: Reservation): void {
    this.counter.acquire(leftover)
    this.buffer.add(leftover)
    this.buffer.low = true
  }

  empty(): bigint | undefined {
    const untouched = this.buffer.untouchedUpTo(this.counter.bound)
    this.buffer.clear()
    return untouched
  }

  get holdsSpare(): boolean {
    if (this.#use === undefined) return false
    const used = this.#use.perHorizon(this.buffer.issued, false, this.#options.clock.monoUs())
    return isSpare(this.buffer.available(), used)
  }

  rest(into: CounterAtRest): number {
    const fits = this.#step <= restingStepMax && this.buffer.lowMark <= restingStepMax
    const isPlain = this.#sizes === this.#options && !this.#grown && fits
    if (!isPlain || !this.counter.rest(into)) return emptyRow
    this.#use?.rest(into)
    into.step = this.#step
    into.stepMaxBinds = this.#stepMaxBinds
    into.lowMark = this.buffer.lowMark
    const row = this.buffer.rest(this.counter.bound)
    into.issued = this.buffer.issued
    return row
  }

  /** Goes on, in a row of its own, with what another source has left in it. */
  wake(from: CounterAtRest): void {
    this.counter.wake(from)
    this.#use?.wake(from)
    this.#step = from.step
    this.#stepMaxBinds = from.stepMaxBinds
    this.buffer.wake(BigInt(from.next), this.counter.bound, from.issued, from.lowMark)
  }

  #need(demand: number, contiguous: number, ratePerSecond: number, floor = 0n): RefillNeed {
    const buffered = floor === 0n ? this.buffer.available() : this.buffer.leftFrom(floor)
    const { issued } = this.buffer
    const left = this.#options.max + 1n - this.counter.bound
    const known = { issued, buffered, left, step: this.#step, use: this.#use, sizes: this.#sizes }
    return needOf(known, this.#options, ratePerSecond, demand, contiguous)
  }

  /** Reserves `ids` ids from `floor` on, or all that are left. */
  async #reserve(ids: number, floor: bigint): Promise<void> {
    const { max, increment, stepMultiple } = this.#options
    const range = await this.counter.reserveUpTo(rawSize(ids, stepMultiple, increment), max + 1n, floor)
    this.#grown = false
    this.buffer.add(range)
  }
}

function leastUseIn(horizonSeconds: number): number {
  return Math.min(leastUse, Math.floor(horizonSeconds / leastUseSeconds))
}

/** How many raw values a reserve takes for `ids` ids, rounded up to a multiple of `stepMultiple`. */
function rawSize(ids: number, stepMultiple: number, increment: number): bigint {
  return BigInt(Math.ceil(ids / stepMultiple) * stepMultiple) * BigInt(increment)
}
