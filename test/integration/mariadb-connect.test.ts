/** Ids of this service in MariaDB, over PostgreSQL's protocol: the trigger that docs/start/in-the-database.md shows. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startFahao } from '../launch/fahao.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { freePort } from '../launch/places.ts'
import { RawClient } from '../launch/raw-client.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/start/in-the-database.md'), 'utf8')
const port = await freePort()
const fahao = await startFahao({ after }, { args: ['--postgres', `127.0.0.1:${port}`] })
const client = await RawClient.connect(fahao.resp, { after })
await client.command('ID.CREATE', 'order', 'KIND', 'sequence')

test('a trigger draws an id for each row that has none, through the CONNECT engine of MariaDB', async (context) => {
  const mariaDb = await startMariaDb(context)
  await mariaDb.admin('CREATE DATABASE shop')
  await mariaDb.admin(documentedSql(), 'shop')
  await mariaDb.admin("INSERT INTO orders (id, item) VALUES (100000, 'pot')", 'shop')
  const rows = await mariaDb.admin('SELECT id, item FROM orders ORDER BY id', 'shop')
  assert.deepEqual(
    rows.map(({ item }) => item),
    ['tea', 'cup', 'pot'],
  )
  assert.ok(rows.every(({ id }) => Number(id) > 0))
})

/** The SQL of the page for MariaDB, with the port of this test. */
function documentedSql(): string {
  const section = page.slice(page.indexOf('## MariaDB'))
  return /```sql\n(.*?)```/s.exec(section)![1]!.replace('Port=7432', `Port=${port}`)
}
