/** The databases that every hook is tried on, each with a fresh table of orders for each test. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseServer } from '../launch/database.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { temporaryFolder } from '../launch/places.ts'
import { startPostgres } from '../launch/postgres.ts'

/** A row as the database has it. */
export type Stored = {
  readonly id: string
  readonly short: string
  readonly code: string
  readonly customer: string
}

/** A database with the tables of the tests, empty. */
export type Database = {
  readonly kind: DatabaseKind
  /** A URL for the driver; of SQLite the path of the file. */
  readonly url: string
  /** The orders by customer, read without an ORM. Integers are decimal text. */
  orders(): Promise<readonly Stored[]>
  /** The rows of any query, read without an ORM. */
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
}

/** What a database is. */
export type DatabaseKind = 'postgres' | 'mariadb' | 'sqlite'

const tables = [
  `CREATE TABLE orders (
     id BIGINT NOT NULL PRIMARY KEY,
     short INTEGER NOT NULL,
     code VARCHAR(60) NOT NULL,
     customer VARCHAR(60) NOT NULL UNIQUE)`,
  `CREATE TABLE items (
     id BIGINT NOT NULL PRIMARY KEY,
     order_id BIGINT NOT NULL REFERENCES orders (id),
     title VARCHAR(60) NOT NULL)`,
]

/** Starts the server of a kind; resolves to what makes a database on it. */
export async function startDatabases(
  lifetime: Lifetime,
  kind: DatabaseKind,
): Promise<(test: Lifetime) => Promise<Database>> {
  if (kind === 'sqlite') return async (test) => sqliteDatabase(join(temporaryFolder(test), 'orders.db'))
  const server = await (kind === 'postgres' ? startPostgres(lifetime) : startMariaDb(lifetime))
  return () => serverDatabase(server, kind)
}

async function serverDatabase(server: DatabaseServer, kind: DatabaseKind): Promise<Database> {
  const url = await server.newDatabase()
  const name = new URL(url).pathname.slice(1)
  const query = (sql: string) => server.admin(sql, name)
  for (const table of tables) await query(table)
  if (kind === 'postgres') await query('ALTER TABLE orders OWNER TO fahao; ALTER TABLE items OWNER TO fahao')
  return { kind, url, query, orders: async () => (await query(ordersByCustomer)).map(stored) }
}

function sqliteDatabase(path: string): Database {
  const opened = <Result>(use: (database: DatabaseSync) => Result): Result => {
    const database = new DatabaseSync(path)
    try {
      return use(database)
    } finally {
      database.close()
    }
  }
  opened((database) => database.exec(tables.join(';')))
  const query = async (sql: string) =>
    opened((database) => {
      const statement = database.prepare(sql)
      statement.setReadBigInts(true)
      return statement.all()
    })
  return { kind: 'sqlite', url: path, query, orders: async () => (await query(ordersByCustomer)).map(stored) }
}

const ordersByCustomer = 'SELECT id, short, code, customer FROM orders ORDER BY customer'

function stored({ id, short, code, customer }: Readonly<Record<string, unknown>>): Stored {
  return { id: String(id), short: String(short), code: String(code), customer: String(customer) }
}
