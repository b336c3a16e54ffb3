/** The ids of a statement of several rows in a fleet, whose nodes reserve ranges in turn: drivers count on from the first. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Connection, createConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { owner, password } from '../../launch/database.ts'
import { type FahaoServer, startFahao } from '../../launch/fahao.ts'
import { guardTables, upstreamOf } from '../../launch/guards.ts'
import { Scope } from '../../launch/lifetime.ts'
import { startMysql } from '../../launch/mysql.ts'
import { startMysqlProxy } from '../../launch/mysql-proxy.ts'
import { freePort } from '../../launch/places.ts'
import type { RawClient } from '../../launch/raw-client.ts'

const scope = new Scope()
/** `part`: of each kind that is contiguous one generator; the ids of `odd` are two apart. */
const generators = {
  part: ['segment', 'STEP', '10', 'STEPMAX', '10'],
  invoice: ['sequence'],
  odd: ['segment', 'INCREMENT', '2'],
}
const names = Object.keys(generators)
/** Of the proxy in a node, and of `fahao proxy`. */
const ports: { name: string; port: number }[] = []
let other: RawClient

before(async () => {
  const db = await startMysql(scope)
  await db.admin(`
    CREATE DATABASE shop; GRANT ALL PRIVILEGES ON *.* TO ${owner}@'127.0.0.1';
    ${names.map((name) => `CREATE TABLE shop.${name} (id BIGINT PRIMARY KEY, body INT);`).join('\n')}`)
  await guardTables(
    db,
    names.map((name) => `shop.${name}.id`),
  )
  const filled = names.flatMap((name) => ['--table', `shop.${name}.id=${name}`])
  const port = await freePort()
  const engine = await db.newDatabase()
  const inside = ['--mysql-proxy', `127.0.0.1:${port}`, '--upstream', upstreamOf(db), ...filled]
  const [one, two] = await Promise.all([
    startFahao(scope, { engine, args: inside }),
    startFahao(scope, { engine }),
  ])
  other = await two.connect()
  for (const [name, words] of Object.entries(generators))
    assert.equal(await other.command('ID.CREATE', name, 'KIND', ...words), 'OK')
  ports.push({ name: 'serve --mysql-proxy', port }, await proxyOf(one, db.port, filled))
})
after(() => scope.end())

async function proxyOf({ http }: FahaoServer, upstream: number, filled: readonly string[]) {
  const { port } = await startMysqlProxy(scope, { upstream, args: ['--url', http, ...filled] })
  return { name: 'fahao proxy', port }
}

async function connectTo(port: number): Promise<Connection> {
  const connection = await createConnection({
    host: '127.0.0.1',
    port,
    user: owner,
    password,
    database: 'shop',
  })
  scope.after(async () => connection.destroy())
  return connection
}

/** Inserts `count` rows; returns the insert id, and the ids of the rows in their order. */
async function insert(client: Connection, table: string, count: number): Promise<[number, number[]]> {
  await client.query(`DELETE FROM ${table}`)
  const rows = Array.from({ length: count }, (_, row) => `(${row})`).join(', ')
  const [{ insertId }] = await client.query<ResultSetHeader>(`INSERT INTO ${table} (body) VALUES ${rows}`)
  const [found] = await client.query<RowDataPacket[]>(`SELECT id FROM ${table} ORDER BY body`)
  return [insertId, found.map(({ id }) => id as number)]
}

describe('the ids of one INSERT', () => {
  test('follow one another, whatever other nodes reserve, and the insert id is the first', async () => {
    for (const { name, port } of ports) {
      const client = await connectTo(port)
      for (const generator of ['part', 'invoice'])
        for (let round = 0; round < 12; round++) {
          // fahao proxy leases 1,000 ids at a time.
          const count = 1 + ((round * 190) % 700)
          const [first, ids] = await insert(client, generator, count)
          assert.deepEqual(
            ids,
            Array.from({ length: count }, (_, row) => first + row),
            `${generator} through ${name}`,
          )
          // So that the next range of this node follows one of the other node.
          for (let taken = 0; taken < 3; taken++) await other.command('ID.NEXT', generator, 'COUNT', '4')
        }
    }
  })

  test('are as far apart as the generator has it', async () => {
    for (const { name, port } of ports) {
      const [first, ids] = await insert(await connectTo(port), 'odd', 5)
      assert.equal(first, ids[0], name)
      assert.deepEqual(new Set(ids.map((id) => id % 2)).size, 1)
      assert.equal(new Set(ids).size, 5)
    }
  })
})
