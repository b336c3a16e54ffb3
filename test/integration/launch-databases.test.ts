/** The launchers of databases do what their names say: what other tests build on. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import type { DatabaseServer } from '../launch/database.ts'
import { Scope } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { startPostgres } from '../launch/postgres.ts'
import { accepts } from '../launch/process.ts'

type Session = {
  query(sql: string): Promise<unknown>
  /** Rejects with the server's refusal, or with the loss of the connection. */
  close(): Promise<void>
}

const launchers = [
  { name: 'MariaDB', start: startMariaDb, durable: "SHOW VARIABLES LIKE 'innodb_flush_log_at_trx_commit'" },
  { name: 'PostgreSQL', start: startPostgres, durable: 'SHOW fsync' },
] as const

for (const { name, start, durable } of launchers) {
  describe(name, () => {
    const file = new Scope()
    let server: DatabaseServer
    before(async () => {
      server = await start(file)
    })
    after(() => file.end())

    test('gives every test an empty database that its owner can fill', async () => {
      const [one, other] = [await server.newDatabase(), await server.newDatabase()]
      assert.notEqual(one, other)
      for (const url of [one, other]) await run(url, 'CREATE TABLE t (id BIGINT PRIMARY KEY)')
      await run(one, 'INSERT INTO t VALUES (7)')
      assert.deepEqual(await server.admin('SELECT id FROM t', databaseOf(one)), [{ id: '7' }])
      assert.deepEqual(await server.admin('SELECT id FROM t', databaseOf(other)), [])
    })

    test('makes no superuser of the owner', async () => {
      const url = await server.newDatabase()
      await assert.rejects(run(url, `CREATE USER intruder`), /denied|permission/)
    })

    test('lets nobody in without the password', async () => {
      const url = await server.newDatabase()
      await assert.rejects(run(url.replace('secret', 'guess'), 'SELECT 1'), /denied|authentication failed/)
    })

    test('is durable', async () => {
      const values = Object.values((await server.admin(durable))[0]!)
      assert.ok(values.includes('1') || values.includes('on'), String(values))
    })

    test('answers nothing while frozen, and everything once thawed', async () => {
      const session = await open(await server.newDatabase())
      await server.freeze()
      let answered = false
      const answer = session.query('SELECT 1').then(() => {
        answered = true
      })
      assert.ok(await accepts(server.port), 'the kernel still takes connections for it')
      assert.equal(answered, false)
      server.thaw()
      await answer
      await session.close()
    })

    test('keeps what was committed when it is killed, even while frozen, and comes back on its port', async () => {
      const url = await server.newDatabase()
      await run(url, 'CREATE TABLE t (id BIGINT PRIMARY KEY)')
      await run(url, 'INSERT INTO t VALUES (7)')
      const session = await open(url)
      await server.freeze()
      const lost = assert.rejects(session.query('SELECT 1'))
      await server.kill()
      await lost
      assert.equal(await accepts(server.port), false)
      await server.restart()
      assert.deepEqual(await server.admin('SELECT id FROM t', databaseOf(url)), [{ id: '7' }])
    })

    test('ends in good order under open connections, and starts again with other settings', async () => {
      const url = await server.newDatabase()
      const session = await open(url)
      const lost = assert.rejects(session.query('SELECT 1').then(() => session.query(sleep(server))))
      const exit = await server.stop()
      assert.deepEqual(exit, { code: 0, signal: null })
      await lost
      await server.restart({ [server.kind === 'mysql' ? 'max-connections' : 'max_connections']: 77 })
      const [row] = await server.admin(
        server.kind === 'mysql'
          ? 'SELECT @@max_connections AS n'
          : "SELECT current_setting('max_connections') AS n",
      )
      assert.equal(Number(row?.n), 77)
    })

    test('refuses writes of open and new connections while read-only, also through a restart', async () => {
      const url = await server.newDatabase()
      await run(url, 'CREATE TABLE t (id BIGINT PRIMARY KEY)')
      const session = await open(url)
      await server.setReadOnly(true)
      await assert.rejects(session.query('INSERT INTO t VALUES (1)'), /read-only/)
      await assert.rejects(run(url, 'INSERT INTO t VALUES (1)'), /read-only/)
      await session.query('SELECT * FROM t')
      await server.admin('INSERT INTO t VALUES (2)', databaseOf(url))
      await session.close()
      await server.restart()
      await assert.rejects(run(url, 'INSERT INTO t VALUES (1)'), /read-only/)
      await server.setReadOnly(false)
      await run(url, 'INSERT INTO t VALUES (1)')
    })
  })
}

function sleep(server: DatabaseServer): string {
  return server.kind === 'mysql' ? 'DO SLEEP(60)' : 'SELECT pg_sleep(60)'
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

async function run(url: string, sql: string): Promise<void> {
  const session = await open(url)
  try {
    await session.query(sql)
  } finally {
    await session.close()
  }
}

async function open(url: string): Promise<Session> {
  if (url.startsWith('mysql:')) {
    const connection = await createConnection(url)
    connection.on('error', () => {})
    return { query: (sql) => connection.query(sql), close: () => connection.end() }
  }
  const client = new Client(url)
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    await client.end()
    throw error
  }
  return { query: (sql) => client.query(sql), close: () => client.end() }
}
