/** The pages about Redis, databases and sharding-jdbc, carried out as they are written, while old writers go on. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { decode, layouts } from '../../src/ids.ts'
import { atEnd } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { startPostgres } from '../launch/postgres.ts'
import { startRedis } from '../launch/redis.ts'
import { OldShardingJdbc } from './migrations/old-snowflake.ts'
import { Traffic } from './migrations/traffic.ts'
import { Walk } from './migrations/walk.ts'

const [mariadb, postgres] = await Promise.all([startMariaDb({ after }), startPostgres({ after })])

/** The database `shop` with its application's user; it goes with the test, and what the page made with it. */
async function mariadbShop(t: TestContext, table: string): Promise<mysql.Pool> {
  await mariadb.admin(`CREATE DATABASE shop; CREATE USER app@'%' IDENTIFIED BY 'secret'`)
  await mariadb.admin(`GRANT SELECT, INSERT ON shop.* TO app@'%'; USE shop; ${table}`)
  atEnd(t, () =>
    mariadb.admin(
      "DROP DATABASE shop; DROP DATABASE IF EXISTS fahao; DROP USER app@'%'; DROP USER IF EXISTS issuer@'%'",
    ),
  )
  return shopPool(t)
}

function shopPool(t: TestContext): mysql.Pool {
  const pool = mysql.createPool(`${mariadb.url('shop', 'app')}?connectionLimit=2`)
  atEnd(t, () => pool.end())
  return pool
}

async function redisClient(t: TestContext, port: number): Promise<Redis> {
  const client = new Redis(port, '127.0.0.1')
  atEnd(t, () => client.disconnect())
  return client
}

test('INCR on a Redis goes on at Fahao, in one moment or one client after another', async (t) => {
  const redis = await startRedis(t)
  const walk = new Walk(t, 'redis-incr', { places: { 'redis:6379': redis.port } })
  const old = await redisClient(t, redis.port)
  await old.set('order', 42)
  await old.set('invoice', 700)
  await walk.section('Before you start')
  await walk.section('In one moment')
  await assert.rejects(old.incr('order'), /value is not an integer/)
  await old.mset('room:1', 17, 'room:2', 0)
  await walk.section('Thousands of keys')
  await assert.rejects(old.incr('room:1'), /value is not an integer/)

  const client = await redisClient(t, await walk.port('fahao-1:7379'))
  assert.deepEqual([await client.incr('room:1'), await client.incr('room:2')], [18, 1])
  const sides = [old, client]
  const traffic = new Traffic(
    t,
    sides.map((side) => async () => `${await side.incr('invoice')}`),
  )
  const turning = walk.section('One client after another')
  await assert.doesNotReject(turning)
  while (!traffic.ids.some((id) => Number(id) > 1_000_000)) await traffic.more(1)
  await traffic.stop()
  const numbers = traffic.ids.map(Number)
  assert.equal(new Set(numbers).size, numbers.length)
  assert.ok(Number(await old.get('{invoice}.moved')) < 1_000_000)
  await assert.rejects(old.incr('invoice'), /value is not an integer/)

  for (const refused of [
    ['DECR', 'order'],
    ['EXPIRE', 'order', '9'],
    ['WATCH', 'order'],
    ['EVAL', 'return 1', '0'],
  ])
    await assert.rejects(client.call(...(refused as [string])), /is not supported: /)
  await assert.rejects(client.incr('absent'), /NOGENERATOR/)
  await assert.rejects(client.set('order', 1), /moves forward only/)
  await assert.rejects(client.call('INCRBY', 'order', '0'), /ERR/)
  const newest = await client.incr('order')
  await walk.section('Watch')
  await walk.section('Go back')
  assert.ok((await old.incr('order')) > newest)
  assert.equal(await client.del('order'), 1)
  await client.set('order', 1)
  assert.equal(await client.incr('order'), newest + 1)
  walk.end()
})

test('CosId takes machine ids and segments from Fahao, above those that Redis handed out', async (t) => {
  const redis = await startRedis(t)
  const walk = new Walk(t, 'cosid', { places: { 'redis:6379': redis.port } })
  const old = await redisClient(t, redis.port)
  const adder = 'cosid:{shop.order}.adder'
  await old.set(adder, 5000)
  await old.hset('cosid:{shop}:itc_idx', 'app-0:8080', '0|1793491200000', 'app-2:8080', '2|1793491200000')
  await walk.section('Before you start')
  await walk.section('Machine ids')
  await walk.section('Segments')
  const http = `http://127.0.0.1:${await walk.port('fahao-1:7380')}`
  const machine = async (instance: string) => {
    const query = `machineBit=10&instanceId=${instance}&stable=false&safeGuardDuration=PT5M`
    const answer = await fetch(`${http}/machines/shop?${query}`, { method: 'POST' })
    return ((await answer.json()) as { machineId: number }).machineId
  }
  assert.deepEqual([await machine('app-2:8080'), await machine('app-9:8080')], [2, 3])
  // Each stands for the 100 ids up to it.
  const segment = async () =>
    (await fetch(`${http}/segments/shop/order?step=100`, { method: 'PATCH' })).text()
  const traffic = new Traffic(t, [async () => `${await old.incrby(adder, 100)}`, segment])
  await traffic.more(200)
  const ends = (await traffic.end()).map(Number).sort((a, b) => a - b)
  assert.ok(ends.every((end, index) => index === 0 || end - ends[index - 1]! >= 100))
  assert.ok(ends[0]! > 5000 && ends.at(-1)! > 1_000_000_000)
  await walk.section('Switch the services')
  await walk.section('Watch')
  await walk.section('Go back')
  assert.ok((await old.incrby(adder, 100)) - 100 > ends.at(-1)!)
  walk.end()
})

test('AUTO_INCREMENT of MariaDB makes way for Fahao, with odd and even numbers meanwhile', async (t) => {
  const table = 'CREATE TABLE orders (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, item varchar(20))'
  let pool = await mariadbShop(t, table)
  const insert = async () => {
    const [{ insertId }] = await pool.execute<mysql.ResultSetHeader>(
      "INSERT INTO orders (item) VALUES ('old')",
    )
    return `${insertId}`
  }
  const walk = new Walk(t, 'auto-increment', {
    places: { 'db:3306': mariadb.port, 'pg:5432': postgres.port },
    mysql: mariadb,
    postgres,
  })
  const traffic = new Traffic(t, [insert, insert])
  await traffic.more(10)
  await walk.section('Look and widen')
  await walk.section('Odd numbers for the old writers')
  pool = shopPool(t)
  await traffic.more(20)
  const late = traffic.ids.length
  await walk.section('Create the generator')
  await walk.section('Switch the writers')
  await traffic.more(20)
  const client = await redisClient(t, await walk.port('fahao-1:7379'))
  const bring = async () => {
    const id = (await client.call('ID.NEXT', 'order')) as string
    await pool.execute("INSERT INTO orders (id, item) VALUES (?, 'new')", [id])
    return id
  }
  const brought = new Traffic(t, [bring])
  await traffic.more(50)
  const old = await traffic.end()
  assert.ok(old.slice(late).every((id) => Number(id) % 2 === 1))
  assert.ok(Math.max(...old.map(Number)) > 1_000_000, 'old writers are among the new ids')
  assert.ok((await brought.end()).every((id) => Number(id) % 2 === 0))
  await walk.section('Close the old way')
  await assert.rejects(insert(), { code: 'ER_NO_DEFAULT_FOR_FIELD' })
  const [first, second] = [BigInt(await bring()), BigInt(await bring())]
  assert.equal(second - first, 1n)
  await walk.section('Go back on MariaDB and MySQL')
  assert.ok(BigInt(await insert()) > second)

  client.disconnect()
  await walk.stop('fahao-1:7380')
  await postgresHalf(t, walk)
  walk.end()
})

/** The second half of the page. */
async function postgresHalf(t: TestContext, walk: Walk): Promise<void> {
  await postgres.admin("CREATE ROLE app LOGIN PASSWORD 'secret'")
  await postgres.admin('CREATE DATABASE shop')
  await postgres.admin(
    `CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item text);
    GRANT SELECT, INSERT ON orders TO app`,
    'shop',
  )
  const pool = new pg.Pool({ connectionString: postgres.url('shop', 'app'), max: 3 })
  atEnd(t, () => pool.end())
  const insert = async () =>
    `${(await pool.query("INSERT INTO orders (item) VALUES ('old') RETURNING id")).rows[0].id}`
  const traffic = new Traffic(t, [insert, insert])
  await traffic.more(10)
  await walk.section('Look and fence')
  await walk.section('Create the generator on PostgreSQL')
  await walk.section('Switch the writers on PostgreSQL')
  const client = await redisClient(t, await walk.port('fahao-1:7379'))
  const bring = async () => {
    const id = (await client.call('ID.NEXT', 'order')) as string
    await pool.query("INSERT INTO orders (id, item) VALUES ($1, 'new')", [id])
    return id
  }
  const brought = new Traffic(t, [bring])
  await traffic.more(20)
  assert.ok((await traffic.end()).every((id) => Number(id) < 1_000_000))
  const ids = await brought.end()
  assert.ok(ids.every((id) => Number(id) >= 1_000_000))
  await postgres.admin("SELECT setval('orders_id_seq', 999999)", 'shop')
  await assert.rejects(insert(), /reached maximum value/)
  await walk.section('Go back so far on PostgreSQL')
  assert.equal(Number(await insert()), Number(ids.at(-1)) + 1)
  await walk.section('Close the old way on PostgreSQL')
  await assert.rejects(insert(), /null value in column "id"/)
  await walk.section('Go back on PostgreSQL')
  assert.equal(Number(await insert()), Number(ids.at(-1)) + 2)
}

test('the snowflakes of sharding-jdbc go on under other worker ids', async (t) => {
  const pool = await mariadbShop(t, 'CREATE TABLE t_order (id BIGINT PRIMARY KEY, item varchar(20))')
  const insert = async (id: bigint | string) => {
    await pool.execute("INSERT INTO t_order (id, item) VALUES (?, 'x')", [`${id}`])
    return `${id}`
  }
  const walk = new Walk(t, 'sharding-jdbc', { places: { 'db:3306': mariadb.port }, mysql: mariadb })
  const draws = [0, 3].map((worker) => {
    const generator = new OldShardingJdbc(worker)
    return () => insert(generator.next())
  })
  const traffic = new Traffic(t, draws)
  await traffic.more(10)
  await walk.section('Before you start')
  await walk.section('Start nodes with other worker ids')
  for (const host of ['fahao-1', 'fahao-2']) {
    const client = await redisClient(t, await walk.port(`${host}:7379`))
    draws.push(async () => insert((await client.call('ID.NEXT', 't_order')) as string))
  }
  await walk.section('Switch the applications')
  await walk.section("Keep the rule's key generator")
  const client = await redisClient(t, await walk.port('fahao-2:7379'))
  const segment = BigInt((await client.call('ID.NEXT', 'shop.t_order')) as string)
  const both = new Traffic(t, draws.slice(2))
  await both.more(40)
  await walk.section('Watch')
  const old = await traffic.end()
  const ids = await both.end()
  assert.equal(new Set([...old, ...ids]).size, old.length + ids.length)
  const workers = (some: readonly string[]) =>
    [...new Set(some.map((id) => decode(layouts['sharding-jdbc'], BigInt(id)).node))].sort()
  assert.ok(old.every((id) => BigInt(id) < segment))
  assert.deepEqual(workers(old), [0, 3])
  assert.deepEqual(workers(ids), [512, 513])
  const stepsMs = ids.map((id) => Math.abs(Number(BigInt(id) >> 22n) - Number(BigInt(old.at(-1)!) >> 22n)))
  assert.ok(Math.max(...stepsMs) < 3_600_000, 'old and new ids tell the same time')
  walk.end()
})
