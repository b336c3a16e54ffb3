/**
 * How many ids a generator uses in one horizon, by those that it has issued recently: the measure of what a counter with
 * `step: adaptive` reserves. Pure; all times in µs of a monotonic clock.
 *
 * Ids are counted in windows as long as the horizon. The last horizon consists of the present window and of a part of the
 * one before it, in which use counts as even. A generator that is younger than a horizon counts as used at the same rate
 * before, but at most `youngShare` times as much as it was, and at first less: a few ids tell little of a rate.
 *
 * Invariants
 *  1. Use is at most `youngShare` times what was issued since the start, and after the first window at most what was issued
 *     in two windows.
 *  2. Without an id for two horizons, use is 0.
 */

/**
 * A burst of a new generator costs its counter no more than this many times what it used. With a smaller number many names that are
 * young together keep the store busy: the first ids of each need one refill more.
 */
const youngShare = 16
/** And no more than this many times the square of what it used: one or two ids tell little of a rate. */
const firstShare = 4

/** More than this many times what one horizon needs, and this many ids, are worth the calls that give them back. */
const spareTimes = 2
const spareMin = 10

/** Whether ids are worth giving back, with this use. */
export function isSpare(ids: number, usedPerHorizon: number): boolean {
  return ids > spareTimes * usedPerHorizon + spareMin
}

/** What is known of the use of one generator. `isYoung`: it has used ids in its first window alone. */
export type UseAtRest = {
  isYoung: boolean
  windowUs: number
  present: number
  previous: number
  askedUs: number
  askedCount: number
}

/** The use of one generator. */
export class RecentUse {
  readonly #horizonUs: number
  #sinceUs: number
  /** When the present window began; the ids that were issued in it, and in the one before. */
  #windowUs: number
  #present = 0
  #previous = 0
  /** When it was last asked, and the running total then. */
  #askedUs: number
  #issued = 0

  constructor(horizonUs: number, nowUs: number) {
    this.#horizonUs = horizonUs
    this.#sinceUs = nowUs
    this.#windowUs = nowUs
    this.#askedUs = nowUs
  }

  /**
   * The ids of one horizon at the recent rate, as a whole number: what a crash may skip.
   * @param issued the running total.
   * @param waited whether a caller waits for ids. If not, the newest id begins a time that has not passed: n ids at equal
   *   distances take n − 1 of these.
   */
  perHorizon(issued: number, waited: boolean, nowUs: number): number {
    if (this.#horizonUs === 0) return 0
    this.#advance(issued, nowUs)
    const passed = (nowUs - this.#windowUs) / this.#horizonUs
    const isYoung = this.#windowUs === this.#sinceUs
    const last = Math.max(0, this.#previous * (1 - passed) + this.#present - (waited ? 0 : 1))
    return Math.floor(isYoung ? last * Math.min(youngShare, firstShare * last, 1 / passed) : last)
  }

  /** Writes down what it knows. */
  rest(into: UseAtRest): void {
    into.isYoung = this.#windowUs === this.#sinceUs
    into.windowUs = this.#windowUs
    into.present = this.#present
    into.previous = this.#previous
    into.askedUs = this.#askedUs
    into.askedCount = this.#issued
  }

  /** Goes on from what another one knew. */
  wake({ isYoung, windowUs, present, previous, askedUs, askedCount }: UseAtRest): void {
    this.#sinceUs = isYoung ? windowUs : Number.NEGATIVE_INFINITY
    this.#windowUs = windowUs
    this.#present = present
    this.#previous = previous
    this.#askedUs = askedUs
    this.#issued = askedCount
  }

  /** Counts what was issued since it was last asked, as spread evenly over that time. */
  #advance(issued: number, nowUs: number): void {
    const ids = issued - this.#issued
    const spanUs = nowUs - this.#askedUs
    const endUs = this.#windowUs + this.#horizonUs
    if (nowUs < endUs) {
      this.#present += ids
    } else if (nowUs < endUs + this.#horizonUs) {
      const before = (ids * (endUs - this.#askedUs)) / spanUs
      this.#previous = this.#present + before
      this.#present = ids - before
      this.#windowUs = endUs
    } else {
      this.#previous = ids * Math.min(1, this.#horizonUs / spanUs)
      this.#present = 0
      this.#windowUs = nowUs
    }
    this.#issued = issued
    this.#askedUs = nowUs
  }
}
