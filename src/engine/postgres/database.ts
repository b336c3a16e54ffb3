/** PostgreSQL: from a URL to a driver, and the dialect of the server that answers. */
import type { ClientConfig } from 'pg'
import { describe, FahaoError } from '../../base/errors.ts'
import { packageOf } from '../../installation/packages.ts'
import type { EngineOptions } from '../engine-options.ts'
import { type Ask, DriverError, isFailure, optionalTextOf } from '../sql/driver.ts'
import type { SqlDatabase } from '../sql/open.ts'
import type { Dialect, MakeStatements } from '../sql/statements.ts'
import { type Access, accessOf } from '../sql/url.ts'
import { postgresDialect, postgresIdentities } from './dialect.ts'
import { postgresDriver } from './driver.ts'

/** The dialect with the form of the server's name in the store or, for a new store, the best form that works. */
async function dialectFor(ask: Ask, make?: MakeStatements): Promise<Dialect> {
  const stored = await storedServer(ask)
  let refusal: unknown
  for (const identity of postgresIdentities) {
    if (stored !== undefined && !identity.form.test(stored)) continue
    try {
      await ask({ text: `SELECT ${identity.probe}` })
      return postgresDialect(identity, make)
    } catch (error) {
      if (!(error instanceof DriverError) || error.failure.kind === 'lost') throw error
      refusal = error
    }
  }
  const why = refusal === undefined ? `'${stored}' has no known form` : describe(refusal)
  throw new FahaoError(
    'ENGINE',
    `the database was written on server '${stored}', and this user cannot read the server's name: ${why}; give it the rights of the user that made the tables (GRANT EXECUTE ON FUNCTION pg_control_system)`,
  )
}

/** The name of the server on which the store was created or last accepted; undefined: there is no store yet. */
async function storedServer(ask: Ask): Promise<string | undefined> {
  try {
    const [row] = await ask({ text: 'SELECT server FROM fahao_about WHERE one = 1' })
    return optionalTextOf(row?.server)
  } catch (error) {
    if (isFailure(error, 'missing')) return undefined
    throw error
  }
}

/**
 * The database that `location` names, not connected yet: `//user:password@host:port/database?…`. Rejects with CONFIG if
 * it is no such URL, ENGINE without the driver.
 */
export async function postgresDatabase(location: string, options: EngineOptions): Promise<SqlDatabase> {
  const access = accessOf('postgres', location, 5432)
  const { default: pg } = await packageOf('pg', import('pg'))
  const lockTimeoutMs = Math.max(1, Math.floor(options.callTimeoutMs * 0.75))
  const driver = postgresDriver(pg.Client, configOf(access), lockTimeoutMs)
  return { access, driver, dialect: dialectFor }
}

function configOf({ host, port, user, password, database, socket, tls }: Access): ClientConfig {
  return {
    host: socket ?? host,
    port,
    user,
    password,
    database,
    application_name: 'fahao',
    keepAlive: true,
    // Text, as the server sends it, whatever parsers the process has set.
    types: { getTypeParser: () => (text: string) => text } as unknown as NonNullable<ClientConfig['types']>,
    ssl: tls !== undefined && {
      rejectUnauthorized: tls.rejectUnauthorized,
      ...(tls.anyName && { checkServerIdentity: () => undefined }),
      ...tls.pem,
    },
  }
}
