/** Connections by mysql2, and the meaning of its errors. */
import type { Connection, ConnectionOptions, QueryError } from 'mysql2'
import {
  type DatabaseConnection,
  type Driver,
  type Failure,
  failureBy,
  type Row,
  type SqlCommand,
} from '../sql/driver.ts'

type Connect = (options: ConnectionOptions) => Connection
/** The stream exists, but not in the types. */
type Socketed = { readonly stream: { ref(): void; unref(): void; destroy(): void } }

/** Connections to a MySQL or MariaDB server. A statement waits for a lock for at most `lockTimeoutMs`, in whole seconds. */
export function mysqlDriver(connect: Connect, options: ConnectionOptions, lockTimeoutMs: number): Driver {
  const all: ConnectionOptions = {
    ...options,
    multipleStatements: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    enableKeepAlive: true,
    // The calls have deadlines of their own.
    connectTimeout: 0,
  }
  const lockTimeoutS = Math.max(1, Math.floor(lockTimeoutMs / 1000))
  return {
    connect: (onGone) => new MysqlConnection(connect({ ...all }), lockTimeoutS, onGone),
    failureOf: mysqlFailure,
  }
}

class MysqlConnection implements DatabaseConnection {
  readonly ready: Promise<void>
  readonly #connection: Connection

  constructor(connection: Connection, lockTimeoutS: number, onGone: () => void) {
    this.#connection = connection
    // Without a listener, a lost connection would end the process. Queries in flight fail by themselves.
    connection.on('error', onGone)
    connection.on('end', onGone)
    // No transaction waits for its client, since each is one packet. NO_UNSIGNED_SUBTRACTION: in a table with unsigned
    // bounds, 0 minus 1 is −1.
    this.ready = this.#query(
      `SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_UNSIGNED_SUBTRACTION', autocommit = 1,
         completion_type = 'NO_CHAIN', sql_safe_updates = 0,
         innodb_lock_wait_timeout = ${lockTimeoutS}, lock_wait_timeout = ${lockTimeoutS};
       SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`,
    ).then(() => {})
  }

  async ask({ text, answer }: SqlCommand): Promise<readonly Row[]> {
    const answers = await this.#query(text)
    return answer === undefined ? (answers as readonly Row[]) : answer(answers as unknown[])
  }

  hold(alive: boolean): void {
    const { stream } = this.#connection as unknown as Socketed
    if (alive) stream.ref()
    else stream.unref()
  }

  end(): Promise<void> {
    return new Promise((resolve) => this.#connection.end(() => resolve()))
  }

  destroy(): void {
    const { stream } = this.#connection as unknown as Socketed
    this.#connection.destroy()
    stream.destroy()
  }

  #query(sql: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#connection.query(sql, (error: QueryError | null, answer: unknown) => {
        if (error) reject(error)
        else resolve(answer)
      })
    })
  }
}

const remedies: Readonly<Record<number, string>> = {
  1040: 'the server has too many connections: raise max_connections, or lower pool=',
  1146: 'the tables are missing: is a dump being restored?',
  1205: 'another session holds a lock for too long: look at SHOW ENGINE INNODB STATUS',
  1213: 'the server broke a deadlock: retry',
  1290: 'the server is read-only: look for the primary, or at read_only',
  1836: 'the server is read-only: look for the primary, or at innodb_read_only',
}

/** Errors that last until an operator acts. */
const denied: ReadonlySet<number> = new Set([1044, 1045, 1049, 1130, 1142, 1143, 1227, 1251, 1698])
/** A text was compared with a column whose character set does not have it. */
const unmatched: ReadonlySet<number> = new Set([1267, 1270, 1271, 3854, 3988])
/** Errors with which a server has refused a statement; its transaction is rolled back with the connection. */
const refused: ReadonlySet<number> = new Set([
  1021, 1040, 1047, 1054, 1062, 1064, 1099, 1100, 1114, 1129, 1146, 1153, 1193, 1203, 1223, 1226, 1264, 1290,
  1305, 1406, 1665, 1690, 1792, 1836, 4025,
])
/** Errors caused by another session's lock. */
const contended: ReadonlySet<number> = new Set([1205, 1213])

/** The meaning of an error of mysql2; see `Failure`. */
export function mysqlFailure(error: unknown): Failure {
  const errno = (error as { readonly errno?: unknown } | null)?.errno
  const number = typeof errno === 'number' ? errno : 0
  return failureBy(error, kindOf(number), remedies[number])
}

function kindOf(number: number): Failure['kind'] {
  if (number === 1146) return 'missing'
  if (denied.has(number)) return 'denied'
  if (unmatched.has(number)) return 'unmatched'
  if (contended.has(number)) return 'contended'
  return refused.has(number) ? 'refused' : 'lost'
}
