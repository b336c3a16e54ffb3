/** The MySQL proxy as a relay: what a client sees through it is what it sees without it. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { owner, password } from '../../launch/database.ts'
import { Scope } from '../../launch/lifetime.ts'
import type { MariaDb } from '../../launch/mariadb.ts'
import { startMysql } from '../../launch/mysql.ts'
import { type MysqlProxy, startMysqlProxy } from '../../launch/mysql-proxy.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { runProgram } from '../../launch/program.ts'
import { commandOf, deprecateEof, packetOf, RawMysql, type RawMysqlOptions } from '../../launch/raw-mysql.ts'

const scope = new Scope()
const commands = {
  initDb: 2,
  query: 3,
  fieldList: 4,
  processKill: 12,
  debug: 13,
  ping: 14,
  changeUser: 17,
  prepare: 0x16,
  execute: 0x17,
  longData: 0x18,
  close: 0x19,
  reset: 0x1a,
  setOption: 0x1b,
  fetch: 0x1c,
  resetConnection: 0x1f,
} as const
let db: MariaDb
let proxy: MysqlProxy

before(async () => {
  db = await startMysql(scope, { 'max-allowed-packet': '64M', 'local-infile': 1 })
  await db.admin(`CREATE DATABASE shop; GRANT ALL PRIVILEGES ON *.* TO ${owner}@'127.0.0.1'`)
  proxy = await startMysqlProxy(scope, { upstream: db.port })
})
after(() => scope.end())

async function connectTo(port: number): Promise<Connection> {
  const connection = await createConnection({
    host: '127.0.0.1',
    port,
    user: owner,
    password,
    database: 'shop',
    multipleStatements: true,
  })
  scope.after(async () => connection.destroy())
  return connection
}

describe('mysql2 through the proxy', () => {
  let client: Connection
  before(async () => {
    client = await connectTo(proxy.port)
  })

  test('reads results of several statements, of text and prepared ones, and errors', async () => {
    await client.query('CREATE TABLE notes (id BIGINT PRIMARY KEY AUTO_INCREMENT, body LONGTEXT)')
    const [inserted] = await client.query("INSERT INTO notes (body) VALUES ('a'), ('b')")
    assert.partialDeepStrictEqual(inserted, { affectedRows: 2, insertId: 1 })
    const [results] = await client.query('SELECT 1 AS a; SELECT 2 AS b; DO 1; SELECT body FROM notes')
    assert.partialDeepStrictEqual(results, [[{ a: 1 }], [{ b: 2 }], {}, [{ body: 'a' }, { body: 'b' }]])
    const [rows] = await client.execute('SELECT body FROM notes WHERE id = ?', [2])
    assert.deepEqual(rows, [{ body: 'b' }])
    await assert.rejects(client.query('SELECT nothing FROM nowhere'), { errno: 1146 })
    await assert.rejects(client.query('SELECT 1; SELEC 2'), { errno: 1064 })
    assert.deepEqual((await client.query('SELECT 3 AS c'))[0], [{ c: 3 }])
  })

  test('changes the user, resets the connection, pings', async () => {
    await client.query('SET @mine = 1')
    await client.changeUser({ user: owner, password, database: 'shop' })
    assert.deepEqual((await client.query('SELECT @mine AS mine'))[0], [{ mine: null }])
    await client.ping()
  })

  test('receives what a procedure selects', async () => {
    await client.query('CREATE PROCEDURE two() BEGIN SELECT 1 AS a; SELECT 2 AS b; END')
    const [results] = await client.query('CALL two()')
    assert.partialDeepStrictEqual(results, [[{ a: 1 }], [{ b: 2 }]])
  })

  test('sends and receives values of more than 16 MiB, and of exactly one part', async () => {
    for (const length of [2 ** 24 - 1, 2 ** 24 + 5, 40_000_000]) {
      const [sent] = await client.execute('INSERT INTO notes (body) VALUES (?)', ['é'.repeat(length / 2)])
      const { insertId } = sent as { insertId: number }
      const [[row]] = await client.query<RowDataPacket[]>('SELECT body FROM notes WHERE id = ?', [insertId])
      assert.equal(row?.body, 'é'.repeat(length / 2))
    }
    const one = 2 ** 24 - 1 - "SELECT LENGTH('')".length - 1
    const [[row]] = await client.query<RowDataPacket[]>(`SELECT LENGTH('${'x'.repeat(one)}')`)
    assert.deepEqual(Object.values(row!), [one])
  })
})

describe('the mariadb program through the proxy', () => {
  const run = (sql: string, ...args: string[]) =>
    runProgram(
      [
        'mariadb',
        '--no-defaults',
        ...['--host=127.0.0.1', `--port=${proxy.port}`, `--user=${owner}`],
        ...[`--password=${password}`, '--batch', '--skip-column-names', ...args, 'shop'],
      ],
      { input: sql },
    )

  test('runs statements, and loads a local file', async () => {
    const file = join(temporaryFolder(scope), 'rows.csv')
    writeFileSync(file, Array.from({ length: 50_000 }, (_, at) => `${at},row ${at}\n`).join(''))
    const printed = await run(
      `CREATE TABLE loaded (id INT PRIMARY KEY, name TEXT);
       LOAD DATA LOCAL INFILE '${file}' INTO TABLE loaded FIELDS TERMINATED BY ',';
       SELECT COUNT(*), SUM(id) FROM loaded;
       LOAD DATA LOCAL INFILE '${file}' IGNORE INTO TABLE loaded FIELDS TERMINATED BY ',';
       SELECT 'end'`,
      '--local-infile=1',
    )
    assert.match(printed, /50000\t1249975000\n[\s\S]*end\n/)
  })

  test('goes on without compression when it asks for it', async () => {
    assert.equal(await run('SELECT 7', '--compress'), '7\n')
  })
})

describe('the packets of', () => {
  // MariaDB takes this number for the statement that was prepared last.
  const newest = [255, 255, 255, 255]
  const ofStatement = (command: number, ...body: number[]) =>
    commandOf(command, Buffer.from([...newest, ...body]))
  const execute = (cursor = 0) => ofStatement(commands.execute, cursor, 1, 0, 0, 0)
  const fetch = ofStatement(commands.fetch, 2, 0, 0, 0)
  const query = (sql: string) => commandOf(commands.query, sql)
  const prepare = (sql: string) => commandOf(commands.prepare, sql)

  const cases: Record<string, Buffer[]> = {
    'OK and ERR': [
      query('DO 1'),
      query('SELEC'),
      commandOf(commands.ping),
      commandOf(commands.initDb, 'shop'),
    ],
    'a result': [query("SELECT 1, 'two', NULL UNION SELECT 2, REPEAT('x', 300), 'y'")],
    'an empty result': [query('SELECT 1 FROM DUAL WHERE FALSE')],
    'several results': [
      query('SELECT 1; DO 1; SELECT 2 WHERE FALSE; SELECT 3'),
      query('SELECT 1; SELEC; SELECT 2'),
    ],
    'an error among rows': [query('SELECT (SELECT seq UNION SELECT 2) FROM seq_1_to_9')],
    'long rows': [query("SELECT REPEAT('x', 70000), REPEAT('y', 16777300), REPEAT('z', 16777206)")],
    'prepared statements': [
      prepare('SELECT 1, 2'),
      execute(),
      execute(),
      prepare('DO 1'),
      execute(),
      prepare('SELEC'),
      execute(),
      prepare('SELECT ?, ? FROM DUAL'),
      ofStatement(commands.longData, 0, 0, 65),
      execute(),
      ofStatement(commands.reset),
      ofStatement(commands.close),
      execute(),
    ],
    'a cursor': [prepare('SELECT seq FROM seq_1_to_5'), execute(1), fetch, fetch, fetch, fetch, execute()],
    'lists of fields': [commandOf(commands.fieldList, 'user\0'), commandOf(commands.fieldList, 'nothing\0')],
    'a reset, options, and a report': [
      commandOf(commands.resetConnection),
      commandOf(commands.setOption, Buffer.from([1, 0])),
      query('SELECT 1; SELECT 2'),
      commandOf(commands.setOption, Buffer.from([0, 0])),
      commandOf(commands.debug),
      commandOf(commands.processKill, Buffer.from([0, 0, 0, 99])),
    ],
  }
  const kinds: Record<string, RawMysqlOptions> = {
    'with EOF packets': {},
    'without EOF packets': { flags: deprecateEof },
  }

  for (const [kind, options] of Object.entries(kinds)) {
    for (const [name, sent] of Object.entries(cases)) {
      for (const isPipelined of [true, false]) {
        test(`${name}, ${kind}, are the same ${isPipelined ? 'all at once' : 'one by one'}`, async () => {
          const [direct, relayed] = await Promise.all(
            [db.port, proxy.port].map((port) => repliesTo(port, sent, isPipelined, options)),
          )
          assert.deepEqual(relayed, direct)
        })
      }
    }
  }

  test('all of them leave the proxy with the knowledge that nothing is under way', async () => {
    const stopping = await startMysqlProxy(scope, {
      upstream: db.port,
      args: ['--shutdown-timeout', '10m'],
    })
    const open: RawMysql[] = []
    for (const options of Object.values(kinds))
      for (const sent of Object.values(cases)) await repliesTo(stopping.port, sent, true, options, open)
    const { code } = await stopping.process.kill('SIGTERM')
    assert.equal(code, 0)
    await Promise.all(open.map(({ closed }) => closed))
  })

  /** The packets of all replies. A command that fails in a known way shows where a reply ends. */
  async function repliesTo(
    port: number,
    sent: Buffer[],
    isPipelined: boolean,
    options: RawMysqlOptions,
    open?: RawMysql[],
  ) {
    const client = await RawMysql.login(port, scope, { ...options, database: 'mysql' })
    const mark = packetOf(commandOf(commands.initDb, 'no_such_place'))
    const packets: string[] = []
    const readToMark = async () => {
      for (;;) {
        const packet = await client.packet()
        if (packet.includes('no_such_place')) return
        // The number of the new statement, which all connections share.
        if (packet.length === 16 && packet[4] === 0) packet.fill(0, 5, 9)
        packets.push(packet.length > 1000 ? `${packet.length} ${packet.at(-1)}` : packet.toString('latin1'))
      }
    }
    if (isPipelined) client.socket.write(Buffer.concat(sent.flatMap((each) => [packetOf(each), mark])))
    for (const each of sent) {
      if (!isPipelined) client.socket.write(Buffer.concat([packetOf(each), mark]))
      packets.push('reply')
      await readToMark()
    }
    if (open === undefined) client.socket.destroy()
    else open.push(client)
    return packets
  }
})
