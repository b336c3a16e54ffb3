/**
 * The table of Leaf, of an IdBuilder or of tinyid, read and changed by single statements: its rows, its tokens, a fingerprint
 * that shows changes, and how an import takes a row out of service. Reserves on a row are in statements.ts.
 */
import { FahaoError } from '../base/errors.ts'
import { everyPage } from '../engine/pages.ts'
import type { ConnectionPool } from '../engine/sql/connection-pool.ts'
import {
  type Ask,
  DriverError,
  integerOf,
  isFailure,
  optionalTextOf,
  type Row,
  type SqlCommand,
  textOf,
} from '../engine/sql/driver.ts'
import type { LegacyDialect } from './legacy-dialect.ts'
import {
  boundOf,
  isKey,
  keyBeforeMove,
  keyOf,
  type LegacyOptions,
  type LegacySchema,
  movedKey,
} from './schemas.ts'

/** A row at the moment of the read. */
export type LegacyRow = {
  /** The row's name, or its name before it was taken out of service. */
  readonly key: string
  readonly inService: boolean
  /** No id at or above this one has been issued from the row. */
  readonly bound: bigint
  readonly options: LegacyOptions
}

/** A token that opens the generator of a row. */
export type LegacyToken = { readonly token: string; readonly key: string }

/** A record of Fahao's own, to be written if its version is `expected`, or, if that is undefined, if there is none. */
export type RecordToWrite = {
  readonly key: string
  readonly value: string
  readonly expected: bigint | undefined
}

/** The part of a pool that a table uses. */
export type TableConnections = Pick<ConnectionPool, 'run' | 'drain' | 'end'>

/** Rows in one answer. */
const pageSize = 5000

/** One table. */
export class LegacyTable {
  readonly schema: LegacySchema
  readonly #legacyDialect: LegacyDialect
  readonly #pool: TableConnections

  /** @param pool to the database that has the table; closed with it. */
  constructor(schema: LegacySchema, legacyDialect: LegacyDialect, pool: TableConnections) {
    this.schema = schema
    this.#legacyDialect = legacyDialect
    this.#pool = pool
  }

  /** Every row, also those out of service. Rejects with ENGINE if there is no such table. */
  async rows(): Promise<LegacyRow[]> {
    const pages: LegacyRow[][] = []
    for await (const page of this.pages()) pages.push(page)
    return pages.flat()
  }

  /** Every row, also those out of service, in byte order of their names. Rejects with ENGINE if there is no table. */
  async *pages(): AsyncGenerator<LegacyRow[]> {
    const { keyColumn, stored } = this.schema
    const name = this.#legacyDialect.bytesOf(keyColumn)
    const pages = everyPage<Row>(pageSize, (last) => {
      const more = last === undefined ? '' : ` AND ${name} > ${this.#legacyDialect.bytes(keyOf(last))}`
      return this.#askTable(
        `${this.#select()} WHERE ${stored} IS NOT NULL${more} ORDER BY ${name} LIMIT ${pageSize}`,
      )
    })
    for await (const rows of pages) yield rows.map((row) => this.#read(row))
  }

  /**
   * Changes when a row or a token is added, removed, or changed in a column that determines ids. A bound that moves does not
   * change it. The database computes it from 32 bits of each row: two simultaneous changes escape it once in 2^32.
   */
  async fingerprint(): Promise<string> {
    const { table, keyColumn, stored, ruleColumns, tokens } = this.schema
    const sum = async (from: string, columns: readonly string[]) => {
      const total = `COUNT(*) AS rows_there, COALESCE(SUM(${this.#legacyDialect.hash(columns)}), 0) AS hashes`
      const [row] = await this.#askTable(`SELECT ${total} FROM ${from}`)
      return `${textOf(row!.rows_there)} ${textOf(row!.hashes)}`
    }
    const rows = await sum(`${table} WHERE ${stored} IS NOT NULL`, [keyColumn, ...ruleColumns])
    return tokens === undefined
      ? rows
      : `${rows} ${await sum(tokens.table, [tokens.tokenColumn, tokens.keyColumn])}`
  }

  /** The row that is in service under this name. */
  async row(key: string): Promise<LegacyRow | undefined> {
    if (!isKey(this.schema, key)) return undefined
    try {
      const [row] = await this.#ask({ text: `${this.#select()} WHERE ${this.is(key)}` })
      return row && this.#read(row)
    } catch (error) {
      // The column cannot hold the name, so no row has it.
      if (isFailure(error, 'unmatched')) return undefined
      throw error
    }
  }

  /** When the row last changed, in Unix µs; undefined if the table does not store it. */
  async updatedUs(key: string): Promise<number | undefined> {
    const { table, updateColumn } = this.schema
    if (updateColumn === undefined) return undefined
    try {
      const text = `SELECT ${this.#legacyDialect.unixUs(updateColumn)} AS updated_us FROM ${table} WHERE ${this.is(key)}`
      const [row] = await this.#ask({ text })
      const updatedUs = optionalTextOf(row?.updated_us)
      return updatedUs === undefined ? undefined : Number(updatedUs)
    } catch (error) {
      // Issuing needs neither this column nor the right to read it.
      if (error instanceof DriverError) return undefined
      throw error
    }
  }

  /** The reason why the database refuses to take the row out of service; undefined: none. Tries it, and rolls back. */
  async takesOut(key: string): Promise<string | undefined> {
    const { table } = this.schema
    const name = this.#movedName(key)
    return this.#pool.run(
      async (ask) => {
        await ask({ text: 'START TRANSACTION' })
        try {
          await ask({ text: `UPDATE ${table} SET ${this.schema.keyColumn} = ${name} WHERE ${this.is(key)}` })
          return undefined
        } catch (error) {
          if (!(error instanceof DriverError) || error.failure.kind === 'lost') throw error
          return `${table} does not let its row be taken out of service: ${error.message}`
        } finally {
          await ask({ text: 'ROLLBACK' }).catch(() => {})
        }
      },
      { probe: true },
    )
  }

  /** Whether Fahao's own tables are in the same database. */
  async hasStore(): Promise<boolean> {
    try {
      await this.#ask({ text: 'SELECT one FROM fahao_about' })
      return true
    } catch (error) {
      if (isFailure(error, 'missing')) return false
      throw error
    }
  }

  /** Every token; none where the table has no companion for them. */
  async tokens(): Promise<LegacyToken[]> {
    const { tokens } = this.schema
    if (tokens === undefined) return []
    const { table, tokenColumn, keyColumn } = tokens
    const rows = await this.#ask({
      text: `SELECT ${tokenColumn} AS token, ${keyColumn} AS name FROM ${table}`,
    })
    return rows.map((row) => ({ token: textOf(row.token), key: keyOf(row) }))
  }

  /**
   * Renames the row, so that no old node finds it, if its bound is still `bound`. If the bound has moved, or the row is out
   * of service already, changes nothing: read the row again.
   */
  async takeOut(key: string, bound: bigint): Promise<void> {
    const { table, keyColumn, stored, shift } = this.schema
    await this.#ask({
      text: `UPDATE ${table} SET ${keyColumn} = ${this.#movedName(key)}
        WHERE ${this.is(key)} AND ${stored} = ${bound - shift}`,
      writes: true,
    })
  }

  /**
   * Takes the row out of service and writes a record in one transaction. `record` is called when the row is locked, with
   * its bound, which cannot move until the end. Rejects with CONFLICT if the record has changed, NOGENERATOR if the row is
   * not in service; nothing is changed then.
   */
  async moveOut(key: string, record: (bound: bigint) => Promise<RecordToWrite>): Promise<void> {
    const { table, keyColumn } = this.schema
    const name = this.#movedName(key)
    return this.#pool.run(
      async (ask) => {
        const change = (text: string) => ask({ text, writes: true })
        await ask({ text: 'START TRANSACTION' })
        try {
          const [row] = await ask({ text: `${this.#select()} WHERE ${this.is(key)} FOR UPDATE` })
          if (row === undefined)
            throw new FahaoError('NOGENERATOR', `the row '${key}' of ${table} is not in service; look again`)
          await this.#writeRecord(ask, await record(this.#read(row).bound))
          await change(`UPDATE ${table} SET ${keyColumn} = ${name} WHERE ${this.is(key)}`)
        } catch (error) {
          // A failed connection is closed, which rolls back as well.
          if (!(error instanceof DriverError)) await ask({ text: 'ROLLBACK' })
          throw error
        }
        await change('COMMIT')
      },
      { probe: true },
    )
  }

  /** As the engine writes one: under the next revision, with the state row locked until the commit. */
  async #writeRecord(ask: Ask, { key, value, expected }: RecordToWrite): Promise<void> {
    const { text } = this.#legacyDialect
    await ask({ text: 'UPDATE fahao_about SET revision = revision + 1 WHERE one = 1', writes: true })
    const there = `SELECT version FROM fahao_records WHERE name = ${text(key)}`
    const [before] = await ask({ text: `${there} AND value IS NOT NULL` })
    if ((before && integerOf(before.version)) !== expected)
      throw new FahaoError('CONFLICT', `record ${key} was changed by another process; run it again`)
    // A removed record is a row without a value; and the user need not have the right to delete.
    await ask({
      text: `UPDATE fahao_records SET value = ${text(value)},
        version = (SELECT revision FROM fahao_about WHERE one = 1) WHERE name = ${text(key)}`,
      writes: true,
    })
    await ask({
      text: `INSERT INTO fahao_records (name, value, version)
        SELECT ${text(key)}, ${text(value)}, revision FROM fahao_about
        WHERE one = 1 AND NOT EXISTS (SELECT 1 FROM fahao_records WHERE name = ${text(key)})`,
      writes: true,
    })
  }

  /** Ends the connections, when calls under way have settled. */
  async close(): Promise<void> {
    await this.#pool.drain()
    await this.#pool.end()
  }

  /** The condition that a row in service has this name. A row without a bound does not count: its service cannot use it. */
  is(key: string): string {
    if (!isKey(this.schema, key)) return '1 = 0'
    const { keyColumn, keyIsInteger, stored } = this.schema
    const named = keyIsInteger
      ? `${keyColumn} = ${BigInt(key)}`
      : this.#legacyDialect.sameText(keyColumn, key)
    return `${named} AND ${stored} IS NOT NULL`
  }

  /** The name out of service, as a literal; ERR if it is too long. */
  #movedName(key: string): string {
    const moved = movedKey(this.schema, key)
    if (moved === undefined)
      throw new FahaoError(
        'ERR',
        `the row '${key}' of ${this.schema.table} has no room for another name; shorten it`,
      )
    return this.schema.keyIsInteger ? moved : this.#legacyDialect.text(moved)
  }

  async #askTable(text: string): Promise<readonly Row[]> {
    try {
      return await this.#ask({ text })
    } catch (cause) {
      if (!isFailure(cause, 'missing')) throw cause
      const { table, name } = this.schema
      throw new FahaoError(
        'ENGINE',
        `there is no table ${table}, which schema=${name} works on; name the database that has it`,
        { cause },
      )
    }
  }

  #ask(command: SqlCommand): Promise<readonly Row[]> {
    // No other part reconnects this pool, so each call tries to connect.
    return this.#pool.run((ask) => ask(command), { probe: true })
  }

  #select(): string {
    const { table, keyColumn, stored, ruleColumns } = this.schema
    return `SELECT ${[`${keyColumn} AS name`, `${stored} AS stored`, ...ruleColumns].join(', ')} FROM ${table}`
  }

  #read(row: Row): LegacyRow {
    const name = keyOf(row)
    const before = keyBeforeMove(this.schema, name)
    return {
      key: before ?? name,
      inService: before === undefined,
      bound: boundOf(this.schema, row),
      options: this.schema.options(row),
    }
  }
}
