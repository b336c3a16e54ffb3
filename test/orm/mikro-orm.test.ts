import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import { IdSubscriber } from '../../client/src/orm/mikro-orm.ts'
import type { Ids } from '../../client/src/orm/missing-ids.ts'
import { describeHook, type Given } from './contract.ts'
import { type Database, startDatabases } from './databases.ts'
import { openGenerators } from './generators.ts'
import { installPackages } from './packages.ts'

await installPackages()
const { defineEntity, p } = await import('@mikro-orm/core')
const { MikroORM: Postgres } = await import('@mikro-orm/postgresql')
const { MikroORM: MariaDb } = await import('@mikro-orm/mariadb')

const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.bigint('bigint').primary(),
    short: p.integer(),
    code: p.string(),
    customer: p.string(),
    items: () => p.oneToMany(Item).mappedBy('order'),
  },
})
const Item = defineEntity({
  name: 'Item',
  tableName: 'items',
  properties: {
    id: p.bigint('bigint').primary(),
    title: p.string(),
    order: () => p.manyToOne(Order).fieldName('order_id'),
  },
})

async function open({ kind, url }: Database, ids: Ids) {
  const options = {
    clientUrl: url,
    entities: [Order, Item],
    subscribers: [new IdSubscriber(ids)],
    pool: { max: 3 },
  }
  return kind === 'postgres' ? new Postgres(options) : new MariaDb(options)
}

describeHook({
  name: 'MikroORM',
  databases: ['postgres', 'mariadb'],
  async open(database, { id, short, code }) {
    const orm = await open(database, { Order: { id, short, code } })
    const insert = async (rows: readonly Given[]) => {
      const em = orm.em.fork()
      for (const row of rows) em.create(Order, row as never, { persist: true })
      await em.flush()
    }
    return {
      insert: (row) => insert([row]),
      insertAll: insert,
      inTransaction: (rows, error) =>
        orm.em.fork().transactional(async (em) => {
          for (const row of rows) {
            em.create(Order, row as never, { persist: true })
            await em.flush()
          }
          if (error) throw error
        }),
      close: () => orm.close(true),
    }
  },
})

describe('MikroORM', { timeout: 120_000 }, () => {
  const databases = startDatabases({ after }, 'postgres')

  test('fills entities that a cascade inserts, in the same batch, and their references', async (t: TestContext) => {
    const { order, short, code } = await openGenerators(t)
    const database = await (await databases)(t)
    const orm = await open(database, { Order: { id: order, short, code }, Item: { id: order } })
    t.after(() => orm.close(true))
    const em = orm.em.fork()
    const made = em.create(Order, { customer: 'a', items: [{ title: 'pen' }, { title: 'ink' }] } as never)
    await em.persist(made).flush()
    assert.deepEqual(order.calls, ['nextBatch 3'])
    const items = await database.query('SELECT id, order_id FROM items')
    assert.deepEqual(
      items.map((each) => each.order_id),
      [`${made.id}`, `${made.id}`],
    )
    assert.equal(new Set([`${made.id}`, ...items.map(({ id }) => id)]).size, 3)
    made.customer = 'b'
    await em.flush()
    assert.equal(order.calls.length, 1)
  })
})
