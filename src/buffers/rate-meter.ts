/** The rate of issuing: one figure that rises fast and falls slowly, so that a lull does not shrink refills. */

const riseSeconds = 10
const fallSeconds = 60
/** A shorter span shows a burst and not a rate. */
const spanMinUs = 100_000

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
    const spanUs = monoUs - this.#lastUs
    if (spanUs < spanMinUs) return this.perSecond
    const seconds = spanUs / 1_000_000
    const latest = (count - this.#lastCount) / seconds
    const smoothing = latest > this.perSecond ? riseSeconds : fallSeconds
    this.perSecond += (latest - this.perSecond) * (1 - Math.exp(-seconds / smoothing))
    this.#peakPerSecond = Math.max(this.#peakPerSecond, this.perSecond)
    this.#lastCount = count
    this.#lastUs = monoUs
    return this.perSecond
  }

  /** The highest rate that was observed. */
  get peakPerSecond(): number {
    return this.#peakPerSecond
  }
}
