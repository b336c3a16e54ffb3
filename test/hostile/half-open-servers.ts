/** The servers of which clients vanish, and the proxy of which the server vanishes. */
import { createServer } from 'node:http'
import { join } from 'node:path'
import { FahaoServer } from '../launch/fahao.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import type { MariaDb } from '../launch/mariadb.ts'
import { startMysqlProxy } from '../launch/mysql-proxy.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { password } from './attack.ts'
import type { Plan } from './vanishing.ts'
import { startBackend } from './victims.ts'

/** What runs. */
export type Servers = {
  readonly ports: Plan['ports']
  /** The server behind the proxy whose clients vanish. */
  readonly database: MariaDb
  /** Their processes, by name. */
  readonly pids: Readonly<Record<string, number>>
}

/** Starts them all. `upstream`: where the server that vanishes will listen. */
export async function startServers(lifetime: Lifetime, upstream: Plan['upstream']): Promise<Servers> {
  const database = (await startBackend(lifetime, 'mysql'))!
  const ports = { resp: await freePort(), http: await freePort(), postgres: await freePort() }
  const server = await startServer(lifetime, ports)
  const mysql = await freePort()
  const deaf = await startDeaf(lifetime)
  const args = ['--listen', `0.0.0.0:${mysql}`, '--url', deaf, '--table', 'shop.target.id=target']
  const proxy = await startMysqlProxy(lifetime, { upstream: database.port, port: mysql, args })
  const url = `mysql://${upstream.host}:${upstream.port}`
  const other = await startMysqlProxy(lifetime, { upstream: url })
  return {
    ports: { ...ports, mysql, upstream: other.port },
    database,
    pids: { server: server.pid, proxy: proxy.process.pid, 'proxy of the lost server': other.process.pid },
  }
}

async function startServer(
  lifetime: Lifetime,
  { resp, http, postgres }: Pick<Plan['ports'], 'resp' | 'http' | 'postgres'>,
): Promise<FahaoServer> {
  const options = {
    engine: `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`,
    args: [
      ...['--resp', `0.0.0.0:${resp}`, '--http', `0.0.0.0:${http}`],
      ...['--postgres', `0.0.0.0:${postgres}`],
    ],
    env: { FAHAO_ADMIN_PASSWORD: password },
  }
  const server = new FahaoServer(lifetime, options, resp, http)
  await server.start()
  const client = await server.connect()
  await client.command('AUTH', 'admin', password)
  await client.command('ID.CREATE', 'target', 'KIND', 'sequence')
  await client.close()
  return server
}

/** A service that answers nothing: who asks it for an id waits. Resolves to its URL. */
async function startDeaf(lifetime: Lifetime): Promise<string> {
  const server = createServer(() => {})
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  atEnd(lifetime, () => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${port}`
}
