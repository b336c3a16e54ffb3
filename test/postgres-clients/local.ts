/** Clients that Node and Debian have. */
import { installPackages } from '../launch/packages.ts'
import { type Client, file, program, url } from './client.ts'
import { psqlLists, psqlStatements } from './psql.ts'

const node = [process.execPath, file('node', 'cases.mjs')]
const asLibpq = { tlsQuery: 'sslmode=require' }

/** They can run after `installDrivers`. */
export const localClients: readonly Client[] = [
  psqlStatements,
  psqlLists,
  pgbench('simple'),
  pgbench('extended'),
  pgbench('prepared'),
  program('pg', [...node, 'pg', url], { tlsEnv: { PGSSLMODE: 'no-verify' } }),
  program('postgres', [...node, 'postgres', url], asLibpq),
  program('postgres, prepare: false', [...node, 'postgres-unprepared', url], asLibpq),
  program('ORMs of Node', [process.execPath, file('node', 'orms.mjs'), url], {
    tlsEnv: { PGSSLMODE: 'no-verify' },
  }),
  program('PHP, PDO and pgsql', ['php', file('php', 'cases.php'), url]),
  program('Ruby, pg and ActiveRecord', ['ruby', file('ruby', 'cases.rb'), url]),
  odbc('ODBC', ''),
  odbc('ODBC, UseServerSidePrepare=0', 'UseServerSidePrepare=0'),
  odbc('ODBC, UseDeclareFetch=1', 'UseDeclareFetch=1;Fetch=2'),
]

/** Installs the drivers of Node in the folder of their program. */
export function installDrivers(): Promise<void> {
  return installPackages(file('node'), 'The drivers of Node')
}

/** pgbench prints no ids; what it prints is whether each of its transactions was done. */
function pgbench(mode: string): Client {
  const options = ['--no-vacuum', '--client=2', '--transactions=50', `--protocol=${mode}`]
  return program(`pgbench, ${mode}`, ['pgbench', ...options, '--file', file('pgbench', 'draw.sql'), url], {
    lines: (printed) =>
      (printed.match(/^number of (?:transactions actually|failed).*$/gm) ?? []).map((line) =>
        line.replace(': ', '\t'),
      ),
  })
}

/** Debian's own Python has the module. */
function odbc(name: string, options: string): Client {
  return program(name, ['/usr/bin/python3', file('odbc', 'cases.py'), url, options])
}
