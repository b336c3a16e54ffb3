/**
 * The records of a store. Their steps run within a transaction of the connection.
 *
 * Invariants
 *  1. Every write and removal takes the next revision of the whole store as its version.
 *  2. A removed record leaves a row without a value: `since` returns removals, too.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { compareBytes } from '../../base/byte-order.ts'
import type { StoredRecord } from '../engine.ts'
import type { RecordState } from '../polled-watch.ts'
import { prepare } from './schema.ts'
import type { Confirm } from './store-check.ts'

/** The maximum number of changes in a page. */
const changesMax = 1000

/** Reads and writes records through one SQLite connection. */
export class Records {
  readonly #select: StatementSync
  readonly #insert: StatementSync
  readonly #update: StatementSync
  readonly #from: StatementSync
  readonly #since: StatementSync

  readonly #confirm: Confirm | undefined

  /** @param confirm is told which rows were found, and throws if the file is damaged. */
  constructor(database: DatabaseSync, confirm?: Confirm) {
    this.#confirm = confirm
    this.#select = prepare(
      database,
      'SELECT key, value, version FROM records WHERE key = ? AND value IS NOT NULL',
    )
    this.#insert = database.prepare(
      `INSERT INTO records (key, value, version) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version
         WHERE records.value IS NULL`,
    )
    this.#update = database.prepare(
      'UPDATE records SET value = ?, version = ? WHERE key = ? AND version = ? AND value IS NOT NULL',
    )
    this.#from = prepare(
      database,
      'SELECT key, value, version FROM records WHERE key >= ? AND value IS NOT NULL ORDER BY key',
    )
    this.#since = prepare(
      database,
      'SELECT key, value, version FROM records WHERE version > ? ORDER BY version LIMIT ?',
    )
  }

  /** See `Engine.read`. */
  read(key: string): StoredRecord | undefined {
    const found = this.#select.get(key) as StoredRecord | undefined
    this.#confirm?.row(key, found?.key)
    return found
  }

  /**
   * See `Engine.list`. SQLite's BINARY collation compares the bytes of UTF-8. The query has one lower bound, since SQLite
   * would use the index for the first of two only.
   */
  list(prefix: string, after = '', limit = Number.POSITIVE_INFINITY): StoredRecord[] {
    const page: StoredRecord[] = []
    if (limit <= 0) return page
    // No key contains NUL, so this is the immediate successor of `after`.
    const next = `${after}\0`
    const from = compareBytes(prefix, next) > 0 ? prefix : next
    for (const row of this.#from.iterate(from)) {
      const record = row as StoredRecord
      if (!record.key.startsWith(prefix)) break
      page.push(record)
      if (page.length >= limit) break
    }
    this.#confirm?.rows(
      from,
      page.map(({ key }) => key),
    )
    return page
  }

  /**
   * Writes or removes a record if its version is still `expected` (undefined: if there is none). Returns whether it did.
   * The new version is the next revision.
   */
  write({ key, value, version }: RecordState, expected: bigint | undefined): boolean {
    const { changes } =
      expected === undefined
        ? this.#insert.run(key, value, version)
        : this.#update.run(value, version, key, expected)
    return changes === 1
  }

  /** A page of what was written or removed after a revision, oldest first. */
  since(revision: bigint): { readonly records: RecordState[]; readonly more: boolean } {
    const records = this.#since.all(revision, changesMax) as RecordState[]
    return { records, more: records.length === changesMax }
  }
}
