/**
 * The tokens of an installation: records `tokens/ID` of the engine, kept in memory by a watch.
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
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Engine, RecordChange, StoredRecord, Watch } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import type { Access } from './access.ts'
import {
  checkLabel,
  findToken,
  type Narrowing,
  newSecret,
  readToken,
  type Token,
  writeToken,
} from './token.ts'
import { TokenRecords } from './token-records.ts'
import type { Users, UsersDeps } from './users.ts'

/** What tokens need. */
export type TokensDeps = Pick<UsersDeps, 'clock' | 'subjects' | 'onEvent' | 'nowUs'> & {
  readonly engine: Pick<Engine, 'list' | 'read' | 'write' | 'remove' | 'watch'>
  readonly users: Users
}

/** A token to be created. */
export type TokenRequest = Narrowing & {
  readonly user: string
  readonly label: string
  /** How long it is valid; undefined: for ever. */
  readonly lifetimeMs: number | undefined
  /** The user that asks for it. */
  readonly by: string
}

const prefix = 'tokens/'
const attemptsMax = 8
const expiryMs = 250
/** How many records go with one new token. */
const sweepMax = 100

/** The tokens, as this node knows them. */
export class Tokens {
  readonly #deps: TokensDeps
  readonly #known: TokenRecords
  readonly #listeners = new Set<() => void>()
  readonly #expiring: Timer
  #watch: Watch | undefined
  /** When the next token expires. */
  #nextExpiryMs = Number.POSITIVE_INFINITY

  private constructor(deps: TokensDeps) {
    this.#deps = deps
    this.#known = new TokenRecords(deps.users, deps.nowUs)
    this.#expiring = repeat(deps.clock, expiryMs, async () => this.#expire())
  }

  /** Reads the tokens, and watches them from then on. */
  static async open(deps: TokensDeps): Promise<Tokens> {
    const tokens = new Tokens(deps)
    tokens.#watch = await deps.engine.watch(prefix, (change) => tokens.#changed(change))
    try {
      for (const record of await listAll(deps.engine, prefix)) tokens.#learn(record)
    } catch (error) {
      tokens.close()
      throw error
    }
    return tokens
  }

  /** Every token that is not revoked, or those of a user, the newest first; expired ones too, for a day. */
  all(user?: string): Token[] {
    return this.#known
      .all(user)
      .map(({ token }) => token)
      .filter((token) => token.revokedMs === undefined && !this.#known.isOver(token))
      .sort((a, b) => b.createdMs - a.createdMs)
  }

  /** How many tokens `all` looks at. */
  count(user?: string): number {
    return this.#known.count(user)
  }

  /** The token of this id, unless it is revoked. */
  get(id: string): Token | undefined {
    const token = this.#known.get(id)?.token
    return token?.revokedMs === undefined ? token : undefined
  }

  /** Whether a token can be used now. */
  isValid(token: Token): boolean {
    const { users } = this.#deps
    return (
      token.revokedMs === undefined &&
      !(token.expiresMs !== undefined && token.expiresMs <= this.#known.nowMs) &&
      users.createdAt(token.user) === token.userSince &&
      users.access(token.user) !== undefined
    )
  }

  /** The permissions of the token with this text; undefined: it is not valid. */
  verify(text: string): Access | undefined {
    const token = findToken(text, (id) => this.#known.get(id)?.token)
    return token && this.access(token.id)
  }

  /** The permissions of the token with this id; undefined: it is not valid. */
  access(id: string): Access | undefined {
    const known = this.#known.get(id)
    if (known === undefined || !this.isValid(known.token)) return undefined
    const { user, commands, patterns } = known.token
    const base = this.#deps.users.access(user)!
    if (known.access === undefined || known.base !== base) {
      known.base = base
      known.access = base.narrowedBy(id, commands && this.#deps.subjects.permitted(commands), patterns)
    }
    return known.access
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
    const { engine, users } = this.#deps
    checkLabel(label)
    const userSince = users.createdAt(user)
    if (userSince === undefined) {
      throw new FahaoError('ERR', `no user '${user.slice(0, 64)}'; create it first: fahao user set`)
    }
    if (users.get(user)!.nopass) {
      throw new FahaoError('ERR', `user '${user}' needs no password (nopass), so a token protects nothing`)
    }
    await this.#sweep()
    this.#known.checkRoom(user)
    const { id, text, hash } = newSecret()
    const createdMs = this.#known.nowMs
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
    const record = await engine.write(prefix + id, writeToken(token), undefined)
    if (record === undefined) throw new FahaoError('CONFLICT', 'the id of the token is in use; try again')
    this.#learn(record)
    return { token, text }
  }

  /** Revokes a token. Resolves to whether it was there. Rejects with CONFLICT, UNAVAILABLE, UNKNOWN. */
  async revoke(id: string): Promise<boolean> {
    const { engine } = this.#deps
    let unknown: unknown
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const record = await engine.read(prefix + id)
      if (record !== undefined) this.#learn(record)
      const token = this.#known.get(id)?.token
      if (token === undefined) return false
      const isStored = record !== undefined && readToken(id, record.value)?.revokedMs !== undefined
      // After an unknown outcome this was the write of this call.
      if (isStored) return unknown !== undefined
      try {
        if (await this.#write({ ...token, revokedMs: token.revokedMs ?? this.#known.nowMs }, record))
          return true
      } catch (error) {
        if (!hasCode(error, 'UNKNOWN')) throw error
        unknown = error
      }
    }
    throw unknown ?? new FahaoError('CONFLICT', 'the token is being changed by other requests; try again')
  }

  /**
   * After the store has lost writes and was advanced: writes again what this node knows and the store has lost, and says
   * what it was.
   */
  async reconcile(): Promise<void> {
    const { engine, onEvent } = this.#deps
    const stored = new Map((await listAll(engine, prefix)).map((record) => [record.key, record]))
    const lost: string[] = []
    for (const { token } of this.#known.all())
      if (await this.#restore(token, stored.get(prefix + token.id)))
        lost.push(token.revokedMs === undefined ? token.id : `${token.id} (revoked)`)
    for (const record of stored.values()) this.#learn(record)
    if (lost.length === 0) return
    onEvent({
      level: 'warn',
      message: `the store had lost writes: these tokens were written again as this node knew them: ${lost.join(', ')}`,
    })
  }

  /** Ends the watch and the timer. */
  close(): void {
    this.#watch?.close()
    this.#expiring.cancel()
  }

  /** Writes what this node knows of a token unless the store has it; resolves to whether it was written. */
  async #restore(token: Token, record: StoredRecord | undefined): Promise<boolean> {
    const { id, revokedMs: revoked } = token
    for (let found = record; ; found = await this.#deps.engine.read(prefix + id)) {
      const isRevoked = found && readToken(id, found.value)?.revokedMs !== undefined
      const isSame = found !== undefined && (revoked === undefined || isRevoked)
      if (isSame || this.#known.isOver(token)) return false
      // False: another node has written first, perhaps the token as it was before.
      if (await this.#write(token, found)) return true
    }
  }

  async #write(token: Token, before: StoredRecord | undefined): Promise<boolean> {
    const record = await this.#deps.engine.write(prefix + token.id, writeToken(token), before?.version)
    if (record !== undefined) this.#learn(record)
    return record !== undefined
  }

  /** Removes records that are needed no more. A failure leaves them to the next call. */
  async #sweep(): Promise<void> {
    const { engine } = this.#deps
    for (const { token, version } of this.#known.surplus().slice(0, sweepMax)) {
      const key = prefix + token.id
      try {
        const record = (await engine.remove(key, version)) ? undefined : await engine.read(key)
        // In a store that went back the record may have an earlier version: the next call removes it.
        if (record === undefined) this.#known.delete(token.id)
        else this.#known.set({ token, version: record.version })
      } catch {
        return
      }
    }
  }

  #expire(): void {
    if (this.#known.nowMs < this.#nextExpiryMs) return
    this.#nextExpiryMs = Number.POSITIVE_INFINITY
    for (const { token } of this.#known.all()) this.#expect(token)
    this.#announce()
  }

  #expect({ expiresMs = Number.POSITIVE_INFINITY }: Token): void {
    if (expiresMs > this.#known.nowMs) this.#nextExpiryMs = Math.min(this.#nextExpiryMs, expiresMs)
  }

  #announce(): void {
    for (const listener of this.#listeners) listener()
  }

  #changed({ key, record }: RecordChange): void {
    const id = key.slice(prefix.length)
    if (record !== undefined) this.#learn(record)
    else this.#known.gone(id)
  }

  #learn({ key, value, version }: StoredRecord): void {
    const id = key.slice(prefix.length)
    const token = readToken(id, value)
    const known = this.#known.get(id)
    if (token === undefined) {
      const message = `the record of token '${id.slice(0, 64)}' cannot be read, so it is not valid: revoke it`
      this.#deps.onEvent({ level: 'error', message })
      this.#known.delete(id)
      return
    }
    if (known !== undefined && known.version > version) return
    // Of a store that went back: what is revoked stays revoked.
    const isRevived = known?.token.revokedMs !== undefined && token.revokedMs === undefined
    this.#known.set({ token: isRevived ? known.token : token, version })
    this.#expect(token)
    if (known === undefined || known.token.revokedMs !== token.revokedMs) this.#announce()
  }
}
