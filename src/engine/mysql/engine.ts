/** MySQL and MariaDB: an engine that many nodes share. */
import type { ConnectionOptions } from 'mysql2'
import { FahaoError } from '../../base/errors.ts'
import type { EngineOptions } from '../engine.ts'
import type { SqlEngine } from '../sql/engine.ts'
import { type Ask, textOf } from '../sql/link.ts'
import { openSql } from '../sql/open.ts'
import type { Dialect } from '../sql/statements.ts'
import { type Access, accessOf } from '../sql/url.ts'
import { mysqlDialect } from './dialect.ts'
import { mysqlDriver } from './driver.ts'

/**
 * Opens the store in the database that `location` names: `//user:password@host:port/database?…`.
 * Rejects with CONFIG when it is no such URL, ENGINE when the database cannot be used.
 */
export async function openMysql(location: string, options: EngineOptions): Promise<SqlEngine> {
  const access = accessOf('mysql', location, 3306)
  const { default: mysql } = await import('mysql2').catch((cause) => {
    throw new FahaoError('ENGINE', "the package mysql2 is missing: install it with 'npm install mysql2'", {
      cause,
    })
  })
  const driver = mysqlDriver(mysql.createConnection, optionsOf(access), options.callTimeoutMs * 0.75)
  return openSql({ access, driver, dialect: dialectFor }, options)
}

/** MySQL calls itself by its uuid, MariaDB by its uid; one that has neither, by where it runs. */
async function dialectFor(ask: Ask): Promise<Dialect> {
  const rows = await ask({
    text: "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')",
  })
  const name = rows[0]?.Variable_name
  return mysqlDialect(
    name === undefined ? "CONCAT(@@hostname, ':', @@port, '/', @@server_id)" : `@@${textOf(name)}`,
  )
}

function optionsOf({ host, port, user, password, database, socket, tls }: Access): ConnectionOptions {
  return {
    ...(socket === undefined ? { host, port } : { socketPath: socket }),
    user,
    password,
    database,
    ...(tls !== undefined && {
      ssl: {
        rejectUnauthorized: tls.rejectUnauthorized,
        verifyIdentity: !tls.anyName,
        ...(tls.ca !== undefined && { ca: tls.ca }),
        ...(tls.cert !== undefined && { cert: tls.cert }),
        ...(tls.key !== undefined && { key: tls.key }),
      },
    }),
  }
}
