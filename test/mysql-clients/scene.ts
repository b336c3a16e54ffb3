/** What clients are tried with: a table with AUTO_INCREMENT directly, and its like through the proxy, on one MariaDB. */
import assert from 'node:assert/strict'
import { startFahao } from '../launch/fahao.ts'
import { guardTables } from '../launch/guards.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import type { MariaDb } from '../launch/mariadb.ts'
import { startMysql } from '../launch/mysql.ts'
import { startMysqlProxy, through } from '../launch/mysql-proxy.ts'
import { expectedOf } from './known.ts'
import { firstId, isGenerated, linesOf, type Order, type Subject } from './report.ts'

/** What a client did in one step: directly, but for what is known to differ, and through the proxy. */
export type Outcome = { readonly step: string; readonly direct: string; readonly proxied: string }

/** The servers, for one client after another. */
export type Scene = {
  /** Runs a client on both, each with an empty table. Throws if the client fails directly. */
  compare(subject: Subject): Promise<readonly Outcome[]>
}

/** The generator of the filled table. */
const generator = 'orders'

/** Starts MariaDB and a proxy that fills nothing: both tables have AUTO_INCREMENT. Generated ids begin at `start`. */
export async function startRelay(lifetime: Lifetime, start = firstId): Promise<Scene> {
  const server = await startMysql(lifetime)
  const direct = await newOrders(server, `AUTO_INCREMENT = ${start}`)
  const behind = await newOrders(server, `AUTO_INCREMENT = ${start}`)
  const proxied = through(await startMysqlProxy(lifetime, { upstream: server.port }), behind)
  return {
    async compare(subject) {
      const expected = await directLines(server, direct, subject.without ?? subject)
      return outcomes(expected, await lines(server, proxied, subject))
    },
  }
}

/** The steps in which a client did not get the same, for a test to show. */
export function differences(outcomes: readonly Outcome[]): string[] {
  return outcomes
    .filter(({ direct, proxied }) => direct !== proxied)
    .map(({ step, direct, proxied }) => `${step}\n  directly: ${direct}\n  proxied:  ${proxied}`)
}

/** Starts MariaDB, a node and a proxy that fills the ids of a table without AUTO_INCREMENT. Ids begin at `start`. */
export async function startFilling(lifetime: Lifetime, start = firstId): Promise<Scene> {
  const server = await startMysql(lifetime)
  const fahao = await startFahao(lifetime)
  const client = await fahao.connect()
  await client.command('ID.CREATE', generator, 'KIND', 'sequence', 'START', `${start}`)
  const next = async () => BigInt(`${await client.command('ID.NEXT', generator)}`)
  const direct = await newOrders(server, `AUTO_INCREMENT = ${start}`)
  const behind = await newOrders(server, '')
  await guardTables(server, [`${databaseOf(behind)}.orders.id`])
  const args = ['--url', fahao.http, '--table', `${databaseOf(behind)}.orders.id=${generator}`]
  const proxied = through(await startMysqlProxy(lifetime, { upstream: server.port, args }), behind)
  return {
    async compare(subject) {
      const expected = await directLines(server, direct, subject.without ?? subject)
      const first = await next()
      const given = await lines(server, proxied, subject)
      const end = await next()
      const foreign = (await ordersOf(server, behind)).filter(
        ({ id }) => isGenerated(id) && (BigInt(id) <= first || BigInt(id) >= end),
      )
      assert.deepEqual(foreign, [], `${subject.name} has ids that the generator did not give for it`)
      return outcomes(expected, given).map(({ step, direct, proxied }) => {
        return { step, direct: expectedOf(step, direct), proxied }
      })
    },
  }
}

function outcomes(expected: ReadonlyMap<string, string>, given: ReadonlyMap<string, string>): Outcome[] {
  return [...expected].map(([step, direct]) => ({ step, direct, proxied: given.get(step)! }))
}

async function directLines(server: MariaDb, url: string, subject: Subject): Promise<Map<string, string>> {
  const expected = await lines(server, url, subject)
  const failed = [...expected].filter(([step, line]) => step !== 'clash' && line.includes('error'))
  assert.deepEqual(failed, [], `${subject.name} fails without the proxy too`)
  return expected
}

async function lines(server: MariaDb, url: string, subject: Subject): Promise<Map<string, string>> {
  await server.admin('DELETE FROM orders', databaseOf(url))
  return linesOf(await subject.run(url), await ordersOf(server, url))
}

/** Makes an empty table of orders in a database of its own; resolves to the database's URL for its owner. */
async function newOrders(server: MariaDb, automatic: string): Promise<string> {
  const url = await server.newDatabase()
  const [attribute = ''] = automatic.split(' ')
  await server.admin(
    `CREATE TABLE orders (
       id BIGINT NOT NULL PRIMARY KEY ${attribute},
       customer VARCHAR(60) NOT NULL UNIQUE,
       amount INT NOT NULL) ${automatic}`,
    databaseOf(url),
  )
  return url
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

async function ordersOf(server: MariaDb, url: string): Promise<Order[]> {
  const rows = await server.admin(
    'SELECT id, customer, amount FROM orders ORDER BY customer',
    databaseOf(url),
  )
  return rows.map(({ id, customer, amount }) => ({
    id: `${id}`,
    customer: `${customer}`,
    amount: `${amount}`,
  }))
}
