/**
 * How many ids a refill asks for: by the recent rate, so that what is buffered lasts the horizon. Pure but for its memory.
 * The rate is measured as in a service. The sizes are not (src/issuing/refill-size.ts): a service releases what it does not use,
 * and may keep a step that is too large; the ranges of a client have a deadline, and what is unused then is a gap.
 *
 * Invariants
 *  1. The size follows the rate, up and down, where the rate is known. A refill that is due long before the last one should
 *     have been used up shows that the rate is not known yet: then the size doubles, whatever the rate says.
 *  2. Doubling is paid for by use: the refills that it makes are at most four times the ids that were used between them, so
 *     that a process which is killed after a burst leaves no large gap.
 *  3. Where little is used between two refills, the size falls with it: what is unused at its deadline is a gap.
 *  4. A refill that failed has no effect on the next size.
 *  5. No refill is larger than `cap` allows, except for `least`.
 */

import { assert } from '../../src/base/assert.ts'
import { RateMeter } from '../../src/buffers/rate-meter.ts'
import { SizeCap } from './size-cap.ts'

/** What a refill asks for before the use is known; after times with little use, and at most. */
const stepUsual = 1000
const stepIdle = 4
const stepMax = 1_000_000_000
/** From one refill to the next the size grows by this much at most: a burst is not a rate. */
const growthMax = 8
/** A step that was used within this part of the horizon was too small. */
const earlyPart = 1 / 8
/** After this part of the horizon, what was used since the last refill shows how much is needed. */
const idlePart = 1 / 2

/** A refill that is due. */
export type RefillNeed = {
  readonly buffered: number
  /** The ids that callers wait for beyond what is buffered. */
  readonly waiting: number
  /** The ids without which the first of them cannot be served: quotas cut a refill to no less. */
  readonly least: number
  /** The running total of issued ids, and when it was read, on the monotonic clock in µs. */
  readonly issued: number
  readonly monoUs: number
}

/** The rate of a generator, and what follows from it. */
export class Demand {
  /** What quotas have refused. */
  readonly cap = new SizeCap()
  readonly #horizonSeconds: number
  readonly #meter: RateMeter
  #step = stepUsual
  /** What a refill asks for where neither the rate nor a burst needs more. */
  #usual = stepUsual
  /** Undoes the last refill. */
  #undo: (() => void) | undefined
  /** As of the last refill. */
  #refilledCount = 0
  #refilledUs: number

  constructor(horizonMs: number, monoUs: number) {
    this.#horizonSeconds = horizonMs / 1000
    this.#meter = new RateMeter(monoUs)
    this.#refilledUs = monoUs
  }

  /** Ids per second, smoothed. */
  get perSecond(): number {
    return this.#meter.perSecond
  }

  /** Records the running total of issued ids. */
  observe(count: number, monoUs: number): void {
    this.#meter.observe(count, monoUs)
  }

  /** A refill is due when fewer ids are buffered: the horizon at the present rate, half a step at least. */
  get lowMark(): number {
    return Math.max(this.perSecond * this.#horizonSeconds, this.#step / 2)
  }

  /** The size of the refill that is due. */
  size({ buffered, waiting, least, issued, monoUs }: RefillNeed): number {
    this.observe(issued, monoUs)
    const wanted = 2 * this.perSecond * this.#horizonSeconds - buffered
    this.#undo = this.#restored()
    this.#usual = this.#usualAt(issued, monoUs)
    const isShort = waiting > 0 && !this.#isIdle(monoUs)
    const isLarger = isShort || this.#isEarly(issued, monoUs)
    // In a burst after an idle time the size grows back to the usual one within a few refills.
    const usual = isLarger
      ? Math.max(this.#step * 2, Math.min(this.#step * growthMax, stepUsual))
      : this.#usual
    const largest = Math.min(stepMax, this.cap.largest(monoUs))
    this.#refilledCount = issued
    this.#refilledUs = monoUs
    this.#step = Math.ceil(Math.min(Math.max(wanted, usual), this.#step * growthMax, largest))
    return Math.max(Math.min(Math.max(this.#step, waiting), largest), least)
  }

  /** The last refill has failed. */
  failed(): void {
    this.#undo?.()
  }

  /** How many ids are worth keeping when a refill is due because time has passed. */
  keep(issued: number, monoUs: number): number {
    this.observe(issued, monoUs)
    return Math.max(Math.ceil(2 * this.perSecond * this.#horizonSeconds), this.#usualAt(issued, monoUs))
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    assert(this.perSecond >= 0 && Number.isFinite(this.perSecond), 'a rate is no less than 0')
    assert(this.#step >= 1 && this.#step <= stepMax, 'a refill has ids')
  }

  #restored(): () => void {
    const [step, usual, count, us] = [this.#step, this.#usual, this.#refilledCount, this.#refilledUs]
    return () => {
      this.#step = step
      this.#usual = usual
      this.#refilledCount = count
      this.#refilledUs = us
    }
  }

  #isIdle(monoUs: number): boolean {
    return (monoUs - this.#refilledUs) / 1_000_000 >= this.#horizonSeconds * idlePart
  }

  #usualAt(issued: number, monoUs: number): number {
    if (!this.#isIdle(monoUs)) return this.#usual
    const used = issued - this.#refilledCount
    return Math.ceil(Math.min(stepUsual, Math.max(4 * used, this.#usual / growthMax, stepIdle)))
  }

  /** Whether the last step was too small: it was used in much less than the horizon, half of it at least. */
  #isEarly(issued: number, monoUs: number): boolean {
    const seconds = (monoUs - this.#refilledUs) / 1_000_000
    return seconds < this.#horizonSeconds * earlyPart && issued - this.#refilledCount >= this.#step / 2
  }
}
