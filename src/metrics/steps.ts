/**
 * Counts over the last hour: what each has grown by in each step of ten seconds.
 *
 * Invariants
 *  1. A count takes 8 bytes for each of `stepsKept` steps, whatever is counted.
 *  2. A step tells what was counted in it, or that nothing is known of it: never what was counted an hour before.
 */

/** How long a step is, and how many are kept. */
export const [stepSeconds, stepsKept] = [10, 360] as const

/** A count that begins at 0 again when its generator leaves memory and comes back, as one that never falls. */
export class RisingCount {
  total: number
  #last: number

  /** @param last what it was at first, if that is known to be from before. */
  constructor(last = 0) {
    this.total = last
    this.#last = last
  }

  /** The count is `now` what is given. */
  take(now: number): void {
    this.total += now < this.#last ? now : now - this.#last
    this.#last = now
  }
}

/** A count and its steps. Steps are numbered: all counts have the same numbers. */
export class SteppedCount extends RisingCount {
  readonly #grown = new Float64Array(stepsKept).fill(Number.NaN)
  /** The newest step that is over, and the total at its end. */
  #newest = 0
  #counted: number

  constructor(last = 0) {
    super(last)
    this.#counted = last
  }

  /** `step` is over, and with it `passed` steps since the last call: what was counted since then is spread over them. */
  end(step: number, passed: number): void {
    const each = (this.total - this.#counted) / passed
    for (let at = Math.max(step - passed, step - stepsKept) + 1; at <= step; at++)
      this.#grown[at % stepsKept] = each
    this.#counted = this.total
    this.#newest = step
  }

  /** What was counted in each step up to `step`, the newest last, from the first of which anything is known. */
  upTo(step: number): number[] {
    const grown: number[] = []
    for (let at = step; at > this.#newest - stepsKept && at > step - stepsKept; at--) {
      const each = this.#grown[at % stepsKept]!
      if (Number.isNaN(each)) break
      grown.push(Math.round(each))
    }
    return grown.reverse()
  }
}

/**
 * A total that is only read from time to time, shown as one that rises evenly: it reaches the total read last after as much time as lay
 * between the two last reads. The total shown never falls.
 */
export class EvenTotal {
  #from = 0
  #to = 0
  #fromUs: number
  #spanUs = 0

  constructor(nowUs: number) {
    this.#fromUs = nowUs
  }

  /** The total to show at this time. */
  at(nowUs: number): number {
    const passed = this.#spanUs === 0 ? 1 : Math.min(1, (nowUs - this.#fromUs) / this.#spanUs)
    return Math.floor(this.#from + (this.#to - this.#from) * passed)
  }

  /** Takes in the total that was read at this time. */
  know(total: number, nowUs: number): void {
    this.#from = this.at(nowUs)
    this.#to = Math.max(total, this.#from, this.#to)
    this.#spanUs = nowUs - this.#fromUs
    this.#fromUs = nowUs
  }
}
