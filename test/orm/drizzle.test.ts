import assert from 'node:assert/strict'
import { after, describe, type TestContext, test } from 'node:test'
import { idDefault, withIds } from '../../client/src/orm/drizzle.ts'
import { hasCode } from '../../src/base/errors.ts'
import { type Columns, describeHook, type Given } from './contract.ts'
import { type Database, startDatabases } from './databases.ts'
import { openGenerators } from './generators.ts'
import { installPackages } from './packages.ts'

await installPackages()
const { drizzle } = await import('drizzle-orm/node-postgres')
const { drizzle: drizzleMysql } = await import('drizzle-orm/mysql2')
const { drizzle: drizzleLibsql } = await import('drizzle-orm/libsql')
const pg = await import('drizzle-orm/pg-core')
const mysql = await import('drizzle-orm/mysql-core')
const sqlite = await import('drizzle-orm/sqlite-core')
const { Pool } = await import('pg')
const { createPool } = await import('mysql2')

async function filled({ id, short, code }: Columns, rows: readonly Given[]) {
  const withId = await withIds(id, 'id', rows)
  return withIds(code, 'code', await withIds(short, 'short', withId, 'number'), 'text')
}

type Filled = Awaited<ReturnType<typeof filled>>

type Query = { insert(rows: Filled): Promise<unknown> }

function open(database: Database) {
  if (database.kind === 'postgres') {
    const pool = new Pool({ connectionString: database.url, max: 3 })
    const orders = pg.pgTable('orders', {
      id: pg.bigint({ mode: 'bigint' }).primaryKey(),
      short: pg.bigint({ mode: 'number' }).notNull(),
      code: pg.text().notNull(),
      customer: pg.text().notNull(),
    })
    const db = drizzle(pool)
    return {
      insert: (rows: Filled) => db.insert(orders).values(rows),
      transaction: (body: (query: Query) => Promise<void>) =>
        db.transaction((query) => body({ insert: async (rows) => query.insert(orders).values(rows) })),
      close: () => pool.end(),
    }
  }
  if (database.kind === 'mariadb') {
    const pool = createPool({ uri: database.url, supportBigNumbers: true, connectionLimit: 3 })
    const orders = mysql.mysqlTable('orders', {
      id: mysql.bigint({ mode: 'bigint' }).primaryKey(),
      short: mysql.bigint({ mode: 'number' }).notNull(),
      code: mysql.text().notNull(),
      customer: mysql.text().notNull(),
    })
    const db = drizzleMysql({ client: pool })
    return {
      insert: (rows: Filled) => db.insert(orders).values(rows),
      transaction: (body: (query: Query) => Promise<void>) =>
        db.transaction((query) => body({ insert: async (rows) => query.insert(orders).values(rows) })),
      close: () => pool.promise().end(),
    }
  }
  const orders = sqlite.sqliteTable('orders', {
    // Drizzle has no 64-bit integers for SQLite: a custom type passes bigints on.
    id: sqlite
      .customType<{ data: bigint }>({ dataType: () => 'bigint' })()
      .primaryKey(),
    short: sqlite.integer().notNull(),
    code: sqlite.text().notNull(),
    customer: sqlite.text().notNull(),
  })
  const db = drizzleLibsql({ connection: { url: `file:${database.url}`, intMode: 'bigint' } })
  return {
    insert: (rows: Filled) => db.insert(orders).values(rows),
    transaction: (body: (query: Query) => Promise<void>) =>
      db.transaction((query) => body({ insert: async (rows) => query.insert(orders).values(rows) })),
    close: async () => db.$client.close(),
  }
}

describeHook({
  name: 'withIds of Drizzle',
  databases: ['postgres', 'mariadb', 'sqlite'],
  async open(database, columns) {
    const table = open(database)
    return {
      insert: async (row) => table.insert(await filled(columns, [row])),
      insertAll: async (rows) => table.insert(await filled(columns, rows)),
      inTransaction: (rows, error) =>
        table.transaction(async (query) => {
          for (const row of rows) await query.insert(await filled(columns, [row]))
          if (error) throw error
        }),
      close: table.close,
    }
  },
})

describe('idDefault of Drizzle', { timeout: 120_000 }, () => {
  const databases = startDatabases({ after }, 'postgres')

  async function scene(t: TestContext) {
    const generators = await openGenerators(t)
    const database = await (await databases)(t)
    const pool = new Pool({ connectionString: database.url, max: 3 })
    t.after(() => pool.end())
    const { order, short, code } = generators
    const orders = pg.pgTable('orders', {
      id: pg.bigint({ mode: 'bigint' }).primaryKey().$defaultFn(idDefault(order)),
      short: pg.bigint({ mode: 'number' }).notNull().$defaultFn(idDefault(short, 'number')),
      code: pg.text().notNull().$defaultFn(idDefault(code, 'text')),
      customer: pg.text().notNull(),
    })
    return { db: drizzle(pool), orders, database, ...generators }
  }

  test('fills what is not given from buffered ids, without waiting', async (t) => {
    const { db, orders, database, order, short, code } = await scene(t)
    await Promise.all([order.next(), short.next(), code.nextText()])
    const rows = await db
      .insert(orders)
      .values([{ customer: 'a' }, { customer: 'b', id: 0n, short: 0, code: '' }, { customer: 'c' }])
      .returning()
    const stored = await database.orders()
    const text = ({ id, short, code, customer }: (typeof rows)[number]) => ({
      ...{ id: `${id}`, short: `${short}`, code, customer },
    })
    assert.deepEqual(stored, rows.map(text))
    assert.deepEqual(stored[1], { id: '0', short: '0', code: '', customer: 'b' })
    assert.deepEqual([stored[0]?.id, stored[2]?.id], order.ids.slice(1).map(String))
    assert.deepEqual([stored[0]?.short, stored[2]?.short], short.ids.slice(1).map(String))
    assert.deepEqual([stored[0]?.code, stored[2]?.code], code.ids.slice(1))
  })

  test('fails with DRY when no id is buffered, and inserts nothing', async (t) => {
    const { db, orders, database, order } = await scene(t)
    t.mock.method(order, 'tryNext', () => undefined)
    const insert = async () => db.insert(orders).values([{ customer: 'a' }])
    await assert.rejects(
      insert,
      (error) => hasCode(error, 'DRY') && /'order-\d+'.*withIds/.test(error.message),
    )
    assert.deepEqual(await database.orders(), [])
  })
})
