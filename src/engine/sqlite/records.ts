/** The records of a store: statements on one table. Runs inside the store's transaction. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { StoredRecord } from '../engine.ts'
import type { Changes } from './protocol.ts'

type Row = { key: string; value: string | null; version: bigint }

/** A page of changes: more are told by the next look. */
const changesMax = 1000

/** See `Engine` for what each of these means. */
export class Records {
  readonly #find: StatementSync
  readonly #page: StatementSync
  readonly #put: StatementSync
  readonly #since: StatementSync
  readonly #revision: StatementSync
  readonly #nextRevision: StatementSync

  constructor(database: DatabaseSync) {
    this.#find = database.prepare('SELECT key, value, version FROM records WHERE key = ?')
    this.#page = database.prepare(
      `SELECT key, value, version FROM records
       WHERE key >= ?1 AND key > ?2 AND substr(key, 1, length(?1)) = ?1 AND value IS NOT NULL ORDER BY key LIMIT ?3`,
    )
    this.#put = database.prepare(
      `INSERT INTO records (key, value, version) VALUES (?1, ?2, ?3)
       ON CONFLICT (key) DO UPDATE SET value = ?2, version = ?3`,
    )
    this.#since = database.prepare(
      'SELECT key, value, version FROM records WHERE version > ? ORDER BY version LIMIT ?',
    )
    this.#revision = database.prepare('SELECT revision FROM state')
    this.#nextRevision = database.prepare('UPDATE state SET revision = revision + 1 RETURNING revision')
  }

  read(key: string): StoredRecord | undefined {
    return present(this.#find.get(key) as Row | undefined)
  }

  list(prefix: string, after: string, limit: number): StoredRecord[] {
    return (this.#page.all(prefix, after, limit) as Row[]).map((row) => present(row)!)
  }

  write(key: string, value: string, expected: bigint | undefined): StoredRecord | undefined {
    if (this.read(key)?.version !== expected) return undefined
    const version = this.#revise()
    this.#put.run(key, value, version)
    return { key, value, version }
  }

  remove(key: string, expected: bigint): boolean {
    if (this.read(key)?.version !== expected) return false
    this.#put.run(key, null, this.#revise())
    return true
  }

  /** What was written and removed after a revision, oldest first. */
  changes(since: bigint): Changes {
    const rows = this.#since.all(since, changesMax) as Row[]
    const changes = rows.map((row) => ({ key: row.key, record: present(row) }))
    const revision =
      rows.length === changesMax ? rows.at(-1)!.version : (this.#revision.get()!.revision as bigint)
    return { revision, changes }
  }

  #revise(): bigint {
    return this.#nextRevision.get()!.revision as bigint
  }
}

function present(row: Row | undefined): StoredRecord | undefined {
  if (row === undefined || row.value === null) return undefined
  return { key: row.key, value: row.value, version: row.version }
}
