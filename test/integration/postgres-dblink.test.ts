/** This service in PostgreSQL: ids as the DEFAULT of a column through dblink, and its state through postgres_fdw, as the documentation shows. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { owner } from '../launch/database.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort } from '../launch/places.ts'
import { type Postgres, startPostgres } from '../launch/postgres.ts'

const scope = new Scope()
let server: FahaoServer
let database: Postgres
let client: Client | undefined

/** The first block of SQL behind a heading of the page. */
function documented(heading: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs/start/in-the-database.md'), 'utf8')
  const [, block] = /```sql\n([\s\S]*?)```/.exec(page.slice(page.indexOf(`## ${heading}`))) ?? []
  return block ?? assert.fail(`no SQL behind ${heading}`)
}

async function idsOf(text: string): Promise<string[]> {
  const { rows } = await client!.query({ text, rowMode: 'array' })
  return (rows as string[][]).map(([id]) => id!)
}

before(async () => {
  const port = await freePort()
  ;[server, database] = await Promise.all([
    startFahao(scope, { args: ['--postgres', `127.0.0.1:${port}`] }),
    startPostgres(scope),
  ])
  const resp = await server.connect()
  assert.equal(await resp.command('ID.CREATE', 'order', 'KIND', 'sequence'), 'OK')
  assert.equal(await resp.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all'), 'OK')
  const admin = await server.connect()
  assert.equal(await admin.command('AUTH', 'admin', 'secret'), 'OK')
  assert.equal(await admin.command('ACL', 'SETUSER', 'shop', 'on', '>secret', '~order', '+@issue'), 'OK')
  await database.admin(documented('PostgreSQL: dblink').replace("port '7432'", `port '${port}'`))
  await database.admin(documented('PostgreSQL: postgres_fdw').replace("port '7432'", `port '${port}'`))
  await database.admin('CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT fahao_next($$order$$), item text)')
  await database.admin(`GRANT ALL ON orders TO ${owner}; GRANT USAGE ON FOREIGN SERVER fahao TO ${owner}`)
  client = new Client({ connectionString: database.url('postgres') })
  await client.connect()
})
after(async () => {
  await client?.end()
  await scope.end()
})

describe('foreign tables of postgres_fdw', () => {
  test('show the newest id and the sequences', async () => {
    const resp = await server.connect()
    assert.equal(await resp.command('AUTH', 'admin', 'secret'), 'OK')
    for (const name of ['newest', 'invoice'])
      assert.equal(await resp.command('ID.CREATE', name, 'KIND', 'sequence'), 'OK')
    await resp.command('INCRBY', 'newest', '3')
    await database.admin(
      'CREATE FOREIGN TABLE newest (last_value bigint, is_called boolean) SERVER fahao_state',
    )
    assert.deepEqual(await database.admin('SELECT last_value, is_called FROM newest WHERE last_value > 2'), [
      { last_value: '3', is_called: true },
    ])
    const joined = `
      BEGIN; SELECT * FROM order_state; SAVEPOINT a; SELECT * FROM newest; ROLLBACK TO a;
      SELECT sequencename, n.last_value FROM fahao_sequences LEFT JOIN newest n USING (last_value) ORDER BY sequencename`
    assert.deepEqual(await database.admin(joined), [
      { sequencename: 'invoice', last_value: null },
      { sequencename: 'newest', last_value: '3' },
      { sequencename: 'order', last_value: null },
    ])
  })
})

describe('a column whose DEFAULT asks this service through dblink', () => {
  test('gets an id for each row, and each id once', async () => {
    assert.deepEqual(await idsOf("INSERT INTO orders (item) VALUES ('a'), ('b') RETURNING id"), ['1', '2'])
    const many = await idsOf("INSERT INTO orders (item) SELECT 'x' FROM generate_series(1, 50) RETURNING id")
    assert.deepEqual(
      many,
      Array.from({ length: 50 }, (_, index) => String(index + 3)),
    )
    assert.deepEqual(await idsOf("INSERT INTO orders (id, item) VALUES (1000, 'own') RETURNING id"), ['1000'])
  })

  test('leaves gaps where a transaction rolls back, as a sequence does', async () => {
    await client!.query('BEGIN')
    assert.deepEqual(await idsOf("INSERT INTO orders (item) VALUES ('c') RETURNING id"), ['53'])
    await client!.query('ROLLBACK')
    assert.deepEqual(await idsOf("INSERT INTO orders (item) VALUES ('d') RETURNING id"), ['54'])
  })

  test('refuses the row while the service is away, and goes on after it', async () => {
    await server.kill()
    const insert = "INSERT INTO orders (item) VALUES ('e') RETURNING id"
    await assert.rejects(client!.query(insert))
    await server.restart()
    let ids: string[] = []
    while (ids.length === 0) ids = await idsOf(insert).catch(() => [])
    assert.ok(Number(ids[0]) > 54)
    const { rows } = await client!.query("SELECT count(*)::int AS count FROM orders WHERE item = 'e'")
    assert.equal(rows[0].count, 1)
  })
})
