/** MySQL and MariaDB: from a URL to a driver, and the dialect of the server that answers. */
import type { ConnectionOptions } from 'mysql2'
import { packageOf } from '../../installation/packages.ts'
import type { EngineOptions } from '../engine-options.ts'
import { type Ask, optionalTextOf, textOf } from '../sql/driver.ts'
import type { SqlDatabase } from '../sql/open.ts'
import type { Dialect, MakeStatements } from '../sql/statements.ts'
import { type Access, accessOf } from '../sql/url.ts'
import { type MysqlServer, mysqlDialect } from './dialect.ts'
import { mysqlDriver } from './driver.ts'

/**
 * The database that `location` names, not connected yet: `//user:password@host:port/database?…`. Rejects with CONFIG if
 * it is no such URL, ENGINE without the driver.
 */
export async function mysqlDatabase(location: string, options: EngineOptions): Promise<SqlDatabase> {
  const access = accessOf('mysql', location, 3306)
  const { default: mysql } = await packageOf('mysql2', import('mysql2'))
  const driver = mysqlDriver(mysql.createConnection, optionsOf(access), options.callTimeoutMs * 0.75)
  return { access, driver, dialect: dialectFor }
}

async function dialectFor(ask: Ask, make?: MakeStatements, table?: string): Promise<Dialect> {
  const [row] = await ask({ text: 'SELECT VERSION() AS version' })
  const isTidb = textOf(row!.version).includes('TiDB')
  return mysqlDialect(await (isTidb ? tidb(ask) : mysql(ask)), make, table)
}

/** The nodes of a TiDB are one server, named by its cluster's id, from version 8.5.6 on. */
async function tidb(ask: Ask): Promise<MysqlServer> {
  const cluster = "(SELECT VARIABLE_VALUE FROM mysql.tidb WHERE VARIABLE_NAME = 'cluster_id')"
  const rows = await ask({ text: `SELECT ${cluster} AS id` }).catch(() => [])
  if (optionalTextOf(rows[0]?.id) !== undefined) return { identity: cluster, isTidb: true }
  const unnoticed =
    'this TiDB does not tell its cluster (version 8.5.6 or later, and SELECT on mysql.tidb, are needed): another cluster in its place is noticed only by the writes that it lacks'
  return { identity: "'TiDB'", isTidb: true, unnoticed }
}

/**
 * MySQL is named by its uuid. MariaDB's uid consists of its network card's address and its port, which containers on two
 * hosts may have in common; a replica has another server_id. A server without either is named by its host and port.
 */
async function mysql(ask: Ask): Promise<MysqlServer> {
  const rows = await ask({
    text: "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')",
  })
  const name = rows[0] && textOf(rows[0].Variable_name)
  if (name === 'server_uuid') return { identity: '@@server_uuid' }
  const place = name === undefined ? "@@hostname, ':', @@port" : '@@server_uid'
  return { identity: `CONCAT(${place}, '/', @@global.server_id)` }
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
        ...tls.pem,
      },
    }),
  }
}
