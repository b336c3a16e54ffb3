/** The database of an old service: statements with `?`, one transaction at a time on each connection. */
import mysql from 'mysql2/promise'
import pg from 'pg'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'

/** A row as the driver gives it, integers as text. */
export type Row = Readonly<Record<string, string | null>>

/** Sends one statement; resolves to its rows, or to how many it changed. */
export type Send = (sql: string, values?: readonly unknown[]) => Promise<{ rows: Row[]; changed: number }>

/** Which server it is. */
export type Dialect = 'mysql' | 'postgres'

/** A pool of connections, as an old service's data source keeps one. */
export type OldDatabase = {
  readonly dialect: Dialect
  readonly send: Send
  /** Runs `work` between BEGIN and COMMIT on one connection; rolls back when it throws. */
  readonly transaction: <Result>(work: (send: Send) => Promise<Result>) => Promise<Result>
}

/** Opens the database that `url` names (`mysql://…` or `postgres://…`; what follows `?` is not the driver's). */
export function oldDatabase(lifetime: Lifetime, url: string): OldDatabase {
  const [plain = ''] = url.split('?')
  return plain.startsWith('mysql:') ? mysqlDatabase(lifetime, plain) : postgresDatabase(lifetime, plain)
}

function mysqlDatabase(lifetime: Lifetime, url: string): OldDatabase {
  const { hostname, port, username, password, pathname } = new URL(url)
  const pool = mysql.createPool({
    host: hostname,
    port: Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    connectionLimit: 4,
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
  })
  atEnd(lifetime, () => pool.end())
  const sendOn =
    (connection: Pick<mysql.Connection, 'query'>): Send =>
    async (sql, values = []) => {
      const [result] = await connection.query(sql, [...values])
      if (!Array.isArray(result)) return { rows: [], changed: result.affectedRows }
      return { rows: (result as Record<string, unknown>[]).map(asText), changed: 0 }
    }
  return {
    dialect: 'mysql',
    send: sendOn(pool),
    async transaction(work) {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        const result = await work(sendOn(connection))
        await connection.commit()
        return result
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        connection.release()
      }
    },
  }
}

function postgresDatabase(lifetime: Lifetime, url: string): OldDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  atEnd(lifetime, () => pool.end())
  const sendOn =
    (client: Pick<pg.ClientBase, 'query'>): Send =>
    async (sql, values = []) => {
      let place = 0
      const numbered = sql.replaceAll('?', () => `$${++place}`)
      const { rows, rowCount } = await client.query(numbered, values as unknown[])
      return { rows: (rows ?? []).map(asText), changed: rowCount ?? 0 }
    }
  return {
    dialect: 'postgres',
    send: sendOn(pool),
    async transaction(work) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const result = await work(sendOn(client))
        await client.query('COMMIT')
        return result
      } catch (error) {
        await client.query('ROLLBACK')
        throw error
      } finally {
        client.release()
      }
    },
  }
}

function asText(row: Record<string, unknown>): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)]),
  )
}
