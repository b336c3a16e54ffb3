/**
 * Limits of questions whether a text was issued. A user that may ask can try texts, as others try passwords: so what was not issued
 * counts as a failure, for the user and for the network that it is asked from.
 */
import { networkOf } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { type Bucket, FailureLimits, longestWaitMs } from './failure-limits.ts'

const burst = 100
const refillMs = 1000

/** Of one node. */
export class CheckLimits {
  readonly #ofUser: FailureLimits
  readonly #ofNetwork: FailureLimits

  constructor(clock: Clock) {
    this.#ofUser = new FailureLimits(clock, burst, refillMs)
    this.#ofNetwork = new FailureLimits(clock, burst, refillMs)
  }

  /** Throws QUOTA while a user, or the network of a host, has to wait. */
  demand(user: string, host: string): void {
    const waitMs = longestWaitMs(this.#bucketsOf(user, host))
    if (waitMs === 0) return
    const seconds = Math.ceil(waitMs / 1000)
    throw new FahaoError(
      'QUOTA',
      `too many texts that were never issued have been checked by this user or from this address; retry in ${seconds} s`,
      { retryAfterMs: waitMs },
    )
  }

  /** Counts texts that were not issued. */
  take(user: string, host: string, failures: number): void {
    for (const { limits, key } of this.#bucketsOf(user, host))
      for (let each = 0; each < failures; each++) limits.take(key)
  }

  #bucketsOf(user: string, host: string): readonly Bucket[] {
    return [
      { limits: this.#ofUser, key: user },
      { limits: this.#ofNetwork, key: networkOf(host) },
    ]
  }
}
