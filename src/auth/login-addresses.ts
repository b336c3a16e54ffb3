/**
 * The addresses from which users have logged in.
 *
 * Invariants
 *  1. At most `addressesMax` addresses of each of `usersMax` users are kept, those of the newest logins. A user's logins
 *     remove no address of other users until `usersMax` users have logged in.
 *  2. `has` changes nothing, and takes the same time for every user.
 */
const usersMax = 10_000
const addressesMax = 16

/** Pairs of a user and an address. */
export class LoginAddresses {
  readonly #pairs = new Set<string>()
  /** The addresses of each user; the newest user and address last. */
  readonly #ofUser = new Map<string, string[]>()

  /** How many pairs are kept. */
  get size(): number {
    return this.#pairs.size
  }

  /** Whether the user has logged in from this address. Neither text may contain a space. */
  has(user: string, address: string): boolean {
    return this.#pairs.has(`${user} ${address}`)
  }

  /** The user has logged in from this address. */
  add(user: string, address: string): void {
    const known = this.#ofUser.get(user) ?? []
    const isNewest = known.at(-1) === address
    const addresses = isNewest ? known : [...known.filter((other) => other !== address), address]
    this.#pairs.add(`${user} ${address}`)
    if (addresses.length > addressesMax) this.#pairs.delete(`${user} ${addresses.shift()}`)
    this.#ofUser.delete(user)
    this.#ofUser.set(user, addresses)
    if (this.#ofUser.size <= usersMax) return
    const [oldest] = this.#ofUser.keys()
    for (const each of this.#ofUser.get(oldest!)!) this.#pairs.delete(`${oldest} ${each}`)
    this.#ofUser.delete(oldest!)
  }
}
