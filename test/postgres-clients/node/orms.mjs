// ORMs and query builders of Node. Prints one line for each step, a name and a value. `orms.mjs URL`.
import { MikroORM } from '@mikro-orm/postgresql'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnPostgres } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { Kysely, sql as kyselySql, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { QueryTypes, Sequelize } from 'sequelize'
import { DataSource } from 'typeorm'

const url = process.argv[2]
const one = "SELECT nextval('orders') AS id"
const many = "SELECT nextval('orders') AS id FROM generate_series(1, 3)"

function show(step, value) {
  console.log(`${step}\t${JSON.stringify(value)}`)
}

const idsOf = (rows) => [...rows].map(({ id }) => id)

async function withKnex() {
  const db = knex({ client: 'pg', connection: url })
  show('knex', idsOf((await db.raw(one)).rows))
  show('knex, bound', idsOf((await db.raw('SELECT nextval(?) AS id', ['orders'])).rows))
  const inTransaction = await db.transaction(async (transaction) => idsOf((await transaction.raw(many)).rows))
  show('knex, transaction', inTransaction)
  show('knex, select', await db.select(db.raw("nextval('orders') AS id")).then(idsOf))
  await db.destroy()
}

async function withKysely() {
  const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) })
  show('kysely', idsOf((await kyselySql.raw(many).execute(db)).rows))
  show('kysely, bound', idsOf((await kyselySql`SELECT nextval(${'orders'}) AS id`.execute(db)).rows))
  show('kysely, tables', (await db.introspection.getTables()).length)
  await db.destroy()
}

async function withDrizzle() {
  const pool = new pg.Pool({ connectionString: url })
  const db = drizzle(pool)
  show('drizzle', idsOf((await db.execute(drizzleSql.raw(many))).rows))
  show('drizzle, bound', idsOf((await db.execute(drizzleSql`SELECT nextval(${'orders'}) AS id`)).rows))
  await pool.end()
  const client = postgres(url, process.env.PGSSLMODE ? { ssl: 'require' } : {})
  show(
    'drizzle on postgres',
    idsOf(await drizzleOnPostgres(client).execute(drizzleSql`SELECT nextval(${'orders'}) AS id`)),
  )
  await client.end()
}

async function withSequelize() {
  const db = new Sequelize(url, { dialect: 'postgres', logging: false })
  await db.authenticate()
  show('sequelize', idsOf(await db.query(many, { type: QueryTypes.SELECT })))
  const bound = { type: QueryTypes.SELECT, bind: ['orders'] }
  show('sequelize, bound', idsOf(await db.query('SELECT nextval($1) AS id', bound)))
  const replacements = { type: QueryTypes.SELECT, replacements: { name: 'orders' } }
  show('sequelize, replaced', idsOf(await db.query('SELECT nextval(:name) AS id', replacements)))
  const inTransaction = db.transaction((transaction) =>
    db.query(one, { type: QueryTypes.SELECT, transaction }),
  )
  show('sequelize, transaction', idsOf(await inTransaction))
  show('sequelize, tables', await db.getQueryInterface().showAllTables())
  await db.close()
}

async function withTypeOrm() {
  const db = await new DataSource({ type: 'postgres', url }).initialize()
  show('typeorm', idsOf(await db.query(many)))
  show('typeorm, bound', idsOf(await db.query('SELECT nextval($1) AS id', ['orders'])))
  show('typeorm, transaction', idsOf(await db.transaction((manager) => manager.query(one))))
  const runner = db.createQueryRunner()
  show('typeorm, table', await runner.hasTable('orders'))
  await runner.release()
  await db.destroy()
}

async function withMikroOrm() {
  const orm = await MikroORM.init({ clientUrl: url, entities: [], discovery: { warnWhenNoEntities: false } })
  show('mikro-orm', idsOf(await orm.em.getConnection().execute(many)))
  show('mikro-orm, bound', idsOf(await orm.em.getConnection().execute('SELECT nextval(?) AS id', ['orders'])))
  const inTransaction = await orm.em.transactional((manager) => manager.execute(one))
  show('mikro-orm, transaction', idsOf(inTransaction))
  show('mikro-orm, connected', await orm.isConnected())
  await orm.close()
}

await withKnex()
await withKysely()
await withDrizzle()
await withSequelize()
await withTypeOrm()
await withMikroOrm()
