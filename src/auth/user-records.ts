/**
 * The records of users that a node has in memory, those of removed users among them.
 *
 * Invariant
 *  1. `newest` is the highest revision that was ever put in. The record that has it is never among those that go.
 */
import type { Access } from './access.ts'
import { keptMs, surplus } from './retention.ts'
import type { StoredUser, User } from './user.ts'

/** A record, and what the node makes of it. */
export type UserRecord = StoredUser & {
  readonly version: bigint
  readonly access: Access
  /** Since when this node knows this revision, on its monotonic clock. */
  readonly sinceMonoUs: number
}

/** How many records of removed users stay. */
const removedMax = 10_000

/** The records by the names of users. */
export class UserRecords {
  /** The highest revision. */
  newest = 0
  readonly #records = new Map<string, UserRecord>()
  readonly #nowUs: () => number
  #removed = 0

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  /** The time, in Unix ms. */
  get nowMs(): number {
    return Math.floor(this.#nowUs() / 1000)
  }

  /** How many there are. */
  get size(): number {
    return this.#records.size
  }

  /** How many users there are. */
  get usersCount(): number {
    return this.#records.size - this.#removed
  }

  /** The users. */
  users(): User[] {
    return this.all().flatMap(({ user, removedMs }) => (removedMs === undefined ? user : []))
  }

  /** All records. */
  all(): UserRecord[] {
    return [...this.#records.values()]
  }

  /** The record of this name. */
  get(name: string): UserRecord | undefined {
    return this.#records.get(name)
  }

  /** The record of this name if the user is not removed. */
  present(name: string): UserRecord | undefined {
    const record = this.#records.get(name)
    return record?.removedMs === undefined ? record : undefined
  }

  /** Puts a record in the place of the one of its name. */
  set(record: UserRecord): void {
    this.delete(record.user.name)
    this.#records.set(record.user.name, record)
    if (record.removedMs !== undefined) this.#removed++
    this.newest = Math.max(this.newest, record.revision)
  }

  /** Forgets a record. */
  delete(name: string): void {
    if (this.#records.get(name)?.removedMs !== undefined) this.#removed--
    this.#records.delete(name)
  }

  /** The record of this name is gone from the store: forgets it if it had to go. Any other was lost by the store. */
  gone(name: string): void {
    const record = this.#records.get(name)
    if (record?.removedMs === undefined || record.revision === this.newest) return
    if (record.removedMs + keptMs <= this.nowMs || this.#removed > removedMax) this.delete(name)
  }

  /** The records of removed users that have to go from the store. */
  surplus(): UserRecord[] {
    const removed = this.all().flatMap((record) =>
      record.removedMs === undefined ? [] : { ...record, endedMs: record.removedMs },
    )
    return surplus(removed, removedMax, this.nowMs).filter(({ revision }) => revision !== this.newest)
  }
}
