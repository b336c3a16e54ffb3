/** MariaDB, as durable as it comes, and its asynchronous replicas. */
import { join } from 'node:path'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { DatabaseServer, owner, password, type Row, type Settings, superuser } from './database.ts'
import type { Lifetime } from './lifetime.ts'
import { freePort, temporaryFolder } from './places.ts'
import { requireProgram } from './process.ts'
import { runProgram } from './program.ts'
import { fromTemplate } from './template.ts'

/** How to start it. */
export type MariaDbOptions = {
  /** By their names on mariadbd's command line, without dashes in front. */
  readonly settings?: Settings
  /** Makes it an asynchronous, read-only replica of this one; resolves when it has caught up. */
  readonly replicaOf?: MariaDb
}

/** Starts mariadbd on a free loopback port, with its data in a temporary folder; resolves when it answers. */
export async function startMariaDb(lifetime: Lifetime, options: MariaDbOptions = {}): Promise<MariaDb> {
  const folder = temporaryFolder(lifetime)
  const data = join(folder, 'data')
  await fromTemplate('mariadb', data, () =>
    runProgram([
      'mariadb-install-db',
      '--no-defaults',
      `--datadir=${data}`,
      // A server that starts takes away the temporary tables that it finds, whosever they are.
      `--tmpdir=${folder}`,
      ...asRoot(),
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      '--skip-name-resolve',
      '--innodb-log-file-size=32M',
    ]),
  )
  const server = new MariaDb(lifetime, await freePort(), folder, options)
  await server.start()
  if (options.replicaOf) {
    // Its log is never purged, so everything comes from there: users and databases too.
    await server.admin(`
      CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${options.replicaOf.port},
        MASTER_USER = '${superuser}', MASTER_PASSWORD = '${password}', MASTER_USE_GTID = slave_pos,
        MASTER_CONNECT_RETRY = 1;
      START SLAVE`)
    await server.setReadOnly(true)
    await server.catchUp()
    return server
  }
  await server.admin(`
    CREATE USER ${superuser}@'127.0.0.1' IDENTIFIED BY '${password}';
    GRANT ALL PRIVILEGES ON *.* TO ${superuser}@'127.0.0.1' WITH GRANT OPTION;
    CREATE USER ${owner}@'127.0.0.1' IDENTIFIED BY '${password}'`)
  return server
}

/** A mariadbd under test. */
export class MariaDb extends DatabaseServer {
  readonly kind = 'mysql'
  protected readonly stopSignal = 'SIGTERM'
  protected readonly folder: string
  readonly #primary: MariaDb | undefined
  #readOnly = false

  constructor(lifetime: Lifetime, port: number, folder: string, options: MariaDbOptions) {
    super(lifetime, port, options.settings ?? {})
    this.folder = folder
    this.#primary = options.replicaOf
  }

  url(database: string, user = owner): string {
    return `mysql://${user}:${password}@127.0.0.1:${this.port}/${database}`
  }

  async admin(sql: string, database?: string): Promise<readonly Row[]> {
    const connection = await createConnection({
      socketPath: this.socket,
      user: 'root',
      multipleStatements: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      ...(database !== undefined && { database }),
    })
    try {
      const [answer] = await connection.query<RowDataPacket[] | RowDataPacket[][]>(sql)
      return rowsOfLast(answer)
    } finally {
      connection.destroy()
    }
  }

  async setReadOnly(on: boolean): Promise<void> {
    await this.admin(`SET GLOBAL read_only = ${on ? 1 : 0}`)
    this.#readOnly = on
  }

  dump(database: string): Promise<string> {
    return runProgram(['mariadb-dump', ...this.#client(), '--single-transaction', database])
  }

  async restore(database: string, dump: string): Promise<void> {
    await runProgram(['mariadb', ...this.#client(), database], { input: dump })
  }

  async catchUp(): Promise<void> {
    if (!this.#primary) throw new Error('this server is no replica')
    const [row] = await this.#primary.admin('SELECT @@gtid_binlog_pos AS position')
    const [waited] = await this.admin(`SELECT MASTER_GTID_WAIT('${row?.position}', 30) AS result`)
    if (Number(waited?.result) === 0) return
    const [status] = await this.admin('SHOW SLAVE STATUS')
    throw new Error(`the replica did not catch up: ${status?.Last_IO_Error} ${status?.Last_SQL_Error}`)
  }

  async stopReplicating(): Promise<void> {
    await this.admin('STOP SLAVE')
  }

  async promote(): Promise<void> {
    await this.admin('STOP SLAVE; RESET SLAVE ALL')
    await this.setReadOnly(false)
  }

  protected async createDatabase(name: string): Promise<void> {
    await this.admin(`CREATE DATABASE ${name}; GRANT ALL PRIVILEGES ON ${name}.* TO ${owner}@'127.0.0.1'`)
  }

  protected command(settings: Settings) {
    const all: Settings = {
      datadir: join(this.folder, 'data'),
      tmpdir: this.folder,
      socket: this.socket,
      'pid-file': join(this.folder, 'pid'),
      port: this.port,
      'bind-address': '127.0.0.1',
      'skip-name-resolve': 1,
      'max-connections': 500,
      // Small, to start fast.
      'innodb-buffer-pool-size': '32M',
      'innodb-log-file-size': '32M',
      'key-buffer-size': '1M',
      'aria-pagecache-buffer-size': '8M',
      // Durable, as a careful operator has it.
      'innodb-flush-log-at-trx-commit': 1,
      'log-bin': 'binlog',
      'sync-binlog': 1,
      'binlog-format': 'ROW',
      'server-id': this.port,
      'read-only': this.#readOnly ? 1 : 0,
      ...settings,
    }
    const args = Object.entries(all).map(([name, value]) => `--${name}=${value}`)
    return {
      command: requireProgram('mariadbd'),
      args: ['--no-defaults', ...asRoot(), ...args],
      cwd: this.folder,
    }
  }

  protected get socket(): string {
    return join(this.folder, 'socket')
  }

  #client(): string[] {
    return ['--no-defaults', `--socket=${this.socket}`, '--user=root']
  }
}

/** mariadbd refuses to run as root, unless an option says so. */
export function asRoot(): string[] {
  return process.getuid?.() === 0 ? ['--user=root'] : []
}

/** One statement is answered with rows or with a header, several with an array of those. */
function rowsOfLast(answer: unknown): readonly Row[] {
  if (!Array.isArray(answer)) return []
  const last: unknown = answer.at(-1)
  if (Array.isArray(last)) return last
  const ofSeveral = answer.some((each) => Array.isArray(each)) || isHeader(last)
  return ofSeveral ? [] : answer
}

function isHeader(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'affectedRows' in value && 'serverStatus' in value
}
