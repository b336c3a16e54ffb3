/**
 * Takes rows out of service in an old service's table.
 *
 * Invariants
 *  1. Rows that are taken out at one time share a transaction. Each has its own outcome: one that is not in service, has moved on
 *     or has no record to write is left as it is, and where the database refuses to change several rows, each is changed alone.
 *  2. A transaction without an answer leaves all its rows unknown, and is not sent again.
 */
import { FahaoError } from '../../base/errors.ts'
import type { BatchedCalls, BatchResult } from '../../engine/sql/batched-calls.ts'
import {
  type Ask,
  DriverError,
  integerOf,
  isFailure,
  optionalTextOf,
  textOf,
} from '../../engine/sql/driver.ts'
import { movedKey, movedPrefix } from '../schemas.ts'
import { isRefused, type LegacyTable } from '../table.ts'

/** A record of Fahao's own, to be written if its version is `expected`, or, if that is undefined, if there is none. */
export type RecordToWrite = {
  readonly key: string
  readonly value: string
  readonly expected: bigint | undefined
}

/** A row that is taken out of service if its bound is still this. */
type StandingRow = { readonly key: string; readonly bound: bigint }
/** A row that is taken out of service together with the writing of a record. */
type MovingRow = { readonly key: string; readonly record: (bound: bigint) => Promise<RecordToWrite> }

const done = { value: undefined }

/** The rows of one table. */
export class TakingOut {
  readonly #table: LegacyTable
  readonly #probes: BatchedCalls<string, void>
  readonly #standing: BatchedCalls<StandingRow, void>
  readonly #moving: BatchedCalls<MovingRow, void>

  /** Its calls settle before the table is closed. */
  constructor(table: LegacyTable) {
    this.#table = table
    this.#probes = table.callsOf(false, (ask, keys) => this.#tryAll(ask, keys))
    this.#standing = table.callsOf(true, (ask, rows) => this.#takeOutAll(ask, rows))
    this.#moving = table.callsOf(true, (ask, rows) => this.#moveOutAll(ask, rows))
  }

  /** The reason why the database refuses to take the row out of service; undefined: none. Tries it, and rolls back. */
  async refusal(key: string): Promise<string | undefined> {
    try {
      await this.#probes.call(key)
      return undefined
    } catch (error) {
      if (!isRefused(error)) throw error
      return `${this.#table.schema.table} does not let its row be taken out of service: ${error.message}`
    }
  }

  /**
   * Renames the row, so that no old node finds it, if its bound is still `bound`. If the bound has moved, or the row is out
   * of service already, changes nothing: read the row again.
   */
  takeOut(key: string, bound: bigint): Promise<void> {
    return this.#standing.call({ key, bound })
  }

  /**
   * Takes the row out of service and writes a record in one transaction. `record` is called when the row is locked, with
   * its bound, which cannot move until the end. Rejects with CONFLICT if the record has changed, NOGENERATOR if the row is
   * not in service, or with the error of `record`; nothing is changed then.
   */
  moveOut(key: string, record: (bound: bigint) => Promise<RecordToWrite>): Promise<void> {
    return this.#moving.call({ key, record })
  }

  /** Whether Fahao's own tables are in the same database. */
  async hasStore(): Promise<boolean> {
    try {
      await this.#table.ask({ text: 'SELECT one FROM fahao_about' })
      return true
    } catch (error) {
      if (isFailure(error, 'missing')) return false
      throw error
    }
  }

  #tryAll(ask: Ask, keys: readonly string[]): Promise<BatchResult<void>[]> {
    return inTransaction(ask, async () => {
      await ask({ text: this.#renaming(keys) })
      await ask({ text: 'ROLLBACK' })
      return keys.map(() => done)
    })
  }

  async #takeOutAll(ask: Ask, rows: readonly StandingRow[]): Promise<BatchResult<void>[]> {
    const { legacyDialect, schema } = this.#table
    const { keyColumn, keyIsInteger, stored, shift } = schema
    const [name, put] = keyIsInteger
      ? [keyColumn, (key: string) => key]
      : [legacyDialect.bytesOf(keyColumn), legacyDialect.bytes]
    const stands = rows.map(({ key, bound }) => `(${put(key)}, ${bound - shift})`)
    const renaming = this.#renaming(rows.map(({ key }) => key))
    await ask({ text: `${renaming} AND (${name}, ${stored}) IN (${stands.join(', ')})`, writes: true })
    return rows.map(() => done)
  }

  #moveOutAll(ask: Ask, moves: readonly MovingRow[]): Promise<BatchResult<void>[]> {
    return inTransaction(ask, async () => {
      const rows = await this.#table.rowsOf(
        ask,
        moves.map(({ key }) => key),
        'FOR UPDATE',
      )
      const recordOf = async ({ key, record }: MovingRow) => {
        const row = rows.get(key)
        if (row !== undefined) return record(row.bound)
        const { table } = this.#table.schema
        throw new FahaoError('NOGENERATOR', `the row '${key}' of ${table} is not in service; look again`)
      }
      const records = await Promise.allSettled(moves.map(recordOf))
      const ready = records.filter((each) => each.status === 'fulfilled').map(({ value }) => value)
      const written = await this.#writeRecords(ask, ready)
      const results = records.map((each): BatchResult<void> => {
        if (each.status === 'rejected') return { error: each.reason }
        const { key } = each.value
        if (written.has(key)) return done
        return {
          error: new FahaoError('CONFLICT', `record ${key} was changed by another process; run it again`),
        }
      })
      const moved = moves.filter((_, at) => results[at] === done).map(({ key }) => key)
      if (moved.length === 0) await ask({ text: 'ROLLBACK' })
      else {
        await ask({ text: this.#renaming(moved), writes: true })
        await ask({ text: 'COMMIT', writes: true })
      }
      return results
    })
  }

  /**
   * As the engine writes them: each under a revision of its own, with the state row locked until the commit. Resolves to the
   * keys of those that were written; the others have changed, and stay as they are.
   */
  async #writeRecords(ask: Ask, records: readonly RecordToWrite[]): Promise<ReadonlySet<string>> {
    const written = new Set<string>()
    if (records.length === 0) return written
    const { text } = this.#table.legacyDialect
    const change = (statement: string) => ask({ text: statement, writes: true })
    await change(`UPDATE fahao_about SET revision = revision + ${records.length} WHERE one = 1`)
    const [about] = await ask({ text: 'SELECT revision FROM fahao_about WHERE one = 1' })
    let version = integerOf(about!.revision) - BigInt(records.length)
    const keys = records.map(({ key }) => text(key)).join(', ')
    const rows = await ask({ text: `SELECT name, value, version FROM fahao_records WHERE name IN (${keys})` })
    const before = new Map(rows.map((row) => [textOf(row.name), row]))
    const added: string[] = []
    for (const { key, value, expected } of records) {
      version++
      const row = before.get(key)
      // A removed record is a row without a value; and the user need not have the right to delete.
      const isThere = row !== undefined && optionalTextOf(row.value) !== undefined
      if ((isThere ? integerOf(row.version) : undefined) !== expected) continue
      written.add(key)
      if (row === undefined) added.push(`(${text(key)}, ${text(value)}, ${version})`)
      else {
        const set = `value = ${text(value)}, version = ${version}`
        await change(`UPDATE fahao_records SET ${set} WHERE name = ${text(key)}`)
      }
    }
    if (added.length > 0)
      await change(`INSERT INTO fahao_records (name, value, version) VALUES ${added.join(', ')}`)
    return written
  }

  /** The statement that gives rows in service their names out of service. */
  #renaming(keys: readonly string[]): string {
    const { schema, legacyDialect } = this.#table
    const { table, keyColumn, keyIsInteger } = schema
    const long = keys.find((key) => movedKey(schema, key) === undefined)
    if (long !== undefined)
      throw new FahaoError('ERR', `the row '${long}' of ${table} has no room for another name; shorten it`)
    const name = keyIsInteger ? `-${keyColumn}` : `CONCAT(${legacyDialect.text(movedPrefix)}, ${keyColumn})`
    return `UPDATE ${table} SET ${keyColumn} = ${name} WHERE ${this.#table.among(keys)}`
  }
}

/** Runs `work`, which ends the transaction. */
async function inTransaction<Value>(ask: Ask, work: () => Promise<Value>): Promise<Value> {
  await ask({ text: 'START TRANSACTION' })
  try {
    return await work()
  } catch (error) {
    // A failed connection is closed, which rolls back as well.
    if (!(error instanceof DriverError)) await ask({ text: 'ROLLBACK' })
    throw error
  }
}
