/** How fast ids go: one figure, quick to rise and slow to fall, so that a lull does not shrink the reserve. */

const riseSeconds = 10
const fallSeconds = 60
/** Shorter spans say more about one burst than about a rate. */
const spanMinUs = 100_000

/** An exponentially smoothed rate. */
export class Meter {
  #perSecond = 0
  #peakPerSecond = 0
  #seenCount = 0
  #seenUs: number

  constructor(monoUs: number) {
    this.#seenUs = monoUs
  }

  /** Takes note of the running total `count` at `monoUs` and returns the rate in counts per second. */
  observe(count: number, monoUs: number): number {
    const spanUs = monoUs - this.#seenUs
    if (spanUs < spanMinUs) return this.#perSecond
    const seconds = spanUs / 1_000_000
    const latest = (count - this.#seenCount) / seconds
    const smoothing = latest > this.#perSecond ? riseSeconds : fallSeconds
    this.#perSecond += (latest - this.#perSecond) * (1 - Math.exp(-seconds / smoothing))
    this.#peakPerSecond = Math.max(this.#peakPerSecond, this.#perSecond)
    this.#seenCount = count
    this.#seenUs = monoUs
    return this.#perSecond
  }

  /** The highest rate that was observed. */
  get peakPerSecond(): number {
    return this.#peakPerSecond
  }

  /** The rate as last observed. */
  get perSecond(): number {
    return this.#perSecond
  }
}
