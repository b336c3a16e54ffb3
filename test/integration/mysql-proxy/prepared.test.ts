/** Ids that the MySQL proxy fills into prepared INSERT statements. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type Connection, createConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { owner, password } from '../../launch/database.ts'
import { startFahao } from '../../launch/fahao.ts'
import { guardTables, upstreamOf } from '../../launch/guards.ts'
import { Scope } from '../../launch/lifetime.ts'
import type { MariaDb } from '../../launch/mariadb.ts'
import { isMariaDb, startMysql } from '../../launch/mysql.ts'
import { freePort } from '../../launch/places.ts'
import { commandOf, deprecateEof, packetOf, RawMysql } from '../../launch/raw-mysql.ts'

const scope = new Scope()
const commands = {
  query: 3,
  ping: 14,
  prepare: 0x16,
  execute: 0x17,
  longData: 0x18,
  close: 0x19,
  reset: 0x1a,
}
/** MariaDB takes this number for the statement that was prepared last. */
const newest = Buffer.from([255, 255, 255, 255])
let db: MariaDb
let port: number
let client: Connection

before(async () => {
  port = await freePort()
  db = await startMysql(scope)
  await db.admin(`
    CREATE DATABASE shop; GRANT ALL PRIVILEGES ON *.* TO ${owner}@'127.0.0.1';
    CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, body LONGTEXT, code INT UNIQUE, at DATETIME(6), price DOUBLE);
    CREATE TABLE shop.codes (id VARCHAR(40) PRIMARY KEY, body TEXT);
    CREATE TABLE shop.few (id BIGINT PRIMARY KEY, body TEXT);
    CREATE TABLE shop.few_columns (id BIGINT NOT NULL, item VARCHAR(40));
    CREATE TABLE shop.traced (id BIGINT PRIMARY KEY, item VARCHAR(40), code INT UNIQUE);
    CREATE TABLE shop.bare (id BIGINT PRIMARY KEY, body TEXT)`)
  await guardTables(
    db,
    ['orders', 'codes', 'few', 'few_columns', 'traced'].map((table) => `shop.${table}.id`),
  )
  const filled = ['orders=order', 'few_columns=order', 'traced=order', 'codes=code', 'few=few', 'bare=order']
  const tables = filled.flatMap((each) => ['--table', `shop.${each.replace('=', '.id=')}`])
  const fahao = await startFahao(scope, {
    args: [
      ...['--mysql-proxy', `127.0.0.1:${port}`, '--upstream', upstreamOf(db)],
      ...[...tables, '--proxy-statements-max', '20'],
    ],
  })
  const admin = await fahao.connect()
  await admin.command('ID.CREATE', 'order', 'KIND', 'sequence', 'START', '1000')
  await admin.command('ID.CREATE', 'code', 'KIND', 'sequence', 'START', '1', 'FORMAT', 'sms_{id}')
  await admin.command('ID.CREATE', 'few', 'KIND', 'sequence', 'START', '9223372036854775807')
})
beforeEach(async () => {
  await db.admin('TRUNCATE shop.orders; TRUNCATE shop.codes')
  client = await createConnection({ host: '127.0.0.1', port, user: owner, password, database: 'shop' })
})
after(() => scope.end())

async function execute(sql: string, values: (string | number | null | Date | Buffer)[]) {
  return (await client.execute<ResultSetHeader>(sql, values))[0]
}

async function rows(sql: string): Promise<Record<string, unknown>[]> {
  return (await client.query<RowDataPacket[]>(sql))[0]
}

/** MySQL has no RETURNING, and no statement −1. */
const returning = isMariaDb ? ' RETURNING id' : ''
function testOnMariaDb(title: string, run: () => Promise<void>): void {
  if (isMariaDb) test(title, run)
}

describe('a prepared INSERT', () => {
  test('without an id gets one at each execution, which the client learns', async (t) => {
    t.after(() => client.destroy())
    const forms: [string, (string | number | null)[]][] = [
      ['INSERT INTO orders (body, code) VALUES (?, ?)', ['a', 1]],
      ['INSERT INTO orders (id, body, code) VALUES (NULL, ?, ?)', ['a', 2]],
      ['INSERT INTO orders (body, id, code) VALUES (?, DEFAULT, ?)', ['a', 3]],
      ['INSERT INTO orders SET body = ?, code = ?', ['a', 4]],
      ['INSERT INTO orders (id, body, code) VALUES (?, ?, ?)', [null, 'a', 5]],
      ['INSERT INTO orders (id, body, code) VALUES (?, ?, ?)', [0, 'a', 6]],
      ['INSERT INTO orders (id, body, code) VALUES (?, ?, ?)', ['0', 'a', 7]],
      ["INSERT INTO orders (body, code) VALUES ('a', 8)", []],
      ['INSERT INTO orders VALUES (NULL, ?, ?, NULL, 1.5)', ['a', 9]],
    ]
    let last = 0
    for (const [sql, values] of forms) {
      const { insertId, affectedRows } = await execute(sql, values)
      assert.equal(affectedRows, 1)
      assert.ok(insertId > last && insertId >= 1000, sql)
      last = insertId
      assert.deepEqual(await rows('SELECT LAST_INSERT_ID() AS id'), [{ id: insertId }])
      assert.deepEqual(await rows(`SELECT body FROM orders WHERE id = ${insertId}`), [{ body: 'a' }])
    }
    const again = await execute(forms[0]![0], ['b', 10])
    assert.equal(again.insertId, last + 1)
  })

  test('with ON DUPLICATE KEY UPDATE reports no id of a row that was there, on a table with triggers', async (t) => {
    t.after(() => client.destroy())
    await db.admin(`
      CREATE TRIGGER shop.before_insert BEFORE INSERT ON shop.traced FOR EACH ROW SET @a = 1;
      CREATE TRIGGER shop.after_insert AFTER INSERT ON shop.traced FOR EACH ROW SET @a = 2;
      CREATE TRIGGER shop.after_update AFTER UPDATE ON shop.traced FOR EACH ROW SET @a = 3;
      INSERT INTO shop.traced VALUES (42, 'old', 5)`)
    for (const flags of [['FOUND_ROWS'], ['-FOUND_ROWS']]) {
      const login = { host: '127.0.0.1', port, user: owner, password, database: 'shop', flags }
      const other = await createConnection(login)
      t.after(() => other.destroy())
      for (const [values, bound] of [
        ["('a', 5)", []],
        ["('a', 5)", []],
        ["(?, 'a', 5)", [null]],
        ["(?, 'a', 5)", [null]],
        ["(?, 'a', 5)", [0]],
        ["(?, 'a', 5), (?, 'a', 5)", [null, null]],
      ] as const) {
        const columns = bound.length > 0 ? '(id, item, code)' : '(item, code)'
        const sql = `INSERT INTO traced ${columns} VALUES ${values} ON DUPLICATE KEY UPDATE item = 'b'`
        const [{ insertId }] = await other.execute<ResultSetHeader>(sql, [...bound])
        assert.ok(insertId === 0 || insertId === 42, `${flags}: ${sql}: ${insertId}`)
        assert.deepEqual(await rows('SELECT id, code FROM traced'), [{ id: 42, code: 5 }])
      }
      await db.admin("UPDATE shop.traced SET item = 'old'")
    }
  })

  test('gets texts of a generator with a format', async (t) => {
    t.after(() => client.destroy())
    await execute('INSERT INTO codes (body) VALUES (?)', ['a'])
    await execute('INSERT INTO codes (id, body) VALUES (?, ?)', [null, 'b'])
    await execute('INSERT INTO codes (id, body) VALUES (?, ?)', ['mine', 'c'])
    const found = await rows('SELECT id FROM codes ORDER BY body')
    assert.match(found.map(({ id }) => id).join(), /^sms_\d+,sms_\d+,mine$/)
  })

  test('without a list of columns keeps them in their order when another session alters the table', async (t) => {
    t.after(() => client.destroy())
    const sql = 'INSERT INTO few_columns VALUES (NULL, ?)'
    const first = await execute(sql, ['6'])
    await db.admin('ALTER TABLE shop.few_columns MODIFY id BIGINT NOT NULL AFTER item')
    const second = await execute(sql, ['7'])
    assert.deepEqual(await rows('SELECT id, item FROM few_columns ORDER BY id'), [
      { id: first.insertId, item: '6' },
      { id: second.insertId, item: '7' },
    ])
  })

  test('follows a change of the session that a prepared statement makes', async (t) => {
    t.after(() => client.destroy())
    await execute('INSERT INTO orders (body) VALUES (?)', ['a'])
    await client.execute("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
    await assert.rejects(execute('INSERT INTO orders (id, body) VALUES (?, ?)', [0, 'b']), {
      errno: isMariaDb ? 4025 : 3819,
    })
  })
})

describe('the packets of a prepared INSERT', () => {
  const prepare = (sql: string) => packetOf(commandOf(commands.prepare, sql))
  const execution = (...rest: number[]) =>
    packetOf(commandOf(commands.execute, Buffer.concat([newest, Buffer.from([0, 1, 0, 0, 0, ...rest])])))

  for (const flags of [0, deprecateEof]) {
    test(`show the client its own parameters ${flags === 0 ? 'with' : 'without'} EOF packets`, async () => {
      for (const [sql, own] of [
        [`INSERT INTO shop.orders (body, id, code) VALUES (?, NULL, ?)${returning}`, 2],
        ['INSERT INTO shop.orders (code) VALUES (1)', 0],
        [`INSERT INTO shop.orders (code) VALUES (1), (2)${returning}`, 0],
      ] as const) {
        const direct = await RawMysql.login(db.port, scope, { flags, database: 'shop' })
        direct.socket.write(prepare(sql))
        const columns = (await direct.packet()).readUInt16LE(9)
        direct.socket.destroy()
        const raw = await RawMysql.login(port, scope, { flags, database: 'shop' })
        const ends = flags === 0 ? (own > 0 ? 1 : 0) + (columns > 0 ? 1 : 0) : 0
        raw.socket.write(prepare(sql))
        const first = await raw.packet()
        assert.deepEqual([first.readUInt16LE(9), first.readUInt16LE(11)], [columns, own])
        for (let at = 0; at < own + columns + ends; at++) assert.equal((await raw.packet())[3], 2 + at)
        raw.command(14)
        assert.deepEqual([...(await raw.packet()).subarray(3, 5)], [1, 0])
        raw.socket.destroy()
      }
    })
  }

  testOnMariaDb('may be sent before the statement has its number, and without types again', async () => {
    const raw = await RawMysql.login(port, scope, { flags: deprecateEof, database: 'shop' })
    // Two executions with a parameter of type INT, the second without its type.
    raw.socket.write(
      Buffer.concat([
        prepare('INSERT INTO orders (code) VALUES (?)'),
        execution(0, 1, 3, 0, 41, 0, 0, 0),
        execution(0, 0, 42, 0, 0, 0),
      ]),
    )
    const [reply, definition, first, second] = [
      await raw.packet(),
      await raw.packet(),
      await raw.packet(),
      await raw.packet(),
    ]
    assert.equal(reply.readUInt16LE(11), 1)
    assert.equal(definition[3], 2)
    assert.deepEqual([first[4], second[4]], [0, 0])
    const found = await db.admin('SELECT code FROM shop.orders WHERE id >= 1000 ORDER BY id')
    assert.deepEqual(
      found.map(({ code }) => code),
      [41, 42],
    )
  })

  test('carry long data to the parameter that it is for', async () => {
    const raw = await RawMysql.login(port, scope, { flags: deprecateEof, database: 'shop' })
    raw.socket.write(prepare('INSERT INTO orders (id, body, code) VALUES (NULL, ?, ?)'))
    const statement = (await raw.packet()).subarray(5, 9)
    await raw.packet()
    await raw.packet()
    const piece = (text: string) =>
      packetOf(
        commandOf(commands.longData, Buffer.concat([statement, Buffer.from([0, 0]), Buffer.from(text)])),
      )
    const body = Buffer.concat([statement, Buffer.from([0, 1, 0, 0, 0, 0, 1, 252, 0, 3, 0, 9, 0, 0, 0])])
    raw.socket.write(
      Buffer.concat([piece('in '), piece('pieces'), packetOf(commandOf(commands.execute, body))]),
    )
    assert.equal((await raw.packet())[4], 0)
    const found = await db.admin('SELECT body FROM shop.orders WHERE code = 9')
    assert.deepEqual(
      found.map(({ body }) => String(body)),
      ['in pieces'],
    )
  })

  test('carry no long data to the id, which the client does not see', async () => {
    const replies: number[][] = []
    for (const [server, sql] of [
      [port, 'INSERT INTO orders (body) VALUES (?)'],
      [db.port, 'INSERT INTO orders (id, body) VALUES (1, ?)'],
    ] as const) {
      const raw = await RawMysql.login(server, scope, { flags: deprecateEof, database: 'shop' })
      raw.command(commands.prepare, sql)
      const statement = (await raw.packet()).subarray(5, 9)
      await raw.packet()
      raw.command(commands.longData, Buffer.concat([statement, Buffer.from([1, 0, 55])]))
      const execution = Buffer.concat([statement, Buffer.from([0, 1, 0, 0, 0, 0, 1, 253, 0, 1, 65])])
      const codes: number[] = []
      for (const command of [commands.execute, commands.execute, commands.reset, commands.execute]) {
        raw.command(command, command === commands.reset ? statement : execution)
        codes.push(codeOf(await raw.packet()))
      }
      replies.push(codes)
    }
    assert.deepEqual(replies, [
      [1210, 1210, 0, 0],
      [1210, 1210, 0, 0],
    ])
  })
})

/** What a packet says: the number of its error, or 0. */
function codeOf(packet: Buffer): number {
  return packet[4] === 0xff ? packet.readUInt16LE(5) : 0
}

describe('statement −1', () => {
  const prepare = (sql: string) => packetOf(commandOf(commands.prepare, sql))
  const query = (sql: string) => packetOf(commandOf(commands.query, sql))
  const named = (command: number, ...rest: number[]) =>
    packetOf(commandOf(command, Buffer.concat([newest, Buffer.from(rest)])))
  const execute = named(commands.execute, 0, 1, 0, 0, 0)
  const login = () => RawMysql.login(port, scope, { flags: deprecateEof, database: 'shop' })
  /** Sends everything in one go, and reads as many replies of one packet. */
  const codes = async (raw: RawMysql, count: number, ...sent: Buffer[]) => {
    raw.socket.write(Buffer.concat(sent))
    const found: number[] = []
    while (found.length < count) found.push(codeOf(await raw.packet()))
    return found
  }

  testOnMariaDb('is none after a PREPARE that the proxy refuses: no other one is executed', async () => {
    await db.admin("INSERT INTO shop.orders (id, body) VALUES (1, 'kept')")
    for (const before of ['DELETE FROM orders', 'INSERT INTO orders (code) VALUES (1)']) {
      const raw = await login()
      const refused = prepare("INSERT INTO bare (body) VALUES ('a')")
      const ping = packetOf(commandOf(commands.ping))
      assert.deepEqual(await codes(raw, 4, prepare(before), refused, execute, ping), [0, 1235, 1243, 0])
      assert.deepEqual(await codes(raw, 2, prepare('DELETE FROM orders WHERE id = 2'), execute), [0, 0])
      raw.socket.destroy()
    }
    const found = await db.admin('SELECT body FROM shop.orders')
    assert.deepEqual(
      found.map(({ body }) => String(body)),
      ['kept'],
    )
  })

  testOnMariaDb('is the client’s own one where the proxy has prepared another one since', async () => {
    const raw = await login()
    const asking = query("INSERT INTO orders VALUES (NULL, 'asked', NULL, NULL, NULL)")
    const update = prepare("UPDATE orders SET body = 'updated'")
    assert.deepEqual(await codes(raw, 3, update, asking, execute), [0, 0, 0])
    assert.deepEqual(await codes(raw, 3, prepare('SELEC'), asking, execute), [1064, 0, 1243])
    const found = await db.admin('SELECT body FROM shop.orders ORDER BY id')
    assert.deepEqual(
      found.map(({ body }) => String(body)),
      ['updated', 'asked'],
    )
    const ignoring = prepare("INSERT IGNORE INTO codes (body) VALUES ('typed')")
    assert.deepEqual(await codes(raw, 2, ignoring, execute), [0, 0])
    assert.equal((await db.admin("SELECT id FROM shop.codes WHERE body = 'typed'")).length, 1)
    raw.socket.destroy()
  })
})
