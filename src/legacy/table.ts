/**
 * The table of Leaf, of an IdBuilder or of tinyid, read by single statements: its rows, its tokens, and a fingerprint that shows
 * changes. Reserves on a row are in statements.ts, and an import takes rows out of service by import/taking-out.ts.
 */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { everyPage } from '../engine/pages.ts'
import { BatchedCalls, type BatchResult } from '../engine/sql/batched-calls.ts'
import type { ConnectionPool } from '../engine/sql/connection-pool.ts'
import {
  type Ask,
  DriverError,
  isFailure,
  optionalTextOf,
  type Row,
  type SqlCommand,
  textOf,
} from '../engine/sql/driver.ts'
import type { LegacyDialect } from './legacy-dialect.ts'
import { boundOf, isKey, keyBeforeMove, keyOf, type LegacyOptions, type LegacySchema } from './schemas.ts'

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

/** The part of a pool that a table uses, and the limits of a call. */
export type TableConnections = {
  readonly pool: Pick<ConnectionPool, 'run' | 'drain' | 'end' | 'sizeMax'>
  readonly clock: Clock
  readonly timeoutMs: number
}

/** Rows in one answer. */
const pageSize = 5000
/** Rows that are read by name, or changed, together. */
const rowsTogether = 250

/** One table. */
export class LegacyTable {
  readonly schema: LegacySchema
  readonly legacyDialect: LegacyDialect
  readonly #connections: TableConnections
  readonly #reads: BatchedCalls<string, LegacyRow | undefined>

  /** @param connections to the database that has the table; closed with it. */
  constructor(schema: LegacySchema, legacyDialect: LegacyDialect, connections: TableConnections) {
    this.schema = schema
    this.legacyDialect = legacyDialect
    this.#connections = connections
    this.#reads = this.callsOf(false, async (ask, keys) => {
      const rows = await this.rowsOf(ask, keys)
      return keys.map((key) => ({ value: rows.get(key) }))
    })
  }

  /**
   * Calls that are each about one row, and are carried out together by `work`. Where the database refuses them together, each
   * is carried out alone.
   */
  callsOf<Request, Value>(
    writes: boolean,
    work: (ask: Ask, requests: readonly Request[]) => Promise<BatchResult<Value>[]>,
  ): BatchedCalls<Request, Value> {
    const { pool, clock, timeoutMs } = this.#connections
    return new BatchedCalls(
      {
        clock,
        timeoutMs,
        widthMax: pool.sizeMax,
        sizeMax: rowsTogether,
        // No other part reconnects this pool, so each call tries to connect.
        run: (asks, options) => pool.run(asks, { ...options, probe: true }),
      },
      {
        writes,
        async alone(ask, request) {
          const [result] = await work(ask, [request])
          if ('error' in result!) throw result.error
          return result!.value
        },
        async together(ask, requests) {
          try {
            return await work(ask, requests)
          } catch (error) {
            if (!isRefused(error)) throw error
            return requests.map(() => undefined)
          }
        },
      },
    )
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
    const name = this.legacyDialect.bytesOf(keyColumn)
    const pages = everyPage<Row>(pageSize, (last) => {
      const more = last === undefined ? '' : ` AND ${name} > ${this.legacyDialect.bytes(keyOf(last))}`
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
      const total = `COUNT(*) AS rows_there, COALESCE(SUM(${this.legacyDialect.hash(columns)}), 0) AS hashes`
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
      return await this.#reads.call(key)
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
      const text = `SELECT ${this.legacyDialect.unixUs(updateColumn)} AS updated_us FROM ${table} WHERE ${this.among([key])}`
      const [row] = await this.ask({ text })
      const updatedUs = optionalTextOf(row?.updated_us)
      return updatedUs === undefined ? undefined : Number(updatedUs)
    } catch (error) {
      // Issuing needs neither this column nor the right to read it.
      if (error instanceof DriverError) return undefined
      throw error
    }
  }

  /** Every token; none where the table has no companion for them. */
  async tokens(): Promise<LegacyToken[]> {
    const { tokens } = this.schema
    if (tokens === undefined) return []
    const { table, tokenColumn, keyColumn } = tokens
    const rows = await this.ask({
      text: `SELECT ${tokenColumn} AS token, ${keyColumn} AS name FROM ${table}`,
    })
    return rows.map((row) => ({ token: textOf(row.token), key: keyOf(row) }))
  }

  /** Ends the connections, when calls under way have settled. */
  async close(): Promise<void> {
    const { pool } = this.#connections
    await this.#reads.drain()
    await pool.drain()
    await pool.end()
  }

  /** The condition that a row in service has one of these names. A row without a bound does not count: its service cannot use it. */
  among(keys: readonly string[]): string {
    const { keyColumn, keyIsInteger, stored } = this.schema
    const possible = keys.filter((key) => isKey(this.schema, key))
    if (possible.length === 0) return '1 = 0'
    const named = keyIsInteger
      ? `${keyColumn} IN (${possible.join(', ')})`
      : this.legacyDialect.sameText(keyColumn, possible)
    return `${named} AND ${stored} IS NOT NULL`
  }

  /** Those of these rows that are in service, by name. */
  async rowsOf(ask: Ask, keys: readonly string[], lock = ''): Promise<Map<string, LegacyRow>> {
    const rows = await ask({
      text: `${this.#select()} WHERE ${this.among(keys)} ORDER BY ${this.schema.keyColumn} ${lock}`,
    })
    return new Map(rows.map((row) => [keyOf(row), this.#read(row)]))
  }

  async #askTable(text: string): Promise<readonly Row[]> {
    try {
      return await this.ask({ text })
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

  /** Sends one command. */
  ask(command: SqlCommand): Promise<readonly Row[]> {
    return this.#connections.pool.run((ask) => ask(command), { probe: true })
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

/** Whether the database has refused a command, and changed nothing. */
export function isRefused(error: unknown): error is DriverError {
  return error instanceof DriverError && error.failure.kind !== 'lost'
}
