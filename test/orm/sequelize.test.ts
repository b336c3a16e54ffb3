import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import type { Ids } from '../../client/src/orm/missing-ids.ts'
import { addIds } from '../../client/src/orm/sequelize.ts'
import { describeHook, type Given } from './contract.ts'
import { type Database, startDatabases } from './databases.ts'
import { openGenerators } from './generators.ts'
import { installPackages } from './packages.ts'

await installPackages()
const { DataTypes, Sequelize } = await import('sequelize')
const mysql2 = await import('mysql2')

function open({ kind, url }: Database, ids: Ids) {
  const sequelize = addIds(
    new Sequelize(url, {
      dialect: kind === 'postgres' ? 'postgres' : 'mysql',
      ...(kind === 'mariadb' && { dialectModule: mysql2 }),
      dialectOptions: { supportBigNumbers: true, bigNumberStrings: true },
      define: { timestamps: false },
      pool: { max: 3 },
      logging: false,
    }),
    ids,
  )
  const orders = sequelize.define(
    'Order',
    {
      id: { type: DataTypes.BIGINT, primaryKey: true, allowNull: false },
      short: { type: DataTypes.INTEGER, allowNull: false },
      code: { type: DataTypes.STRING, allowNull: false },
      customer: { type: DataTypes.STRING, allowNull: false },
    },
    { tableName: 'orders' },
  )
  const items = sequelize.define(
    'Item',
    {
      id: { type: DataTypes.BIGINT, primaryKey: true },
      title: { type: DataTypes.STRING, allowNull: false },
    },
    { tableName: 'items' },
  )
  orders.hasMany(items, { as: 'items', foreignKey: 'order_id' })
  return { sequelize, orders, items }
}

const values = ({ id, ...rest }: Given) => ({ ...rest, ...(id !== undefined && { id: `${id}` }) })

describeHook({
  name: 'Sequelize',
  databases: ['postgres', 'mariadb'],
  async open(database, { id, short, code }) {
    const { sequelize, orders } = open(database, { Order: { id, short, code } })
    return {
      insert: (row) => orders.create(values(row)),
      insertAll: (rows) => orders.bulkCreate(rows.map(values)),
      inTransaction: (rows, error) =>
        sequelize.transaction(async (transaction) => {
          for (const row of rows) await orders.create(values(row), { transaction })
          if (error) throw error
        }),
      close: () => sequelize.close(),
    }
  },
})

describe('Sequelize', { timeout: 120_000 }, () => {
  const databases = startDatabases({ after }, 'postgres')

  async function scene(t: TestContext) {
    const { order, short, code } = await openGenerators(t)
    const database = await (await databases)(t)
    const opened = open(database, { Order: { id: order, short, code }, Item: { id: order } })
    t.after(() => opened.sequelize.close())
    return { ...opened, database, order }
  }

  test('fills included instances and their references', async (t) => {
    const { orders, items, database, order } = await scene(t)
    const include = [{ model: items, as: 'items' }]
    const made = await orders.create(
      { customer: 'a', items: [{ title: 'pen' }, { title: 'ink' }] },
      { include },
    )
    const id = String(order.ids[0])
    assert.equal(made.get('id'), id)
    const stored = await database.query('SELECT id, order_id FROM items ORDER BY id')
    assert.deepEqual(
      stored,
      order.ids.slice(1).map((each) => ({ id: `${each}`, order_id: id })),
    )
  })

  test('fills what is not validated, and draws nothing for an update', async (t) => {
    const { orders, database, order } = await scene(t)
    const made = await orders.create({ customer: 'a' }, { validate: false })
    await made.update({ code: 'new' })
    assert.equal(order.calls.length, 1)
    const [row] = await database.orders()
    assert.deepEqual([row?.id, row?.code], [String(order.ids[0]), 'new'])
  })

  test('keeps the id of a row that bulkCreate updates', async (t) => {
    const { orders, database } = await scene(t)
    await orders.create({ customer: 'a', id: '1', short: 1, code: 'old' })
    await orders.bulkCreate([{ customer: 'a', code: 'new' }], {
      updateOnDuplicate: ['code'],
      conflictAttributes: ['customer'],
    })
    assert.deepEqual(await database.orders(), [{ id: '1', short: '1', code: 'new', customer: 'a' }])
  })
})
