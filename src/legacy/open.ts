/** From a URL with `schema=` to an engine on an old service's table, to its rows, or to the table alone. */
import { FahaoError } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Engine } from '../engine/engine.ts'
import type { EngineOptions } from '../engine/engine-options.ts'
import { openEngine } from '../engine/open.ts'
import type { SqlDatabase } from '../engine/sql/open.ts'
import { type LegacyDialect, mysqlLegacyDialect, postgresLegacyDialect } from './legacy-dialect.ts'
import { LegacyRows } from './row-generators.ts'
import { type LegacySchema, legacySchemas } from './schemas.ts'
import type { LegacyTable } from './table.ts'

/** A kind of database that old services keep their tables in. Its driver is loaded when it is needed. */
export type DatabaseKind = {
  readonly legacyDialect: LegacyDialect
  readonly load: (location: string, options: EngineOptions) => Promise<SqlDatabase>
}

const mysql: DatabaseKind = {
  legacyDialect: mysqlLegacyDialect,
  load: async (...args) => (await import('../engine/mysql/database.ts')).mysqlDatabase(...args),
}
const postgres: DatabaseKind = {
  legacyDialect: postgresLegacyDialect,
  load: async (...args) => (await import('../engine/postgres/database.ts')).postgresDatabase(...args),
}
const kinds: Readonly<Record<string, DatabaseKind>> = {
  mysql,
  mariadb: mysql,
  postgres,
  postgresql: postgres,
}

/**
 * Opens the engine that `url` names: with `schema=` one that works on an old service's table, otherwise see
 * `openEngine`. Rejects with CONFIG for a wrong URL, ENGINE when the database cannot be used, or has no such table.
 */
export async function openAnyEngine(url: string, options: EngineOptions): Promise<Engine> {
  const { kind, location, schema } = splitSchema(url)
  if (kind === undefined || schema === undefined) return openEngine(url, options)
  const { connectEngine } = await import('./connect.ts')
  return connectEngine(await kind.load(location, options), kind.legacyDialect, schema, options)
}

/**
 * Opens the table that `url` names by `schema=`, and nothing of Fahao's own. Rejects with CONFIG when the URL names no
 * such table, ENGINE when the table does not exist.
 */
export async function openLegacyTable(url: string, options: EngineOptions): Promise<LegacyTable> {
  const { scheme, kind, location, schema } = splitSchema(url)
  if (kind === undefined) {
    const message = `there are no tables of old services in '${scheme.slice(0, 40)}'; use mysql://… or postgres://…`
    throw new FahaoError('CONFIG', message)
  }
  const { driver } = await kind.load(location, options)
  if (schema === undefined)
    throw new FahaoError('CONFIG', `the URL names no table of an old service; add ?schema=${knownSchemas()}`)
  const { connectTable } = await import('./connect.ts')
  return connectTable(driver, kind.legacyDialect, schema, options)
}

/** The rows that `url` names, as the catalogue reads them from `engine`; undefined: `url` names none. */
export function legacyRows(url: string, engine: Engine, timeline: Timeline): LegacyRows | undefined {
  const table = legacyTableOf(url)
  return table === undefined ? undefined : new LegacyRows(engine, timeline, table)
}

/** The old service's table that `url` names by `schema=`; undefined: it names none. Throws CONFIG for an unknown one. */
export function legacyTableOf(url: string): string | undefined {
  return splitSchema(url).schema?.table
}

/** Takes `schema=` out of a URL. Throws CONFIG when it names no known schema. */
export function splitSchema(url: string): {
  readonly scheme: string
  /** Undefined: old services have no tables there. */
  readonly kind: DatabaseKind | undefined
  /** The URL without its scheme and without `schema=`. */
  readonly location: string
  readonly schema: LegacySchema | undefined
} {
  const [scheme = '', ...rest] = url.split(':')
  const location = rest.join(':')
  const kind = Object.hasOwn(kinds, scheme) ? kinds[scheme] : undefined
  const at = location.indexOf('?')
  const parameters = new URLSearchParams(kind === undefined || at < 0 ? '' : location.slice(at + 1))
  const name = parameters.get('schema')
  if (name === null) return { scheme, kind, location, schema: undefined }
  const schema = Object.hasOwn(legacySchemas, name) ? legacySchemas[name] : undefined
  if (schema === undefined || parameters.getAll('schema').length > 1)
    throw new FahaoError('CONFIG', `the engine's URL is wrong: schema is one of ${knownSchemas()}`)
  parameters.delete('schema')
  const others = parameters.toString()
  return { scheme, kind, location: location.slice(0, at) + (others === '' ? '' : `?${others}`), schema }
}

function knownSchemas(): string {
  return Object.keys(legacySchemas).join(', ')
}
