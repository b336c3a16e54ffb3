/** What clients are tried with: a table with AUTO_INCREMENT directly, and its like through the proxy, on one MariaDB. */
import assert from 'node:assert/strict'
import type { Lifetime } from '../launch/lifetime.ts'
import { type MariaDb, startMariaDb } from '../launch/mariadb.ts'
import { startMysqlProxy, through } from '../launch/mysql-proxy.ts'
import { firstId, linesOf, type Order, type Subject } from './report.ts'

/** What a client did in one step: directly, and through the proxy. */
export type Outcome = { readonly step: string; readonly direct: string; readonly proxied: string }

/** The servers, for one client after another. */
export type Scene = {
  /** Runs a client on both, each with an empty table. Throws if the client fails directly. */
  compare(subject: Subject): Promise<readonly Outcome[]>
}

/** Starts MariaDB and a proxy that fills nothing: both tables have AUTO_INCREMENT. Generated ids begin at `start`. */
export async function startRelay(lifetime: Lifetime, start = firstId): Promise<Scene> {
  const server = await startMariaDb(lifetime)
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
