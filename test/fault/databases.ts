/** The databases that a fleet can stand on, for campaigns that every one of them must pass. */
import type { DatabaseServer } from '../launch/database.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { startPostgres } from '../launch/postgres.ts'

/** How to start one, as a primary or as a replica of another of its kind. */
export type StartDatabase = (
  lifetime: Lifetime,
  options?: { readonly replicaOf?: DatabaseServer },
) => Promise<DatabaseServer>

/** Each by its name. */
export const databases: Readonly<Record<string, StartDatabase>> = {
  MariaDB: startMariaDb as StartDatabase,
  PostgreSQL: startPostgres as StartDatabase,
}

/** The name of the database in an engine's URL. */
export function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

/** The same database by way of another port: a proxy's. */
export function through(url: string, port: number): string {
  const moved = new URL(url)
  moved.port = String(port)
  return moved.href
}
