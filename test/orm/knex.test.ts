import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import { addIds } from '../../client/src/orm/knex.ts'
import { describeHook, idsOf } from './contract.ts'
import { type Database, startDatabases } from './databases.ts'
import { openGenerators } from './generators.ts'
import { installPackages } from './packages.ts'

await installPackages()
const { default: knex } = await import('knex')

function open({ kind, url }: Database) {
  const pool = { min: 0, max: 3 }
  if (kind === 'postgres') return knex({ client: 'pg', connection: url, pool })
  const { hostname, port, username, password, pathname } = new URL(url)
  return knex({
    client: 'mysql2',
    pool,
    connection: {
      ...{ host: hostname, port: Number(port), user: username, password, database: pathname.slice(1) },
      ...{ supportBigNumbers: true, bigNumberStrings: true },
    },
  })
}

describeHook({
  name: 'Knex',
  databases: ['postgres', 'mariadb'],
  async open(database, columns) {
    const db = addIds(open(database), idsOf('orders', columns))
    return {
      insert: async (row) => db('orders').insert(row),
      insertAll: async (rows) => db('orders').insert(rows),
      inTransaction: (rows, error) =>
        db.transaction(async (transaction) => {
          for (const row of rows) await transaction('orders').insert(row)
          if (error) throw error
        }),
      close: () => db.destroy(),
    }
  },
})

describe('Knex', { timeout: 120_000 }, () => {
  const databases = startDatabases({ after }, 'postgres')

  async function scene(t: TestContext) {
    const { order, short, code } = await openGenerators(t)
    const database = await (await databases)(t)
    const db = addIds(open(database), idsOf('orders', { id: order, short, code }))
    t.after(() => db.destroy())
    return { db, database, order }
  }

  test('draws anew for each execution of a query, and leaves rows of the caller as they are', async (t) => {
    const { db, order } = await scene(t)
    const row = { customer: 'a' }
    const query = db('orders').insert(row).returning('id')
    const [first] = await query
    await assert.rejects(async () => query, /customer/)
    assert.equal(first?.id, `${order.ids[0]}`)
    assert.equal(new Set(order.ids).size, 2)
    assert.deepEqual(row, { customer: 'a' })
  })

  test('keeps the id of a row that a merge updates', async (t) => {
    const { db, database } = await scene(t)
    await db('orders').insert({ customer: 'a', id: 1n, short: 1, code: 'old' })
    await db('orders').insert({ customer: 'a', short: 2 }).onConflict('customer').merge()
    assert.deepEqual(await database.orders(), [{ id: '1', short: '2', code: 'old', customer: 'a' }])
  })

  test('takes a batch for each part of batchInsert, and none for raw and other queries', async (t) => {
    const { db, database, order } = await scene(t)
    const rows = ['a', 'b', 'c', 'd', 'e'].map((customer) => ({ customer }))
    await db.batchInsert('orders', rows, 3)
    assert.deepEqual(order.calls, ['nextBatch 3', 'nextBatch 2'])
    await db('orders').where({ customer: 'a' }).update({ code: 'x' })
    await db('items').insert(db('items').select('*'))
    await db.raw('SELECT 1')
    assert.equal(order.calls.length, 2)
    assert.equal((await database.orders()).length, 5)
  })
})
