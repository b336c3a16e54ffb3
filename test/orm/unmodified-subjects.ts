/** Each ORM with a model that says what its users write for a column with AUTO_INCREMENT. */
import type { Subject } from '../mysql-clients/report.ts'
import { installPackages } from './packages.ts'
import { type Orders, ormSubject, type Reported, type Row } from './unmodified.ts'

await installPackages()
const { default: knex } = await import('knex')
const { Kysely, MysqlDialect } = await import('kysely')
const { createPool } = await import('mysql2')
const mysql2 = await import('mysql2')
const { DataTypes, Sequelize } = await import('sequelize')
const { DataSource, EntitySchema } = await import('typeorm')
const { drizzle } = await import('drizzle-orm/mysql2')
const { sql } = await import('drizzle-orm')
const mysqlCore = await import('drizzle-orm/mysql-core')
const { MikroORM, defineEntity, p } = await import('@mikro-orm/mariadb')

/** Of one connection each, so that a transaction that ends leaves nothing to others. */
export const ormSubjects: readonly Subject[] = [
  ormSubject('TypeORM save, mysql', (url) => typeOrm(url, 'mysql', 'save')),
  ormSubject('TypeORM insert, mysql', (url) => typeOrm(url, 'mysql', 'insert')),
  ormSubject('TypeORM save, mariadb', (url) => typeOrm(url, 'mariadb', 'save')),
  ormSubject('TypeORM insert, mariadb', (url) => typeOrm(url, 'mariadb', 'insert')),
  ormSubject('Sequelize', openSequelize),
  ormSubject('Drizzle', openDrizzle),
  ormSubject('Knex', openKnex),
  ormSubject('Kysely', openKysely),
  ormSubject('MikroORM', openMikro),
]

type OrderEntity = { id?: string; customer: string; amount: number }

async function typeOrm(url: string, type: 'mysql' | 'mariadb', way: 'save' | 'insert'): Promise<Orders> {
  const schema = new EntitySchema<OrderEntity>({
    name: 'Order',
    tableName: 'orders',
    columns: {
      id: { type: 'bigint', primary: true, generated: 'increment' },
      customer: { type: 'varchar', unique: true },
      amount: { type: 'int' },
    },
  })
  const source = await new DataSource({ type, url, entities: [schema], poolSize: 2 }).initialize()
  const insertAll = async (rows: readonly Row[], manager = source.manager): Promise<Reported[]> => {
    const repository = manager.getRepository(schema)
    const entities = rows.map(({ id, ...rest }) => ({ ...rest, ...(id !== undefined && { id: `${id}` }) }))
    if (way === 'save') return (await repository.save(entities)).map(({ id }) => id)
    return (await repository.insert(entities)).identifiers.map(({ id }) => id)
  }
  return {
    insertAll,
    insert: async (row) => (await insertAll([row]))[0],
    inTransaction: (rows, error) =>
      source.transaction(async (manager) => {
        const ids = await eachOf(rows, (row) => insertAll([row], manager).then(([id]) => id))
        if (error) throw error
        return ids
      }),
    async upsert({ customer, amount }) {
      const { identifiers } = await source.getRepository(schema).upsert({ customer, amount }, ['customer'])
      return identifiers[0]?.id
    },
    close: () => source.destroy(),
  }
}

async function openSequelize(url: string): Promise<Orders> {
  const sequelize = new Sequelize(url, {
    ...{
      dialect: 'mysql',
      dialectModule: mysql2,
      logging: false,
      define: { timestamps: false },
      pool: { max: 2 },
    },
  })
  const orders = sequelize.define(
    'Order',
    {
      id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
      customer: { type: DataTypes.STRING, allowNull: false, unique: true },
      amount: { type: DataTypes.INTEGER, allowNull: false },
    },
    { tableName: 'orders' },
  )
  const idOf = (made: { get(name: string): unknown }) => made.get('id') as Reported
  return {
    insert: async (row) => idOf(await orders.create({ ...row })),
    insertAll: async (rows) => (await orders.bulkCreate(rows.map((row) => ({ ...row })))).map(idOf),
    inTransaction: (rows, error) =>
      sequelize.transaction(async (transaction) => {
        const ids = await eachOf(rows, async (row) => idOf(await orders.create({ ...row }, { transaction })))
        if (error) throw error
        return ids
      }),
    upsert: async (row) => idOf((await orders.upsert({ ...row }))[0]),
    close: () => sequelize.close(),
  }
}

async function openDrizzle(url: string): Promise<Orders> {
  const pool = createPool({ uri: url, connectionLimit: 2 })
  const orders = mysqlCore.mysqlTable('orders', {
    id: mysqlCore.bigint({ mode: 'number' }).primaryKey().autoincrement(),
    customer: mysqlCore.varchar({ length: 60 }).notNull().unique(),
    amount: mysqlCore.int().notNull(),
  })
  const db = drizzle({ client: pool })
  const insertAll = async (rows: readonly Row[], query: Pick<typeof db, 'insert'> = db) =>
    (
      await query
        .insert(orders)
        .values([...rows])
        .$returningId()
    ).map(({ id }) => id)
  return {
    insertAll,
    insert: async (row) => (await insertAll([row]))[0],
    inTransaction: (rows, error) =>
      db.transaction(async (query) => {
        const ids = await eachOf(rows, async (row) => (await insertAll([row], query))[0])
        if (error) throw error
        return ids
      }),
    async upsert(row) {
      const set = { amount: sql`amount + values(amount)` }
      const [{ insertId }] = await db.insert(orders).values(row).onDuplicateKeyUpdate({ set })
      return insertId
    },
    close: () => pool.promise().end(),
  }
}

async function openKnex(url: string): Promise<Orders> {
  const db = knex({ client: 'mysql2', connection: url, pool: { min: 0, max: 2 } })
  const insert = async (row: Row): Promise<Reported> => (await db('orders').insert(row))[0]
  return {
    insert,
    insertAll: (rows) => db('orders').insert(rows),
    inTransaction: (rows, error) =>
      db.transaction(async (transaction) => {
        const ids = await eachOf(rows, async (row) => (await transaction('orders').insert(row))[0])
        if (error) throw error
        return ids
      }),
    upsert: async (row) => (await db('orders').insert(row).onConflict('customer').merge())[0],
    close: () => db.destroy(),
  }
}

async function openKysely(url: string): Promise<Orders> {
  const db = new Kysely<{ orders: Row }>({
    dialect: new MysqlDialect({ pool: createPool({ uri: url, connectionLimit: 2 }) }),
  })
  const insert = async (rows: readonly Row[], query: Pick<typeof db, 'insertInto'> = db): Promise<Reported> =>
    (await query.insertInto('orders').values(rows).executeTakeFirst()).insertId
  return {
    insert: (row) => insert([row]),
    insertAll: async (rows) => [await insert(rows)],
    inTransaction: (rows, error) =>
      db.transaction().execute(async (query) => {
        const ids = await eachOf(rows, (row) => insert([row], query))
        if (error) throw error
        return ids
      }),
    async upsert(row) {
      const { amount } = row
      return (await db.insertInto('orders').values(row).onDuplicateKeyUpdate({ amount }).executeTakeFirst())
        .insertId
    },
    close: () => db.destroy(),
  }
}

async function openMikro(url: string): Promise<Orders> {
  const Order = defineEntity({
    ...{ name: 'Order', tableName: 'orders' },
    properties: {
      id: p.bigint('number').primary().autoincrement(),
      customer: p.string().unique(),
      amount: p.integer(),
    },
  })
  const orm = new MikroORM({ clientUrl: url, entities: [Order], pool: { max: 2 } })
  const insertAll = async (rows: readonly Row[], em = orm.em.fork()): Promise<Reported[]> => {
    const made = rows.map((row) => em.create(Order, { ...row }, { persist: true }))
    await em.flush()
    return made.map(({ id }) => id)
  }
  return {
    insertAll,
    insert: async (row) => (await insertAll([row]))[0],
    inTransaction: (rows, error) =>
      orm.em.fork().transactional(async (em) => {
        const ids = await eachOf(rows, async (row) => (await insertAll([row], em))[0])
        if (error) throw error
        return ids
      }),
    upsert: async ({ customer, amount }) => (await orm.em.fork().upsert(Order, { customer, amount })).id,
    close: () => orm.close(true),
  }
}

async function eachOf(rows: readonly Row[], insert: (row: Row) => Promise<Reported>): Promise<Reported[]> {
  const ids: Reported[] = []
  for (const row of rows) ids.push(await insert(row))
  return ids
}
