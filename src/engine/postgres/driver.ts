/** Connections by pg, and the meaning of its errors. */
import type { Client, ClientConfig } from 'pg'
import {
  type DatabaseConnection,
  type Driver,
  type Failure,
  failureBy,
  type Row,
  type SqlCommand,
} from '../sql/driver.ts'

type ClientClass = typeof Client
/** `ref`, `unref` and the stream exist, but not in the types. */
type Socketed = {
  ref(): void
  unref(): void
  readonly connection: { readonly stream: { destroy(): void } }
}
type Answer = { readonly rows: readonly Row[] }

/** Connections to a PostgreSQL server. A statement waits for a lock for at most `lockTimeoutMs`. */
export function postgresDriver(Client: ClientClass, config: ClientConfig, lockTimeoutMs: number): Driver {
  return {
    connect: (onGone) => new PostgresConnection(new Client(config), lockTimeoutMs, onGone),
    failureOf: postgresFailure,
  }
}

class PostgresConnection implements DatabaseConnection {
  readonly ready: Promise<void>
  readonly #client: Client
  #doubt: Error | undefined

  constructor(client: Client, lockTimeoutMs: number, onGone: () => void) {
    this.#client = client
    // Without a listener, a lost connection would end the process. Queries in flight fail by themselves.
    client.on('error', onGone)
    client.on('end', onGone)
    client.on('notice', (notice) => {
      if (notice.code !== undefined && standbyDoubts.has(notice.code)) this.#doubt = new Error(notice.message)
    })
    this.ready = this.#prepare(lockTimeoutMs)
  }

  async ask({ text, values, answer: found }: SqlCommand): Promise<readonly Row[]> {
    this.#doubt = undefined
    const query = values === undefined ? { text } : { text, values: [...values] }
    const answer = (await this.#client.query(query)) as unknown as Answer | Answer[]
    if (this.#doubt !== undefined) throw this.#doubt
    if (!Array.isArray(answer)) return answer.rows
    return found === undefined ? [] : found(answer.map(({ rows }) => rows))
  }

  hold(alive: boolean): void {
    const socketed = this.#client as unknown as Socketed
    if (alive) socketed.ref()
    else socketed.unref()
  }

  end(): Promise<void> {
    return this.#client.end().catch(() => {})
  }

  destroy(): void {
    const { connection } = this.#client as unknown as Socketed
    connection.stream.destroy()
  }

  async #prepare(lockTimeoutMs: number): Promise<void> {
    await this.#client.connect()
    // A statement that is cancelled while it waits for a synchronous standby counts as committed: so the server gets no
    // statement timeout. Each setting is for one session; the engine stays correct if a pooler mixes sessions.
    const answers = (await this.#client.query(
      `SET lock_timeout = ${lockTimeoutMs}; SET statement_timeout = 0; SET client_min_messages = warning;
       SET default_transaction_isolation = 'read committed'; ${plans};
       SELECT pg_is_in_recovery()::text AS standby`,
    )) as unknown as Answer[]
    if (answers.at(-1)?.rows[0]?.standby === 'true')
      throw new Refusal('the server is a standby: name the primary in the URL')
  }
}

/**
 * A batch finds its rows by their names: with the default plan it would read each table whole as long as that has fewer than
 * some 100,000 rows. A server without these settings is left as it is.
 */
const plans = `SELECT set_config(name, 'off', false) FROM pg_settings
  WHERE name IN ('enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit')`

class Refusal extends Error {}

/** The server stopped waiting for a synchronous standby: the commit is local, and may be lost with this server. */
const standbyDoubts: ReadonlySet<string> = new Set(['57014', '57P01', '01000'])

const remedies: Readonly<Record<string, string>> = {
  '25006': 'the server is read-only: look for the primary, or at default_transaction_read_only',
  '55P03': 'another session holds a lock for too long: look at pg_locks',
  '40P01': 'the server broke a deadlock: retry',
  '42P01': 'the tables are missing: is a dump being restored?',
  '53300': 'the server has too many connections: raise max_connections, or lower pool=',
  '53100': 'the disk of the server is full',
}

/** SQLSTATEs that last until an operator acts. */
const denied = /^(28|3D|42501)/
/** Classes and states with which the server has refused a statement and rolled it back. */
const refused = /^(0A|21|22|23|25|40001|40P01|42|53|54|55|57P03|3F)/
/** SQLSTATEs caused by another session's lock, or by its change of the same row. */
const contended: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])

/** The meaning of an error of pg; see `Failure`. */
export function postgresFailure(error: unknown): Failure {
  const code = (error as { readonly code?: unknown } | null)?.code
  const state = typeof code === 'string' ? code : ''
  return failureBy(error, error instanceof Refusal ? 'refused' : kindOf(state), remedies[state])
}

function kindOf(state: string): Failure['kind'] {
  if (state === '42P01') return 'missing'
  if (denied.test(state)) return 'denied'
  if (contended.has(state)) return 'contended'
  return state.length === 5 && refused.test(state) ? 'refused' : 'lost'
}
