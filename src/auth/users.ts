/**
 * The users of an installation: records `users/NAME` of the engine, kept in memory by a watch.
 *
 * Invariants
 *  1. A change is in force on this node once its write is acknowledged, and on the others once their watch reports it.
 *     A change that was not written changes nothing.
 *  2. Of one name, the record with the highest revision is in force. A store that went back to a lower revision, or has lost
 *     the record, brings no earlier permission, password or removed user back: `reconcile` writes what this node knows.
 *  3. No change leaves the installation without a user that can change users: a change is taken back if others that were
 *     made at the same time have removed the remaining administrators.
 *  4. While no user is stored, `default` may do everything. From the first stored user on it is a user like others, which
 *     does not exist unless it is stored. The records of removed users count: the removal of all users opens nothing.
 *  5. Users are in memory: they authenticate while the engine is away (freshness.ts).
 *  6. A password is in no error and no event.
 *  7. A record that cannot be read is that of a stored user that is off: it opens nothing to `default`.
 *  8. Records of removed users do not count as users. They go as retention.ts says, except the one with the highest revision
 *     of all: a user that is created begins above every revision on record, so above those of earlier users of its name,
 *     whose tokens stay void.
 *  9. Each revision of a name is written once. Another record of the revision that this node knows proves that the store has
 *     lost a change. The change that this node knows stays in force, and is written again with the next revision.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { refuseLookAlike } from '../base/look-alike.ts'
import type { Engine, RecordChange, StoredRecord, Watch } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import { Access, administering } from './access.ts'
import type { Subjects } from './command-rules.ts'
import { Freshness, type FreshnessDeps } from './freshness.ts'
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
import { UserRecords } from './user-records.ts'

/** What users need. */
export type UsersDeps = FreshnessDeps & {
  readonly engine: Pick<Engine, 'list' | 'read' | 'write' | 'remove' | 'watch'>
  /** Unix time in µs, which does not go back. */
  readonly nowUs: () => number
  /** A text that no other call returns. */
  readonly newId: () => string
  readonly subjects: Subjects
  readonly onEvent: (event: LogEvent) => void
}

const prefix = 'users/'
const attemptsMax = 8
/** Longer than a change of a user takes to reach every node: polled engines report it within a second. */
const supersededMs = 5000
const usersMax = 10_000
/** How many records go with one change. */
const sweepMax = 100

/** The users, as this node knows them. */
export class Users {
  readonly #deps: UsersDeps
  readonly #known: UserRecords
  readonly #listeners = new Set<() => void>()
  /** Whether users may log in while the engine is away. */
  readonly freshness: Freshness
  #open: Access
  #watch: Watch | undefined

  private constructor(deps: UsersDeps) {
    this.#deps = deps
    this.#known = new UserRecords(deps.nowUs)
    this.#open = Access.of(openDefault, deps.subjects)
    this.freshness = new Freshness(deps)
  }

  /** Reads the users, and watches them from then on. */
  static async open(deps: UsersDeps): Promise<Users> {
    const users = new Users(deps)
    users.#watch = await deps.engine.watch(prefix, (change) => users.#changed(change))
    try {
      for (const { key, value, version } of await listAll(deps.engine, prefix)) {
        users.#learn(key.slice(prefix.length), value, version)
      }
    } catch (error) {
      users.close()
      throw error
    }
    return users
  }

  /** Whether any user is stored, or was, so that a login is needed. */
  get areStored(): boolean {
    return this.#known.size > 0
  }

  /** Every user, by name. */
  all(): User[] {
    return (this.areStored ? this.#known.users() : [openDefault]).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The user of this name. */
  get(name: string): User | undefined {
    const known = this.#known.present(name)
    if (known !== undefined) return known.user
    return name === openDefault.name && !this.areStored ? openDefault : undefined
  }

  /** The permissions of a user that exists and is enabled. */
  access(name: string): Access | undefined {
    const known = this.#known.present(name)
    if (known !== undefined) return known.user.enabled ? known.access : undefined
    return name === openDefault.name && !this.areStored ? this.#open : undefined
  }

  /** The revision of a user, or of what is left of a removed one; 0: none is stored. */
  revisionOf(name: string): number {
    return this.#known.get(name)?.revision ?? 0
  }

  /** Whether this node has known for `supersededMs` that the user was changed or removed after this revision. */
  isSuperseded(name: string, revision: number): boolean {
    const known = this.#known.get(name)
    if (known === undefined || known.revision <= revision) return false
    return this.#deps.clock.monoUs() - known.sinceMonoUs >= supersededMs * 1000
  }

  /** Reads the record of a user unless this node knows this revision, which another node has seen. Rejects with UNAVAILABLE. */
  async reach(name: string, revision: number): Promise<void> {
    if (this.revisionOf(name) >= revision) return
    const record = await this.#deps.engine.read(prefix + name)
    if (record !== undefined) this.#learn(name, record.value, record.version)
  }

  /** The revision with which a stored user was created: another one once it was removed and created again. */
  createdAt(name: string): number | undefined {
    return this.#known.present(name)?.since
  }

  /** Whether the user that was created with this revision is known to be removed; undefined: no user of this name is known. */
  hasEnded(name: string, since: number): boolean | undefined {
    const known = this.#known.get(name)
    return known && (known.since > since || (known.removedMs !== undefined && known.revision > since))
  }

  /** The permissions of a connection that has not authenticated; undefined: it must. */
  get initial(): Access | undefined {
    return this.get(openDefault.name)?.nopass ? this.access(openDefault.name) : undefined
  }

  /** Calls `listener` after every change of users. */
  listen(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Tells the listeners that every permission object has to be looked up anew, such as when quotas have changed. */
  renew(): void {
    const { subjects } = this.#deps
    this.#open = Access.of(openDefault, subjects)
    for (const known of this.#known.all())
      this.#known.set({ ...known, access: Access.of(known.user, subjects) })
    for (const listener of this.#listeners) listener()
  }

  /** Creates or changes a user. Rejects with what a change throws, CONFLICT, UNAVAILABLE, UNKNOWN, LIMIT. */
  async set(name: string, changes: readonly Change[]): Promise<User> {
    checkUserName(name)
    const after = await this.#update(name, async (user) => {
      if (user === undefined) refuseLookAlike(name, 'user')
      let changed = user ?? newUser(name)
      for (const change of changes) changed = await change(changed)
      return changed
    })
    return after!
  }

  /** Removes a user. Resolves to whether there was one. */
  async remove(name: string): Promise<boolean> {
    if (name === openDefault.name) throw new FahaoError('ERR', "The 'default' user cannot be removed")
    if (this.get(name) === undefined && (await this.#read(name)) === undefined) return false
    let existed = false
    await this.#update(name, async (user) => {
      existed = user !== undefined
      return undefined
    })
    return existed
  }

  /**
   * After the store has lost writes and was advanced: writes again what this node knows and the store has lost, and says
   * what it was.
   */
  async reconcile(): Promise<void> {
    const { engine, onEvent } = this.#deps
    const stored = new Map((await listAll(engine, prefix)).map((record) => [record.key, record]))
    const lost: string[] = []
    for (const { user, removedMs } of this.#known.all())
      if (await this.#restore(user.name, stored.get(prefix + user.name)))
        lost.push(removedMs === undefined ? user.name : `${user.name} (removed)`)
    if (this.areStored) {
      onEvent({
        level: 'warn',
        message: `the store had lost writes: ${lost.length === 0 ? 'no user that this node knows was affected' : `these users were written again as this node knew them: ${lost.join(', ')}`}; compare ACL LIST and the tokens with what you expect, since what no running node knew may be older`,
      })
    }
  }

  /** Ends the watch. */
  close(): void {
    this.#watch?.close()
    this.freshness.close()
  }

  /** Writes what this node knows of a user unless the store has it; resolves to whether it was written. */
  async #restore(name: string, record: StoredRecord | undefined): Promise<boolean> {
    const { engine, newId } = this.#deps
    for (let found = record; ; found = await engine.read(prefix + name)) {
      const known = this.#known.get(name)
      const stored = found && readStored(name, found.value)
      if (known === undefined || known.revision === 0) return false
      const isAnother = stored?.revision === known.revision && stored.change !== known.change
      if (stored !== undefined && stored.revision >= known.revision && !isAnother) return false
      const next = isAnother ? { ...known, revision: known.revision + 1, change: newId() } : known
      const written = await engine.write(prefix + name, writeStored(next), found?.version)
      // Undefined: another node has written first, perhaps an older revision that it knows.
      if (written === undefined) continue
      this.#learn(name, written.value, written.version)
      return true
    }
  }

  /** Removes records of removed users that have to go. A failure leaves them to the next call. */
  async #sweep(): Promise<void> {
    const { engine } = this.#deps
    for (const { user, version } of this.#known.surplus().slice(0, sweepMax)) {
      const key = prefix + user.name
      try {
        const isGone = (await engine.remove(key, version)) || (await engine.read(key)) === undefined
        if (isGone) this.#known.delete(user.name)
      } catch {
        return
      }
    }
  }

  /** One conditional write of a user; `change` returns undefined to remove it. */
  async #update(
    name: string,
    change: (user: User | undefined) => Promise<User | undefined>,
  ): Promise<User | undefined> {
    const { engine, newId } = this.#deps
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const record = await engine.read(prefix + name)
      if (record !== undefined) this.#learn(name, record.value, record.version)
      const present = this.#known.present(name)
      const before = present?.user
      const after = await change(before)
      this.#checkAdministered(name, after)
      const revision = (present?.revision ?? this.#known.newest) + 1
      const next: StoredUser = {
        user: after ?? newUser(name),
        revision,
        since: present?.since ?? revision,
        change: newId(),
        removedMs: after === undefined ? this.#known.nowMs : undefined,
      }
      if (!(await this.#write(name, next, record?.version))) continue
      await this.#keepAdministered(before, after, next)
      await this.#sweep()
      return after
    }
    throw new FahaoError('CONFLICT', `user '${name}' is being changed by other requests; try again`)
  }

  /** Takes a change back if it has removed the last administrator, together with changes made at the same time. */
  async #keepAdministered(
    before: User | undefined,
    after: User | undefined,
    written: StoredUser,
  ): Promise<void> {
    if (before === undefined || !this.#administers(before) || (after && this.#administers(after))) return
    for (const { key, value, version } of await listAll(this.#deps.engine, prefix))
      this.#learn(key.slice(prefix.length), value, version)
    if (this.all().some((user) => this.#administers(user))) return
    const { revision, version } = this.#known.get(before.name)!
    const restored = { ...written, user: before, revision: revision + 1, change: this.#deps.newId() }
    await this.#write(before.name, { ...restored, removedMs: undefined }, version)
    throw withoutAdministrator()
  }

  /** Whether the record was written. An unknown outcome is settled by reading the record. */
  async #write(name: string, next: StoredUser, expected: bigint | undefined): Promise<boolean> {
    const { engine } = this.#deps
    const value = writeStored(next)
    try {
      const written = await engine.write(prefix + name, value, expected)
      if (written === undefined) return false
      this.#learn(name, value, written.version)
      return true
    } catch (error) {
      if (!hasCode(error, 'UNKNOWN')) throw error
      const record = await engine.read(prefix + name).catch(() => undefined)
      if (record === undefined || readStored(name, record.value)?.change !== next.change) throw error
      this.#learn(name, record.value, record.version)
      return true
    }
  }

  async #read(name: string): Promise<StoredUser | undefined> {
    const record = await this.#deps.engine.read(prefix + name)
    const stored = record && readStored(name, record.value)
    return stored?.removedMs === undefined ? stored : undefined
  }

  #checkAdministered(name: string, after: User | undefined): void {
    const isNew = after !== undefined && this.#known.present(name) === undefined
    if (isNew && this.#known.usersCount >= usersMax)
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

  #changed({ key, record }: RecordChange): void {
    const name = key.slice(prefix.length)
    if (record !== undefined) this.#learn(name, record.value, record.version)
    else this.#known.gone(name)
  }

  #learn(name: string, value: string, version: bigint): void {
    const { onEvent } = this.#deps
    const stored = readStored(name, value)
    const known = this.#known.get(name)
    if (stored === undefined) {
      onEvent({
        level: 'error',
        message: `the record of user '${name}' cannot be read; ${known ? 'what was known of it stays in force' : 'it cannot log in'}`,
      })
      if (known === undefined) this.#know(unreadable(name), version)
    } else if (known === undefined || stored.revision > known.revision) this.#know(stored, version)
    else if (stored.change === known.change) this.#known.set({ ...known, version })
    else if (stored.revision === known.revision)
      this.#contradicted(name, { key: prefix + name, value, version })
  }

  /** See invariant 9. Where the write fails, `reconcile` repeats it. */
  #contradicted(name: string, record: StoredRecord): void {
    const message = `the store has lost a change of user '${name}' and contains another in its place: this node writes again what it knows; compare ACL LIST with what you expect`
    this.#deps.onEvent({ level: 'error', message })
    this.#restore(name, record).catch(() => false)
  }

  #know(stored: StoredUser, version: bigint): void {
    const { clock, subjects } = this.#deps
    const access = Access.of(stored.user, subjects)
    this.#known.set({ ...stored, version, access, sinceMonoUs: clock.monoUs() })
    for (const listener of this.#listeners) listener()
  }
}
