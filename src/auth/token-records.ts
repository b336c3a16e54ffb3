/**
 * The records of tokens that a node has in memory: how many there are, and which go from the store.
 *
 * Invariant
 *  1. `#recordsOf` has the same records by their users, and `#revoked` and `#revokedOf` count the revoked tokens among them: only
 *     `set` and `delete` change records.
 */
import { FahaoError } from '../base/errors.ts'
import type { Access } from './access.ts'
import { type Ended, keptMs, surplus } from './retention.ts'
import type { Token } from './token.ts'
import type { Users } from './users.ts'

/** A record. `base`: the permissions of the user from which `access` was made. */
export type TokenRecord = {
  readonly token: Token
  readonly version: bigint
  base?: Access
  access?: Access
}

/** How many tokens there are at most, and as many records of tokens that have ended. */
const tokensMax = 20_000
/** The same of one user. */
const tokensOfUserMax = 500
/** A user creates no token if it has more than this part of those that are left. */
const shareOfRest = 20
/** How long the record of an expired token stays, so that the reason of a refusal can be looked up. */
const shownMs = 86_400_000

/** The records by the ids of tokens. */
export class TokenRecords {
  readonly #users: Pick<Users, 'hasEnded'>
  readonly #nowUs: () => number
  readonly #records = new Map<string, TokenRecord>()
  readonly #recordsOf = new Map<string, Map<string, TokenRecord>>()
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

  /** All records, or those of the tokens of a user. */
  all(user?: string): TokenRecord[] {
    return [...this.#tokensOf(user).values()]
  }

  /** How many records there are, or how many of a user. */
  count(user?: string): number {
    return this.#tokensOf(user).size
  }

  /** The record of the token with this id. */
  get(id: string): TokenRecord | undefined {
    return this.#records.get(id)
  }

  /** Puts a record in the place of the one of its token. */
  set(record: TokenRecord): void {
    this.delete(record.token.id)
    const { id, user } = record.token
    const own = this.#recordsOf.get(user) ?? new Map<string, TokenRecord>()
    this.#recordsOf.set(user, own.set(id, record))
    this.#records.set(id, record)
    this.#count(record, 1)
  }

  /** Forgets a record. */
  delete(id: string): void {
    const record = this.#records.get(id)
    if (record === undefined) return
    const { user } = record.token
    const own = this.#recordsOf.get(user)
    if (own?.delete(id) && own.size === 0) this.#recordsOf.delete(user)
    this.#records.delete(id)
    this.#count(record, -1)
  }

  /** The record of this token is gone from the store: forgets it if it had to go. Any other was lost by the store. */
  gone(id: string): void {
    const token = this.#records.get(id)?.token
    if (token === undefined) return
    const revoked = token.revokedMs === undefined ? 0 : this.#revokedOf.get(token.user)!
    const isBeyond = revoked > tokensOfUserMax || (revoked > 0 && this.#revoked > tokensMax)
    if (isBeyond || this.#isExpired(token) || this.isOver(token)) this.delete(id)
  }

  /** Throws LIMIT if the user may have no further token. */
  checkRoom(user: string): void {
    let total = 0
    let count = 0
    for (const { token } of this.#records.values()) {
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

  /** The records that have to go from the store. */
  surplus(): TokenRecord[] {
    const over: TokenRecord[] = []
    const ended: (TokenRecord & Ended)[] = []
    for (const record of this.#records.values()) {
      const endedMs = this.#endOf(record.token)
      if (this.isOver(record.token)) over.push(record)
      else if (endedMs !== undefined) ended.push({ ...record, endedMs })
    }
    const { nowMs } = this
    const ofUsers = [...Map.groupBy(ended, ({ token }) => token.user).values()]
    const going = new Set(ofUsers.flatMap((records) => surplus(records, tokensOfUserMax, nowMs)))
    const rest = ended.filter((record) => !going.has(record))
    return [...over, ...going, ...surplus(rest, tokensMax, nowMs)]
  }

  /** Whether nothing is lost with the record of this token. */
  isOver({ user, userSince, createdMs, expiresMs, revokedMs }: Token): boolean {
    const isBefore = (ms: number | undefined, forMs: number) => ms !== undefined && ms + forMs <= this.nowMs
    // The record of a user that is not known has gone, unless the user has just been created.
    const isOfNone = this.#users.hasEnded(user, userSince) ?? isBefore(createdMs, keptMs)
    return isOfNone || isBefore(expiresMs, shownMs) || isBefore(revokedMs, keptMs)
  }

  /** When the token was revoked or expired, in Unix ms; undefined: it is in use. */
  #endOf(token: Token): number | undefined {
    return token.revokedMs ?? (this.#isExpired(token) ? token.expiresMs : undefined)
  }

  #tokensOf(user: string | undefined): ReadonlyMap<string, TokenRecord> {
    return user === undefined ? this.#records : (this.#recordsOf.get(user) ?? new Map())
  }

  #isExpired({ expiresMs }: Token): boolean {
    return expiresMs !== undefined && expiresMs <= this.nowMs
  }

  #count({ token: { user, revokedMs } }: TokenRecord, by: 1 | -1): void {
    if (revokedMs === undefined) return
    const count = (this.#revokedOf.get(user) ?? 0) + by
    if (count === 0) this.#revokedOf.delete(user)
    else this.#revokedOf.set(user, count)
    this.#revoked += by
  }
}
