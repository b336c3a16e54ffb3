/** The launchers of databases do what their names say: what other tests build on. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { Client } from 'pg'
import type { DatabaseServer } from '../launch/database.ts'
import { type Lifetime, Scope } from '../launch/lifetime.ts'
import { MariaDb, startMariaDb } from '../launch/mariadb.ts'
import { Postgres, startPostgres } from '../launch/postgres.ts'
import { accepts } from '../launch/process.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'

type Session = {
  /** Rejects with the server's refusal, or with the loss of the connection. */
  query(sql: string): Promise<unknown>
  close(): Promise<void>
}

const launchers = [
  {
    name: 'MariaDB',
    start: startMariaDb,
    durable: "SHOW VARIABLES LIKE 'innodb_flush_log_at_trx_commit'",
    refusals: {
      right: /need \(at least one of\) the CREATE USER privilege/,
      password: /Access denied for user 'fahao'/,
    },
  },
  {
    name: 'PostgreSQL',
    start: startPostgres,
    durable: 'SHOW fsync',
    refusals: {
      right: /permission denied to create role/,
      password: /password authentication failed for user/,
    },
  },
] as const

for (const { name, start, durable, refusals } of launchers) {
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
      await assert.rejects(run(url, `CREATE USER intruder`), refusals.right)
    })

    test('refuses connections without the password', async () => {
      const url = await server.newDatabase()
      await assert.rejects(run(url.replace('secret', 'guess'), 'SELECT 1'), refusals.password)
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
      await pause(200)
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

    test('sets a database back to a dump under open connections', async () => {
      const url = await server.newDatabase()
      const session = await open(url)
      await session.query('CREATE TABLE t (id BIGINT PRIMARY KEY)')
      await session.query('INSERT INTO t VALUES (1)')
      const dump = await server.dump(databaseOf(url))
      await session.query('INSERT INTO t VALUES (2)')
      await server.restore(databaseOf(url), dump)
      assert.deepEqual(await server.admin('SELECT id FROM t', databaseOf(url)), [{ id: '1' }])
      await session.query('INSERT INTO t VALUES (2)')
      await session.close()
      await assert.rejects(server.restore(databaseOf(url), 'SELECT nonsense;'), /nonsense/)
    })

    test('has committed what a proxy has lost the reply of', async (t) => {
      const url = await server.newDatabase()
      await run(url, 'CREATE TABLE t (id BIGINT PRIMARY KEY)')
      const proxy = await startTcpProxy(t, server.port)
      const session = await open(url.replace(`:${server.port}/`, `:${proxy.port}/`))
      const drops = proxy.dropReplyOf((request) => request.includes('COMMIT'))
      await session.query('BEGIN')
      await session.query('INSERT INTO t VALUES (1)')
      await assert.rejects(session.query('COMMIT'))
      assert.equal(drops.count, 1)
      assert.deepEqual(await server.admin('SELECT id FROM t', databaseOf(url)), [{ id: '1' }])
    })

    test('has replicas that follow until told to stop, and lack the last writes once promoted', async (t) => {
      const url = await server.newDatabase()
      const database = databaseOf(url)
      await run(url, 'CREATE TABLE t (id BIGINT PRIMARY KEY)')
      const replica = await startReplica(t, server)
      const replicaUrl = replica.url(database)
      await run(url, 'INSERT INTO t VALUES (1)')
      await replica.catchUp()
      assert.deepEqual(await replica.admin('SELECT id FROM t', database), [{ id: '1' }])
      await assert.rejects(run(replicaUrl, 'INSERT INTO t VALUES (3)'), /read-only/)

      await replica.stopReplicating()
      await run(url, 'INSERT INTO t VALUES (2)')
      await replica.promote()
      await run(replicaUrl, 'INSERT INTO t VALUES (3)')
      assert.deepEqual(await replica.admin('SELECT id FROM t ORDER BY id', database), [
        { id: '1' },
        { id: '3' },
      ])
      assert.deepEqual(await server.admin('SELECT id FROM t ORDER BY id', database), [
        { id: '1' },
        { id: '2' },
      ])
      await run(await replica.newDatabase(), 'CREATE TABLE t (id BIGINT PRIMARY KEY)')
      await replica.restart()
      await run(replicaUrl, 'INSERT INTO t VALUES (4)')
    })

    test('has replicas that take over from a primary that was killed', async (t) => {
      const primary = await start(t)
      const url = await primary.newDatabase()
      const replica = await startReplica(t, primary)
      await run(url, 'CREATE TABLE t (id BIGINT PRIMARY KEY)')
      await replica.catchUp()
      await primary.kill()
      await replica.promote()
      await run(replica.url(databaseOf(url)), 'INSERT INTO t VALUES (1)')
    })
  })
}

function startReplica(lifetime: Lifetime, primary: DatabaseServer): Promise<DatabaseServer> {
  if (primary instanceof MariaDb) return startMariaDb(lifetime, { replicaOf: primary })
  assert.ok(primary instanceof Postgres)
  return startPostgres(lifetime, { replicaOf: primary })
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
