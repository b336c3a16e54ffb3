/**
 * Orders on ShardingSphere-JDBC over four databases: an order has the gene of its customer, so it lies in the customer's database, and
 * is found there by its id as well as by its customer.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FahaoServer } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'

const project = join(import.meta.dirname, 'genes')
const shards = [0, 1, 2, 3]
const customers = Array.from({ length: 40 }, (_, at) => 8812 + 977 * at)
const ordersOfEach = 5
const page = readFileSync(join(import.meta.dirname, '../../docs/start/sharding-by-gene.md'), 'utf8')

/** Resolves to a line of figures; rejects if an order lies elsewhere than its customer, or is not found. */
export async function routeOrders(lifetime: Lifetime, server: FahaoServer): Promise<string> {
  const rule = readFileSync(join(project, 'sharding.yaml'), 'utf8')
  const sources = readFileSync(join(project, 'GeneSharding.java'), 'utf8').replace(/^package .*\n\n/, '')
  assert.ok(page.includes(rule.slice(rule.indexOf('rules:'))), 'the page shows another rule')
  assert.ok(page.includes(sources), 'the page shows another class')
  const client = await server.connect()
  await client.command('ID.CREATE', 'order', 'KIND', 'sequence', 'GENE', '10')
  const pairs: string[] = []
  for (const customer of customers) {
    const ids = await client.command('ID.NEXT', 'order', 'COUNT', ordersOfEach, 'GENE', customer % 1024)
    for (const id of ids as string[]) pairs.push(`${customer} ${id}`)
  }
  await client.close()
  const database = await startMariaDb(lifetime)
  await database.admin("CREATE USER app@'127.0.0.1' IDENTIFIED BY 'secret'")
  for (const shard of shards)
    await database.admin(
      `CREATE DATABASE shop_${shard}; GRANT ALL PRIVILEGES ON shop_${shard}.* TO app@'127.0.0.1'; CREATE TABLE shop_${shard}.t_order (id BIGINT NOT NULL, customer_id BIGINT NOT NULL); CREATE TABLE shop_${shard}.t_customer (id BIGINT NOT NULL)`,
    )
  const folder = temporaryFolder(lifetime)
  const rules = join(folder, 'sharding.yaml')
  writeFileSync(rules, rule.replaceAll('db:3306', `127.0.0.1:${database.port}`))
  const path = `${folder}/classes:${folder}/libraries/*`
  const fetch = [
    'dependency:copy-dependencies',
    '-DincludeScope=runtime',
    `-DoutputDirectory=${folder}/libraries`,
  ]
  await runProgram(['mvn', '-B', '-ntp', '-q', '-f', join(project, 'pom.xml'), ...fetch])
  await runProgram(['javac', '-d', `${folder}/classes`, '-cp', path, ...globSync(join(project, '*.java'))])
  const input = `${pairs.join('\n')}\n`
  const printed = await runProgram(['java', '-Xmx512m', '-cp', path, 'fahao.Routing', rules], { input })
  assert.match(printed, new RegExp(`^found ${pairs.length}$`, 'm'))
  for (const shard of shards) {
    const [row] = await database.admin(
      `SELECT count(*) AS stored, sum(customer.id IS NULL) AS lost, sum(orders.id % 4 <> ${shard}) AS elsewhere FROM shop_${shard}.t_order AS orders LEFT JOIN shop_${shard}.t_customer AS customer ON customer.id = orders.customer_id`,
    )
    assert.equal(Number(row!.stored), pairs.length / 4, `shop_${shard} has its orders`)
    assert.deepEqual([Number(row!.lost), Number(row!.elsewhere)], [0, 0], `shop_${shard} has their customers`)
  }
  await database.stop()
  return `ShardingSphere 5.5.2: ${pairs.length} orders of ${customers.length} customers, each found by its id and by its customer, in the database of its customer`
}
