/** From a URL with `schema=` to an engine on an old service's table, or to the table alone. */
import { FahaoError } from '../../../base/errors.ts'
import type { EngineOptions } from '../../engine.ts'
import type { Driver } from '../link.ts'
import { Links } from '../links.ts'
import { type Kind, openSql } from '../open.ts'
import type { Dialect, MakeStatements } from '../statements.ts'
import { LegacyEngine } from './engine.ts'
import type { Flavour } from './flavour.ts'
import { type LegacySchema, legacySchemas } from './schemas.ts'
import { LegacyStatements, rowOf } from './statements.ts'
import { LegacyTable } from './table.ts'

/** A kind of database, as far as tables of old services need to know it. */
export type LegacyKind = Pick<Kind, 'access' | 'driver'> & {
  readonly flavour: Flavour
  /** The dialect of the very server that answers, with statements of ours. */
  readonly dialect: (...args: [...Parameters<Kind['dialect']>, MakeStatements]) => Promise<Dialect>
}

/** A table by itself, and the way to let go of it. */
export type OpenedTable = { readonly table: LegacyTable; readonly close: () => Promise<void> }

/** For reads of the table and what `advance` does to it; reserves go the engine's own way. */
const linksMax = 2

/** Takes `schema=` out of a location. Throws CONFIG when it names none that is known. */
export function splitSchema(location: string): { location: string; schema: LegacySchema | undefined } {
  const at = location.indexOf('?')
  const parameters = new URLSearchParams(at < 0 ? '' : location.slice(at + 1))
  const name = parameters.get('schema')
  if (name === null) return { location, schema: undefined }
  const schema = Object.hasOwn(legacySchemas, name) ? legacySchemas[name] : undefined
  if (schema === undefined || parameters.getAll('schema').length > 1) {
    throw new FahaoError('CONFIG', `the engine's URL is wrong: schema is one of ${knownSchemas()}`)
  }
  parameters.delete('schema')
  const rest = parameters.toString()
  return { location: location.slice(0, at) + (rest === '' ? '' : `?${rest}`), schema }
}

/** Opens the engine. Rejects with ENGINE when the database cannot be used, or has no such table. */
export async function openLegacy(
  kind: LegacyKind,
  schema: LegacySchema,
  options: EngineOptions,
): Promise<LegacyEngine> {
  const { access } = kind
  const { table, close } = tableOf(kind.driver, kind.flavour, schema, options)
  const make: MakeStatements = (put, identity) => new LegacyStatements(put, identity, table)
  const dialect: Kind['dialect'] = async (ask) => onRows(await kind.dialect(ask, make), schema)
  let inner: Awaited<ReturnType<typeof openSql>> | undefined
  try {
    inner = await openSql({ access, driver: kind.driver, dialect }, options)
    await table.fingerprint()
  } catch (error) {
    await inner?.close()
    await close()
    throw error
  }
  return new LegacyEngine({ inner, table, clock: options.clock, closeTable: close })
}

/** Opens the table, and nothing of Fahao's own. Rejects with CONFIG without a schema, ENGINE without the table. */
export async function openTable(
  { driver, flavour }: Pick<LegacyKind, 'driver' | 'flavour'>,
  schema: LegacySchema | undefined,
  options: EngineOptions,
): Promise<OpenedTable> {
  if (schema === undefined)
    throw new FahaoError('CONFIG', `the URL names no table of an old service; add ?schema=${knownSchemas()}`)
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
  const links = new Links({ clock, driver, sizeMax: linksMax, timeoutMs: callTimeoutMs, onDown: () => {} })
  return {
    table: new LegacyTable(schema, flavour, links),
    async close() {
      await links.drain()
      await links.end()
    },
  }
}

/** A row that is not there is not made: its bound is for those to decide whose table it is. */
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

function knownSchemas(): string {
  return Object.keys(legacySchemas).join(', ')
}
