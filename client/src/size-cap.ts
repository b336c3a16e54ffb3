/**
 * How large a refill may be after quotas have refused larger ones. Pure but for its memory.
 *
 * Invariants
 *  1. After a refusal the largest size is half of what was refused, and at least 1.
 *  2. It rises again: after QUOTA with each refill that fits, because that quota fills up by itself; after LIMIT by a factor of
 *     two a minute, because only a change of the quota permits more.
 */
import { type FahaoError, hasCode } from '../../src/base/errors.ts'

const minuteUs = 60_000_000

/** Whether fewer ids might have been granted. */
export function isOfSize(error: unknown): error is FahaoError {
  return hasCode(error, 'LIMIT') || hasCode(error, 'QUOTA')
}

/** The largest refill after refusals by quotas. */
export class SizeCap {
  #ever = Number.POSITIVE_INFINITY
  #now = Number.POSITIVE_INFINITY
  #refusedUs = 0

  /** The largest size of the next refill; `monoUs` on the monotonic clock. */
  largest(monoUs: number): number {
    if (monoUs - this.#refusedUs >= minuteUs) {
      this.#ever *= 2
      this.#refusedUs = monoUs
    }
    return Math.min(this.#ever, this.#now)
  }

  /** A refill of `count` ids was refused: `error` has the code LIMIT or QUOTA. */
  refused(error: FahaoError, count: number, monoUs: number): void {
    const half = Math.max(1, Math.floor(count / 2))
    if (hasCode(error, 'QUOTA')) this.#now = half
    else {
      this.#ever = Math.min(this.#ever, half)
      this.#refusedUs = monoUs
    }
  }

  /** A refill of `count` ids was granted. */
  granted(count: number): void {
    if (count * 2 > this.#now) this.#now = count * 2
  }
}
