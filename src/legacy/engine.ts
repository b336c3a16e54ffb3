/**
 * An engine beside the nodes of an old service: counters of generators are rows of that service's table; all other
 * counters and all records are in Fahao's own tables in the same database.
 *
 * Invariants
 *  1. A reserve on a row is one statement with the effect of the old service's own statement, and is checked against the
 *     same history as all other writes (see statements.ts). So no range is ever given both to an old node and to Fahao.
 *  2. Rows are never released: they have no version that would show a reserve in between.
 *  3. Rows store neither fence nor incarnation. A fence is refused. Incarnations are not compared, so only the
 *     catalogue's watch ends an incarnation here.
 */
import { compareBytes } from '../base/byte-order.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { RowCounter } from '../catalogue/foreign-rows.ts'
import {
  boundMax,
  type Commit,
  type Committed,
  type Engine,
  type EngineStatus,
  type LookedUp,
  type LookUp,
  type Page,
  type RecordChange,
  type Reservation,
  type ReserveRequest,
  type StoredRecord,
  type StoreOwnership,
  type Watch,
  type WatchOptions,
} from '../engine/engine.ts'
import { lookUpEach } from '../engine/look-ups.ts'
import { max63 } from '../ids/limits.ts'
import { RowRecords } from './row-records.ts'
import { rowOf } from './statements.ts'
import type { LegacyTable } from './table.ts'

/** The engine of a URL with `schema=`. */
export class LegacyEngine implements Engine {
  readonly name: string
  readonly location: string
  readonly #inner: Engine
  readonly #table: LegacyTable
  readonly #records: RowRecords
  #closing: Promise<void> | undefined

  /** @param inner an SQL engine whose statements on counters change rows of `table`. Both are closed with this engine. */
  constructor(inner: Engine, table: LegacyTable, clock: Clock) {
    this.name = inner.name
    this.location = `${inner.location}?schema=${table.schema.name}`
    this.#inner = inner
    this.#table = table
    this.#records = new RowRecords(table, clock)
  }

  get lastWriteUs(): number | undefined {
    return this.#inner.lastWriteUs
  }

  get watchDelayMs(): number {
    return this.#inner.watchDelayMs
  }

  get advances(): number {
    return this.#inner.advances
  }

  async reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    const key = rowOf(counter)
    if (key === undefined) return this.#inner.reserve(counter, request)
    if (request.fence !== undefined && request.fence > 0n)
      throw new FahaoError(
        'ERR',
        `the rows of ${this.#table.schema.table} store no leader: serve per-node kinds, and sequence by group commit`,
      )
    if (request.size === 0n && (request.floor ?? 0n) === 0n) {
      // A row stores nothing that a seal could change.
      const { bound, version } = await this.#inner.counter(counter)
      return { start: bound, end: bound, version }
    }
    const { max = boundMax } = request
    // The largest bound that the column can hold.
    const top = max63 + this.#table.schema.shift
    return this.#inner.reserve(counter, { ...request, max: top < max ? top : max })
  }

  release(...args: Parameters<Engine['release']>): Promise<boolean> {
    if (rowOf(args[0]) === undefined) return this.#inner.release(...args)
    return this.#closing === undefined ? Promise.resolve(false) : Promise.reject(closed())
  }

  /** Rows have no leaders. */
  transfer(counter: string, from: bigint): void {
    this.#inner.transfer(counter, from)
  }

  acquire(counter: string, end: bigint): void {
    this.#inner.acquire(counter, end)
  }

  async counter(name: string): Promise<RowCounter> {
    const counter = await this.#inner.counter(name)
    const key = rowOf(name)
    const updatedUs = key === undefined ? undefined : await this.#table.updatedUs(key)
    return updatedUs === undefined ? counter : { ...counter, updatedUs }
  }

  /** The statements raise the rows in the transaction that raises all other counters. */
  advance(...args: Parameters<Engine['advance']>): Promise<number> {
    return this.#inner.advance(...args)
  }

  async read(key: string): Promise<StoredRecord | undefined> {
    const own = RowRecords.owns(key) ? undefined : await this.#inner.read(key)
    if (own !== undefined) return own
    if (this.#closing !== undefined) throw closed()
    return this.#records.read(key)
  }

  async list(prefix: string, page: Page = {}): Promise<StoredRecord[]> {
    const own = await this.#inner.list(prefix, page)
    const rows = await this.#records.list(prefix, page.after, page.limit)
    if (rows.length === 0) return own
    const known = new Set(own.map(({ key }) => key))
    const more = rows.filter(({ key }) => !known.has(key))
    return [...own, ...more].sort((a, b) => compareBytes(a.key, b.key)).slice(0, page.limit)
  }

  async write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    if (RowRecords.owns(key)) throw this.#readOnly()
    return this.#inner.write(key, value, expected)
  }

  async remove(key: string, expected: bigint): Promise<boolean> {
    if (RowRecords.owns(key)) throw this.#readOnly()
    return this.#inner.remove(key, expected)
  }

  lookUp(lookUps: readonly LookUp[]): Promise<readonly (LookedUp | FahaoError)[]> {
    return lookUpEach(this, lookUps)
  }

  async commit(commit: Commit): Promise<Committed | undefined> {
    const { records, counter } = commit
    if (records.some(({ key }) => RowRecords.owns(key))) throw this.#readOnly()
    if (counter !== undefined && rowOf(counter.name) !== undefined)
      throw new FahaoError(
        'ERR',
        `the rows of ${this.#table.schema.table} have no versions: create a generator of Fahao's own for this`,
      )
    return this.#inner.commit(commit)
  }

  async watch(
    prefix: string,
    listener: (change: RecordChange) => void,
    options?: WatchOptions,
  ): Promise<Watch> {
    const own = await this.#inner.watch(prefix, listener, options)
    if (!this.#records.concerns(prefix)) return own
    try {
      const rows = await this.#records.watch(prefix, listener)
      return {
        close() {
          own.close()
          rows.close()
        },
      }
    } catch (error) {
      own.close()
      throw error
    }
  }

  ownership(): Promise<StoreOwnership> {
    return this.#inner.ownership()
  }

  status(): EngineStatus {
    return this.#inner.status()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#records.close()
    await this.#inner.close()
    await this.#table.close()
  }

  #readOnly(): FahaoError {
    return new FahaoError(
      'ERR',
      `records under legacy/ are the rows of ${this.#table.schema.table}; change them there`,
    )
  }
}

function closed(): FahaoError {
  return new FahaoError('UNAVAILABLE', 'the engine is closed')
}
