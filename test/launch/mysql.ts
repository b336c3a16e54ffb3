/**
 * What a MySQL proxy is tried with: MariaDB, or Oracle's MySQL where `FAHAO_TEST_MYSQLD` names its program `mysqld`.
 */
import { join } from 'node:path'
import { owner, password, type Settings, superuser } from './database.ts'
import type { Lifetime } from './lifetime.ts'
import { asRoot, MariaDb, startMariaDb } from './mariadb.ts'
import { freePort, temporaryFolder } from './places.ts'
import { runProgram } from './program.ts'

const program = process.env.FAHAO_TEST_MYSQLD || undefined

/** Whether the servers are MariaDB. */
export const isMariaDb = program === undefined

/** Settings of a server that speaks no TLS. */
export const withoutTls: Settings = isMariaDb ? { 'skip-ssl': 1 } : { 'tls-version': '' }

/** Starts a server on a free loopback port, with its data in a temporary folder; resolves when it answers. */
export async function startMysql(lifetime: Lifetime, settings: Settings = {}): Promise<MariaDb> {
  if (program === undefined) return startMariaDb(lifetime, { settings })
  const folder = temporaryFolder(lifetime)
  await runProgram([
    program,
    '--no-defaults',
    '--initialize-insecure',
    ...asRoot(),
    `--datadir=${join(folder, 'data')}`,
  ])
  const server = new OracleMysql(lifetime, await freePort(), folder, { settings })
  await server.start()
  await server.admin(`
    CREATE USER ${superuser}@'127.0.0.1' IDENTIFIED BY '${password}';
    GRANT ALL PRIVILEGES ON *.* TO ${superuser}@'127.0.0.1' WITH GRANT OPTION;
    CREATE USER ${owner}@'127.0.0.1' IDENTIFIED BY '${password}'`)
  return server
}

class OracleMysql extends MariaDb {
  protected override command(settings: Settings) {
    const all: Settings = {
      datadir: join(this.folder, 'data'),
      tmpdir: this.folder,
      socket: this.socket,
      'pid-file': join(this.folder, 'pid'),
      port: this.port,
      'bind-address': '127.0.0.1',
      'skip-name-resolve': 1,
      'max-connections': 500,
      'innodb-buffer-pool-size': '64M',
      'local-infile': 1,
      'secure-file-priv': '',
      mysqlx: 0,
      ...settings,
    }
    const args = Object.entries(all).map(([name, value]) => `--${name}=${value}`)
    return { command: program!, args: ['--no-defaults', ...asRoot(), ...args], cwd: this.folder }
  }
}
