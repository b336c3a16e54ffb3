/** The counters of a store: statements on one table. Runs inside the store's transaction. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { FahaoError } from '../../base/errors.ts'
import { boundMax, type Counter, type Reservation, type ReserveRequest } from '../engine.ts'

type Row = { last: bigint; fence: bigint; incarnation: bigint; version: bigint }

const unused: Counter = Object.freeze({ bound: 0n, fence: 0n, incarnation: 0n, version: 0n })

/** See `Engine` for what each of these means. */
export class Counters {
  readonly #find: StatementSync
  readonly #put: StatementSync
  readonly #raiseAll: StatementSync
  readonly #raiseOne: StatementSync

  constructor(database: DatabaseSync) {
    this.#find = database.prepare('SELECT last, fence, incarnation, version FROM counters WHERE name = ?')
    this.#put = database.prepare(
      `INSERT INTO counters (name, last, fence, incarnation, version) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT (name) DO UPDATE SET last = ?2, fence = ?3, incarnation = ?4, version = ?5`,
    )
    this.#raiseAll = database.prepare(
      `UPDATE counters SET version = version + 1,
         last = CASE WHEN last > 9223372036854775807 - ?1 THEN 9223372036854775807 ELSE last + ?1 END`,
    )
    this.#raiseOne = database.prepare(
      'UPDATE counters SET last = ?2, version = version + 1 WHERE name = ?1 AND last < ?2',
    )
  }

  read(name: string): Counter {
    const row = this.#find.get(name) as Row | undefined
    if (row === undefined) return unused
    return { bound: row.last + 1n, fence: row.fence, incarnation: row.incarnation, version: row.version }
  }

  reserve(name: string, request: ReserveRequest): Reservation {
    const { size, floor = 0n, max = boundMax, fence = 0n, incarnation } = request
    const counter = this.read(name)
    if (fence < counter.fence)
      throw new FahaoError('STALE', `counter '${name}' has seen fence ${counter.fence}, newer than ${fence}`)
    if (incarnation < counter.incarnation) {
      throw new FahaoError(
        'STALE',
        `counter '${name}' belongs to incarnation ${counter.incarnation} now, not ${incarnation}`,
      )
    }
    const start = counter.bound > floor ? counter.bound : floor
    const end = start + size
    if (end > max)
      throw new FahaoError(
        'EXHAUSTED',
        `counter '${name}' stands at ${start}; ${size} more would pass ${max}`,
      )
    const version = counter.version + 1n
    this.#put.run(name, end - 1n, fence, incarnation, version)
    return { start, end, version }
  }

  release(name: string, version: bigint, from: bigint, fence: bigint, incarnation: bigint): boolean {
    const counter = this.read(name)
    if (counter.version !== version || fence < counter.fence || incarnation < counter.incarnation)
      return false
    this.#put.run(name, from - 1n, counter.fence, counter.incarnation, version + 1n)
    return true
  }

  /** Raises every bound by `gap`, at most to the end of the space; returns how many. */
  advance(gap: bigint): number {
    return Number(this.#raiseAll.run(gap).changes)
  }

  /** Raises one bound to `bound` if it is lower. */
  raise(name: string, bound: bigint): void {
    this.#raiseOne.run(name, bound - 1n)
  }
}
