/** The rate of issuing: one figure that rises fast and falls slowly, so that a lull does not shrink refills. */

const riseSeconds = 10
const fallSeconds = 60
/** A shorter span shows a burst and not a rate. */
const spanMinUs = 100_000
/** The longest span that is only looked at. */
const lookUs = 10_000_000

/** What a meter knows. */
export type RateAtRest = { rate: number; peakRate: number; rateCount: number; rateUs: number }

/** A rate that was `perSecond` before the last `spanUs`, in which there were `ids`. */
export function smoothed(perSecond: number, ids: number, spanUs: number): number {
  if (spanUs < spanMinUs) return perSecond
  const seconds = spanUs / 1_000_000
  const latest = ids / seconds
  const smoothing = latest > perSecond ? riseSeconds : fallSeconds
  return perSecond + (latest - perSecond) * (1 - Math.exp(-seconds / smoothing))
}

/** An exponentially smoothed rate. */
export class RateMeter {
  /** The rate as of the last observation. */
  perSecond = 0
  #peakPerSecond = 0
  #lastCount = 0
  #lastUs: number

  constructor(monoUs: number) {
    this.#lastUs = monoUs
  }

  /** Records the running total `count` at `monoUs` and returns the rate in counts per second. */
  observe(count: number, monoUs: number): number {
    if (monoUs - this.#lastUs < spanMinUs) return this.perSecond
    this.perSecond = this.#at(count, monoUs)
    this.#peakPerSecond = Math.max(this.#peakPerSecond, this.perSecond)
    this.#lastCount = count
    this.#lastUs = monoUs
    return this.perSecond
  }

  /**
   * The rate for who only shows it. It is observed where the last observation is long ago: a lull in between would hide what was
   * issued since. Else nothing changes: more looks at short spans would raise it.
   */
  look(count: number, monoUs: number): number {
    return monoUs - this.#lastUs > lookUs ? this.observe(count, monoUs) : this.#at(count, monoUs)
  }

  #at(count: number, monoUs: number): number {
    return smoothed(this.perSecond, count - this.#lastCount, monoUs - this.#lastUs)
  }

  /** Writes down what it knows. */
  rest(into: RateAtRest): void {
    into.rate = this.perSecond
    into.peakRate = this.#peakPerSecond
    into.rateCount = this.#lastCount
    into.rateUs = this.#lastUs
  }

  /** Goes on from what another one knew. */
  wake({ rate, peakRate, rateCount, rateUs }: RateAtRest): this {
    this.perSecond = rate
    this.#peakPerSecond = peakRate
    this.#lastCount = rateCount
    this.#lastUs = rateUs
    return this
  }

  /** The highest rate that was observed. */
  get peakPerSecond(): number {
    return this.#peakPerSecond
  }
}
