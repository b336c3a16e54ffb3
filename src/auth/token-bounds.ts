/**
 * How many tokens there are, and whose records go from the store.
 *
 * Invariant
 *  1. `#tokensOf` has the same tokens by their users, and `#revoked` and `#revokedOf` count the revoked ones among them: only
 *     `set` and `delete` change them.
 */
import { FahaoError } from '../base/errors.ts'
import { type Ended, purgeable, retentionMs } from './retention.ts'
import type { Token } from './token.ts'
import type { Users } from './users.ts'

/** How many tokens there are at most, and as many records of tokens that have ended. */
const tokensMax = 20_000
/** The most tokens of one user. */
const tokensOfUserMax = 500
/** A user creates no token if it has more than this part of those that are left. */
const shareOfRest = 20
/** How long the record of an expired token stays, so that the reason of a refusal can be looked up. */
const shownMs = 86_400_000

/** The tokens that a node knows. */
export class TokenBounds {
  readonly #users: Pick<Users, 'hasEnded'>
  readonly #nowUs: () => number
  readonly #tokens = new Map<string, Token>()
  readonly #tokensOf = new Map<string, Map<string, Token>>()
  /** How many revoked tokens each user has, and all users together. */
  readonly #revokedOf = new Map<string, number>()
  #revoked = 0

  constructor(users: Pick<Users, 'hasEnded'>, nowUs: () => number) {
    this.#users = users
    this.#nowUs = nowUs
  }

  /** Unix time in ms. */
  get nowMs(): number {
    return Math.floor(this.#nowUs() / 1000)
  }

  /** All tokens, or those of a user. */
  all(user?: string): Token[] {
    return [...this.#of(user).values()]
  }

  /** How many tokens there are, or how many of a user. */
  count(user?: string): number {
    return this.#of(user).size
  }

  /** Adds a token that is not there. */
  set(token: Token): void {
    const { id, user } = token
    const own = this.#tokensOf.get(user) ?? new Map<string, Token>()
    this.#tokensOf.set(user, own.set(id, token))
    this.#tokens.set(id, token)
    this.#count(token, 1)
  }

  /** Forgets a token. */
  delete(id: string): void {
    const token = this.#tokens.get(id)
    if (token === undefined) return
    const own = this.#tokensOf.get(token.user)
    if (own?.delete(id) && own.size === 0) this.#tokensOf.delete(token.user)
    this.#tokens.delete(id)
    this.#count(token, -1)
  }

  /** Whether the record of a token had to go if it is gone from the store. Any other was lost by the store. */
  hasToGo(token: Token): boolean {
    const revoked = token.revokedMs === undefined ? 0 : (this.#revokedOf.get(token.user) ?? 0)
    const isBeyond = revoked > tokensOfUserMax || (revoked > 0 && this.#revoked > tokensMax)
    return isBeyond || this.#isExpired(token) || this.isOver(token)
  }

  /** Throws LIMIT if the user may have no further token. */
  checkRoom(user: string): void {
    let total = 0
    let count = 0
    for (const token of this.#tokens.values()) {
      if (this.#endOf(token) !== undefined || this.isOver(token)) continue
      total++
      if (token.user === user) count++
    }
    const rest = tokensMax - total
    if (count < tokensOfUserMax && count * shareOfRest < rest) return
    const reason =
      count < tokensOfUserMax
        ? `there are ${total} tokens, and a user may have one in ${shareOfRest} of the ${rest} that are left of ${tokensMax}`
        : 'a user may have no more'
    throw new FahaoError('LIMIT', `user '${user}' has ${count} tokens, and ${reason}; revoke some first`)
  }

  /** The tokens whose records have to go from the store. */
  purgeable(): Token[] {
    const over: Token[] = []
    const ended: (Token & Ended)[] = []
    for (const token of this.#tokens.values()) {
      const endedMs = this.#endOf(token)
      if (this.isOver(token)) over.push(token)
      else if (endedMs !== undefined) ended.push({ ...token, endedMs })
    }
    const { nowMs } = this
    const ofUsers = [...Map.groupBy(ended, ({ user }) => user).values()]
    const going = new Set(ofUsers.flatMap((tokens) => purgeable(tokens, tokensOfUserMax, nowMs)))
    const rest = ended.filter((token) => !going.has(token))
    return [...over, ...going, ...purgeable(rest, tokensMax, nowMs)]
  }

  /** Whether nothing is lost with the record of this token. */
  isOver({ user, userSince, createdMs, expiresMs, revokedMs }: Token): boolean {
    const isBefore = (ms: number | undefined, forMs: number) => ms !== undefined && ms + forMs <= this.nowMs
    // The record of a user that is not known has gone, unless the user has just been created.
    const isOfNone = this.#users.hasEnded(user, userSince) ?? isBefore(createdMs, retentionMs)
    return isOfNone || isBefore(expiresMs, shownMs) || isBefore(revokedMs, retentionMs)
  }

  /** When the token was revoked or expired, in Unix ms; undefined: it is in use. */
  #endOf(token: Token): number | undefined {
    return token.revokedMs ?? (this.#isExpired(token) ? token.expiresMs : undefined)
  }

  #of(user: string | undefined): ReadonlyMap<string, Token> {
    return user === undefined ? this.#tokens : (this.#tokensOf.get(user) ?? new Map())
  }

  #isExpired({ expiresMs }: Token): boolean {
    return expiresMs !== undefined && expiresMs <= this.nowMs
  }

  #count({ user, revokedMs }: Token, by: 1 | -1): void {
    if (revokedMs === undefined) return
    const count = (this.#revokedOf.get(user) ?? 0) + by
    if (count === 0) this.#revokedOf.delete(user)
    else this.#revokedOf.set(user, count)
    this.#revoked += by
  }
}
