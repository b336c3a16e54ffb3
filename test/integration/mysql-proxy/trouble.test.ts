/** The MySQL proxy with clients and servers that misbehave, and its stop. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type Connection, createConnection } from 'mysql2/promise'
import { owner, password } from '../../launch/database.ts'
import { Scope } from '../../launch/lifetime.ts'
import type { MariaDb } from '../../launch/mariadb.ts'
import { startMysql } from '../../launch/mysql.ts'
import { type MysqlProxy, startMysqlProxy } from '../../launch/mysql-proxy.ts'
import { freePort } from '../../launch/places.ts'
import { runProgram } from '../../launch/program.ts'
import { commandOf, packetOf, RawMysql, responseTo } from '../../launch/raw-mysql.ts'
import { startTcpProxy } from '../../launch/tcp-proxy.ts'

const scope = new Scope()
const query = 3
let db: MariaDb

before(async () => {
  db = await startMysql(scope)
  await db.admin(
    `CREATE DATABASE shop; GRANT ALL PRIVILEGES ON *.* TO ${owner}@'127.0.0.1'; CREATE TABLE shop.t (id INT PRIMARY KEY)`,
  )
})
after(() => scope.end())

async function connectTo(port: number): Promise<Connection> {
  const connection = await createConnection({
    host: '127.0.0.1',
    port,
    user: owner,
    password,
    database: 'shop',
  })
  scope.after(async () => connection.destroy())
  connection.on('error', () => {})
  return connection
}

/** What a client receives before anything else. */
async function firstPacketOf(port: number): Promise<{ code: number; message: string }> {
  const packet = await (await RawMysql.open(port, scope)).packet()
  assert.equal(packet[3], 0)
  assert.equal(packet[4], 0xff)
  return { code: packet.readUInt16LE(5), message: packet.toString('utf8', 7) }
}

describe('the start of a proxy', () => {
  /** What a proxy prints that cannot start. */
  const complaintOf = (args: readonly string[], env: Readonly<Record<string, string>>) =>
    runProgram([process.execPath, 'dist/fahao.js', 'proxy', ...args], { env }).then(
      () => assert.fail('it has started and ended'),
      ({ message }: Error) => message,
    )

  test('refuses two columns of one table in one sentence', async () => {
    const columns = ['--table', 'shop.t.id=a', '--table', 'shop.t.other=b']
    const complaint = await complaintOf(columns, {
      FAHAO_LISTEN: `127.0.0.1:${await freePort()}`,
      FAHAO_UPSTREAM: 'mysql://fahao:secret@127.0.0.1',
    })
    assert.match(complaint, /ended with 2:\nfahao: CONFIG the table shop\.t is given twice, .*\n$/)
  })

  test('takes the address from FAHAO_LISTEN, and refuses one that is taken', async () => {
    const taken = `127.0.0.1:${db.port}`
    const complaint = await complaintOf(['--upstream', 'mysql://127.0.0.1'], { FAHAO_LISTEN: taken })
    assert.ok(complaint.includes(`cannot listen on ${taken}: listen EADDRINUSE`), complaint)
  })
})

describe('a proxy without its service', () => {
  test('warns at its start of the generators that give no ids', async () => {
    const { process } = await startMysqlProxy(scope, {
      upstream: db.port,
      args: ['--url', `http://127.0.0.1:${await freePort()}`, '--table', 'shop.orders.id=order'],
      env: { FAHAO_PROXY_ID_TIMEOUT: '100ms' },
    })
    const warning = /"warn".*the MySQL proxy gets no ids of 'order' now, .*UNAVAILABLE/
    await retried(async () => assert.match(process.output(), warning))
  })
})

describe('a proxy without its server', () => {
  test('says in MySQL’s words that it cannot connect', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: await freePort() })
    assert.match(proxy.process.output(), /"warn".*fills in no ids, because no table is configured/)
    const { code, message } = await firstPacketOf(proxy.port)
    assert.equal(code, 1429)
    assert.match(
      message,
      /^fahao proxy: cannot connect to the MySQL server at 127\.0\.0\.1:\d+: .*ECONNREFUSED/,
    )
    await assert.rejects(connectTo(proxy.port), { errno: 1429 })
    // MariaDB's C library shows a server's error only if its code is one of servers.
    const program = ['mariadb', '--no-defaults', '--host=127.0.0.1', `--port=${proxy.port}`, '-e', 'SELECT 1']
    await assert.rejects(runProgram(program), /1429 - fahao proxy: cannot connect to the MySQL server/)
  })

  test('says so as well if the server does not answer', async () => {
    const silent = createServer()
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    scope.after(async () => void silent.close())
    const { port } = silent.address() as { port: number }
    const proxy = await startMysqlProxy(scope, {
      upstream: port,
      args: ['--proxy-login-timeout', '200ms'],
    })
    const { code, message } = await firstPacketOf(proxy.port)
    assert.equal(code, 1429)
    assert.match(message, /it does not answer/)
  })

  test('says that another protocol is spoken there', async () => {
    const other = createServer((socket) =>
      socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    scope.after(async () => void other.close())
    const proxy = await startMysqlProxy(scope, { upstream: (other.address() as { port: number }).port })
    assert.equal((await firstPacketOf(proxy.port)).code, 1429)
  })

  test('ends the connections of clients when the server is gone, and serves new ones when it is back', async () => {
    const lane = await startTcpProxy(scope, db.port)
    const proxy = await startMysqlProxy(scope, { upstream: lane.port })
    const client = await connectTo(proxy.port)
    await client.query('SELECT 1')
    const pending = assert.rejects(client.query('SELECT SLEEP(60)'))
    await lane.cut()
    await pending
    await lane.restore()
    await (await connectTo(proxy.port)).query('SELECT 1')
  })
})

describe('a proxy with limits', () => {
  test('refuses a connection above the limit with 1040', async () => {
    const proxy = await startMysqlProxy(scope, {
      upstream: db.port,
      args: ['--proxy-connections-max', '2'],
    })
    const [first] = [await connectTo(proxy.port), await connectTo(proxy.port)]
    assert.deepEqual(await firstPacketOf(proxy.port), { code: 1040, message: 'Too many connections' })
    await first.end()
    await retried(() => connectTo(proxy.port))
  })

  test('drops clients that do not log in, and those that are silent for too long', async () => {
    const proxy = await startMysqlProxy(scope, {
      upstream: db.port,
      args: ['--proxy-login-timeout', '300ms', '--proxy-idle-timeout', '1s'],
    })
    const silent = await RawMysql.open(proxy.port, scope)
    await silent.closed
    const idle = await RawMysql.login(proxy.port, scope)
    await idle.closed
  })
})

describe('a slow reader', () => {
  test('of a long result costs the proxy a bounded memory, and receives all of it later', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: db.port })
    const before = memoryOf(proxy)
    const client = await RawMysql.login(proxy.port, scope)
    client.socket.pause()
    const rows = 300
    client.command(query, `SELECT REPEAT('x', 1000000) FROM mysql.seq_1_to_${rows}`)
    // The server waits for its reader, so that a second statement on another connection shows it where it waits.
    const other = await connectTo(proxy.port)
    await retried(async () => {
      const [states] = await other.query(
        "SELECT 1 FROM information_schema.processlist WHERE state = 'Writing to net'",
      )
      assert.equal((states as unknown[]).length, 1)
    })
    const grown = memoryOf(proxy) - before
    assert.ok(grown < 64, `it grew by ${grown} MiB`)
    client.socket.resume()
    await client.packet()
    await client.packet()
    await client.packet()
    for (let row = 0; row < rows; row++) assert.equal((await client.packet()).length, 1_000_008)
  })

  test('is dropped after the time that it may leave results unread', async () => {
    const proxy = await startMysqlProxy(scope, {
      upstream: db.port,
      args: ['--proxy-unread-timeout', '1s'],
    })
    const client = await RawMysql.login(proxy.port, scope)
    client.socket.pause()
    client.command(query, "SELECT REPEAT('x', 1000000) FROM mysql.seq_1_to_300")
    const other = await connectTo(proxy.port)
    await retried(async () => {
      const [open] = await other.query(
        "SELECT 1 FROM information_schema.processlist WHERE info LIKE '%REPEAT%' AND info NOT LIKE '%processlist%'",
      )
      assert.equal((open as unknown[]).length, 0)
    })
  })
})

describe('a half-open connection', () => {
  test('of a client that has ended its side brings the replies to what it has sent', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: db.port })
    const client = await RawMysql.login(proxy.port, scope)
    client.socket.end(packetOf(commandOf(query, 'INSERT INTO t VALUES (1)')))
    // In this database there is no table: the connection has none chosen.
    assert.equal((await client.packet())[4], 0xff)
    await client.closed
  })

  test('of a client that is gone carries out what was sent', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: db.port })
    const client = await RawMysql.login(proxy.port, scope, { database: 'shop' })
    client.socket.write(packetOf(commandOf(query, 'INSERT INTO t VALUES (77)')), () =>
      client.socket.destroy(),
    )
    const other = await connectTo(proxy.port)
    await retried(async () => {
      const [rows] = await other.query('SELECT id FROM t WHERE id = 77')
      assert.equal((rows as unknown[]).length, 1)
    })
  })

  test('of the server is ended for the client', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: db.port })
    const client = await RawMysql.login(proxy.port, scope)
    const [row] = await db.admin(
      "SELECT id FROM information_schema.processlist WHERE user = 'fahao' ORDER BY id DESC LIMIT 1",
    )
    await db.admin(`KILL ${row?.id}`)
    await client.closed
  })
})

describe('hostile bytes', () => {
  test('end their own connection only', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: db.port })
    const other = await connectTo(proxy.port)
    const hostile: Buffer[] = [
      Buffer.alloc(100_000, 0xff),
      Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
      packetOf(Buffer.alloc(0), 1),
      packetOf(Buffer.alloc(31, 0xff), 1),
      packetOf(Buffer.alloc(32, 0xff), 1),
      packetOf(Buffer.alloc(5000, 0xff), 1),
      Buffer.from([0xff, 0xff, 0xff, 1]),
    ]
    for (const bytes of hostile) {
      for (const isLoggedIn of [true, false]) {
        const client = isLoggedIn
          ? await RawMysql.login(proxy.port, scope)
          : await RawMysql.open(proxy.port, scope)
        client.socket.end(bytes)
        await drained(client.socket)
        assert.deepEqual((await other.query('SELECT 1 AS one'))[0], [{ one: 1 }])
      }
    }
    assert.equal(proxy.process.exit(), undefined)
    assert.doesNotMatch(proxy.process.output(), /failed/)
  })

  test('of a client that asks for more than was offered do not change the packets', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: db.port })
    const client = await RawMysql.open(proxy.port, scope)
    const greeting = await client.packet()
    const offered =
      (greeting.readUInt16LE(greeting.indexOf(0, 5) + 19) << 16) |
      greeting.readUInt16LE(greeting.indexOf(0, 5) + 14)
    assert.equal(offered & ((1 << 5) | (1 << 11)), 0)
    client.send(responseTo(greeting, { flags: (1 << 5) | (1 << 11) }), 1)
    assert.equal((await client.packet())[4], 0)
    client.command(14)
    assert.equal((await client.packet())[4], 0)
  })
})

describe('a stop', () => {
  test('ends idle connections at once, also one with half a statement, and one in a transaction after it', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: db.port, args: ['--shutdown-timeout', '10m'] })
    const idle = await RawMysql.login(proxy.port, scope)
    const halfway = await RawMysql.login(proxy.port, scope)
    const half = packetOf(commandOf(query, 'DELETE FROM shop.t')).subarray(0, 20)
    halfway.socket.write(Buffer.concat([packetOf(commandOf(query, 'DO 1')), half]))
    await halfway.packet()
    const busy = await connectTo(proxy.port)
    await busy.query('START TRANSACTION')
    await busy.query('INSERT INTO t VALUES (5)')
    proxy.process.signal('SIGTERM')
    await Promise.all([idle.closed, halfway.closed])
    await busy.query('INSERT INTO t VALUES (6)')
    await busy.query('COMMIT')
    assert.deepEqual(await proxy.process.exited, { code: 0, signal: null })
    const rows = await db.admin('SELECT id FROM shop.t WHERE id IN (5, 6)')
    assert.equal(rows.length, 2)
  })

  test('drops at the deadline what is still under way', async () => {
    const proxy = await startMysqlProxy(scope, { upstream: db.port, args: ['--shutdown-timeout', '100ms'] })
    const busy = await connectTo(proxy.port)
    const pending = assert.rejects(busy.query('SELECT SLEEP(60)'))
    proxy.process.signal('SIGTERM')
    assert.deepEqual(await proxy.process.exited, { code: 0, signal: null })
    await pending
  })
})

/** Resident memory of a proxy, in MiB. */
function memoryOf({ process }: MysqlProxy): number {
  const [, kib] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${process.pid}/status`, 'utf8'))!
  return Number(kib) / 1024
}

/** Tries again until it works. */
async function retried<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === 200) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/** Resolves when the other side has ended. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve()
    socket.once('close', () => resolve())
    socket.resume()
  })
}
