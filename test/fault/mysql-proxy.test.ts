/** kill -9 of the MySQL proxy, of the nodes that give it ids or do not, and of the database, while rows are inserted. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { guardTables } from '../launch/guards.ts'
import { Scope } from '../launch/lifetime.ts'
import { type MariaDb, startMariaDb } from '../launch/mariadb.ts'
import { type MysqlProxy, startMysqlProxy, through } from '../launch/mysql-proxy.ts'
import { roundsOf } from './campaign.ts'
import { clusterEngines } from './cluster-engines.ts'
import { startCluster, type TestCluster } from './cluster-nodes.ts'
import { MySqlLoad, type Stored } from './mysql-load.ts'

const scope = new Scope()
let server: MariaDb
let cluster: TestCluster
let proxy: MysqlProxy | undefined
let direct: string

before(async () => {
  server = await startMariaDb(scope)
  cluster = await startCluster(scope, await clusterEngines.etcd!(scope))
  await cluster.untilSettled()
  await cluster.create('order', 'sequence')
  direct = await server.newDatabase()
  await server.admin(
    'CREATE TABLE orders (id BIGINT PRIMARY KEY, customer VARCHAR(60) NOT NULL UNIQUE)',
    name(),
  )
  await guardTables(server, [`${name()}.orders.id`])
  await startProxy()
})
beforeEach(async () => {
  await server.admin('DELETE FROM orders', name())
})
after(() => scope.end())

/** Starts it, or starts it again where it was. */
async function startProxy(): Promise<void> {
  proxy = await startMysqlProxy(scope, {
    upstream: server.port,
    args: ['--url', cluster.nodes[0]!.server.http, '--table', `${name()}.orders.id=order`],
    ...(proxy && { port: proxy.port }),
  })
}

function name(): string {
  return new URL(direct).pathname.slice(1)
}

async function stored(): Promise<Stored[]> {
  const rows = await server.admin('SELECT id, customer FROM orders', name())
  return rows.map(({ id, customer }) => ({ id: `${id}`, customer: `${customer}` }))
}

/** Has rows inserted while `kill` ends and starts something; every client goes on after each. */
async function insertWhile(t: TestContext, kill: (round: number) => Promise<void>): Promise<MySqlLoad> {
  const load = new MySqlLoad(t, through(proxy!, direct))
  await load.each(5)
  for (let round = 0; round < roundsOf(2, 0.1); round++) {
    await kill(round)
    await load.each(5)
  }
  await load.stop()
  const codes = Object.entries(Object.groupBy(load.failures, ({ code }) => code))
  t.diagnostic(
    `${load.count} rows; errors: ${codes.map(([code, some]) => `${code} × ${some!.length}`).join(', ')}`,
  )
  load.verify(await stored())
  return load
}

function assertCodes(load: MySqlLoad, expected: RegExp): void {
  const others = load.failures.filter(({ code }) => !expected.test(code))
  assert.deepEqual(others.slice(0, 3), [])
}

describe('rows that are inserted through the MySQL proxy keep their own ids', { timeout: 300_000 }, () => {
  const lost = '^(?:ended|PROTOCOL_CONNECTION_LOST|ECONNRESET|ECONNREFUSED|EPIPE|2002|2006|2013'

  test('while the proxy is killed; clients lose their connections, and get new ones when it runs again', async (t) => {
    const load = await insertWhile(t, async () => {
      await proxy!.process.kill()
      await startProxy()
    })
    assert.ok(load.failures.length > 0)
    assertCodes(load, new RegExp(`${lost})$`))
  })

  test('while the leader of the generator is killed; statements wait, or fail so that they can be repeated', async (t) => {
    const load = await insertWhile(t, async () => {
      const { server: leader } = await cluster.untilLed('order')
      await leader.kill()
      await leader.start()
      await cluster.untilComplete()
    })
    assertCodes(load, /^(?:ER_LOCK_WAIT_TIMEOUT|1205)$/)
  })

  test('while a node that does not lead the generator is killed; no statement fails', async (t) => {
    const load = await insertWhile(t, async () => {
      const leader = await cluster.untilLed('order')
      // The proxy asks the first node.
      const { server: other } = cluster.nodes.slice(1).find((node) => node !== leader)!
      await other.kill()
      await other.start()
      await cluster.untilComplete()
    })
    assert.deepEqual(load.failures, [])
  })

  test('while the database is killed; clients are told that the server is away, and go on when it is back', async (t) => {
    const load = await insertWhile(t, async () => {
      await server.kill()
      await server.start()
    })
    assert.ok(load.failures.length > 0)
    assertCodes(load, new RegExp(`${lost}|1429|ER_CONNECT_TO_FOREIGN_DATA_SOURCE)$`))
  })
})
