/** PostgreSQL, as durable as it comes, and its asynchronous standbys. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { DatabaseServer, owner, password, type Row, type Settings, superuser } from './database.ts'
import type { Lifetime } from './lifetime.ts'
import { freePort, temporaryFolder } from './places.ts'
import { requireProgram } from './process.ts'
import { runProgram } from './program.ts'
import { fromTemplate } from './template.ts'

/** How to start it. */
export type PostgresOptions = {
  /** By their names in postgresql.conf. */
  readonly settings?: Settings
  /** Makes it an asynchronous standby of this one; resolves when it has caught up. */
  readonly replicaOf?: Postgres
}

/** Starts PostgreSQL on a free loopback port, with its data in a temporary folder; resolves when it answers. */
export async function startPostgres(lifetime: Lifetime, options: PostgresOptions = {}): Promise<Postgres> {
  const folder = await folderOfServer(lifetime)
  const { replicaOf } = options
  await (replicaOf ? copyData(folder, replicaOf) : createData(folder))
  const server = new Postgres(lifetime, await freePort(), folder, options)
  await server.start()
  if (replicaOf) await server.catchUp()
  else await server.admin(`CREATE ROLE ${owner} LOGIN PASSWORD '${password}'`)
  return server
}

async function createData(folder: string): Promise<void> {
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password)
  await fromTemplate('postgres', data, () =>
    runProgram(
      asServer(
        'initdb',
        ...['--pgdata', data, '--username', superuser, '--pwfile', passwordFile],
        ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--no-locale', '--no-sync', '--no-instructions'],
      ),
      { cwd: folder },
    ),
  )
}

async function copyData(folder: string, primary: Postgres): Promise<void> {
  await runProgram(
    asServer(
      'pg_basebackup',
      ...['--pgdata', join(folder, 'data'), '--dbname', primary.url('', superuser)],
      ...['--write-recovery-conf', '--wal-method', 'stream', '--checkpoint', 'fast', '--no-sync'],
    ),
    { cwd: folder },
  )
}

/** A PostgreSQL server under test. */
export class Postgres extends DatabaseServer {
  readonly kind = 'postgres'
  protected readonly stopSignal = 'SIGINT'
  readonly #folder: string
  readonly #primary: Postgres | undefined

  constructor(lifetime: Lifetime, port: number, folder: string, options: PostgresOptions) {
    super(lifetime, port, options.settings ?? {})
    this.#folder = folder
    this.#primary = options.replicaOf
  }

  url(database: string, user = owner): string {
    return `postgres://${user}:${password}@127.0.0.1:${this.port}/${database}`
  }

  admin(sql: string, database = 'postgres'): Promise<readonly Row[]> {
    return this.#query(sql, database, '-c default_transaction_read_only=off')
  }

  async setReadOnly(on: boolean): Promise<void> {
    const wanted = on ? 'on' : 'off'
    // Two calls: ALTER SYSTEM wants no transaction around it.
    await this.admin(`ALTER SYSTEM SET default_transaction_read_only = ${wanted}`)
    await this.admin('SELECT pg_reload_conf()')
    // The postmaster reads it, tells all backends, and only then takes the next connection.
    for (;;) {
      const [row] = await this.#query('SHOW default_transaction_read_only', 'postgres')
      if (row?.default_transaction_read_only === wanted) return
      await pause(5)
    }
  }

  dump(database: string): Promise<string> {
    return runProgram(['pg_dump', '--clean', '--if-exists', this.url(database, superuser)])
  }

  async restore(database: string, dump: string): Promise<void> {
    const command = ['psql', '--no-psqlrc', '--quiet', '--single-transaction', '--set', 'ON_ERROR_STOP=1']
    await runProgram([...command, this.url(database, superuser)], {
      env: { PGOPTIONS: '-c default_transaction_read_only=off' },
      input: dump,
    })
  }

  async catchUp(): Promise<void> {
    if (!this.#primary) throw new Error('this server is no replica')
    const [row] = await this.#primary.admin('SELECT pg_current_wal_flush_lsn() AS position')
    const has = `SELECT pg_last_wal_replay_lsn() >= '${row?.position}' AS yes`
    const giveUpAt = performance.now() + 30_000
    while ((await this.admin(has))[0]?.yes !== true) {
      if (performance.now() > giveUpAt)
        throw new Error(`the standby did not catch up:\n${this.process.output()}`)
      await pause(5)
    }
  }

  async stopReplicating(): Promise<void> {
    await this.admin("ALTER SYSTEM SET primary_conninfo = ''")
    await this.admin('SELECT pg_reload_conf()')
    while ((await this.admin('SELECT pid FROM pg_stat_wal_receiver')).length > 0) await pause(5)
  }

  async promote(): Promise<void> {
    const [row] = await this.admin('SELECT pg_promote(true, 60) AS done')
    if (row?.done !== true) throw new Error(`the standby was not promoted:\n${this.process.output()}`)
  }

  protected async createDatabase(name: string): Promise<void> {
    await this.admin(`CREATE DATABASE ${name} OWNER ${owner}`)
  }

  protected command(settings: Settings) {
    const all: Settings = {
      port: this.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 200,
      // Small, to start fast.
      shared_buffers: '32MB',
      // Durable, as a careful operator has it; these are the server's own values.
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      ...settings,
    }
    const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const [command = '', ...rest] = asServer('postgres', '-D', join(this.#folder, 'data'), ...args)
    return { command, args: rest, cwd: this.#folder }
  }

  async #query(sql: string, database: string, options?: string): Promise<readonly Row[]> {
    const client = new Client({ connectionString: this.url(database, superuser), options })
    // The server may die meanwhile; the query tells.
    client.on('error', () => {})
    try {
      await client.connect()
      const answer: unknown = await client.query(sql)
      const last = (Array.isArray(answer) ? answer.at(-1) : answer) as { readonly rows: readonly Row[] }
      return last.rows
    } finally {
      await client.end()
    }
  }

  /** In good order, if not with a checkpoint, and with an eye to what outlives a SIGKILL. */
  protected override async end(): Promise<void> {
    if (!this.process.exit()) {
      this.thaw()
      const ended = this.process.kill('SIGQUIT').then(() => true)
      if (!(await Promise.race([ended, pause(5000, false)]))) await this.kill()
    }
    await this.#removeSharedMemory()
  }

  /** A killed server's would stay until the next start on its data, or a reboot. */
  async #removeSharedMemory(): Promise<void> {
    const lockFile = join(this.#folder, 'data', 'postmaster.pid')
    if (!existsSync(lockFile)) return
    const segment = /^ *\d+ +(\d+)$/m.exec(readFileSync(lockFile, 'utf8'))?.[1]
    // Gone already if the server died before it had any.
    if (segment) await runProgram(['ipcrm', '--shmem-id', segment]).catch(() => {})
  }
}

/** A temporary folder that the server may write to. */
async function folderOfServer(lifetime: Lifetime): Promise<string> {
  const folder = temporaryFolder(lifetime)
  if (isRoot()) await runProgram(['chown', 'postgres:', folder])
  return folder
}

/** PostgreSQL refuses to run as root. setpriv leaves its process id to the program; runuser would not. */
function asServer(program: string, ...args: readonly string[]): string[] {
  const path = requireProgram(program)
  if (!isRoot()) return [path, ...args]
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', path, ...args]
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}
