/**
 * Limits of questions whether a text was issued. A user that may ask can try texts, as others try passwords: so what was not issued
 * counts as a failure, for the user and for the network that it is asked from.
 *
 * Invariants
 *  1. Each text has taken a failure before anything is read for it, so questions at one moment are limited like questions in turn.
 *  2. A network has as many failures as ten users: one user cannot use up those of all others behind its address.
 */
import { networkOf } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { type Bucket, FailureLimits, longestWaitMs } from './failure-limits.ts'

const [burst, refillMs, usersOfNetwork] = [100, 1000, 10]

/** Of one node. */
export class CheckLimits {
  readonly #ofUser: FailureLimits
  readonly #ofNetwork: FailureLimits

  constructor(clock: Clock) {
    this.#ofUser = new FailureLimits(clock, burst, refillMs)
    this.#ofNetwork = new FailureLimits(clock, burst * usersOfNetwork, refillMs / usersOfNetwork)
  }

  /** Takes texts that may not have been issued. Throws QUOTA, and takes none, while a user or the network of a host has to wait. */
  take(user: string, host: string, texts: number): void {
    const buckets = this.#bucketsOf(user, host)
    const waitMs = longestWaitMs(buckets, texts)
    if (waitMs > 0) throw tooMany(waitMs, texts)
    for (const { limits, key } of buckets) limits.take(key, texts)
  }

  /** Gives back what `take` took for texts that may have been issued, or were not looked at. */
  giveBack(user: string, host: string, texts: number): void {
    for (const { limits, key } of this.#bucketsOf(user, host)) limits.giveBack(key, texts)
  }

  /** How many texts can be taken now. */
  left(user: string, host: string): number {
    return Math.min(...this.#bucketsOf(user, host).map(({ limits, key }) => limits.left(key)))
  }

  #bucketsOf(user: string, host: string): readonly Bucket[] {
    return [
      { limits: this.#ofUser, key: user },
      { limits: this.#ofNetwork, key: networkOf(host) },
    ]
  }
}

function tooMany(waitMs: number, texts: number): FahaoError {
  const fewer = texts > 1 ? ', or check fewer texts at once' : ''
  return new FahaoError(
    'QUOTA',
    `too many texts that were never issued have been checked by this user or from this address; retry in ${Math.ceil(waitMs / 1000)} s${fewer}`,
    { retryAfterMs: waitMs },
  )
}
