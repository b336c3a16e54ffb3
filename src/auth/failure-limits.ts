/**
 * Token buckets of failures: how many wrong passwords a key may have at once, and how many a second after that.
 *
 * Invariants
 *  1. A bucket is one number, the time at which it is full again. A full bucket equals no bucket, and needs no memory.
 *  2. A bucket that is not full is never removed, so no number of other keys can restore the failures of one. If every one
 *     of `keysMax` buckets is in use, a new key is limited. Guesses cannot bring that about: a failure costs a derivation,
 *     two run at a time, and each bucket in use takes back a failure a second. With f failures hashed in a second, no more
 *     than about 2 f buckets are in use: 50 at 40 ms for each failure.
 */
import type { Clock } from '../base/clock.ts'

const keysMax = 10_000

/** One limit, for any number of keys. A failure is taken before the outcome is known, and given back after a success. */
export class FailureLimits {
  readonly #clock: Clock
  readonly #burst: number
  readonly #intervalUs: number
  /** When each bucket is full again, on the monotonic clock. */
  readonly #fullUs = new Map<string, number>()

  /** @param burst how many failures at once; one more is allowed every `intervalMs`. */
  constructor(clock: Clock, burst: number, intervalMs: number) {
    this.#clock = clock
    this.#burst = burst
    this.#intervalUs = intervalMs * 1000
  }

  /** How many buckets are in memory. */
  get size(): number {
    return this.#fullUs.size
  }

  /** How long this key has to wait before its next attempts, in ms; 0: not at all. */
  waitMs(key: string, count = 1): number {
    const nowUs = this.#clock.monoUs()
    const fullUs = this.#fullUs.get(key)
    if (fullUs === undefined) return this.#hasRoom(nowUs) ? 0 : Math.ceil(this.#intervalUs / 1000)
    const allowedUs = fullUs - (this.#burst - count) * this.#intervalUs
    return Math.max(0, Math.ceil((allowedUs - nowUs) / 1000))
  }

  /** How many attempts of this key need not wait. */
  left(key: string): number {
    const missingUs = Math.max(0, (this.#fullUs.get(key) ?? 0) - this.#clock.monoUs())
    return Math.max(0, this.#burst - Math.ceil(missingUs / this.#intervalUs))
  }

  /** Takes failures of a key that need not wait. */
  take(key: string, count = 1): void {
    const fromUs = Math.max(this.#fullUs.get(key) ?? 0, this.#clock.monoUs())
    this.#fullUs.set(key, fromUs + count * this.#intervalUs)
  }

  /** Gives back what `take` took: the attempts did not fail. */
  giveBack(key: string, count = 1): void {
    const fullUs = (this.#fullUs.get(key) ?? 0) - count * this.#intervalUs
    if (fullUs > this.#clock.monoUs()) this.#fullUs.set(key, fullUs)
    else this.#fullUs.delete(key)
  }

  #hasRoom(nowUs: number): boolean {
    if (this.#fullUs.size < keysMax) return true
    for (const [key, fullUs] of this.#fullUs) if (fullUs <= nowUs) this.#fullUs.delete(key)
    return this.#fullUs.size < keysMax
  }
}

/** A limit of failures, and the key that counts in it. */
export type Bucket = { readonly limits: FailureLimits; readonly key: string }

/** How long attempts that count in all of these have to wait, in ms; 0: not at all. */
export function longestWaitMs(buckets: readonly Bucket[], count = 1): number {
  return Math.max(...buckets.map(({ limits, key }) => limits.waitMs(key, count)))
}
