/** Messages that no honest client sends: mutated, random, cut. The server answers or ends the connection, and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { turns } from '../../../src/listening/turns.ts'
import {
  bind,
  describeOf,
  execute,
  int32,
  message,
  parse,
  query,
  type RawPostgres,
  type Served,
  serve,
  serveOrder,
  startup,
  sync,
} from './serve.ts'

const runs = 150

/** Honest messages of each kind. */
const honest: readonly Buffer[] = [
  query("SELECT nextval('order')"),
  query("SELECT nextval('order') FROM generate_series(1, 10); SHOW ALL; SELECT lastval()"),
  query('BEGIN; SAVEPOINT a; ROLLBACK TO a; COMMIT'),
  parse('s', 'SELECT nextval($1) FROM generate_series(1, $2)', [25, 20]),
  bind('p', 's', ['order', '3'], { formats: [0, 0], results: [1] }),
  describeOf('S', 's'),
  describeOf('P', 'p'),
  execute('p', 2),
  message('C', Buffer.from('S'), 's'),
  message('C', Buffer.from('P'), 'p'),
  message('H'),
  message('F', int32(1), 0, 0, 0),
  message('d', Buffer.from('data')),
  sync,
]

/** Some honest messages, of which bytes are replaced, inserted and removed. */
const mutated = fc
  .record({
    picks: fc.array(fc.nat(honest.length - 1), { minLength: 1, maxLength: 8 }),
    edits: fc.array(fc.record({ at: fc.nat(), kind: fc.nat(2), byte: fc.nat(255) }), { maxLength: 6 }),
  })
  .map(({ picks, edits }) => {
    let bytes = Buffer.concat(picks.map((pick) => honest[pick]!))
    for (const { at, kind, byte } of edits) {
      const index = at % (bytes.length + 1)
      const [before, after] = [bytes.subarray(0, index), bytes.subarray(index + (kind === 1 ? 0 : 1))]
      bytes = Buffer.concat([before, kind === 2 ? Buffer.alloc(0) : Buffer.from([byte]), after])
    }
    return bytes
  })

/** Sends bytes and the end of the stream, and waits for the end of the connection. */
async function exhaust(client: RawPostgres, bytes: Buffer): Promise<void> {
  client.socket.end(bytes)
  for (;;) {
    const received = await client.next()
    if (received === undefined) return
    assert.match(received.type, /^[A-Za-z0-9]$/)
  }
}

async function stillServes({ session, faults }: Served): Promise<void> {
  const client = await session()
  client.send(query("SELECT nextval('order')"))
  assert.equal(await client.types(), 'TDCZI')
  client.socket.destroy()
  assert.deepEqual(faults, [])
}

test('mutated messages are answered or refused', async (t) => {
  const served = await serveOrder(t)
  const property = fc.asyncProperty(mutated, async (bytes) => exhaust(await served.session(), bytes))
  await fc.assert(property, { numRuns: runs })
  await stillServes(served)
})

test('a short query does not wait for the long ones of many other clients', async (t) => {
  const served = await serve(t)
  const others = await Promise.all(Array.from({ length: 30 }, () => served.session()))
  const client = await served.session()
  let answered = 0
  const all = others.map(async (other, at) => {
    other.send(query(`SELECT ${'1,'.repeat(1600)}${at}`))
    assert.equal(await other.types(), 'TDCZI')
    answered++
  })
  client.send(query('SELECT 1'))
  assert.equal(await client.types(), 'TDCZI')
  assert.ok(answered < 15, `${answered} were answered before it`)
  await Promise.all(all)
})

test('random bytes are refused, before the login and after it', async (t) => {
  const served = await serveOrder(t)
  const random = fc.uint8Array({ maxLength: 200 })
  const property = fc.asyncProperty(random, random, async (first, second) => {
    await exhaust(await served.raw(), Buffer.from(first))
    await exhaust(await served.session(), Buffer.from(second))
    await exhaust(
      await served.raw(),
      Buffer.concat([startup({ user: 'a' }).subarray(0, 8), Buffer.from(first)]),
    )
  })
  await fc.assert(property, { numRuns: runs })
  await stillServes(served)
})

test('a text of any kind compiles or is refused with a SQLSTATE', async (t) => {
  const served = await serveOrder(t)
  const client = await served.session()
  const words = fc.constantFrom(
    ..."select nextval currval lastval setval ( ) , ; :: $1 $2 $0 $99999999999 from generate_series as order set local show begin commit savepoint to rollback create alter drop sequence if exists start with increment by no maxvalue restart cycle -1 1 1e9 1.5 .. . = * - /* */ -- ' \" 'order' \"Order\" E'\\n' $$ $$ U&'\\0041' B'1' regclass bigint all time zone discard reset deallocate prepare".split(
      ' ',
    ),
  )
  const texts = fc.oneof(
    fc.array(words, { maxLength: 20 }).map((all) => all.join(' ')),
    fc.string({ unit: 'binary', maxLength: 60 }),
  )
  const property = fc.asyncProperty(texts, async (text) => {
    client.send(parse('', text.replaceAll('\0', '')), sync)
    const [first] = await client.until('Z')
    if (first!.type === 'E') assert.match(first!.body.toString(), /\0C[0-9A-Z]{5}\0/)
    else assert.equal(first!.type, '1')
  })
  await fc.assert(property, { numRuns: 1000 })
  assert.deepEqual(served.faults, [])
  await stillServes(served)
})

test('long and deep texts take bounded time and memory', async (t) => {
  const { session, faults } = await serve(t, { limits: { messageMaxBytes: 1_048_576 } })
  const client = await session()
  const texts: readonly (readonly [text: string, sqlState: string])[] = [
    [`SELECT nextval('${'a'.repeat(500_000)}')`, ''],
    ['('.repeat(500_000), ''],
    [`SELECT ${'('.repeat(100_000)}`, ''],
    ['/*'.repeat(2000), '42601'],
    ["'".repeat(600_001), '42601'],
    [`SELECT '${"''".repeat(300_000)}`, '42601'],
    [`"${'a'.repeat(600_000)}`, '42601'],
    [';'.repeat(15_000), 'empty'],
    [`SHOW ${'a.'.repeat(200_000)}a`, ''],
  ]
  for (const [text, sqlState] of texts) {
    client.send(query(text))
    const [first] = await client.until('Z')
    if (sqlState === 'empty') assert.equal(first!.type, 'I')
    else assert.equal(first!.type, 'E')
    if (/^\d/.test(sqlState)) assert.match(first!.body.toString(), new RegExp(`\0C${sqlState}\0`))
  }
  assert.deepEqual(faults, [])
})

test('prepared statements, portals and settings of a connection are bounded', async (t) => {
  const { session } = await serve(t, {
    limits: { statementsMax: 10, portalsMax: 10, statementBytesMax: 1000 },
  })
  const client = await session()
  for (let index = 0; index < 10; index++) client.send(parse(`s${index}`, 'SELECT lastval()'))
  client.send(parse('more', 'SELECT lastval()'), sync)
  assert.equal(await client.types(), '1111111111EZI')
  for (let index = 0; index < 10; index++) client.send(bind(`p${index}`, 's0'))
  client.send(bind('more', 's0'), sync)
  assert.equal(await client.types(), '2222222222EZI')
  client.send(query('DEALLOCATE ALL'), parse('long', `SELECT lastval() -- ${'x'.repeat(1000)}`), sync)
  assert.equal(await client.types(), 'CZI')
  assert.equal(await client.types(), 'EZI')
  for (let index = 0; index < 300; index++) client.send(query(`SET app.x${index} = 1`))
  let refused = 0
  for (let index = 0; index < 300; index++) if ((await client.types()) === 'EZI') refused++
  assert.equal(refused, 100)
})

test('prepared statements that are replaced or removed in any way give their bytes back', async (t) => {
  const { session } = await serve(t, { limits: { statementBytesMax: 500 } })
  const client = await session()
  client.send(parse('kept', 'SELECT lastval()'), sync)
  assert.equal(await client.types(), '1ZI')
  for (let index = 0; index < 30; index++) {
    client.send(parse('', 'SELECT lastval()'), query('BEGIN'), query('ROLLBACK'))
    assert.equal(await client.types(), '1CZT')
    assert.equal(await client.types(), 'CZI')
    client.send(parse('other', 'SELECT lastval()'), sync, query('DEALLOCATE other'))
    assert.equal(await client.types(), '1ZI')
    assert.equal(await client.types(), 'CZI')
  }
})

test('a list of many calls lets others run, and ends when it is cancelled or has too many rows', async (t) => {
  const { session } = await serveOrder(t)
  const client = await session()
  const list = "SELECT nextval('order'), lastval()"
  const before = turns.queued
  client.send(query(`${list} FROM generate_series(1, 5000)`))
  assert.match(await client.types(), /^TD{5000}CZI$/)
  assert.ok(turns.queued - before >= 10)
  client.send(query(`${list} FROM generate_series(1, 5001)`))
  assert.equal((await client.error()).C, '54000')
  await client.until('Z')
  client.send(query(`${list}, g FROM generate_series(1, 3000) g`))
  assert.match(await client.types(), /^TD{3000}CZI$/)
})

test('the settings of a first message are bounded', async (t) => {
  const { raw } = await serve(t)
  const client = await raw()
  const settings = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`a.x${index}`, '1']))
  client.send(startup({ user: 'app', ...settings }))
  assert.equal((await client.error()).C, '54000')
})

test('the rows that portals hold are bounded', async (t) => {
  const { session } = await serveOrder(t, { limits: { rowsHeldMax: 10 } })
  const client = await session()
  client.send(query('BEGIN'), parse('s', "SELECT nextval('order') FROM generate_series(1, 8)"))
  client.send(
    bind('a', 's'),
    execute('a', 1),
    bind('b', 's'),
    execute('b'),
    bind('c', 's'),
    execute('c', 1),
    sync,
  )
  assert.equal(await client.types(), 'CZT')
  assert.equal(await client.types(), '12Ds2DDDDDDDDC2EZE')
  // A transaction that has failed gives no further rows.
  client.send(execute('a', 1), sync)
  assert.equal((await client.error()).C, '25P02')
})

test('all of a long text is parsed before its first statement runs, and they take turns', async (t) => {
  const { session } = await serveOrder(t)
  const client = await session()
  const draws = "SELECT nextval('order');".repeat(1000)
  const before = turns.queued
  client.send(query(`${draws}SELECT`), query(`${draws}SELECT (`), query("SELECT currval('order')"))
  assert.equal(await client.types(), `${'TDC'.repeat(1000)}TDCZI`)
  assert.equal(await client.types(), 'EZI')
  const [, row] = await client.until('Z')
  assert.equal(row!.body.subarray(6).toString(), '1000')
  assert.ok(turns.queued - before > 5, `${turns.queued - before} parts`)
})

const large = 200_000
const holders: readonly (readonly [what: string, ...messages: readonly Buffer[]])[] = [
  [
    'types of parameters',
    parse(
      's',
      '',
      Array.from({ length: 30_000 }, () => 20),
    ),
    sync,
  ],
  ['names of statements', parse('s'.repeat(large), ''), sync],
  [
    'columns of statements',
    ...Array.from({ length: 8 }, (_, at) => parse(`s${at}`, `SELECT ${'*,'.repeat(4)}* FROM pg_class`)),
    sync,
  ],
  [
    'prepared statements of one cached text',
    ...Array.from({ length: 20 }, (_, at) => parse(`s${at}`, 'SELECT *, * FROM pg_class')),
    sync,
  ],
  [
    'statements of PREPARE',
    ...Array.from({ length: 14 }, (_, at) =>
      query(`PREPARE s${at} AS SELECT ${'*,'.repeat(2)}* FROM pg_class`),
    ),
  ],
  ['long statements', parse('s', `SELECT ${"nextval('order'),".repeat(800)}lastval()`), sync],
  [
    'values of portals',
    query('BEGIN'),
    parse('s', 'SELECT nextval($1::text)'),
    bind('p', 's', ['x'.repeat(large)]),
    sync,
  ],
  [
    'statements of portals that were replaced',
    query('BEGIN'),
    ...['a', 'b', 'c', 'd'].flatMap((portal) => [
      parse('', `SELECT ${"nextval('order'),".repeat(300)}lastval()`),
      bind(portal, ''),
    ]),
    sync,
  ],
  ['settings', ...Array.from({ length: 30 }, (_, at) => query(`SET app.x${at} = '${'x'.repeat(4096)}'`))],
  [
    'settings that savepoints go back to',
    query('BEGIN'),
    ...Array.from({ length: 40 }, (_, at) => query(`SAVEPOINT a; SET app.x = '${at}${'x'.repeat(4000)}'`)),
  ],
  ['savepoints', query(`BEGIN${'; SAVEPOINT a'.repeat(900)}`)],
  ['unfinished messages', query(' '.repeat(large)).subarray(0, -1)],
]

for (const [what, ...messages] of holders)
  test(`${what} count in the memory of all clients`, async (t) => {
    const served = await serveOrder(t, { limits: { unreadTotalMaxBytes: large } })
    const client = await served.session()
    client.send(...messages)
    await client.ended
    await stillServes(served)
  })

test('a statement counts once, however many portals it has', async (t) => {
  const served = await serve(t, { limits: { unreadTotalMaxBytes: 2_000_000 } })
  const [other, client] = [await served.session(), await served.session()]
  other.send(parse('s', `SELECT ${'*,'.repeat(4)}* FROM pg_class`), sync)
  assert.equal(await other.types(), '1ZI')
  client.send(query('BEGIN'), parse('long', `SELECT ${'1+1,'.repeat(800)}1`))
  client.send(...Array.from({ length: 90 }, (_, at) => bind(`p${at}`, 'long')), sync)
  assert.equal(await client.types(), 'CZT')
  assert.equal(await client.types(), `1${'2'.repeat(90)}ZT`)
  // Closed, it is kept by its portals, and counts as before.
  client.send(message('C', Buffer.from('S'), 'long'), sync, query('ROLLBACK'))
  assert.deepEqual([await client.types(), await client.types()], ['3ZT', 'CZI'])
  other.send(bind('', 's'), sync)
  assert.equal(await other.types(), '2ZI')
})

test('moves of a cursor take turns with the requests of others', async (t) => {
  const { session } = await serve(t)
  const client = await session()
  client.send(query('BEGIN'), query('DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 50000)'))
  assert.deepEqual([await client.types(), await client.types()], ['CZT', 'CZT'])
  const before = turns.queued
  const moves = ['MOVE ALL c', 'MOVE BACKWARD ALL c']
  client.send(...Array.from({ length: 400 }, (_, at) => query(moves[at % 2]!)))
  for (let index = 0; index < 400; index++) assert.equal(await client.types(), 'CZT')
  assert.ok(turns.queued - before > 6, `${turns.queued - before} parts`)
})
