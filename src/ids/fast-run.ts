/**
 * Ids that can be issued without looking at anything: in hand, of the moment, with nobody waiting and no refill
 * due. One class for all kinds, so that the fast path is the same few instructions everywhere.
 *
 * Whoever holds the hand makes ids ready, and takes the rest back before it looks at or changes anything.
 */
import { type Run, safeHi, two32 } from './run.ts'

/** A few ids, one `stride` apart, whose low half does not overflow. */
export class FastRun {
  hi = 0
  count = 0
  stride = 1
  /** Where the low half will stand when all are taken: what a taker writes is `count` alone. */
  #endLo = 0
  #made = 0

  /** Makes `count` ids ready. */
  make(hi: number, lo: number, count: number, stride: number): void {
    this.hi = hi
    this.#endLo = lo + count * stride
    this.count = count
    this.stride = stride
    this.#made = count
  }

  /** Takes exactly `count` ids into `run`, or none: 0. */
  take(count: number, run: Run): number {
    const left = this.count
    if (count > left) return 0
    this.count = left - count
    run.hi = this.hi
    run.lo = this.#endLo - left * this.stride
    run.count = count
    run.stride = this.stride
    return count
  }

  /** Takes one id as a number; −1, and takes none, when none is ready or it is past 2^53−1. */
  takeNumber(): number {
    const left = this.count
    if (left === 0 || this.hi >= safeHi) return -1
    this.count = left - 1
    return this.hi * two32 + (this.#endLo - left * this.stride)
  }

  /** How many of those made ready have been taken. */
  get taken(): number {
    return this.#made - this.count
  }

  /** Takes back what is left; returns how many had been taken. */
  recall(): number {
    const { taken } = this
    this.count = 0
    this.#made = 0
    return taken
  }
}
