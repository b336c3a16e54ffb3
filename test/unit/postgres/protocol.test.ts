import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import {
  bind,
  describeOf,
  execute,
  fieldsOf,
  framed,
  int32,
  message,
  parse,
  query,
  serve,
  serveOrder,
  startup,
  sync,
} from './serve.ts'

const sequence = { kind: 'sequence' } as const

describe('the start of a connection', () => {
  test('tells the session, and may be cut anywhere', async (t) => {
    const { raw, faults } = await serve(t)
    const client = await raw()
    for (const byte of startup({ user: 'app', database: 'ids', application_name: 'tests' })) {
      client.send(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    const messages = await client.until('Z')
    assert.equal(
      messages
        .map(({ type }) => type)
        .join('')
        .replaceAll(/S+/g, 'S'),
      'RSKZ',
    )
    const settings = messages
      .filter(({ type }) => type === 'S')
      .map(({ body }) => body.toString().split('\0').slice(0, 2).join('='))
    assert.deepEqual(settings, [
      'application_name=tests',
      'client_encoding=UTF8',
      'DateStyle=ISO, MDY',
      'default_transaction_read_only=off',
      'in_hot_standby=off',
      'integer_datetimes=on',
      'IntervalStyle=postgres',
      'is_superuser=off',
      'server_encoding=UTF8',
      'server_version=15.0 (Fahao 1.2.3)',
      'session_authorization=app',
      'standard_conforming_strings=on',
      'TimeZone=UTC',
    ])
    assert.equal(messages.find(({ type }) => type === 'K')!.body.length, 8)
    assert.deepEqual(faults, [])
  })

  test('answers requests for encryption that there is not', async (t) => {
    const { raw } = await serve(t)
    const client = await raw()
    client.send(framed(int32(80877104)))
    assert.equal(await client.byte(), 'N')
    client.send(framed(int32(80877103)))
    assert.equal(await client.byte(), 'N')
    client.send(startup({ user: 'app' }))
    assert.equal((await client.until('Z')).at(-1)!.type, 'Z')
  })

  test('negotiates versions and options of protocol 3', async (t) => {
    const { raw } = await serve(t)
    const first = async (version: number, more = {}) => {
      const client = await raw()
      client.send(startup({ user: 'app', ...more }, version))
      const messages = await client.until('Z')
      const [start] = messages
      const key = messages.find(({ type }) => type === 'K')!.body
      return [start!.type, start!.type === 'v' ? start!.body.toString('hex') : '', key.length] as const
    }
    assert.deepEqual(await first(0x3_0000), ['R', '', 8])
    assert.deepEqual(await first(0x3_0002), ['R', '', 36])
    assert.deepEqual(await first(0x3_0001), ['v', '0000000000000000', 8])
    assert.deepEqual(await first(0x3_270f), ['v', '0000000200000000', 36])
    const unknown = Buffer.from('_pq_.speed\0').toString('hex')
    assert.deepEqual(await first(0x3_0000, { '_pq_.speed': '1' }), ['v', `0000000000000001${unknown}`, 8])
  })

  test('refuses what it cannot be, and ends', async (t) => {
    const { raw, faults, server } = await serve(t)
    const refused: readonly (readonly [start: Buffer, sqlState: string])[] = [
      [startup({ user: 'app' }, 0x2_0000), '0A000'],
      [startup({ database: 'ids' }), '28000'],
      [startup({ user: 'app', replication: 'database' }), '0A000'],
      [startup({ user: 'app', client_encoding: 'LATIN1' }), '22023'],
      [startup({ user: 'app', nonsense: '1' }), '42704'],
      [startup({ user: 'app', options: '-c' }), '08P01'],
      [startup({ user: 'app', options: '-x' }), '08P01'],
      [int32(3), '08P01'],
      [int32(-1), '08P01'],
      [int32(2 ** 31 - 1), '08P01'],
      [int32(10_005), '08P01'],
      [framed(int32(0x3_0000), Buffer.from('user')), '08P01'],
      [framed(), '08P01'],
      [framed(int32(0x3_0000), Buffer.from([0x75, 0, 0xff, 0xfe, 0, 0])), '22021'],
      [Buffer.from('GET / HTTP/1.1\r\n\r\n'), '08P01'],
    ]
    for (const [start, sqlState] of refused) {
      const client = await raw()
      client.send(start)
      const { S, C, M } = await client.error()
      assert.deepEqual([S, C], ['FATAL', sqlState], M)
      await client.ended
    }
    assert.deepEqual(faults, [])
    while (server.stats.pending > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  test('takes settings from options, and keeps them through RESET', async (t) => {
    const { client } = await serve(t)
    const connected = await client({ options: '-c statement_timeout=5s --search_path=a\\ b -capp.x=1' })
    const shown = async (name: string) => Object.values((await connected.query(`SHOW ${name}`)).rows[0]!)[0]
    assert.equal(await shown('statement_timeout'), '5s')
    assert.equal(await shown('search_path'), 'a b')
    assert.equal(await shown('app.x'), '1')
    await connected.query('SET statement_timeout = 7; RESET ALL')
    assert.equal(await shown('statement_timeout'), '5s')
  })
})

describe('a simple query', () => {
  test('gives each statement its result, and one ReadyForQuery', async (t) => {
    const { session } = await serveOrder(t)
    const client = await session()
    const cases: readonly (readonly [text: string, types: string])[] = [
      ["SELECT nextval('order')", 'TDCZI'],
      ["SELECT nextval('order');", 'TDCZI'],
      ["SELECT nextval('order'); SELECT lastval(); ; SHOW timezone", 'TDCTDCTDCZI'],
      ["SELECT nextval('order') FROM generate_series(1, 3)", 'TDDDCZI'],
      ["SELECT nextval('order') FROM generate_series(1, 0)", 'TCZI'],
      ['', 'IZI'],
      [' ; ;-- nothing\n', 'IZI'],
      ['BEGIN', 'CZT'],
      ["SELECT nextval('order')", 'TDCZT'],
      ["SELECT nextval('missing')", 'EZE'],
      ["SELECT nextval('order')", 'EZE'],
      ['nonsense', 'EZE'],
      ['COMMIT', 'CZI'],
      ['COMMIT', 'NCZI'],
      ["SELECT nextval('order'); SELECT nextval('missing'); SELECT nextval('order')", 'TDCEZI'],
      ["SELECT nextval('order'); nonsense", 'EZI'],
      ["SET application_name = 'x'", 'CSZI'],
      ["SET application_name = 'x'", 'CZI'],
    ]
    for (const [text, types] of cases) {
      client.send(query(text))
      assert.equal(await client.types(), types, text)
    }
  })

  test('is answered the same, whatever the chunks', async (t) => {
    const { session } = await serveOrder(t)
    const client = await session()
    client.socket.setNoDelay(true)
    const bytes = Buffer.concat([query("SELECT nextval('order')"), query('SHOW timezone'), message('X')])
    for (const byte of bytes) {
      client.send(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.equal(await client.types(), 'TDCZI')
    assert.equal(await client.types(), 'TDCZI')
    await client.ended
  })

  test('without its end gets an error and its own ReadyForQuery', async (t) => {
    const { session } = await serve(t)
    const client = await session()
    client.send(message('Q', Buffer.from('SELECT 1')), query('SELECT 2'), message('Q'), query('BEGIN'))
    assert.deepEqual(
      [await client.types(), await client.types(), await client.types(), await client.types()],
      ['EZI', 'TDCZI', 'EZI', 'CZT'],
    )
  })

  test('of many at once is answered in order', async (t) => {
    const { session } = await serveOrder(t)
    const client = await session()
    client.send(...Array.from({ length: 500 }, () => query("SELECT nextval('order')")))
    for (let id = 1; id <= 500; id++) {
      const [, row] = await client.until('Z')
      assert.equal(row!.body.subarray(6).toString(), String(id))
    }
  })
})

describe('the extended protocol', () => {
  test('prepares, binds, describes and executes', async (t) => {
    const { session } = await serveOrder(t)
    const client = await session()
    client.send(parse('s', "SELECT nextval('order')"), describeOf('S', 's'), sync)
    const [, parameters, columns] = await client.until('Z')
    assert.deepEqual([parameters!.type, parameters!.body.toString('hex')], ['t', '0000'])
    assert.equal(
      columns!.body.toString('hex'),
      `0001${Buffer.from('nextval\0').toString('hex')}000000000000000000140008ffffffff0000`,
    )
    client.send(bind('', 's'), describeOf('P', ''), execute(), sync)
    assert.equal(await client.types(), '2TDCZI')
    client.send(
      bind('p', 's', [], { results: [1] }),
      describeOf('P', 'p'),
      execute('p'),
      message('C', Buffer.from('P'), 'p'),
      sync,
    )
    const replies = await client.until('Z')
    assert.equal(replies.map(({ type }) => type).join(''), '2TDC3Z')
    assert.equal(replies[1]!.body.toString('hex').slice(-4), '0001')
    assert.equal(replies[2]!.body.toString('hex'), '0001000000080000000000000002')
    client.send(message('C', Buffer.from('S'), 's'), bind('', 's'), sync)
    assert.equal((await client.error()).C, '26000')
    assert.equal(await client.types(), 'ZI')
  })

  test('takes parameters in text and binary', async (t) => {
    const { session } = await serveOrder(t)
    const client = await session()
    const four = Buffer.from([0, 0, 0, 3])
    client.send(parse('s', 'SELECT nextval($1) FROM generate_series(1, $2)'), describeOf('S', 's'), sync)
    assert.equal((await client.until('Z'))[1]!.body.toString('hex'), '0002000008' + '9d00000017')
    client.send(bind('', 's', ['order', four], { formats: [0, 1] }), execute(), sync)
    assert.equal(await client.types(), '2DDDCZI')
    client.send(parse('v', 'SELECT nextval($1)', [1043]), bind('', 'v', ['Order']), execute(), sync)
    assert.equal(await client.types(), '12DCZI')
    client.send(bind('', 'v', [null]), execute(), sync)
    const [, row] = await client.until('Z')
    assert.equal(row!.body.toString('hex'), '0001ffffffff')
    const wrong: readonly (readonly [Buffer, string])[] = [
      [bind('', 's', ['order']), '08P01'],
      [bind('', 's', ['order', 'x']), ''],
      [bind('', 's', ['order', Buffer.alloc(7)], { formats: [0, 1] }), '22P03'],
      [bind('', 's', ['order', '1'], { formats: [0, 2] }), '22023'],
      [bind('', 's', ['order', '1'], { formats: [0, 0, 0] }), '08P01'],
      [bind('', 's', ['order', '1'], { results: [0, 1] }), '08P01'],
      [bind('', 's', [Buffer.from([0xff]), '1']), '22021'],
      [bind('', 'none'), '26000'],
    ]
    for (const [bytes, sqlState] of wrong) {
      client.send(bytes, execute(), sync)
      assert.equal((await client.error()).C, sqlState || '22P02')
      assert.equal(await client.types(), 'ZI')
    }
  })

  test('skips to Sync after an error', async (t) => {
    const { session, node } = await serve(t)
    const { catalogue } = node
    await catalogue.create('order', sequence)
    const client = await session()
    client.send(
      parse('', "SELECT nextval('missing')"),
      bind('', ''),
      execute(),
      bind('', ''),
      execute(),
      query("SELECT nextval('order')"),
      parse('kept', "SELECT nextval('order')"),
      sync,
      bind('', 'kept'),
      sync,
    )
    assert.equal(await client.types(), '12EZI')
    assert.equal((await client.error()).C, '26000')
    assert.equal(await client.types(), 'ZI')
    assert.equal(catalogue.find('order')?.lastIssued(), undefined)
  })

  test('describes statements with as many parameters as messages can count', async (t) => {
    const { session } = await serve(t)
    const client = await session()
    for (const count of [32_767, 32_768, 65_500]) {
      const types = Buffer.alloc(count * 4, int32(25))
      client.send(message('P', 's', 'SELECT 1', count, types), describeOf('S', 's'))
      client.send(message('C', Buffer.from('S'), 's'), sync)
      const [, parameters, ...others] = await client.until('Z')
      assert.equal(parameters!.body.readUInt16BE(), count)
      assert.equal(parameters!.body.length, 2 + count * 4)
      assert.equal(others.map(({ type }) => type).join(''), 'T3Z')
    }
  })

  test('describes no rows in a transaction that has failed', async (t) => {
    const { session } = await serve(t)
    const client = await session()
    client.send(parse('rows', 'SELECT 1'), parse('end', 'ROLLBACK'), query('BEGIN; nonsense'), query('BEGIN'))
    client.send(query('nonsense'), describeOf('S', 'end'), sync, describeOf('S', 'rows'), sync)
    for (const types of ['11EZI', 'CZT', 'EZE', 'tnZE']) assert.equal(await client.types(), types)
    assert.equal((await client.error()).C, '25P02')
    assert.equal(await client.types(), 'ZE')
  })

  test('gives rows in parts', async (t) => {
    const { session } = await serveOrder(t)
    const client = await session()
    client.send(parse('', "SELECT nextval('order') FROM generate_series(1, 5)"), bind('p', ''))
    client.send(execute('p', 2), execute('p', 2), execute('p', 2), execute('p', 2), sync)
    const messages = await client.until('Z')
    assert.equal(messages.map(({ type }) => type).join(''), '12DDsDDsDCCZ')
    const tags = messages.filter(({ type }) => type === 'C').map(({ body }) => body.toString())
    assert.deepEqual(tags, ['SELECT 1\0', 'SELECT 0\0'])
    client.send(execute('p'), sync)
    assert.equal((await client.error()).C, '34000')
  })

  test('keeps portals and statements as long as PostgreSQL', async (t) => {
    const { session } = await serveOrder(t)
    const client = await session()
    const draws = "SELECT nextval('order')"
    const errors: readonly (readonly [parts: Buffer[], sqlState: string])[] = [
      [[parse('s', draws), parse('s', draws)], '42P05'],
      [[parse('', draws), bind('p', ''), bind('p', '')], '42P03'],
      [[parse('', `${draws}; ${draws}`)], '42601'],
      [[parse('', draws, [0])], '42P18'],
      [[describeOf('P', 'none')], '34000'],
      [[execute('none')], '34000'],
      [[message('D', Buffer.from('X'), '')], '08P01'],
      [[message('C', Buffer.from('X'), '')], '08P01'],
      [[parse('', 'SET timezone = 1'), bind('', ''), execute(), execute()], '55000'],
      [[query(draws), bind('', '')], '26000'],
    ]
    for (const [parts, sqlState] of errors) {
      client.send(...parts, sync)
      const { C, M } = await client.error()
      assert.equal(C, sqlState, M)
      await client.until('Z')
    }
    client.send(parse('', ''), bind('', ''), describeOf('P', ''), execute(), sync)
    assert.equal(await client.types(), '12nIZI')
    client.send(message('F', int32(0), 0, 0, 0))
    assert.equal(await client.types(), 'EZI')
    client.send(message('d', Buffer.from('x')), message('H'), sync)
    assert.equal(await client.types(), 'ZI')
  })
})

describe('a broken client', () => {
  test('is told, and costs its connection only', async (t) => {
    const { session, faults } = await serveOrder(t)
    const broken: readonly (readonly [bytes: Buffer, sqlState: string])[] = [
      [Buffer.from([0x51, 0, 0, 0, 3]), '08P01'],
      [Buffer.from([0x51, 0xff, 0xff, 0xff, 0xff]), '08P01'],
      [Buffer.from([0x51, 0x7f, 0xff, 0xff, 0xff]), '08P01'],
      [message('?'), '08P01'],
      [message('p', 'password'), '08P01'],
    ]
    const bystander = await session()
    for (const [bytes, sqlState] of broken) {
      const client = await session()
      client.send(bytes)
      const { S, C } = await client.error()
      assert.deepEqual([S, C], ['FATAL', sqlState], bytes.toString('hex'))
      await client.ended
    }
    const short = [
      message('Q'),
      message('Q', Buffer.from('SELECT 1')),
      message('P', ''),
      message('B', ''),
      message('D', Buffer.from('P')),
    ]
    for (const bytes of short) {
      const client = await session()
      client.send(bytes, sync)
      const { S, C } = await client.error()
      assert.deepEqual([S, C], ['ERROR', '08P01'], bytes.toString('hex'))
      assert.match(await client.types(), /^ZI/)
    }
    bystander.send(query("SELECT nextval('order')"))
    assert.equal(await bystander.types(), 'TDCZI')
    assert.deepEqual(faults, [])
  })

  test('may end its side: what it has asked for is answered', async (t) => {
    const { session } = await serveOrder(t)
    const client = await session()
    client.socket.end(query("SELECT nextval('order')"))
    assert.equal(await client.types(), 'TDCZI')
    await client.ended
  })

  test('is refused beyond the limit of connections', async (t) => {
    const { raw, session, server } = await serve(t, { limits: { connectionsMax: 1 } })
    const first = await session()
    const second = await raw()
    assert.deepEqual(fieldsOf((await second.until('E'))[0]!.body).C, '53300')
    first.socket.destroy()
    await once(first.socket, 'close')
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    await session()
    assert.equal(server.stats.rejected.limit, 1)
  })

  test('that does not log in is dropped after a while', async (t) => {
    const { raw, server } = await serve(t, { limits: { unauthenticatedTimeoutMs: 20 } })
    const client = await raw()
    client.send(Buffer.from([0]))
    await client.ended
    assert.equal(await client.next(), undefined)
    while (server.stats.pending > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  test('that is silent is told so and ended where that is configured', async (t) => {
    const { session } = await serve(t, { limits: { idleTimeoutMs: 2000 } })
    const client = await session()
    assert.equal((await client.error()).C, '57P05')
    await client.ended
  })

  test('that an administrator ends gets the result that is being sent, and no statement runs after it', async (t) => {
    const { session, server, node } = await serveOrder(t)
    const client = await session()
    client.send(query("SELECT nextval('order') FROM generate_series(1, 20000);".repeat(20)))
    await client.until('D')
    for (const each of server.sessions()) each.close()
    const types = (await client.until('E')).map(({ type }) => type).join('')
    assert.match(types.replaceAll(/D+/g, 'D'), /^DC(?:TDC)*E$/)
    const results = types.match(/C/g)!.length
    assert.equal(types.match(/D/g)!.length, results * 20_000 - 1)
    assert.ok(results < 10, `${results} results`)
    await client.ended
    assert.equal(node.catalogue.find('order')!.lastIssued(), BigInt(results) * 20_000n)
  })

  test('that an administrator ends is told so', async (t) => {
    const { session, server } = await serve(t)
    const client = await session()
    for (const each of server.sessions()) each.close()
    assert.deepEqual([(await client.error()).C, await client.next()], ['57P01', undefined])
  })
})

test('a server that stops says so to idle clients', async (t) => {
  const { session, server } = await serve(t)
  const client = await session()
  const closed = server.close(5000)
  assert.equal((await client.error()).C, '57P01')
  await client.ended
  client.socket.end()
  await closed
})

test('a clean stop answers what was received', async (t) => {
  const { session, server } = await serveOrder(t)
  const client = await session()
  client.send(query("SELECT nextval('order') FROM generate_series(1, 1000)"))
  assert.equal((await client.next())!.type, 'T')
  const closed = server.close(5000)
  assert.match(await client.types(), /^D{1000}CZI$/)
  assert.equal((await client.error()).C, '57P01')
  client.socket.end()
  await closed
})
