/**
 * The PostgreSQL door of a cluster without `--forward`: a statement for a generator of another leader is carried out there,
 * with the permissions of the user.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { startCluster } from '../launch/cluster.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort } from '../launch/places.ts'
import type { RawClient } from '../launch/raw-client.ts'

const scope = new Scope()
let nodes: readonly FahaoServer[]
let admin: RawClient
const ports: number[] = []
/** A generator that each node leads. */
const led: string[] = []

async function connect(index: number, user: string): Promise<Client> {
  const client = new Client({
    host: '127.0.0.1',
    port: ports[index]!,
    user,
    password: 'secret',
    database: 'ids',
  })
  client.on('error', () => {})
  await client.connect()
  scope.after(() => client.end())
  return client
}

async function valuesOf(client: Client, text: string): Promise<string[]> {
  const { rows } = await client.query({ text, rowMode: 'array' })
  return (rows as string[][]).map(([value]) => value!)
}

before(async () => {
  for (let index = 0; index < 2; index++) ports.push(await freePort())
  nodes = await startCluster(
    scope,
    ports.map((port) => ['--postgres', `127.0.0.1:${port}`]),
  )
  const first = await nodes[0]!.connect()
  assert.equal(await first.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all'), 'OK')
  admin = await nodes[0]!.connect()
  assert.equal(await admin.command('AUTH', 'admin', 'secret'), 'OK')
  assert.equal(
    await admin.command('ACL', 'SETUSER', 'app', 'on', '>secret', '~order*', '+@issue', '+@read'),
    'OK',
  )
  for (let index = 0; led.filter(Boolean).length < 2; index++) {
    const name = `order${index}`
    await admin.command('ID.CREATE', name, 'KIND', 'sequence')
    const reply = String((await admin.command('INCR', name)) ?? '')
    led[reply === '1' ? 0 : 1] ??= name
  }
})
after(() => scope.end())

describe('the PostgreSQL door of a cluster', () => {
  test('draws from generators of both leaders, on both nodes, each id once and in order', async () => {
    const clients = [await connect(0, 'app'), await connect(1, 'app')]
    for (const name of led) {
      const ids: bigint[] = []
      for (let round = 0; round < 20; round++)
        for (const client of clients) {
          ids.push(BigInt((await valuesOf(client, `SELECT nextval('${name}')`))[0]!))
          ids.push(
            ...(await valuesOf(client, `SELECT nextval('${name}') FROM generate_series(1, 3)`)).map(BigInt),
          )
        }
      assert.equal(ids.length, 160)
      for (const [index, id] of ids.entries())
        assert.ok(index === 0 || id > ids[index - 1]!, `${id} is in order`)
      assert.deepEqual(await valuesOf(clients[0]!, `SELECT last_value FROM ${name}`), [String(ids.at(-1))])
    }
  })

  test('moves and drops a generator of another leader', async () => {
    const clients = [await connect(0, 'admin'), await connect(1, 'admin')]
    for (const [index, name] of led.entries()) {
      const away = clients[1 - index]!
      assert.deepEqual(await valuesOf(away, `SELECT setval('${name}', 5000)`), ['5000'])
      for (const client of clients)
        assert.ok(Number((await valuesOf(client, `SELECT nextval('${name}')`))[0]) > 5000)
      await assert.rejects(away.query(`SELECT setval('${name}', 10)`), { code: '55000' })
    }
  })

  test('refuses what the user may not do, wherever it is led', async () => {
    const clients = [await connect(0, 'app'), await connect(1, 'app')]
    for (const client of clients)
      for (const name of led) {
        await assert.rejects(client.query(`SELECT setval('${name}', 100000)`), { code: '42501' })
        await assert.rejects(client.query(`DROP SEQUENCE ${name}`), { code: '42501' })
        await assert.rejects(client.query("SELECT nextval('other')"), { code: '42501' })
      }
  })

  test('goes on with the other node when a leader ends', async () => {
    const name = led[0]!
    const client = await connect(1, 'app')
    const before = BigInt((await valuesOf(client, `SELECT nextval('${name}')`))[0]!)
    await nodes[0]!.kill()
    let after: bigint | undefined
    while (after === undefined)
      after = await valuesOf(client, `SELECT nextval('${name}')`).then(
        ([id]) => BigInt(id!),
        ({ code }) => {
          assert.match(code, /^(?:58000|40003)$/)
          return undefined
        },
      )
    assert.ok(after > before)
  })
})
