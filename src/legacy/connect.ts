/** Connects to an old service's table: as an engine that counts by its rows, or as the table alone. */
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import type { EngineOptions } from '../engine/engine-options.ts'
import { ConnectionPool } from '../engine/sql/connection-pool.ts'
import type { Driver } from '../engine/sql/driver.ts'
import { openSql, type SqlDatabase } from '../engine/sql/open.ts'
import type { Dialect, MakeStatements } from '../engine/sql/statements.ts'
import { LegacyEngine } from './engine.ts'
import type { LegacyDialect } from './legacy-dialect.ts'
import type { LegacySchema } from './schemas.ts'
import { LegacyStatements, rowOf } from './statements.ts'
import { LegacyTable } from './table.ts'

/** Connections that read the table, and change it in an import; reserves use the engine's own connections. */
const linksMax = 2

/** Opens the engine. Rejects with ENGINE when the database cannot be used, or has no such table. */
export async function connectEngine(
  kind: SqlDatabase,
  legacyDialect: LegacyDialect,
  schema: LegacySchema,
  options: EngineOptions,
): Promise<LegacyEngine> {
  const table = tableOf(kind.driver, legacyDialect, schema, options)
  const make: MakeStatements = (put, identity) => new LegacyStatements(put, identity, table)
  const dialect: SqlDatabase['dialect'] = async (ask) =>
    onRows(await kind.dialect(ask, make, schema.table), schema)
  let inner: Engine | undefined
  try {
    inner = await openSql({ ...kind, dialect }, options)
    await table.fingerprint()
    return new LegacyEngine(inner, table, options.clock)
  } catch (error) {
    await inner?.close()
    await table.close()
    throw error
  }
}

/** Opens the table. Rejects with ENGINE when there is none. */
export async function connectTable(
  driver: Driver,
  legacyDialect: LegacyDialect,
  schema: LegacySchema,
  options: EngineOptions,
): Promise<LegacyTable> {
  const table = tableOf(driver, legacyDialect, schema, options)
  try {
    await table.fingerprint()
    return table
  } catch (error) {
    await table.close()
    throw error
  }
}

function tableOf(
  driver: Driver,
  legacyDialect: LegacyDialect,
  schema: LegacySchema,
  { clock, callTimeoutMs: timeoutMs }: EngineOptions,
): LegacyTable {
  const pool = new ConnectionPool({ clock, driver, sizeMax: linksMax, timeoutMs, onDown: () => {} })
  return new LegacyTable(schema, legacyDialect, { pool, clock, timeoutMs })
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
