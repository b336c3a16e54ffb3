/**
 * The counters of a store. Runs inside of a transaction that somebody else begins and ends.
 *
 * Invariants
 *  1. A row's version grows with every change, and a row is never deleted.
 *  2. A bound goes down only in `release`, and only under the version that the reservation made.
 *  3. What this process holds (`held`) is known per counter, changes only when a transaction has committed or a range has
 *     passed from or to another process, and outlives the connection: a bound below it means that the store has forgotten.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { named, raised, versionJump } from '../advance.ts'
import { boundMax, type Counter, type Repaired, type Reservation } from '../engine.ts'
import type { Operation, Outcome } from './protocol.ts'
import { prepare } from './schema.ts'

type Row = { last: bigint; fence: bigint; incarnation: bigint; version: bigint }
type Op<Name> = Extract<Operation, { op: Name }>

/** The highest end that this process holds of each counter: was given or has adopted, and has neither released nor left. */
export type Held = Map<string, bigint>

const unused: Counter = Object.freeze({ bound: 0n, fence: 0n, incarnation: 0n, version: 0n })

/** See the invariants at the top of the file. */
export class Counters {
  readonly #held: Held
  /** What `held` becomes with the commit. */
  readonly #next: Held = new Map()
  readonly #select: StatementSync
  readonly #upsert: StatementSync
  readonly #raise: StatementSync
  readonly #raiseAll: StatementSync

  constructor(database: DatabaseSync, held: Held) {
    this.#held = held
    this.#select = prepare(database, 'SELECT last, fence, incarnation, version FROM counters WHERE name = ?')
    this.#upsert = prepare(
      database,
      `INSERT INTO counters (name, last, fence, incarnation, version) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET last = excluded.last, fence = excluded.fence,
         incarnation = excluded.incarnation, version = excluded.version`,
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
    const row = this.#select.get(name) as Row | undefined
    if (row === undefined) return unused
    const { last, fence, incarnation, version } = row
    return { bound: last + 1n, fence, incarnation, version }
  }

  /** See `Engine.reserve`. */
  reserve({ counter: name, request }: Op<'reserve'>): Outcome {
    const { size, floor = 0n, max = boundMax, fence = 0n, incarnation } = request
    const counter = this.read(name)
    const stale = staleness(name, counter, fence, incarnation)
    if (stale !== undefined) return { code: 'STALE', message: stale }
    const start = counter.bound > floor ? counter.bound : floor
    const end = start + size
    if (end > max) {
      const message = `counter '${name}' stands at ${start}; ${size} more would pass ${max}`
      return { code: 'EXHAUSTED', message }
    }
    const version = counter.version + 1n
    this.#upsert.run(name, end - 1n, fence, incarnation, version)
    // Who was given nothing holds nothing.
    if (size > 0n) this.#next.set(name, end)
    const value: Reservation = { start, end, version }
    return { value }
  }

  /** See `Engine.release`. */
  release({ counter: name, version, from, fence, incarnation }: Op<'release'>): boolean {
    const counter = this.read(name)
    if (counter.version !== version || fence < counter.fence || incarnation < counter.incarnation)
      return false
    this.#upsert.run(name, from - 1n, counter.fence, counter.incarnation, version + 1n)
    this.#next.set(name, from)
    return true
  }

  /** See `Engine.leave`. */
  leave({ counter: name, from }: Op<'leave'>): void {
    for (const known of [this.#held, this.#next]) if (from < (known.get(name) ?? 0n)) known.set(name, from)
  }

  /** See `Engine.adopt`. */
  adopt({ counter: name, end }: Op<'adopt'>): void {
    if (end > (this.#held.get(name) ?? 0n)) this.#held.set(name, end)
    if (end > (this.#next.get(name) ?? end)) this.#next.set(name, end)
  }

  /** Whether the store has forgotten a bound that this process was given: then what the bound is, and was. */
  regression(name: string): string | undefined {
    const held = this.#next.get(name) ?? this.#held.get(name)
    if (held === undefined) return undefined
    const { bound } = this.read(name)
    return bound < held ? `counter '${name}' stands at ${bound}, after ${held} was acknowledged` : undefined
  }

  /** See `Engine.advance`. Returns how many were raised. */
  advance(gap: bigint, mended: Repaired['counters']): number {
    const counters = new Map(named(mended, this.#held).map((name) => [name, this.read(name)]))
    const { changes } = this.#raiseAll.run(boundMax - 1n - gap, gap, versionJump)
    for (const [name, counter] of counters) {
      const after = raised(counter, gap, mended.get(name), this.#held.get(name))
      this.#upsert.run(name, after.bound - 1n, after.fence, after.incarnation, after.version)
    }
    const made = [...counters.values()].filter(({ version }) => version === 0n).length
    return Number(changes) + made
  }

  /** Puts every bound that the store has forgotten back where this process knows it to have been. */
  raiseToHeld(): number {
    let raised = 0
    for (const [name, end] of this.#held)
      raised += Number(this.#raise.run(name, end - 1n, versionJump).changes)
    return raised
  }

  /** Tells how the transaction ended. */
  settle(committed: boolean): void {
    if (committed) for (const [name, end] of this.#next) this.#held.set(name, end)
    this.#next.clear()
  }
}

function staleness(name: string, counter: Counter, fence: bigint, incarnation: bigint): string | undefined {
  if (fence < counter.fence) return `counter '${name}' has seen fence ${counter.fence}, newer than ${fence}`
  if (incarnation >= counter.incarnation) return undefined
  return `counter '${name}' belongs to incarnation ${counter.incarnation} now, not ${incarnation}`
}
