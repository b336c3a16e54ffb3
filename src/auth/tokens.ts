/**
 * The tokens of an installation: records `tokens/ID` of the engine (engine/watched-records.ts). `token.ts` has one token, and
 * compares its secret.
 *
 * Invariants
 *  1. A token permits what both its user and its rules permit: never more than its user may do at that moment.
 *  2. It is void once it has expired or is revoked, and while its user is off. It stays void once its user was removed: a
 *     user that is created again under the same name is another one.
 *  3. A revoked token is not in force again on a node that has seen it revoked. Its record stays until it would have
 *     expired or as long as retention.ts says, so that a store that went back is noticed: `reconcile` revokes it again.
 *     The tokens of a removed user are void by the user's record, and their records go first.
 *  4. A secret is stored as its hash, and is in no error and no event. It has 256 random bits, so guesses are not limited.
 *  5. The number of tokens is bounded, of one user and in all. A user's share shrinks as the total grows, so that a few
 *     users leave room for the others. Revoked and expired tokens have bounds of their own: the oldest records go.
 */
import { repeat, type Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { type RecordsEngine, WatchedRecords } from '../engine/watched-records.ts'
import type { Access } from './access.ts'
import {
  checkLabel,
  findToken,
  newSecret,
  readToken,
  type Token,
  type TokenScope,
  writeToken,
} from './token.ts'
import { TokenBounds } from './token-bounds.ts'
import type { Users, UsersDeps } from './users.ts'

/** What tokens need. */
export type TokensDeps = Pick<UsersDeps, 'clock' | 'subjects' | 'onEvent' | 'nowUs'> & {
  readonly engine: RecordsEngine
  readonly users: Users
}

/** A token to be created. */
export type TokenRequest = TokenScope & {
  readonly user: string
  readonly label: string
  /** How long it is valid; undefined: for ever. */
  readonly lifetimeMs: number | undefined
  /** The user that asks for it. */
  readonly by: string
}

const expiryMs = 250

/** The tokens, as this node knows them. */
export class Tokens {
  readonly #deps: TokensDeps
  readonly #records: WatchedRecords<Token>
  readonly #bounds: TokenBounds
  readonly #listeners = new Set<() => void>()
  readonly #expiring: Timer
  /** The permissions of tokens, each with those of its user from which they were made. */
  readonly #permissions = new WeakMap<Token, { readonly base: Access; readonly access: Access }>()
  /** When the next token expires. */
  #nextExpiryMs = Number.POSITIVE_INFINITY

  private constructor(deps: TokensDeps) {
    this.#deps = deps
    this.#bounds = new TokenBounds(deps.users, deps.nowUs)
    this.#records = new WatchedRecords(deps.engine, {
      prefix: 'tokens/',
      read: readToken,
      write: writeToken,
      revisionOf: ({ revokedMs }) => (revokedMs === undefined ? 0 : 1),
      isSame: (one, other) => one.hash === other.hash && one.revokedMs === other.revokedMs,
      hasToGo: (token) => this.#bounds.hasToGo(token),
      isKept: (token) => !this.#bounds.isOver(token),
      unreadable: (id) => this.#unreadable(id),
      changed: (before, after) => this.#changed(before, after),
      contended: () => 'the token is being changed by other requests; try again',
    })
    this.#expiring = repeat(deps.clock, expiryMs, async () => this.#expire())
  }

  /** Reads the tokens, and watches them from then on. */
  static async open(deps: TokensDeps): Promise<Tokens> {
    const tokens = new Tokens(deps)
    try {
      await tokens.#records.open()
      return tokens
    } catch (error) {
      tokens.close()
      throw error
    }
  }

  /** Every token that is not revoked, or those of a user, the newest first; expired ones too, for a day. */
  all(user?: string): Token[] {
    return this.#bounds
      .all(user)
      .filter((token) => token.revokedMs === undefined && !this.#bounds.isOver(token))
      .sort((a, b) => b.createdMs - a.createdMs)
  }

  /** How many tokens `all` looks at. */
  count(user?: string): number {
    return this.#bounds.count(user)
  }

  /** The token of this id, unless it is revoked. */
  get(id: string): Token | undefined {
    const token = this.#records.get(id)
    return token?.revokedMs === undefined ? token : undefined
  }

  /** Whether a token can be used now. */
  isValid(token: Token): boolean {
    const { users } = this.#deps
    return (
      token.revokedMs === undefined &&
      !(token.expiresMs !== undefined && token.expiresMs <= this.#bounds.nowMs) &&
      users.createdAt(token.user) === token.userSince &&
      users.access(token.user) !== undefined
    )
  }

  /** The permissions of the token with this text; undefined: it is not valid. */
  verify(text: string): Access | undefined {
    const token = findToken(text, (id) => this.#records.get(id))
    return token && this.access(token.id)
  }

  /** The permissions of the token with this id; undefined: it is not valid. */
  access(id: string): Access | undefined {
    const token = this.#records.get(id)
    const base = token && this.#deps.users.access(token.user)
    if (token === undefined || base === undefined || !this.isValid(token)) return undefined
    const known = this.#permissions.get(token)
    if (known?.base === base) return known.access
    const commands = token.commands && this.#deps.subjects.permitted(token.commands)
    const access = base.narrowedBy(id, commands, token.patterns)
    this.#permissions.set(token, { base, access })
    return access
  }

  /** Calls `listener` after tokens were changed or have expired. */
  listen(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Creates a token; `text` is shown this once. Rejects with ERR, LIMIT, UNAVAILABLE, UNKNOWN. */
  async create({
    user,
    label,
    lifetimeMs,
    by,
    patterns,
    commands,
  }: TokenRequest): Promise<{ readonly token: Token; readonly text: string }> {
    const { users } = this.#deps
    checkLabel(label)
    const userSince = users.createdAt(user)
    if (userSince === undefined) {
      throw new FahaoError('ERR', `no user '${user.slice(0, 64)}'; create it first: fahao user set`)
    }
    if (users.get(user)!.nopass) {
      throw new FahaoError('ERR', `user '${user}' needs no password (nopass), so a token protects nothing`)
    }
    await this.#records.sweep(this.#bounds.purgeable().map((token) => token.id))
    this.#bounds.checkRoom(user)
    const { id, text, hash } = newSecret()
    const createdMs = this.#bounds.nowMs
    const token: Token = {
      id,
      user,
      userSince,
      hash,
      label,
      ...(patterns && { patterns }),
      ...(commands && { commands }),
      createdMs,
      createdBy: by,
      ...(lifetimeMs !== undefined && { expiresMs: createdMs + lifetimeMs }),
    }
    await this.#records.change(id, (_, record) => {
      if (record === undefined) return token
      throw new FahaoError('CONFLICT', 'the id of the token is in use; try again')
    })
    return { token, text }
  }

  /** Revokes a token. Resolves to whether it was there. Rejects with CONFLICT, UNAVAILABLE, UNKNOWN. */
  async revoke(id: string): Promise<boolean> {
    const changed = await this.#records.change(id, (token, record) => {
      const isRevoked = record !== undefined && readToken(id, record.value)?.revokedMs !== undefined
      return token === undefined || isRevoked
        ? undefined
        : { ...token, revokedMs: token.revokedMs ?? this.#bounds.nowMs }
    })
    return changed !== undefined
  }

  /**
   * After the store has lost writes and was advanced: writes again what this node knows and the store has lost, and
   * reports which tokens these are.
   */
  async reconcile(): Promise<void> {
    const ids = await this.#records.reconcile()
    if (ids.length === 0) return
    const lost = ids.map((id) => (this.get(id) === undefined ? `${id} (revoked)` : id))
    this.#deps.onEvent({
      level: 'warn',
      message: `the store had lost writes: these tokens were written again as this node knew them: ${lost.join(', ')}`,
    })
  }

  /** Ends the watch and the timer. */
  close(): void {
    this.#records.close()
    this.#expiring.cancel()
  }

  #expire(): void {
    if (this.#bounds.nowMs < this.#nextExpiryMs) return
    this.#nextExpiryMs = Number.POSITIVE_INFINITY
    for (const token of this.#records.values()) this.#expect(token)
    this.#announce()
  }

  #expect({ expiresMs = Number.POSITIVE_INFINITY }: Token): void {
    if (expiresMs > this.#bounds.nowMs) this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresMs)
  }

  #announce(): void {
    for (const listener of this.#listeners) listener()
  }

  #unreadable(id: string): undefined {
    const message = `the record of token '${id.slice(0, 64)}' cannot be read, so it is not valid: revoke it`
    this.#deps.onEvent({ level: 'error', message })
  }

  #changed(before: Token | undefined, after: Token | undefined): void {
    if (before !== undefined) this.#bounds.delete(before.id)
    if (after === undefined) return
    this.#bounds.set(after)
    this.#expect(after)
    if (before === undefined || before.revokedMs !== after.revokedMs) this.#announce()
  }
}
