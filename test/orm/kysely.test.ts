import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, type TestContext, test } from 'node:test'
import { withIds } from '../../client/src/orm/kysely.ts'
import { describeHook, type Given, idsOf } from './contract.ts'
import { type Database, startDatabases } from './databases.ts'
import { openGenerators } from './generators.ts'
import { installPackages } from './packages.ts'

await installPackages()
const { Kysely, MysqlDialect, PostgresDialect, SqliteDialect } = await import('kysely')
const { Pool } = await import('pg')
const { createPool } = await import('mysql2')

function dialectOf({ kind, url }: Database) {
  if (kind === 'postgres') return new PostgresDialect({ pool: new Pool({ connectionString: url, max: 3 }) })
  if (kind === 'mariadb')
    return new MysqlDialect({
      pool: createPool({ uri: url, supportBigNumbers: true, bigNumberStrings: true, connectionLimit: 3 }),
    })
  return new SqliteDialect({ database: sqlite(url) })
}

/** node:sqlite as the dialect of Kysely wants a driver. */
function sqlite(path: string) {
  const database = new DatabaseSync(path)
  return {
    close: () => database.close(),
    prepare(sql: string) {
      const statement = database.prepare(sql)
      type Values = Parameters<typeof statement.all>
      return {
        reader: statement.columns().length > 0,
        all: (values: readonly unknown[]) => statement.all(...(values as Values)),
        run: (values: readonly unknown[]) => statement.run(...(values as Values)),
        iterate: (values: readonly unknown[]) => statement.iterate(...(values as Values)),
      }
    },
  }
}

type Tables = { orders: Given; items: { id?: bigint; order_id: bigint; title: string } }

describeHook({
  name: 'Kysely',
  databases: ['postgres', 'mariadb', 'sqlite'],
  async open(database, columns) {
    const db = new Kysely<Tables>({ dialect: withIds(dialectOf(database), idsOf('orders', columns)) })
    return {
      insert: (row) => db.insertInto('orders').values(row).execute(),
      insertAll: (rows) => db.insertInto('orders').values(rows).execute(),
      inTransaction: (rows, error) =>
        db.transaction().execute(async (transaction) => {
          for (const row of rows) await transaction.insertInto('orders').values(row).execute()
          if (error) throw error
        }),
      close: () => db.destroy(),
    }
  },
})

describe('Kysely', { timeout: 120_000 }, () => {
  const databases = startDatabases({ after }, 'postgres')

  async function scene(t: TestContext) {
    const { order, short, code } = await openGenerators(t)
    const database = await (await databases)(t)
    const ids = { ...idsOf('public.orders', { id: order, short, code }), items: { id: order } }
    const db = new Kysely<Tables>({ dialect: withIds(dialectOf(database), ids) })
    t.after(() => db.destroy())
    return { db, database, order }
  }

  test('draws anew for each execution of a compiled query, and shows no id before', async (t) => {
    const { db, database, order } = await scene(t)
    const query = db.withSchema('public').insertInto('orders').values({ customer: 'a' }).compile()
    assert.deepEqual(order.calls, [])
    assert.match(String(query.parameters.at(-1)), /the next id of/)
    await db.executeQuery(query)
    await assert.rejects(db.executeQuery(query), /customer/)
    assert.equal((await database.orders()).length, 1)
    assert.equal(new Set(order.ids).size, 2)
  })

  test('fills inserts of a WITH, and those that return rows', async (t) => {
    const { db, database, order } = await scene(t)
    const made = await db
      .with('made', (query) =>
        query.insertInto('items').values({ order_id: 1n, title: 'pen' }).returning('id'),
      )
      .insertInto('items')
      .values({ order_id: 1n, title: 'ink' })
      .returning('id')
      .execute()
      .catch((error) => error)
    assert.match(`${made}`, /foreign key/)
    assert.equal(new Set(order.ids).size, 2)
    await db.insertInto('orders').values({ customer: 'a', id: 1n, short: 1, code: 'x' }).execute()
    const [row] = await db
      .insertInto('items')
      .values({ order_id: 1n, title: 'pen' })
      .returning('id')
      .execute()
    assert.equal(`${row?.id}`, `${order.ids.at(-1)}`)
    const [stored] = await database.query('SELECT id FROM items')
    assert.equal(stored?.id, `${order.ids.at(-1)}`)
  })

  test('leaves an insert of what a query selects as it is', async (t) => {
    const { db, order } = await scene(t)
    await db
      .insertInto('items')
      .columns(['id', 'order_id', 'title'])
      .expression(db.selectFrom('items').select(['id', 'order_id', 'title']))
      .execute()
    assert.deepEqual(order.calls, [])
  })
})
