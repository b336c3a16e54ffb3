/**
 * Issuers of counters at rest: all that one knows, as numbers in rows of typed arrays, beside the row of its ids in `FastRuns`,
 * which has the same number. A reservoir is made of them when more is asked of the counter than ids that it holds.
 *
 * Invariants
 *  1. The next id of the row and the bound tell the ids that are left: all from one up to the other. So what is taken from the
 *     row while its issuer is at rest needs no other write.
 *  2. What does not fit into a number is not written: such an issuer does not rest (`Reservoir.rest`). Rates and durations alone
 *     are rounded, and counts of calls end at 2^31 − 1.
 */
import type { FastRuns } from '../buffers/fast-runs.ts'
import { type RateAtRest, RateMeter, smoothed } from '../buffers/rate-meter.ts'
import type { Reservation } from '../engine/engine.ts'
import { two32 } from '../ids/run.ts'
import type { IssuerStats } from './issuer.ts'
import { isSpare, RecentUse, type UseAtRest } from './recent-use.ts'
import type { RefillsAtRest } from './refills.ts'
import type { BoundAtRest } from './reserved-counter.ts'

/** What is known of an issuer at rest. */
export type CounterAtRest = RateAtRest &
  UseAtRest &
  RefillsAtRest &
  BoundAtRest & {
    /** Its next id. */
    next: number
    /** Ids issued. */
    issued: number
    /** See `RangeBuffer`. */
    lowMark: number
    /** See `CounterSource`. */
    step: number
    stepMaxBinds: boolean
    drySeconds: number
    /** The version of the generator's record. */
    recordVersion: bigint
    /** When it was last seen to have been used, in whole seconds. */
    usedSeconds: number
    /** A number for what it shares with others. */
    shared: number
    /** What is being reserved for it, where it is woken meanwhile. It is in no row. */
    refill: RefillUnderWay | undefined
  }

/** What is being reserved, since a time of the monotonic clock in µs. */
export type RefillUnderWay = { readonly reserved: Promise<Reservation>; readonly startedUs: number }

/** With a larger step or low mark an issuer does not rest: it would be too large for its word. */
export const restingStepMax = 2 ** 31 - 1

/** A state to write into. */
export function nothingAtRest(): CounterAtRest {
  const rates = { rate: 0, peakRate: 0, rateCount: 0, rateUs: 0 }
  const use = { isYoung: false, windowUs: 0, present: 0, previous: 0, askedUs: 0, askedCount: 0 }
  const counts = { refills: 0, refillFailures: 0, refillSeconds: 0, waits: 0, drySeconds: 0 }
  const bounds = { bound: 0, version: 0, aloneFrom: 0, reserved: 0, next: 0, issued: 0 }
  const sizes = { lowMark: 0, step: 0, stepMaxBinds: false }
  return {
    ...rates,
    ...use,
    ...counts,
    ...bounds,
    ...sizes,
    recordVersion: 0n,
    usedSeconds: 0,
    shared: 0,
    refill: undefined,
  }
}

/** How many ids are left of what an issuer at rest holds. */
export function leftAtRest({ next, bound }: CounterAtRest, increment: number): number {
  return Math.max(0, Math.ceil((bound - next) / increment))
}

/** The figures of an issuer at rest: one literal, because surveys make one for each. */
export function statsAtRest(state: CounterAtRest, increment: number, nowUs: number): IssuerStats {
  const { issued, rate, rateCount, rateUs } = state
  const ratePerSecond = smoothed(rate, issued - rateCount, nowUs - rateUs)
  const inHand = leftAtRest(state, increment)
  return {
    leased: 0,
    drawn: 0,
    returned: 0,
    gap: 0,
    callersPerSecond: 0,
    issued,
    ratePerSecond,
    peakPerSecond: Math.max(state.peakRate, ratePerSecond),
    inHand,
    inHandSeconds: ratePerSecond > 0 ? inHand / ratePerSecond : Number.POSITIVE_INFINITY,
    reserved: state.reserved,
    released: 0,
    dropped: 0,
    lost: 0,
    refills: state.refills,
    refillFailures: state.refillFailures,
    refillsFailing: 0,
    refillSeconds: state.refillSeconds,
    waits: state.waits,
    drySeconds: state.drySeconds,
    waiting: 0,
  }
}

/** Whether an issuer at rest, without a least step, holds much more than is used. */
export function holdsSpareAtRest(
  state: CounterAtRest,
  increment: number,
  horizonUs: number,
  nowUs: number,
): boolean {
  const use = new RecentUse(horizonUs, 0)
  use.wake(state)
  return isSpare(leftAtRest(state, increment), use.perHorizon(state.issued, false, nowUs))
}

const rowDoubles = 18
/** The words behind the doubles of a row. */
const firstWord = 22
const rowWords = 2 * rowDoubles
const pageRows = 1024

type Page = {
  readonly doubles: Float64Array
  readonly floats: Float32Array
  readonly words: Int32Array
  readonly bigints: BigInt64Array
}

/** The issuers at rest of one process. */
export class CounterRows {
  readonly runs: FastRuns
  readonly #pages: (Page | undefined)[] = []

  constructor(runs: FastRuns) {
    this.runs = runs
  }

  /** Writes what is known of the issuer that has left this row. */
  write(row: number, state: CounterAtRest): void {
    const { doubles, floats, words, bigints } = this.#page(row)
    const at = (row % pageRows) * rowDoubles
    doubles[at] = state.bound
    doubles[at + 1] = state.version
    doubles[at + 2] = state.aloneFrom
    doubles[at + 3] = state.reserved
    // With what is left of the row this gives the ids issued at any time.
    const left = this.runs.count(row)
    doubles[at + 4] = state.issued + left
    doubles[at + 5] = state.rateCount
    doubles[at + 6] = state.rateUs
    doubles[at + 7] = state.windowUs
    doubles[at + 8] = state.askedUs
    doubles[at + 9] = state.askedCount
    bigints[at + 10] = state.recordVersion
    const word = 2 * at + firstWord
    floats[word] = state.rate
    floats[word + 1] = state.peakRate
    floats[word + 2] = state.refillSeconds
    floats[word + 3] = roundedUp(state.drySeconds)
    floats[word + 4] = state.present
    floats[word + 5] = state.previous
    words[word + 6] = state.lowMark
    words[word + 7] = state.step
    words[word + 8] = Math.min(state.refills, restingStepMax)
    words[word + 9] = Math.min(state.refillFailures, restingStepMax >> 2) * 4 + flagsOf(state)
    words[word + 10] = Math.min(state.waits, restingStepMax)
    words[word + 11] = state.shared
    words[word + 12] = state.usedSeconds
    words[word + 13] = left
  }

  /** Writes what is known, and fills the row with the ids up to the bound, but the last `keep`, that do not carry. */
  fill(row: number, state: CounterAtRest, increment: number, keep: number): void {
    const { next } = state
    const count = Math.max(0, leftAtRest(state, increment) - keep)
    this.runs.fill(row, Math.floor(next / two32), next % two32, count, increment)
    this.write(row, state)
  }

  /** Reads what is known of the issuer of a row. */
  read(row: number, into: CounterAtRest): CounterAtRest {
    const { doubles, floats, words, bigints } = this.#page(row)
    const at = (row % pageRows) * rowDoubles
    into.bound = doubles[at]!
    into.version = doubles[at + 1]!
    into.aloneFrom = doubles[at + 2]!
    into.reserved = doubles[at + 3]!
    into.issued = doubles[at + 4]! - this.runs.count(row)
    into.rateCount = doubles[at + 5]!
    into.rateUs = doubles[at + 6]!
    into.windowUs = doubles[at + 7]!
    into.askedUs = doubles[at + 8]!
    into.askedCount = doubles[at + 9]!
    into.recordVersion = bigints[at + 10]!
    const word = 2 * at + firstWord
    into.rate = floats[word]!
    into.peakRate = floats[word + 1]!
    into.refillSeconds = floats[word + 2]!
    into.drySeconds = floats[word + 3]!
    into.present = floats[word + 4]!
    into.previous = floats[word + 5]!
    into.lowMark = words[word + 6]!
    into.step = words[word + 7]!
    into.refills = words[word + 8]!
    const flags = words[word + 9]!
    into.refillFailures = flags >> 2
    into.isYoung = (flags & 1) !== 0
    into.stepMaxBinds = (flags & 2) !== 0
    into.waits = words[word + 10]!
    into.shared = words[word + 11]!
    into.usedSeconds = words[word + 12]!
    into.next = this.runs.next(row)
    return into
  }

  /**
   * Has the rate of a row and of what was read of it observed, where ids were issued and the last observation is long ago (see
   * `RateMeter.look`).
   */
  lookAtRate(row: number, state: CounterAtRest, nowUs: number): void {
    if (state.issued === state.rateCount) return
    const meter = new RateMeter(0).wake(state)
    meter.look(state.issued, nowUs)
    meter.rest(state)
    const { doubles, floats } = this.#page(row)
    const at = (row % pageRows) * rowDoubles
    doubles[at + 5] = state.rateCount
    doubles[at + 6] = state.rateUs
    floats[2 * at + firstWord] = state.rate
    floats[2 * at + firstWord + 1] = state.peakRate
  }

  /** See `CounterAtRest`. */
  sharedOf(row: number): number {
    return this.#page(row).words[(row % pageRows) * rowWords + firstWord + 11]!
  }

  /** Looks at a row: how many ids were taken from it since the last look. Notes the time if any were. */
  look(row: number, nowSeconds: number): number {
    const { words } = this.#page(row)
    const word = (row % pageRows) * rowWords + firstWord
    const left = this.runs.count(row)
    const taken = (words[word + 13]! - left) >>> 0
    if (taken === 0) return 0
    words[word + 13] = left
    words[word + 12] = nowSeconds
    return taken
  }

  #page(row: number): Page {
    const number = Math.floor(row / pageRows)
    const known = this.#pages[number]
    if (known !== undefined) return known
    const memory = new ArrayBuffer(pageRows * rowDoubles * 8)
    const page = {
      doubles: new Float64Array(memory),
      floats: new Float32Array(memory),
      words: new Int32Array(memory),
      bigints: new BigInt64Array(memory),
    }
    this.#pages[number] = page
    return page
  }
}

function flagsOf({ isYoung, stepMaxBinds }: CounterAtRest): number {
  return (isYoung ? 1 : 0) + (stepMaxBinds ? 2 : 0)
}

/** A number of 32 bits that is not below this one: a count does not fall at rest. */
function roundedUp(value: number): number {
  const nearest = Math.fround(value)
  return nearest < value ? Math.fround(value * (1 + 2 ** -23)) : nearest
}
