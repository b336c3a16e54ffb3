/** Connects to an old service's table: as an engine that counts by its rows, or as the table alone. */
import { FahaoError } from '../base/errors.ts'
import type { Engine, EngineOptions } from '../engine/engine.ts'
import { ConnectionPool } from '../engine/sql/connection-pool.ts'
import type { Driver } from '../engine/sql/driver.ts'
import { openSql, type SqlDatabase } from '../engine/sql/open.ts'
import type { Dialect, MakeStatements } from '../engine/sql/statements.ts'
import { LegacyEngine } from './engine.ts'
import type { Flavour } from './flavour.ts'
import type { LegacySchema } from './schemas.ts'
import { LegacyStatements, rowOf } from './statements.ts'
import { LegacyTable } from './table.ts'

/** A table by itself, and how to close its connections. */
export type OpenedTable = { readonly table: LegacyTable; readonly close: () => Promise<void> }

/** For reads of the table and for its changes by an import; reserves use the engine's own connections. */
const linksMax = 2

/** Opens the engine. Rejects with ENGINE when the database cannot be used, or has no such table. */
export async function connectEngine(
  kind: SqlDatabase,
  flavour: Flavour,
  schema: LegacySchema,
  options: EngineOptions,
): Promise<LegacyEngine> {
  const { table, close } = tableOf(kind.driver, flavour, schema, options)
  const make: MakeStatements = (put, identity) => new LegacyStatements(put, identity, table)
  const dialect: SqlDatabase['dialect'] = async (ask) =>
    onRows(await kind.dialect(ask, make, schema.table), schema)
  let inner: Engine | undefined
  try {
    inner = await openSql({ ...kind, dialect }, options)
    await table.fingerprint()
  } catch (error) {
    await inner?.close()
    await close()
    throw error
  }
  return new LegacyEngine({ inner, table, clock: options.clock, closeTable: close })
}

/** Opens the table. Rejects with ENGINE when there is none. */
export async function connectTable(
  driver: Driver,
  flavour: Flavour,
  schema: LegacySchema,
  options: EngineOptions,
): Promise<OpenedTable> {
  const opened = tableOf(driver, flavour, schema, options)
  try {
    await opened.table.fingerprint()
  } catch (error) {
    await opened.close()
    throw error
  }
  return opened
}

function tableOf(
  driver: Driver,
  flavour: Flavour,
  schema: LegacySchema,
  { clock, callTimeoutMs }: EngineOptions,
): OpenedTable {
  const pool = new ConnectionPool({
    clock,
    driver,
    sizeMax: linksMax,
    timeoutMs: callTimeoutMs,
    onDown: () => {},
  })
  return {
    table: new LegacyTable(schema, flavour, pool),
    async close() {
      await pool.drain()
      await pool.end()
    },
  }
}

/** An absent row is not inserted: its bound is up to the owners of the table. */
function onRows(dialect: Dialect, { table }: LegacySchema): Dialect {
  return {
    ...dialect,
    refuseAbsent(counter) {
      const key = rowOf(counter)
      if (key === undefined) return
      throw new FahaoError(
        'NOGENERATOR',
        `there is no row '${key}' in ${table} any more; if it was imported, send its callers to nodes on the new tables; if it was removed by mistake, insert it again, at or above where it stood`,
      )
    },
  }
}
