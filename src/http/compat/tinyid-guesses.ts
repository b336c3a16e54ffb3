/**
 * The limits of guessing tokens of tinyid, like those of passwords (see auth/logins.ts).
 *
 * Invariants
 *  1. A token that a limit keeps out is not looked at: no answer says that it is right.
 *  2. A network may present 10 wrong tokens at once, and one a second after that. All networks from which no right token
 *     has come may present 100, those of one wide network (of IPv4 the first 16 bits, of IPv6 48) 50, and one a second
 *     after that. A token that a limit keeps out takes no failure.
 *  3. Wrong tokens keep no client out: a token that was right before is looked at whenever it comes from that
 *     network again, and a network from which a right token has come has a limit of its own.
 *  4. Memory is bounded, and only right tokens can evict: 10,000 networks, and 10,000 tokens with their network.
 */
import { type Bucket, FailureLimits, longestWaitMs } from '../../auth/failure-limits.ts'
import { networkOf, networksOf } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { LruMap } from '../../base/lru-map.ts'

const [networkBurst, wideBurst, newBurst, refillMs] = [10, 50, 100, 1000]
const rememberedMax = 10_000
/** The one key of the limit of all networks without a right token. */
const allNew = ''

/** The guesses at one node. */
export class TokenGuesses {
  readonly #ofNetwork: FailureLimits
  readonly #ofNewWithin: FailureLimits
  readonly #ofNewNetworks: FailureLimits
  readonly #networks = new LruMap<true>(rememberedMax)
  readonly #tokens = new LruMap<true>(rememberedMax)

  constructor(clock: Clock) {
    this.#ofNetwork = new FailureLimits(clock, networkBurst, refillMs)
    this.#ofNewWithin = new FailureLimits(clock, wideBurst, refillMs)
    this.#ofNewNetworks = new FailureLimits(clock, newBurst, refillMs)
  }

  /** Throws QUOTA if a token from this IP address is not to be looked at now. */
  admit(address: string, token: string): void {
    const network = networkOf(address)
    if (this.#tokens.get(`${network} ${token}`)) return
    const waitMs = longestWaitMs(this.#bucketsOf(network))
    if (waitMs === 0) return
    const seconds = Math.ceil(waitMs / 1000)
    throw new FahaoError('QUOTA', `too many wrong tokens; wait ${seconds} s before the next`)
  }

  /** A token that was admitted is right. */
  succeeded(address: string, token: string): void {
    const network = networkOf(address)
    this.#networks.set(network, true)
    this.#tokens.set(`${network} ${token}`, true)
  }

  /** A token that was admitted is wrong. */
  failed(address: string, token: string): void {
    const network = networkOf(address)
    // The token was right for another generator.
    if (this.#tokens.get(`${network} ${token}`)) return
    for (const { limits, key } of this.#bucketsOf(network)) limits.take(key)
  }

  #bucketsOf(network: string): readonly Bucket[] {
    const own = { limits: this.#ofNetwork, key: network }
    if (this.#networks.get(network)) return [own]
    const [wide = network] = networksOf(network)
    return [own, { limits: this.#ofNewWithin, key: wide }, { limits: this.#ofNewNetworks, key: allNew }]
  }
}
