/** The examples of docs/start/in-the-database.md: databases that ask for ids by themselves, over PostgreSQL's protocol. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { superuser } from '../launch/database.ts'
import { startFahao } from '../launch/fahao.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { freePort } from '../launch/places.ts'
import { startPostgres } from '../launch/postgres.ts'
import { RawClient } from '../launch/raw-client.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/start/in-the-database.md'), 'utf8')
const port = await freePort()
const fahao = await startFahao({ after }, { args: ['--postgres', `127.0.0.1:${port}`] })
const client = await RawClient.connect(fahao.resp, { after })
await client.command('ID.CREATE', 'order', 'KIND', 'sequence')

test("a column's DEFAULT draws an id for each row through dblink, and inserts nothing without one", async (context) => {
  const postgres = await startPostgres(context)
  await postgres.admin('CREATE DATABASE shop')
  const ids = (await postgres.admin(sqlUnder('PostgreSQL'), 'shop')).map(({ id }) => Number(id))
  assert.equal(ids.length, 2)
  assert.ok(ids[1]! > ids[0]!)
  const batch = `SELECT * FROM dblink('host=127.0.0.1 port=${port} dbname=fahao user=fahao',
    'SELECT nextval(''order'') FROM generate_series(1, 1000)') AS r (id bigint)`
  const drawn = (await postgres.admin(batch, 'shop')).map(({ id }) => Number(id))
  assert.equal(new Set([...ids, ...drawn]).size, 1002)
  await fahao.kill()
  await assert.rejects(postgres.admin("INSERT INTO orders (item) VALUES ('pot')", 'shop'))
  await fahao.restart()
  await postgres.admin("INSERT INTO orders (item) VALUES ('pot')", 'shop')
  const [last] = await postgres.admin('SELECT max(id) AS id, count(*) AS rows FROM orders', 'shop')
  assert.equal(Number(last!.rows), 3)
  assert.ok(Number(last!.id) > drawn.at(-1)!)
})

test("a session's function connects again after the server has restarted", async (context) => {
  const postgres = await startPostgres(context)
  await postgres.admin('CREATE DATABASE shop')
  await postgres.admin(sqlUnder('PostgreSQL'), 'shop')
  const session = new pg.Client({ connectionString: postgres.url('shop', superuser) })
  await session.connect()
  const insert = "INSERT INTO orders (item) VALUES ('pot') RETURNING id"
  const before = await session.query(insert)
  await fahao.kill()
  await assert.rejects(session.query(insert))
  await fahao.restart()
  const next = await session.query(insert)
  assert.ok(Number(next.rows[0].id) > Number(before.rows[0].id))
  await session.end()
})

test('a trigger draws an id for each row that has none, through the CONNECT engine of MariaDB', async (context) => {
  const mariaDb = await startMariaDb(context)
  await mariaDb.admin('CREATE DATABASE shop')
  await mariaDb.admin(sqlUnder('MariaDB'), 'shop')
  await mariaDb.admin("INSERT INTO orders (id, item) VALUES (100000, 'pot')", 'shop')
  const rows = await mariaDb.admin('SELECT id, item FROM orders ORDER BY id', 'shop')
  assert.deepEqual(
    rows.map(({ item }) => item),
    ['tea', 'cup', 'pot'],
  )
  assert.ok(rows.every(({ id }) => Number(id) > 0))
})

/** The SQL of the page under a heading, with the port of this test. */
function sqlUnder(heading: string): string {
  const section = page.split(/^## /m).find((each) => each.startsWith(heading))!
  return /```sql\n(.*?)```/s.exec(section)![1]!.replaceAll(/(port=|Port=)7432/g, `$1${port}`)
}
