/**
 * The next few ids of a buffer, which can be issued without any check: no caller waits and no refill is due. One class
 * for all kinds, so that the fast path is the same few instructions everywhere.
 *
 * The buffer fills it, and takes its rest back before it reads or changes anything.
 */
import { type Run, safeHi, two32 } from './run.ts'

/** A few ids, one `stride` apart, whose low half does not overflow. */
export class FastRun {
  hi = 0
  count = 0
  stride = 1
  /** The low half after all ids are taken: `take` writes `count` alone. */
  #endLo = 0
  #filled = 0

  /** Fills it with `count` ids. */
  fill(hi: number, lo: number, count: number, stride: number): void {
    this.hi = hi
    this.#endLo = lo + count * stride
    this.count = count
    this.stride = stride
    this.#filled = count
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

  /** Takes one id as a number; −1, and takes none, when it is empty or the id is past 2^53−1. */
  takeNumber(): number {
    const left = this.count
    if (left === 0 || this.hi >= safeHi) return -1
    this.count = left - 1
    return this.hi * two32 + (this.#endLo - left * this.stride)
  }

  /** How many of its ids have been taken. */
  get taken(): number {
    return this.#filled - this.count
  }

  /** Empties it; returns how many of its ids had been taken. */
  recall(): number {
    const { taken } = this
    this.count = 0
    this.#filled = 0
    return taken
  }
}
