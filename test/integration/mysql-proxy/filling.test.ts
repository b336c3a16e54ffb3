/** Ids that the MySQL proxy fills into INSERT statements of text. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type Connection, createConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { owner, password } from '../../launch/database.ts'
import { type FahaoServer, startFahao } from '../../launch/fahao.ts'
import { guardTables, upstreamOf } from '../../launch/guards.ts'
import { Scope } from '../../launch/lifetime.ts'
import type { MariaDb } from '../../launch/mariadb.ts'
import { isMariaDb, startMysql } from '../../launch/mysql.ts'
import { startMysqlProxy } from '../../launch/mysql-proxy.ts'
import { freePort } from '../../launch/places.ts'
import type { RawClient } from '../../launch/raw-client.ts'
import { RawMysql } from '../../launch/raw-mysql.ts'

const scope = new Scope()
const tables = [
  'orders=order',
  'codes=code',
  'small=small',
  'gone=gone',
  'unknown=unknown',
  'kinds=kind',
  'open=order',
]
let db: MariaDb
let fahao: FahaoServer
let admin: RawClient
let port: number
let client: Connection

before(async () => {
  const proxyPort = await freePort()
  db = await startMysql(scope, { 'max-allowed-packet': '64M' })
  await createTables()
  const filled = tables.flatMap((each) => ['--table', `shop.${each.replace('=', '.id=')}`])
  const upstream = ['--upstream', upstreamOf(db), ...filled]
  fahao = await startFahao(scope, {
    args: ['--mysql-proxy', `127.0.0.1:${proxyPort}`, ...upstream, '--proxy-statement-max', '64MiB'],
  })
  admin = await fahao.connect()
  await admin.command('ID.CREATE', 'order', 'KIND', 'sequence', 'START', '1000')
  await admin.command('ID.CREATE', 'code', 'KIND', 'sequence', 'START', '1', 'FORMAT', 'sms_{id}')
  await admin.command('ID.CREATE', 'small', 'KIND', 'sequence', 'START', '127')
  await admin.command('ID.CREATE', 'kind', 'KIND', 'sequence', 'START', '12345')
  await admin.command('ID.CREATE', 'gone', 'KIND', 'sequence', 'START', '9223372036854775806')
  port = proxyPort
})
async function createTables(): Promise<void> {
  await db.admin(`
    CREATE DATABASE shop; GRANT ALL PRIVILEGES ON *.* TO ${owner}@'127.0.0.1';
    CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, body LONGTEXT, code INT UNIQUE);
    CREATE TABLE shop.codes (id VARCHAR(40) PRIMARY KEY, body TEXT);
    CREATE TABLE shop.small (id TINYINT PRIMARY KEY, body TEXT);
    CREATE TABLE shop.gone (id BIGINT PRIMARY KEY, body TEXT);
    CREATE TABLE shop.kinds (id BIGINT PRIMARY KEY, body TEXT);
    CREATE TABLE shop.open (id BIGINT AUTO_INCREMENT PRIMARY KEY, body TEXT);
    CREATE TABLE shop.unknown (id BIGINT PRIMARY KEY, body TEXT)`)
  const guarded = ['orders', 'codes', 'small', 'gone', 'kinds', 'unknown']
  await guardTables(
    db,
    guarded.map((table) => `shop.${table}.id`),
  )
}

beforeEach(async () => {
  await db.admin('TRUNCATE shop.orders; TRUNCATE shop.codes')
  client = await connectTo(port)
})
after(() => scope.end())

async function connectTo(port: number, options: Record<string, unknown> = {}): Promise<Connection> {
  const connection = await createConnection({
    host: '127.0.0.1',
    port,
    user: owner,
    password,
    database: 'shop',
    multipleStatements: true,
    ...options,
  })
  scope.after(async () => connection.destroy())
  return connection
}

async function run(sql: string): Promise<ResultSetHeader> {
  return (await client.query<ResultSetHeader>(sql))[0]
}

async function rows(sql: string): Promise<Record<string, unknown>[]> {
  return (await client.query<RowDataPacket[]>(sql))[0]
}

async function lastId(): Promise<unknown> {
  return (await rows('SELECT LAST_INSERT_ID() AS id'))[0]?.id
}

describe('an INSERT without an id', () => {
  test('gets one, which comes back as the insert id and through LAST_INSERT_ID()', async () => {
    const forms = [
      "INSERT INTO orders (body) VALUES ('a')",
      "INSERT orders (id, body) VALUES (NULL, 'a')",
      "INSERT INTO shop.orders (id, body) VALUE (0, 'a')",
      "INSERT INTO `orders` (body, id) VALUES ('a', DEFAULT)",
      "INSERT INTO orders SET body = 'a'",
      "INSERT INTO orders VALUES (NULL, 'a', NULL)",
      "REPLACE INTO orders (body) VALUES ('a') -- end",
      "/* in front */ insert into orders (body) values ('INSERT INTO orders')",
    ]
    for (const form of forms) {
      const { insertId, affectedRows } = await run(form)
      assert.equal(affectedRows, 1)
      assert.ok(insertId >= 1000, form)
      assert.equal(await lastId(), insertId)
      assert.equal((await rows(`SELECT id FROM orders WHERE id = ${insertId}`)).length, 1)
    }
  })

  test('gets a text of a generator with a format, and no insert id', async () => {
    const { insertId } = await run("INSERT INTO codes (body) VALUES ('a'), ('b')")
    assert.equal(insertId, 0)
    assert.match(String((await rows('SELECT id FROM codes'))[0]?.id), /^sms_\d+$/)
  })

  test('of 20 MB is sent in parts', async () => {
    const body = 'x'.repeat(20_000_000)
    const { insertId } = await run(`INSERT INTO orders (body) VALUES ('${body}')`)
    const [row] = await rows(`SELECT LENGTH(body) AS length FROM orders WHERE id = ${insertId}`)
    assert.equal(row?.length, body.length)
  })
})

/** Forms that MySQL does not know. */
const mariaDbForms = [
  "SET STATEMENT sql_mode = '' FOR INSERT INTO orders (body) VALUES ('a')",
  "EXECUTE IMMEDIATE 'INSERT INTO orders (body) VALUES (1)'",
]

describe('a statement that is not read', () => {
  test('passes as it came, and the error of the guard says so', async () => {
    for (const sql of [
      "INSERT INTO orders (body) SELECT 'a'",
      'INSERT INTO orders (id, body) VALUES (IF(1, NULL, 5), 1)',
      '/*! INSERT INTO orders (body) VALUES (1) */',
      "SET NAMES gbk; INSERT INTO orders (body) VALUES ('a')",
      ...(isMariaDb ? mariaDbForms : []),
    ]) {
      await assert.rejects(run(sql), /\(fahao proxy: ids are filled into INSERT.*\)$/, sql)
    }
    await run("INSERT INTO orders (id, body) VALUES (2 + 3, 'given'); SET NAMES utf8mb4")
    assert.deepEqual(await rows('SELECT id FROM orders'), [{ id: 5 }])
  })

  test('leaves the statement in front of it, which has its id', async () => {
    await assert.rejects(
      run("INSERT INTO orders (body) VALUES ('good'); INSERT INTO orders (body) VALUES (1, 2)"),
    )
    assert.deepEqual(await rows('SELECT body FROM orders'), [{ body: 'good' }])
  })

  test('is read again where DEFAULT stands in NO_AUTO_VALUE_ON_ZERO, as Rails writes fixtures', async () => {
    await run("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES,NO_AUTO_VALUE_ON_ZERO')")
    const { insertId } = await run(`INSERT INTO "orders" ("id", body) VALUES (DEFAULT, 'fixture')`)
    assert.deepEqual(await rows('SELECT id FROM orders'), [{ id: insertId }])
    await assert.rejects(run(`INSERT INTO orders (id) VALUES (0)`), { errno: isMariaDb ? 4025 : 3819 })
  })
})

describe('a table without a guard', () => {
  test('is not filled in, and takes ids that are given, until it has one', async () => {
    await assert.rejects(run("INSERT INTO open (body) VALUES ('a')"), {
      errno: 1235,
      message: /shop\.open\.id: it has AUTO_INCREMENT.*fahao proxy check.*ADD CONSTRAINT/,
    })
    await run("INSERT INTO open (id, body) VALUES (7, 'a')")
    await client.execute('INSERT INTO open (id, body) VALUES (?, ?)', [8, 'b'])
    await run('ALTER TABLE open MODIFY id BIGINT NOT NULL')
    await assert.rejects(run("INSERT INTO open (body) VALUES ('a')"), /no guard refuses/)
    await run('ALTER TABLE open ADD CHECK (id > 0)')
    assert.ok((await run("INSERT INTO open (body) VALUES ('a')")).insertId >= 1000)
    await run('ALTER TABLE open MODIFY id BIGINT NOT NULL DEFAULT 5')
    await assert.rejects(run("INSERT INTO open (body) VALUES ('a')"), /it has a default/)
  })
})

describe('a statement that gets no id', () => {
  const count = async (table: string) => (await rows(`SELECT COUNT(*) AS n FROM ${table}`))[0]?.n

  test('is refused with an error that says whether a retry can help', async () => {
    await run("INSERT INTO gone (body) VALUES ('last')")
    await assert.rejects(run("INSERT INTO gone (body) VALUES ('a'), ('b')"), { errno: 1467 })
    await assert.rejects(run("INSERT INTO unknown (body) VALUES ('a')"), { errno: 1105 })
    assert.equal(await count('unknown'), 0)
  })

  test('is refused where its column would clip the id', async () => {
    await run("SET SESSION sql_mode = ''")
    await run("INSERT INTO small (body) VALUES ('127')")
    await assert.rejects(run("INSERT INTO small (body) VALUES ('128')"), {
      errno: 1264,
      sqlState: '22003',
      message: /the id 128 is above 127; make the column a BIGINT/,
    })
    await run("SET SESSION sql_mode = 'STRICT_ALL_TABLES'")
    await assert.rejects(run("INSERT IGNORE INTO small (body) VALUES ('129')"), { errno: 1264 })
    assert.equal(await count('small'), 1)
  })

  test('receives the server’s own error when its table is not there', async () => {
    await db.admin('CREATE TABLE shop.kept LIKE shop.orders; DROP TABLE shop.orders')
    try {
      await assert.rejects(run("INSERT INTO orders VALUES (NULL, 'a', 1)"), { errno: 1146 })
    } finally {
      await db.admin('RENAME TABLE shop.kept TO shop.orders')
    }
  })
})

describe('a client that sends more than statements', () => {
  test('gets replies with the numbers that it waits for when an id makes its statement longer than one packet', async () => {
    const raw = await RawMysql.login(port, scope, { database: 'shop' })
    const text = (length: number) => {
      const sql = Buffer.alloc(length, 'a')
      sql.write("INSERT INTO orders (body) VALUES ('")
      sql.write("') RETURNING id", length - 15)
      return sql
    }
    raw.command(3, text(2 ** 24 - 3))
    // The number of columns, the column, an EOF packet, the row, an EOF packet.
    for (let sequence = 1; sequence <= 5; sequence++) assert.equal((await raw.packet())[3], sequence)
    raw.socket.destroy()
  })
})

describe('the figures of a proxy', () => {
  test('are among the metrics of its server', async () => {
    await run("INSERT INTO orders (body) VALUES ('a')")
    const text = await (await fetch(`${fahao.http}/metrics`)).text()
    assert.match(text, /^fahao_connections\{protocol="mysql"\} [1-9]/m)
    assert.match(text, /^fahao_proxy_statements_total\{outcome="filled"\} [1-9]/m)
    assert.match(text, /^fahao_proxy_ids_total [1-9]/m)
  })

  test('are served by a proxy of its own, beside its health', async () => {
    const metrics = await freePort()
    await startMysqlProxy(scope, { upstream: db.port, args: ['--metrics', `127.0.0.1:${metrics}`] })
    const get = async (path: string) => (await fetch(`http://127.0.0.1:${metrics}${path}`)).text()
    assert.equal(await get('/healthz'), 'ok\n')
    const text = await get('/metrics')
    assert.match(text, /^fahao_connections_total\{protocol="mysql"\} [1-9]/m)
    assert.match(text, /^process_cpu_seconds_total [0-9.]+$/m)
    assert.match(text, /^fahao_event_loop_lag_seconds_bucket\{le="0.05"\} \d+$/m)
  })
})

describe('a proxy beside a server with users', () => {
  test('takes ids with the permissions of the user that is named, as they are at the moment', async () => {
    const proxyPort = await freePort()
    const secured = await startFahao(scope, {
      env: { FAHAO_ADMIN_PASSWORD: 'a long password' },
      args: [
        ...['--mysql-proxy', `127.0.0.1:${proxyPort}`, '--upstream', upstreamOf(db)],
        ...['--table', 'shop.orders.id=order', '--mysql-proxy-user', 'mysql'],
      ],
    })
    const login = await secured.connect()
    await login.command('AUTH', 'admin', 'a long password')
    await login.command('ID.CREATE', 'order', 'KIND', 'sequence', 'START', '5000')
    const other = await connectTo(proxyPort)
    const insert = () => other.query<ResultSetHeader>("INSERT INTO orders (body) VALUES ('a')")
    // Not as a server that refuses the client's own login.
    await assert.rejects(insert(), { errno: 1142, message: /\(NOAUTH\).*; check mysql-proxy-user/ })
    await login.command('ACL', 'SETUSER', 'mysql', 'on', '~order', '+id.next')
    assert.equal((await insert())[0].insertId, 5000)
    await login.command('ACL', 'SETUSER', 'mysql', '>another password', '+id.lease', '+id.runs')
    const apart = await proxyOfFile(secured.http)
    const alone = await connectTo(apart.port)
    const [{ insertId }] = await alone.query<ResultSetHeader>("INSERT INTO orders (body) VALUES ('a')")
    assert.equal(insertId, 5001)
    assert.match(await (await fetch(`${apart.metrics}/metrics`)).text(), /^fahao_proxy_ids_total 1$/m)
    await login.command('ACL', 'SETUSER', 'mysql', 'resetkeys')
    await assert.rejects(insert(), { errno: 1142 })
    assert.match(secured.output(), /mysql-proxy-user mysql: there is no user 'mysql'/)
  })
})

/** A proxy of its own whose settings are in a file and in the environment. */
async function proxyOfFile(url: string): Promise<{ port: number; metrics: string }> {
  const metrics = `127.0.0.1:${await freePort()}`
  const folder = mkdtempSync(join(tmpdir(), 'fahao-proxy-'))
  scope.after(async () => rmSync(folder, { recursive: true }))
  const file = join(folder, 'proxy.yaml')
  writeFileSync(
    file,
    `table: [shop.orders.id=order]\nproxy-url: http://127.0.0.1:1\nmysql-proxy-user: mysql\nproxy-metrics: ${metrics}\n`,
  )
  const { port } = await startMysqlProxy(scope, {
    upstream: db.port,
    args: ['--config', file],
    // The one of the whole name goes first, and a variable goes before the file.
    env: { FAHAO_PASSWORD: 'another password', FAHAO_PROXY_URL: url, FAHAO_URL: 'http://127.0.0.1:2' },
  })
  return { port, metrics: `http://${metrics}` }
}

describe('a proxy of its own', () => {
  test('takes ids of any node of the service, whichever it is told of first', async () => {
    const gone = `http://127.0.0.1:${await freePort()}`
    for (const urls of [
      [gone, fahao.http],
      [fahao.http, gone],
    ]) {
      const { port } = await startMysqlProxy(scope, {
        upstream: db.port,
        args: [...urls.flatMap((url) => ['--url', url]), '--table', 'shop.orders.id=order'],
      })
      const other = await connectTo(port)
      const [{ insertId }] = await other.query<ResultSetHeader>("INSERT INTO orders (body) VALUES ('a')")
      assert.ok(insertId > 0)
    }
  })

  test('takes ids of every kind from the service', async () => {
    for (const kind of ['sequence', 'segment', 'timestamp', 'snowflake']) {
      const name = `of-${kind}`
      await admin.command('ID.CREATE', name, 'KIND', kind)
      const proxy = await startMysqlProxy(scope, {
        upstream: db.port,
        args: ['--url', fahao.http, '--table', `shop.orders.id=${name}`],
      })
      const other = await connectTo(proxy.port, { supportBigNumbers: true, bigNumberStrings: true })
      const [{ insertId }] = await other.query<ResultSetHeader>(
        "INSERT INTO orders (body) VALUES ('a'), ('b')",
      )
      const [[first, second]] = await other.query<RowDataPacket[]>(
        `SELECT id, body FROM orders WHERE body IN ('a', 'b') AND id >= ${insertId} ORDER BY id`,
      )
      assert.equal(String(first?.id), String(insertId))
      assert.deepEqual([first?.body, second?.body], ['a', 'b'])
      await db.admin('TRUNCATE shop.orders')
      await other.end()
      assert.deepEqual(await proxy.process.kill('SIGTERM'), { code: 0, signal: null })
    }
  })

  test('refuses with an error that a retry can help against while the service is away', async () => {
    const proxy = await startMysqlProxy(scope, {
      upstream: db.port,
      args: ['--url', `http://127.0.0.1:${await freePort()}`, '--table', 'shop.orders.id=order'],
    })
    const other = await connectTo(proxy.port)
    await assert.rejects(other.query("INSERT INTO orders (body) VALUES ('a')"), { errno: 1205 })
    assert.deepEqual((await other.query('SELECT 1 AS one'))[0], [{ one: 1 }])
    await proxy.process.kill('SIGTERM')
    assert.match(proxy.process.output(), /"warn".*an INSERT through the MySQL proxy got no id, .*UNAVAILABLE/)
  })
})
