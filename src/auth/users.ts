/**
 * The users of an installation: records `users/NAME` of the engine (engine/watched-records.ts).
 *
 * Invariants
 *  1. Of one name, the change with the highest revision is in force. A store that went back brings no earlier permission,
 *     password or removed user back: `reconcile` writes what this node knows.
 *  2. No change leaves the installation without a user that can change users: a change is taken back if others that were
 *     made at the same time have removed the remaining administrators.
 *  3. While no user is stored, `default` may do everything. From the first stored user on it is a user like others, which
 *     does not exist unless it is stored. The records of removed users count: the removal of all users opens nothing.
 *  4. Users are in memory: they authenticate while the engine is away (users-grace.ts).
 *  5. A password is in no error and no event.
 *  6. A record that cannot be read is that of a stored user that is off: it opens nothing to `default`.
 *  7. Records of removed users do not count as users. They go as retention.ts says, except the one with the highest revision
 *     of all: a user that is created begins above every revision on record, so above those of earlier users of its name,
 *     whose tokens stay void.
 */
import { FahaoError } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { refuseLookAlike } from '../base/look-alike.ts'
import { type Changed, type RecordsEngine, WatchedRecords } from '../engine/watched-records.ts'
import { Access, administering } from './access.ts'
import type { Subjects } from './command-rules.ts'
import { purgeable, retentionMs } from './retention.ts'
import {
  type Change,
  checkUserName,
  newUser,
  openDefault,
  readStored,
  type StoredUser,
  type User,
  unreadable,
  withoutAdministrator,
  writeStored,
} from './user.ts'
import { UsersGrace, type UsersGraceDeps } from './users-grace.ts'

/** What users need. */
export type UsersDeps = UsersGraceDeps & {
  readonly engine: RecordsEngine
  /** Unix time in µs, which does not go back. */
  readonly nowUs: () => number
  /** A text that no other call returns. */
  readonly newId: () => string
  readonly subjects: Subjects
  readonly onEvent: (event: LogEvent) => void
}

/** `sinceMonoUs`: since when this node knows this revision, on its monotonic clock. */
type KnownUser = StoredUser & { readonly sinceMonoUs: number }

/** Longer than a change of a user takes to reach every node: polled engines report it within a second. */
const supersededMs = 5000
const usersMax = 10_000
/** How many records of removed users stay. */
const removedMax = 10_000

/** The users, as this node knows them. */
export class Users {
  readonly #deps: UsersDeps
  readonly #records: WatchedRecords<KnownUser>
  readonly #listeners = new Set<() => void>()
  /** Whether users may log in while the engine is away. */
  readonly grace: UsersGrace
  /** The permissions of stored users, and of the open `default`. */
  #permissions = new WeakMap<KnownUser | typeof openDefault, Access>()
  /** The highest revision that this node has seen. */
  #newest = 0
  /** How many records of removed users there are. */
  #removed = 0

  private constructor(deps: UsersDeps) {
    this.#deps = deps
    this.grace = new UsersGrace(deps)
    this.#records = new WatchedRecords(deps.engine, {
      prefix: 'users/',
      read: (name, text) => this.#known(readStored(name, text)),
      write: writeStored,
      revisionOf: ({ revision }) => revision,
      isSame: (one, other) => one.change === other.change,
      hasToGo: (user) => this.#hasToGo(user),
      isKept: ({ revision }) => revision > 0,
      unreadable: (name, known) => this.#unreadable(name, known),
      contradicted: (name, known) => this.#contradicted(name, known),
      changed: (before, after) => this.#changed(before, after),
      contended: (name) => `user '${name}' is being changed by other requests; try again`,
    })
  }

  /** Reads the users, and watches them from then on. */
  static async open(deps: UsersDeps): Promise<Users> {
    const users = new Users(deps)
    try {
      await users.#records.open()
      return users
    } catch (error) {
      users.close()
      throw error
    }
  }

  /** Whether any user is stored, or was, so that a login is needed. */
  get areStored(): boolean {
    return this.#records.size > 0
  }

  /** Every user, by name. */
  all(): User[] {
    const stored = [...this.#records.values()].filter(isPresent).map(({ user }) => user)
    return (this.areStored ? stored : [openDefault]).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The user of this name. */
  get(name: string): User | undefined {
    const known = this.#present(name)
    if (known !== undefined) return known.user
    return name === openDefault.name && !this.areStored ? openDefault : undefined
  }

  /** The permissions of a user that exists and is enabled. */
  access(name: string): Access | undefined {
    const known = this.#present(name)
    if (known !== undefined) return known.user.enabled ? this.#permissionsOf(known, known.user) : undefined
    if (name !== openDefault.name || this.areStored) return undefined
    return this.#permissionsOf(openDefault, openDefault)
  }

  /** The revision of a user, or of what is left of a removed one; 0: none is stored. */
  revisionOf(name: string): number {
    return this.#records.get(name)?.revision ?? 0
  }

  /** Whether this node has known for `supersededMs` that the user was changed or removed after this revision. */
  isSuperseded(name: string, revision: number): boolean {
    const known = this.#records.get(name)
    if (known === undefined || known.revision <= revision) return false
    return this.#deps.clock.monoUs() - known.sinceMonoUs >= supersededMs * 1000
  }

  /** Reads the record of a user unless this node knows this revision, which another node has seen. Rejects with UNAVAILABLE. */
  async reach(name: string, revision: number): Promise<void> {
    if (this.revisionOf(name) < revision) await this.#records.reach(name)
  }

  /** The revision with which a stored user was created: another one once it was removed and created again. */
  createdAt(name: string): number | undefined {
    return this.#present(name)?.since
  }

  /** Whether the user that was created with this revision is known to be removed; undefined: no user of this name is known. */
  hasEnded(name: string, since: number): boolean | undefined {
    const known = this.#records.get(name)
    return known && (known.since > since || (known.removedMs !== undefined && known.revision > since))
  }

  /** The permissions of a connection that has not authenticated; undefined: a login is required. */
  get initial(): Access | undefined {
    return this.get(openDefault.name)?.nopass ? this.access(openDefault.name) : undefined
  }

  /** Calls `listener` after every change of users. */
  listen(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Tells the listeners that every permission object has to be looked up again, such as when quotas have changed. */
  renew(): void {
    this.#permissions = new WeakMap()
    this.#announce()
  }

  /** Creates or changes a user. Rejects with what a change throws, CONFLICT, UNAVAILABLE, UNKNOWN, LIMIT. */
  async set(name: string, changes: readonly Change[]): Promise<User> {
    checkUserName(name)
    let changed = newUser(name)
    await this.#update(name, async (user) => {
      if (user === undefined) refuseLookAlike(name, 'user')
      changed = user ?? newUser(name)
      for (const change of changes) changed = await change(changed)
      return changed
    })
    return changed
  }

  /** Removes a user. Resolves to whether there was one. */
  async remove(name: string): Promise<boolean> {
    if (name === openDefault.name) throw new FahaoError('ERR', "The 'default' user cannot be removed")
    return (await this.#update(name, async () => undefined)) !== undefined
  }

  /**
   * After the store has lost writes and was advanced: writes again what this node knows and the store has lost, and
   * reports which users these are.
   */
  async reconcile(): Promise<void> {
    const names = await this.#records.reconcile()
    const lost = names.map((name) => (this.#present(name) === undefined ? `${name} (removed)` : name))
    if (this.areStored) {
      this.#deps.onEvent({
        level: 'warn',
        message: `the store had lost writes: ${lost.length === 0 ? 'no user that this node knows was affected' : `these users were written again as this node knew them: ${lost.join(', ')}`}; compare ACL LIST and the tokens with what you expect, since what no running node knew may be older`,
      })
    }
  }

  /** Ends the watch. */
  close(): void {
    this.#records.close()
    this.grace.close()
  }

  /** One conditional write of a user; `change` returns undefined to remove it. Undefined: there was none to remove. */
  async #update(
    name: string,
    change: (user: User | undefined) => Promise<User | undefined>,
  ): Promise<Changed<KnownUser> | undefined> {
    const changed = await this.#records.change(name, async (stored) => {
      const present = stored && isPresent(stored) ? stored : undefined
      const after = await change(present?.user)
      if (present === undefined && after === undefined) return undefined
      this.#checkAdministered(name, present === undefined, after)
      const revision = 1 + (present?.revision ?? Math.max(this.#newest, stored?.revision ?? 0))
      const removedMs = after === undefined ? this.#nowMs : undefined
      const user = after ?? newUser(name)
      const since = present?.since ?? revision
      return this.#known({ user, revision, since, change: this.#deps.newId(), removedMs })
    })
    if (changed === undefined) return undefined
    await this.#keepAdministered(changed)
    await this.#sweep()
    return changed
  }

  /** Removes records of removed users that have to go. */
  async #sweep(): Promise<void> {
    const ended = [...this.#records.values()].flatMap((known) =>
      known.removedMs === undefined ? [] : { ...known, endedMs: known.removedMs },
    )
    const going = purgeable(ended, removedMax, this.#nowMs).filter(
      ({ revision }) => revision !== this.#newest,
    )
    await this.#records.sweep(going.map(({ user }) => user.name))
  }

  /** Takes a change back if it has removed the last administrator, together with changes made at the same time. */
  async #keepAdministered({ before, after }: Changed<KnownUser>): Promise<void> {
    const administered = (known: KnownUser) => isPresent(known) && this.#administers(known.user)
    if (before === undefined || !administered(before) || administered(after)) return
    await this.#records.reconcile()
    if (this.all().some((user) => this.#administers(user))) return
    await this.#records.change(before.user.name, (present) => {
      if (present?.change !== after.change) return undefined
      const { revision } = present
      return {
        ...present,
        user: before.user,
        revision: revision + 1,
        change: this.#deps.newId(),
        removedMs: undefined,
      }
    })
    throw withoutAdministrator()
  }

  #checkAdministered(name: string, isNew: boolean, after: User | undefined): void {
    if (isNew && this.#records.size - this.#removed >= usersMax)
      throw new FahaoError('LIMIT', `there are ${usersMax} users already; remove one first`)
    const others = this.areStored ? this.all().filter((user) => user.name !== name) : []
    const remaining = after === undefined ? others : [...others, after]
    if (!remaining.some((user) => this.#administers(user))) throw withoutAdministrator()
  }

  /** Whether the user can log in and change users. */
  #administers(user: User): boolean {
    const canLogIn = user.enabled && (user.nopass || user.passwords.length > 0)
    return canLogIn && Access.of(user, this.#deps.subjects).allows(administering)
  }

  #permissionsOf(key: KnownUser | typeof openDefault, user: User): Access {
    const access = this.#permissions.get(key) ?? Access.of(user, this.#deps.subjects)
    this.#permissions.set(key, access)
    return access
  }

  #present(name: string): KnownUser | undefined {
    const known = this.#records.get(name)
    return known && isPresent(known) ? known : undefined
  }

  #known<Stored extends StoredUser | undefined>(stored: Stored): Stored & { readonly sinceMonoUs: number } {
    return stored && { ...stored, sinceMonoUs: this.#deps.clock.monoUs() }
  }

  /** The time, in Unix ms. */
  get #nowMs(): number {
    return Math.floor(this.#deps.nowUs() / 1000)
  }

  #hasToGo({ removedMs, revision }: KnownUser): boolean {
    if (removedMs === undefined || revision === this.#newest) return false
    return removedMs + retentionMs <= this.#nowMs || this.#removed > removedMax
  }

  #unreadable(name: string, known: KnownUser | undefined): KnownUser {
    const message = `the record of user '${name}' cannot be read; ${known ? 'what was known of it stays in force' : 'it cannot log in'}`
    this.#deps.onEvent({ level: 'error', message })
    return known ?? this.#known(unreadable(name))
  }

  #contradicted(name: string, known: KnownUser): KnownUser {
    const message = `the store has lost a change of user '${name}' and contains another in its place: this node writes again what it knows; compare ACL LIST with what you expect`
    this.#deps.onEvent({ level: 'error', message })
    return { ...known, revision: known.revision + 1, change: this.#deps.newId() }
  }

  #changed(before: KnownUser | undefined, after: KnownUser | undefined): void {
    if (before?.removedMs !== undefined) this.#removed--
    if (after?.removedMs !== undefined) this.#removed++
    this.#newest = Math.max(this.#newest, after?.revision ?? 0)
    if (after !== undefined) this.#announce()
  }

  #announce(): void {
    for (const listener of this.#listeners) listener()
  }
}

function isPresent({ removedMs }: StoredUser): boolean {
  return removedMs === undefined
}
