import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import { IdSubscriber } from '../../client/src/orm/typeorm.ts'
import { describeHook, type Given } from './contract.ts'
import { type Database, startDatabases } from './databases.ts'
import { openGenerators } from './generators.ts'
import { installPackages } from './packages.ts'

await installPackages()
const { DataSource, EntitySchema } = await import('typeorm')

type Order = { id?: string; short?: number; code?: string; customer: string; items?: Item[] }
type Item = { id?: string; title: string; order?: Order }

const number = { to: (value?: number) => value, from: Number }
const Orders = new EntitySchema<Order>({
  name: 'Order',
  tableName: 'orders',
  columns: {
    id: { type: 'bigint', primary: true },
    // Not a bigint to TypeORM, which would read text.
    short: { type: 'int', transformer: number },
    code: { type: String },
    customer: { type: 'varchar' },
  },
  relations: { items: { type: 'one-to-many', target: 'Item', inverseSide: 'order', cascade: true } },
})
const Items = new EntitySchema<Item>({
  name: 'Item',
  tableName: 'items',
  columns: { id: { type: 'bigint', primary: true }, title: { type: 'varchar' } },
  relations: {
    order: {
      type: 'many-to-one',
      target: 'Order',
      inverseSide: 'items',
      joinColumn: { name: 'order_id' },
    },
  },
})

async function open({ kind, url }: Database, ids: ConstructorParameters<typeof IdSubscriber>[0]) {
  const entities = [Orders, Items]
  const source =
    kind === 'postgres'
      ? new DataSource({ type: 'postgres', url, entities, poolSize: 3 })
      : new DataSource({
          ...{ type: 'mariadb', url, entities, poolSize: 3 },
          ...{ supportBigNumbers: true, bigNumberStrings: true },
        })
  await source.initialize()
  source.subscribers.push(new IdSubscriber(ids))
  return source
}

const entity = ({ id, ...rest }: Given): Order => ({ ...rest, ...(id !== undefined && { id: `${id}` }) })

for (const way of ['save', 'insert'] as const)
  describeHook({
    name: `${way} of TypeORM`,
    databases: ['postgres', 'mariadb'],
    async open(database, { id, short, code }) {
      const source = await open(database, { Order: { id, short, code } })
      const orders = source.getRepository(Orders)
      return {
        insert: (row) => orders[way](entity(row)),
        insertAll: (rows) => orders[way](rows.map(entity) as never),
        inTransaction: (rows, error) =>
          source.transaction(async (manager) => {
            for (const row of rows) await manager.getRepository(Orders)[way](entity(row))
            if (error) throw error
          }),
        close: () => source.destroy(),
      }
    },
  })

describe('TypeORM', { timeout: 120_000 }, () => {
  const databases = startDatabases({ after }, 'postgres')

  async function scene(t: TestContext) {
    const { order, short, code } = await openGenerators(t)
    const database = await (await databases)(t)
    const source = await open(database, { Order: { id: order, short, code }, Item: { id: order } })
    t.after(() => source.destroy())
    return { source, database, order }
  }

  test('fills entities that a cascade inserts, in the same batch, and their references', async (t) => {
    const { source, database, order } = await scene(t)
    const saved = await source
      .getRepository(Orders)
      .save({ customer: 'a', items: [{ title: 'pen' }, { title: 'ink' }] })
    assert.deepEqual(order.calls, ['nextBatch 3'])
    assert.ok(order.ids.map(String).includes(saved.id ?? ''))
    const items = await database.query('SELECT id, order_id FROM items')
    assert.deepEqual(
      items.map((each) => each.order_id),
      [saved.id, saved.id],
    )
    assert.equal(new Set([saved.id, ...items.map(({ id }) => id)]).size, 3)
  })

  test('keeps the id of a row that an upsert updates', async (t) => {
    const { source, database } = await scene(t)
    const orders = source.getRepository(Orders)
    await orders.insert({ customer: 'a', id: '1', short: 1, code: 'old' })
    await orders.upsert({ customer: 'a', code: 'new' }, ['customer'])
    assert.deepEqual(await database.orders(), [{ id: '1', short: '1', code: 'new', customer: 'a' }])
  })
})
