/** The pages about old services, carried out as they are written, under clients that never stop. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { oldDatabase } from '../legacy/database.ts'
import { startOldNode } from '../legacy/old-nodes.ts'
import { addRow, createTables, type Schema } from '../legacy/tables.ts'
import { serveOldNode } from './migrations/old-service.ts'
import { type Draw, plainDraw, Traffic } from './migrations/traffic.ts'
import { Walk } from './migrations/walk.ts'

const server = await startMariaDb({ after })

/** A database as an old service leaves it; it goes with the test, and the page's user with it. */
async function oldService(t: TestContext, schema: Schema, database: string): Promise<string> {
  await server.admin(`DROP DATABASE IF EXISTS ${database}; CREATE DATABASE ${database}`)
  atEnd(t, () => server.admin(`DROP DATABASE ${database}; DROP USER IF EXISTS issuer@'%'`))
  const url = server.url(database, 'admin')
  const { send, dialect } = oldDatabase(t, url)
  await createTables(send, dialect, schema)
  return url
}

test('Leaf nodes make way for Fahao, one by one, and then their table does', async (t) => {
  const url = await oldService(t, 'leaf', 'ids')
  const { send } = oldDatabase(t, url)
  await addRow(send, 'leaf', { key: 'order', bound: 90_001n, step: 1000 })
  await send('CREATE TABLE orders (id bigint PRIMARY KEY)')
  await send('INSERT INTO orders VALUES (89999), (90000)')
  const walk = new Walk(t, 'leaf', { places: { 'db:3306': server.port }, mysql: server })
  for (const host of ['leaf-1', 'leaf-2']) await serveOldNode(t, 'leaf', url, await walk.port(`${host}:8080`))
  const path = '/api/segment/get/order'
  const old = new Traffic(t, [plainDraw(`http://127.0.0.1:${await walk.port('leaf-1:8080')}${path}`)])
  await old.more(20)
  await walk.section('Before you start')
  await walk.section('Start a node beside Leaf')
  await old.more(20)
  const before = await old.end()

  const balanced = `http://127.0.0.1:${await walk.port('127.0.0.1:8080')}${path}`
  await walk.section('Let the load balancer move over')
  const traffic = new Traffic(t, [plainDraw(balanced), plainDraw(balanced)])
  await traffic.more(50)
  await walk.section('Take the Leaf nodes away')
  await traffic.more(50)
  await walk.section('Watch')
  const moved = await traffic.end()
  // As the page says: in the moment of the import all may refuse.
  const draw = plainDraw(balanced)
  const retried = () => draw().catch(() => pause(100).then(draw))
  const late = new Traffic(t, [retried, retried])
  await walk.section("Into tables of Fahao's own")
  await late.more(100)
  const all = [...before, ...moved, ...(await late.end())]
  assert.equal(new Set(all).size, all.length)

  const info = await walk.shell('fahao info order --url http://fahao-3:7380 --json')
  assert.ok(Number(JSON.parse(info).bound) <= 2_000_000)
  for (const host of ['fahao-1', 'fahao-2', 'fahao-3']) await walk.stop(`${host}:7380`)
  await walk.section('Undo the import')
  const again = await startOldNode('leaf', oldDatabase(t, url))
  assert.ok((await again.next('order')) >= 2_000_000n)
  walk.end()
})

test('tinyid servers make way for Fahao, odd ids and even ones', async (t) => {
  const draws: Draw[] = []
  const places = { 'db:3306': server.port }
  const walk = new Walk(t, 'tinyid', { places, mysql: server })
  const old = await walk.port('tinyid-1:9999')
  for (const [offset, side] of ['even', 'odd'].entries()) {
    const url = await oldService(t, 'tinyid', `tinyid_${side}`)
    const { send } = oldDatabase(t, url)
    await addRow(send, 'tinyid', { key: 'order', bound: 90_001n, step: 1000, increment: 2, offset })
    await send("INSERT INTO tiny_id_token (token, biz_type) VALUES ('0f673adf', 'order')")
    const port = offset === 0 ? old : await walk.port('tinyid-2:9999')
    await serveOldNode(t, 'tinyid', url, port)
    draws.push(plainDraw(`http://127.0.0.1:${port}/tinyid/id/nextIdSimple?bizType=order&token=0f673adf`))
  }
  const before = new Traffic(t, draws)
  await walk.section('Before you start')
  await walk.section('Start a node on each database')
  const drawFrom = async (host: string) => {
    const port = await walk.port(`${host}:9999`)
    return plainDraw(`http://127.0.0.1:${port}/tinyid/id/nextIdSimple?bizType=order&token=0f673adf`)
  }
  const fresh = new Traffic(t, [await drawFrom('fahao-1'), await drawFrom('fahao-2')])
  await fresh.more(100)
  await before.more(100)
  await walk.section('Move the clients over')
  await walk.section('Watch')
  const ids = [...(await before.end()), ...(await fresh.end())]
  await walk.section("Into tables of Fahao's own")
  const late = new Traffic(t, [await drawFrom('fahao-1')])
  await late.more(20)
  const odd = await late.end()
  assert.ok(odd.every((id) => Number(id) % 2 === 1))
  assert.equal(new Set([...ids, ...odd]).size, ids.length + odd.length)
  walk.end()
})

test('nodes of an IdBuilder make way for Fahao, with their prefixes and indexes', async (t) => {
  const url = await oldService(t, 'idbuilder', 'ids')
  const { send } = oldDatabase(t, url)
  await addRow(send, 'idbuilder', { key: '7', bound: 90_001n, step: 1000, prefix: 'sms_' })
  await addRow(send, 'idbuilder', { key: '8', bound: 90_001n, step: 1000, shuffled: true })
  const walk = new Walk(t, 'idbuilder', { places: { 'db:3306': server.port }, mysql: server })
  await serveOldNode(t, 'idbuilder', url, await walk.port('builder-1:8080'))
  await walk.section('Before you start')
  await walk.section('Start a node beside the old ones')
  const paths = ['increase-seq-id-str?code=7', 'increase-id?code=8']
  const drawsOf = async (place: string) => {
    const base = `http://127.0.0.1:${await walk.port(place)}/id-builder`
    return paths.map((path) => plainDraw(`${base}/${path}`))
  }
  const old = new Traffic(t, await drawsOf('builder-1:8080'))
  await old.more(20)
  const balanced = await drawsOf('127.0.0.1:8080')
  const [text, number] = await Promise.all((await drawsOf('fahao-1:8080')).map((draw) => draw()))
  assert.match(text!, /^sms_2\d+$/)
  assert.match(number!, /^\d+$/)
  await walk.section('Let the load balancer move over')
  const traffic = new Traffic(t, balanced)
  await traffic.more(50)
  await walk.section('Take the old nodes away')
  await traffic.more(50)
  await walk.section('Watch')
  await walk.section("Into tables of Fahao's own")
  const ids = [...(await old.end()), ...(await traffic.end())]
  assert.equal(new Set(ids).size, ids.length)
  // Behind the index, which has one digit on every node, no number is there twice either.
  const numbers = ids.filter((id) => id.startsWith('sms_')).map((id) => id.slice('sms_1'.length))
  assert.equal(new Set(numbers).size, numbers.length)
  walk.end()
})
