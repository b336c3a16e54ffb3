/**
 * The counters of a store. Their steps run within a transaction of the connection.
 *
 * Invariants
 *  1. A row's version grows with every change, and a row is never deleted.
 *  2. A bound goes down only in `release`, and only under the version that the reservation made.
 *  3. The end of what this process holds (`held`) is stored per counter, changes only with a commit, a transfer or an
 *     acquisition, and outlives the connection: a bound below it means that the store has lost writes.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { FahaoError } from '../../base/errors.ts'
import { named, raised, versionJump } from '../advance-rules.ts'
import { lossOf, type ReleaseRequest, reserve, unused } from '../counter-rules.ts'
import { boundMax, type Counter, type Repaired, type Reservation, type ReserveRequest } from '../engine.ts'
import { prepare } from './schema.ts'
import type { ConfirmRow } from './store-check.ts'

type CounterRow = { name: string; last: bigint; fence: bigint; incarnation: bigint; version: bigint }

/** The end of what this process holds of each counter: ranges reserved or acquired, and neither released nor transferred. */
export type HeldEnds = Iterable<[name: string, end: bigint]> & {
  get(name: string): bigint | undefined
  set(name: string, end: bigint): unknown
}

/** The counters of one connection. */
export class Counters {
  readonly #held: HeldEnds
  /** The changes of `held` that take effect with the commit. */
  readonly #next = new Map<string, bigint>()
  readonly #select: StatementSync
  readonly #insert: StatementSync
  readonly #upsert: StatementSync
  readonly #lower: StatementSync
  readonly #raise: StatementSync
  readonly #raiseAll: StatementSync

  readonly #confirm: ConfirmRow

  /** @param confirm is told which row was found for a name, and throws if the file is damaged. */
  constructor(database: DatabaseSync, held: HeldEnds, confirm: ConfirmRow = () => {}) {
    this.#held = held
    this.#confirm = confirm
    this.#select = prepare(
      database,
      'SELECT name, last, fence, incarnation, version FROM counters WHERE name = ?',
    )
    this.#insert = database.prepare(
      `INSERT INTO counters (name, last, fence, incarnation, version) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO NOTHING`,
    )
    this.#upsert = database.prepare(
      `INSERT INTO counters (name, last, fence, incarnation, version) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET last = excluded.last, fence = excluded.fence,
         incarnation = excluded.incarnation, version = excluded.version`,
    )
    this.#lower = database.prepare(
      `UPDATE counters SET last = ?, version = version + 1
       WHERE name = ? AND version = ? AND fence <= ? AND incarnation <= ?`,
    )
    this.#raise = prepare(
      database,
      `INSERT INTO counters (name, last, fence, incarnation, version) VALUES (?, ?, 0, 0, ?)
       ON CONFLICT (name) DO UPDATE SET last = excluded.last, version = version + excluded.version
         WHERE last < excluded.last`,
    )
    this.#raiseAll = prepare(database, 'UPDATE counters SET last = min(last, ?) + ?, version = version + ?')
  }

  /** The counter as this transaction sees it. */
  read(name: string): Counter {
    const row = this.#select.get(name) as CounterRow | undefined
    this.#confirm(name, row?.name)
    if (row === undefined) return unused
    const { last, fence, incarnation, version } = row
    return { bound: last + 1n, fence, incarnation, version }
  }

  /** See `Engine.reserve`. Throws REGRESSED, with the reason alone, if the bound is below what this process holds. */
  reserve(name: string, request: ReserveRequest): Reservation {
    const first = this.reserveFirst(name, request)
    if (first !== undefined) return first
    const before = this.read(name)
    this.refuseLost(name, before.bound)
    const { counter, answer } = reserve(name, before, request)
    if (answer instanceof FahaoError) throw answer
    this.#put(name, counter)
    return this.#reserved(name, request, answer)
  }

  /** As `reserve`, of a counter that was never used. Undefined, and nothing is changed: it was, or it refuses. */
  reserveFirst(name: string, request: ReserveRequest): Reservation | undefined {
    if (this.#endOf(name) !== undefined) return undefined
    const { counter, answer } = reserve(name, unused, request)
    if (answer instanceof FahaoError || !this.#add(name, counter)) return undefined
    this.#confirm(name, undefined)
    return this.#reserved(name, request, answer)
  }

  /** Throws REGRESSED if this process holds ids at or above the bound of a counter. */
  refuseLost(name: string, bound: bigint): void {
    const held = this.#endOf(name)
    if (held !== undefined && bound < held) throw new FahaoError('REGRESSED', lossOf(name, bound, held))
  }

  /** Whether this process holds ids of a counter. */
  holds(name: string): boolean {
    return this.#endOf(name) !== undefined
  }

  #endOf(name: string): bigint | undefined {
    return this.#next.get(name) ?? this.#held.get(name)
  }

  #reserved(name: string, { size }: ReserveRequest, reservation: Reservation): Reservation {
    // A reserve of size 0 opens no range.
    if (size > 0n) this.#next.set(name, reservation.end)
    return reservation
  }

  /** See `Engine.release`; `counter-rules.ts` says the same in code. */
  release(name: string, { version, from, fence, incarnation }: ReleaseRequest): boolean {
    const { changes } = this.#lower.run(from - 1n, name, version, fence, incarnation)
    if (changes === 0) return false
    this.#next.set(name, from)
    return true
  }

  /** See `Engine.transfer`. */
  transfer(name: string, from: bigint): void {
    for (const known of [this.#held, this.#next]) if (from < (known.get(name) ?? 0n)) known.set(name, from)
  }

  /** See `Engine.acquire`. */
  acquire(name: string, end: bigint): void {
    if (end > (this.#held.get(name) ?? 0n)) this.#held.set(name, end)
    if (end > (this.#next.get(name) ?? end)) this.#next.set(name, end)
  }

  /** See `Engine.advance`. Returns the number of counters raised. */
  advance(gap: bigint, repaired: Repaired['counters']): number {
    const counters = new Map(named(repaired, this.#held).map((name) => [name, this.read(name)]))
    const { changes } = this.#raiseAll.run(boundMax - 1n - gap, gap, versionJump)
    for (const [name, counter] of counters)
      this.#put(name, raised(counter, gap, repaired.get(name), this.#held.get(name)))
    const made = [...counters.values()].filter(({ version }) => version === 0n).length
    return Number(changes) + made
  }

  /** Raises every bound at least to the end of what this process holds. Returns the number of counters raised. */
  raiseToHeld(): number {
    let raised = 0
    for (const [name, end] of this.#held)
      raised += Number(this.#raise.run(name, end - 1n, versionJump).changes)
    return raised
  }

  /** Ends the transaction: `held` changes if it was committed. */
  settle(committed: boolean): void {
    if (committed) for (const [name, end] of this.#next) this.#held.set(name, end)
    this.#next.clear()
  }

  /** Adds a counter that has no row. Returns whether it had none. */
  #add(name: string, { bound, fence, incarnation, version }: Counter): boolean {
    return this.#insert.run(name, bound - 1n, fence, incarnation, version).changes === 1
  }

  #put(name: string, { bound, fence, incarnation, version }: Counter): void {
    this.#upsert.run(name, bound - 1n, fence, incarnation, version)
  }
}
