/** From a URL to an open engine. A driver is loaded when its engine is opened. */
import { FahaoError } from '../base/errors.ts'
import type { Engine } from './engine.ts'
import type { EngineOptions } from './engine-options.ts'

type Opener = (location: string, options: EngineOptions) => Promise<Engine>

const openMysql: Opener = async (location, options) => {
  const { mysqlDatabase } = await import('./mysql/database.ts')
  return (await import('./sql/open.ts')).openSql(await mysqlDatabase(location, options), options)
}
const openPostgres: Opener = async (location, options) => {
  const { postgresDatabase } = await import('./postgres/database.ts')
  return (await import('./sql/open.ts')).openSql(await postgresDatabase(location, options), options)
}
const openers: Readonly<Record<string, Opener>> = {
  memory: async (_location, options) => (await import('./memory/engine.ts')).openMemory(options),
  sqlite: async (location, options) => (await import('./sqlite/engine.ts')).openSqlite(location, options),
  mysql: openMysql,
  mariadb: openMysql,
  postgres: openPostgres,
  postgresql: openPostgres,
  etcd: async (rest, options) => (await import('./etcd/engine.ts')).openEtcd('etcd', rest, options),
  etcds: async (rest, options) => (await import('./etcd/engine.ts')).openEtcd('etcds', rest, options),
}

/**
 * Opens the engine that `url` names: `memory:`, `sqlite:FILE` with a path relative to the working directory,
 * `mysql://USER:PASSWORD@HOST/DATABASE` or `postgres://…`.
 * Rejects with CONFIG if no engine has the scheme, ENGINE if the engine cannot be opened.
 */
export function openEngine(url: string, options: EngineOptions): Promise<Engine> {
  const colon = url.indexOf(':')
  const scheme = colon < 0 ? url : url.slice(0, colon)
  const opener = Object.hasOwn(openers, scheme) ? openers[scheme] : undefined
  if (opener === undefined || colon < 0) {
    const database = 'USER:PASSWORD@HOST/DATABASE'
    const known = `sqlite:./data/fahao.db, memory:, etcd://host1:2379,host2:2379/fahao, mysql://${database}, postgres://${database}`
    return Promise.reject(
      new FahaoError('CONFIG', `there is no engine for '${scheme.slice(0, 40)}'; use one of ${known}`),
    )
  }
  return opener(url.slice(colon + 1), options)
}
