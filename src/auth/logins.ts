/**
 * The decision about one login, and the limits of guessing.
 *
 * Invariants
 *  1. A login that succeeds here fits a hash that the user has at that moment: the hashes are read again after the
 *     derivation, and for a remembered password too.
 *  2. A verified password is remembered as an HMAC of user and password under a key that this process made up, together with
 *     the stored hash that it fits. It is worth nothing once the user no longer has that hash, so no change of a user has to
 *     be announced here. A wrong password is not remembered: each guess costs a derivation and a failure.
 *  3. Equal attempts at one moment (a reconnect storm) share one derivation and one failure, because they are one guess.
 *  4. Before the derivation, nothing but a remembered password depends on the user: neither the reply nor the time of an
 *     attempt that is wrong or limited says whether the user exists, is off, or has several passwords (see passwords.ts).
 *  5. An attempt takes a failure in each of its limits before the derivation, and gets all of them back if it succeeds:
 *     attempts at one moment are limited like attempts in turn. A limited attempt costs no derivation and no failure.
 *  6. A user cannot be locked out by the failures of others:
 *     - a remembered password is accepted before any limit is looked at;
 *     - an address (one of the newest 16) from which the user has logged in before has a limit of its own for this
 *       user, and takes its turn before all other addresses. Only failures for this user from there count;
 *     - failures refill as fast in the user's limit as in the limits of their address and of the wide network around it
 *       (of IPv4 the first 16 bits, of IPv6 48). So an address takes 10 of the user's 100 at most, and a wide network 50.
 *       Only from two wide networks on can an attacker keep out a login from a new address in a third one, which after a
 *       restart means any address; it then shares the one attempt a second with the attacker.
 *  7. Guesses of one user from all new addresses together are limited to 100, those from one wide network to 50, and to
 *     one a second after that.
 *  8. Memory is bounded, and only a success can evict: 10,000 remembered passwords, 16 addresses for each of 10,000 users.
 *     A user's successes add one remembered password for each password that it has had, and evict no address of another
 *     user until 10,000 users have logged in. No entry that limits an address or a user is evicted (failure-limits.ts).
 *     Names are kept as HMACs, whatever their length was.
 */
import { createHmac, createSecretKey } from 'node:crypto'
import { networkOf, networksOf } from '../base/address.ts'
import { type Clock, secretBytes } from '../base/clock.ts'
import { LruMap } from '../base/lru-map.ts'
import { type Bucket, FailureLimits, longestWaitMs } from './failure-limits.ts'
import { LoginAddresses } from './login-addresses.ts'
import { digestOf, type Passwords } from './passwords.ts'

/** One attempt. */
export type Attempt = {
  readonly user: string
  readonly password: string | Uint8Array
  /** The peer's IP address, as sockets have it; any text of limited length for other peers. */
  readonly address: string
  /** The hashes that the user has at this moment; undefined: there is no such user, or it is off. */
  readonly hashes: () => readonly string[] | undefined
}

/**
 * `ok`: the password fits `hash`, which the user had when that was decided. `limited`: the attempt was not looked at; the
 * next one can be after `retryAfterMs`.
 */
export type Outcome =
  | { readonly outcome: 'ok'; readonly hash: string }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'limited'; readonly retryAfterMs: number }

/** An attempt that is not remembered, in the form that is looked up. */
type Asked = {
  readonly digest: string
  /** HMACs: of the user, and of the user with the password. */
  readonly user: string
  readonly credential: string
  readonly network: string
}
/** Of a verified password: the stored hash that it fits, and the HMAC of its user. */
type Remembered = { readonly hash: string; readonly user: string }
/** An attempt whose turn has not come or whose derivation runs. */
type Pending = { readonly hashes: readonly string[]; readonly outcome: Promise<Outcome> }

const rememberedMax = 10_000
const [addressBurst, wideBurst, userBurst, refillMs] = [10, 50, 100, 1000]
const wrong = { outcome: 'wrong' } as const

/** Decides about logins. One instance serves a whole process. */
export class Logins {
  readonly #passwords: Passwords
  readonly #ofAddress: FailureLimits
  /** Failures of a user within one wide network. */
  readonly #ofUserWithin: FailureLimits
  readonly #ofUser: FailureLimits
  /** Made once: a raw key costs each HMAC several times as much as its text. */
  readonly #key = createSecretKey(secretBytes(32))
  /** By the HMAC of user and password. */
  readonly #remembered = new LruMap<Remembered>(rememberedMax)
  readonly #addresses = new LoginAddresses()
  readonly #pending = new Map<string, Pending>()

  constructor(passwords: Passwords, clock: Clock) {
    this.#passwords = passwords
    this.#ofAddress = new FailureLimits(clock, addressBurst, refillMs)
    this.#ofUserWithin = new FailureLimits(clock, wideBurst, refillMs)
    this.#ofUser = new FailureLimits(clock, userBurst, refillMs)
  }

  /** Sizes of what is in memory, for metrics and tests. */
  get sizes() {
    return {
      remembered: this.#remembered.size,
      places: this.#addresses.size,
      limitedAddresses: this.#ofAddress.size,
      limitedUsers: this.#ofUser.size,
      pending: this.#pending.size,
    }
  }

  /** Decides about one attempt. Rejects with BUSY if too many others wait for their derivation. */
  async login(attempt: Attempt): Promise<Outcome> {
    const { user, password, address } = attempt
    const credential = this.#hmac(`login ${user.length} ${user} `, password)
    const network = networkOf(address)
    const remembered = this.#remembered.get(credential)
    if (remembered !== undefined) {
      const { hash } = remembered
      if (this.#admit(attempt, { user: remembered.user, network }, hash)) return { outcome: 'ok', hash }
      this.#remembered.delete(credential)
    }
    const asked = { digest: digestOf(password), user: this.#hmac(`user ${user}`), credential, network }
    const hashes = attempt.hashes() ?? []
    const pending = this.#pending.get(credential)
    if (pending === undefined || !isSame(pending.hashes, hashes)) return this.#lead(attempt, asked, hashes)
    const result = await pending.outcome
    // A limit of the other attempt's address is none of this one's.
    if (result.outcome === 'limited') return this.#check(attempt, asked, hashes)
    if (result.outcome === 'ok') this.#addresses.add(asked.user, asked.network)
    return result
  }

  /** Checks an attempt whose outcome equal attempts, made meanwhile, share. */
  async #lead(attempt: Attempt, asked: Asked, hashes: readonly string[]): Promise<Outcome> {
    const outcome = this.#check(attempt, asked, hashes)
    const pending = { hashes, outcome }
    this.#pending.set(asked.credential, pending)
    try {
      return await outcome
    } finally {
      if (this.#pending.get(asked.credential) === pending) this.#pending.delete(asked.credential)
    }
  }

  async #check(attempt: Attempt, asked: Asked, hashes: readonly string[]): Promise<Outcome> {
    const { digest, user, credential, network } = asked
    const isFavoured = this.#addresses.has(user, network)
    const buckets = this.#bucketsOf(asked, isFavoured)
    let retryAfterMs = longestWaitMs(buckets)
    if (retryAfterMs > 0) return { outcome: 'limited', retryAfterMs }
    const fitting = await this.#passwords.find(hashes, digest, { address: network, isFavoured }, () => {
      // The failures of attempts before this one in the queue count by now.
      retryAfterMs = longestWaitMs(buckets)
      if (retryAfterMs > 0) return false
      for (const { limits, key } of buckets) limits.take(key)
      return true
    })
    if (retryAfterMs > 0) return { outcome: 'limited', retryAfterMs }
    if (fitting === undefined || !this.#admit(attempt, asked, fitting)) return wrong
    for (const { limits, key } of buckets) limits.giveBack(key)
    this.#remembered.set(credential, { hash: fitting, user })
    return { outcome: 'ok', hash: fitting }
  }

  #bucketsOf({ user, network }: Asked, isFavoured: boolean): readonly Bucket[] {
    if (isFavoured) return [{ limits: this.#ofAddress, key: `${network} ${user}` }]
    const [wide] = networksOf(network)
    return [
      { limits: this.#ofAddress, key: network },
      { limits: this.#ofUserWithin, key: `${wide} ${user}` },
      { limits: this.#ofUser, key: user },
    ]
  }

  /** Whether the user has this hash now; if so, notes the address. */
  #admit({ hashes }: Attempt, { user, network }: Pick<Asked, 'user' | 'network'>, fitting: string): boolean {
    if (!hashes()?.includes(fitting)) return false
    this.#addresses.add(user, network)
    return true
  }

  #hmac(text: string, password: string | Uint8Array = ''): string {
    return createHmac('sha256', this.#key).update(text).update(password).digest('base64')
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((hash, index) => hash === other[index]))
}
