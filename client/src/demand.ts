/** How many ids a refill asks for: by the recent rate, so that what is buffered lasts the horizon. Pure but for its memory. */

/** The least that a refill asks for, and the most. */
const stepMin = 1000
const stepMax = 1_000_000_000
/** From one refill to the next the size grows by this much at most: a burst is not a rate. */
const growthMax = 8
/** The rate follows a rise within seconds and a fall within a minute. */
const riseSeconds = 5
const fallSeconds = 60

/** The rate of a generator, and what follows from it. */
export class Demand {
  readonly #horizonSeconds: number
  #perSecond = 0
  #lastCount = 0
  #lastUs: number
  #step = stepMin

  constructor(horizonMs: number, monoUs: number) {
    this.#horizonSeconds = horizonMs / 1000
    this.#lastUs = monoUs
  }

  /** Ids per second, smoothed. */
  get perSecond(): number {
    return this.#perSecond
  }

  /** Records the running total of issued ids. */
  observe(count: number, monoUs: number): void {
    const seconds = (monoUs - this.#lastUs) / 1_000_000
    if (seconds < 0.05) return
    const latest = (count - this.#lastCount) / seconds
    const smoothing = latest > this.#perSecond ? riseSeconds : fallSeconds
    this.#perSecond += (latest - this.#perSecond) * (1 - Math.exp(-seconds / smoothing))
    this.#lastCount = count
    this.#lastUs = monoUs
  }

  /** A refill is due when fewer ids are buffered: the horizon at the present rate, half a step at least. */
  get lowMark(): number {
    return Math.max(this.#perSecond * this.#horizonSeconds, this.#step / 2)
  }

  /** The size of the next refill. `waiting`: the ids that callers wait for beyond what is buffered. */
  size(buffered: number, waiting: number): number {
    const wanted = 2 * this.#perSecond * this.#horizonSeconds - buffered
    const grown = waiting > 0 ? this.#step * 2 : this.#step
    const step = Math.min(Math.max(wanted, stepMin, waiting > 0 ? grown : 0), this.#step * growthMax)
    this.#step = Math.min(Math.ceil(step), stepMax)
    return Math.min(Math.max(this.#step, Math.ceil(waiting)), stepMax)
  }
}
