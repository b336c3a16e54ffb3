/** Opens an engine: waits for the database, creates the tables, checks the settings that durability depends on. */
import { randomUUID } from 'node:crypto'
import { sleep } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { CallsInFlight } from '../calls-in-flight.ts'
import type { EngineOptions } from '../engine-options.ts'
import { newStore } from '../store-creation.ts'
import { ConnectionPool } from './connection-pool.ts'
import { type Ask, type Driver, isFailure, type Row, textOf } from './driver.ts'
import { possibleLossBy } from './durability.ts'
import { type OpenedStore, SqlEngine } from './engine.ts'
import { EngineHealth } from './health.ts'
import { changedPositionOf, type State, stateOf } from './history.ts'
import { type Dialect, type MakeStatements, schemaVersion } from './statements.ts'
import type { Access } from './url.ts'

/** A kind of database. */
export type SqlDatabase = {
  readonly access: Access
  readonly driver: Driver
  /**
   * The dialect of the very server that answers. `make`: with other statements on counters; `table`: another system's,
   * in which some counters are.
   */
  readonly dialect: (ask: Ask, make?: MakeStatements, table?: string) => Promise<Dialect>
}

/** The time for which opening waits for a database that does not answer. */
const unreachableMaxMs = 30_000
const pauseMs = 250

/** Opens the engine. Rejects with ENGINE if the database cannot be used, or does not answer in time. */
export async function openSql(
  { access, driver, dialect }: SqlDatabase,
  options: EngineOptions,
): Promise<SqlEngine> {
  const { clock, callTimeoutMs, onEvent } = options
  const { location } = access
  const health = new EngineHealth({ clock, location, onEvent })
  const pool = new ConnectionPool({
    clock,
    driver,
    sizeMax: access.pool,
    timeoutMs: callTimeoutMs,
    onDown: ({ message }) => health.troubled('connection', message),
  })
  const attempt = () => pool.run((ask) => look(ask, dialect, options, location), { probe: true })
  const calls = new CallsInFlight()
  try {
    const found = await calls.run(() => untilThere(attempt, location, options))
    return new SqlEngine({ location, pool, health, ...found }, options)
  } catch (error) {
    await pool.end()
    throw error
  } finally {
    await calls.close()
  }
}

async function untilThere<Value>(
  attempt: () => Promise<Value>,
  location: string,
  { clock, onEvent }: EngineOptions,
): Promise<Value> {
  const giveUpAtUs = clock.monoUs() + unreachableMaxMs * 1000
  for (let told = false; ; ) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof FahaoError) || error.code === 'ENGINE') throw error
      const reason = `${location} cannot be used: ${error.message}`
      const isFinal = isFailure(error, 'denied')
      if (isFinal || clock.monoUs() > giveUpAtUs) {
        const advice = isFinal
          ? 'its host, user, password, database and TLS'
          : `its host and port, and whether a ${dialectName(location)} server runs there`
        throw new FahaoError('ENGINE', `${reason}; look at the engine's URL: ${advice}`, { cause: error })
      }
      if (!told)
        onEvent({ level: 'warn', message: `${reason}; trying for up to ${unreachableMaxMs / 1000} s` })
      told = true
    }
    await sleep(clock, pauseMs)
  }
}

async function look(
  ask: Ask,
  dialectOf: SqlDatabase['dialect'],
  options: EngineOptions,
  location: string,
): Promise<Pick<OpenedStore, 'dialect' | 'state'>> {
  let dialect = await dialectOf(ask)
  // Before any table is created: a database that is refused stays as it was.
  await heedConditions(ask, dialect, location, options)
  await convert(ask, dialect, options, location)
  let row = await stateRow(ask, dialect)
  if (row === undefined) {
    await create(ask, dialect, location, options)
    // Another node may have created the store first, and have recorded another name of the server.
    dialect = await dialectOf(ask)
    row = (await stateRow(ask, dialect))!
  }
  if (dialect.unnoticed !== undefined)
    options.onEvent({ level: 'warn', message: `${location}: ${dialect.unnoticed}` })
  return { dialect, state: await written(ask, dialect, stateOf(row), location) }
}

/**
 * Converts tables of an earlier version, once. Nodes of that version fail at their next statement and change nothing.
 * Rejects with ENGINE for a later version, or where this user may not convert the tables.
 */
async function convert(ask: Ask, dialect: Dialect, options: EngineOptions, location: string): Promise<void> {
  const found = await versionIn(ask)
  if (found > schemaVersion) {
    const made = `was written by a newer Fahao (its schema is ${found}, this one knows 1 to ${schemaVersion})`
    throw new FahaoError('ENGINE', `${location} ${made}; upgrade this one`)
  }
  if (found === schemaVersion) return
  let failure: unknown
  for (const command of dialect.conversion)
    await ask(command).catch((error) => {
      failure ??= error
    })
  if ((await versionIn(ask)) === schemaVersion) {
    const message = `converted the tables in ${location} from schema ${found} to ${schemaVersion}`
    options.onEvent({ level: 'info', message })
  } else if (isFailure(failure, 'denied')) {
    const why = `this user may not convert the table fahao_about (${failure.message})`
    const remedy = 'start once as the owner of the table, or on MySQL with ALTER on it'
    throw new FahaoError('ENGINE', `${location}: ${why}; ${remedy}`)
  } else
    throw (
      failure ?? new FahaoError('UNAVAILABLE', `${location} does not show its converted tables yet; retry`)
    )
}

/** The version of the tables; that of this program where there are none. */
async function versionIn(ask: Ask): Promise<number> {
  try {
    const [row] = await ask({ text: 'SELECT schema_version FROM fahao_about WHERE one = 1' })
    return row === undefined ? schemaVersion : Number(textOf(row.schema_version))
  } catch (error) {
    if (isFailure(error, 'missing')) return schemaVersion
    throw error
  }
}

/** Rejects with ENGINE if the server cannot be used, or may lose acknowledged writes. */
async function heedConditions(
  ask: Ask,
  dialect: Dialect,
  location: string,
  options: EngineOptions,
): Promise<void> {
  const [conditions = {}] = await ask(dialect.conditions)
  const unusable = dialect.whyUnusable(conditions)
  if (unusable !== undefined) throw new FahaoError('ENGINE', `${location} cannot be used: ${unusable}`)
  const loss = possibleLossBy(dialect.unsafeSettings(conditions))
  if (loss === undefined) return
  const message = `${location} ${loss}`
  if (!options.unsafe) throw new FahaoError('ENGINE', `${message}; or accept it with --unsafe-engine`)
  options.onEvent({ level: 'warn', message })
}

/** Updates and inserts of no row: they fail if this user may not write to the table. */
const noChanges = Object.entries({
  fahao_counters: 'name, last, fence, incarnation, version',
  fahao_records: 'name, value, version',
}).flatMap(([table, columns]) => [
  { text: `UPDATE ${table} SET version = version WHERE 1 = 0` },
  { text: `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${table} WHERE 1 = 0` },
])

/** Writes to every table once: a read-only server or user is found before the engine is used. */
async function written(ask: Ask, dialect: Dialect, state: State, location: string): Promise<State> {
  try {
    for (const command of noChanges) await ask(command)
    const known = { accepted: state.position, advances: 0 }
    const [row] = await ask(dialect.pulse(known, state.lastWriteUs))
    return { ...state, position: changedPositionOf(row) ?? state.position }
  } catch (error) {
    if (!isFailure(error, 'denied')) throw error
    const why = `this user may not write to the tables (${error.message})`
    throw new FahaoError('ENGINE', `${location}: ${why}; grant SELECT, INSERT and UPDATE on them`)
  }
}

function dialectName(location: string): string {
  return location.slice(0, location.indexOf(':'))
}

async function stateRow(ask: Ask, dialect: Dialect): Promise<Row | undefined> {
  try {
    return (await ask(dialect.command((s) => s.state())))[0]
  } catch (error) {
    if (isFailure(error, 'missing')) return undefined
    throw error
  }
}

async function create(ask: Ask, dialect: Dialect, location: string, options: EngineOptions): Promise<void> {
  const history = randomUUID()
  const tell = newStore(options, `in ${location}`)
  try {
    await ask(dialect.create(history))
  } catch (error) {
    if (!isFailure(error, 'denied')) throw error
    const why = `${location} has no tables, and this user may not make them (${error.message})`
    throw new FahaoError('ENGINE', `${why}; grant CREATE for the first start, or make them by hand`)
  }
  const row = await stateRow(ask, dialect)
  if (row === undefined) {
    const found = 'has counters or records, and no row in fahao_about'
    throw new FahaoError('ENGINE', `${location} ${found}: finish restoring the dump, or empty those tables`)
  }
  // If a store should have been there, this line in the log shows that it is gone.
  if (stateOf(row).position.history === history) tell()
}
