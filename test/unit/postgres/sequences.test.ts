import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Client } from 'pg'
import { serve, serveOrder } from './serve.ts'

/** The rows of a query, without the names of their columns. */
async function rowsOf(client: Client, text: string, values: readonly unknown[] = []): Promise<unknown[]> {
  const { rows } = await client.query({ text, values: [...values], rowMode: 'array' })
  return rows
}

/** SQLSTATE and message of the error of a query. */
async function errorOf(client: Client, text: string): Promise<string> {
  try {
    await client.query(text)
  } catch (error) {
    const { code, message } = error as Error & { code: string }
    return `${code} ${message}`
  }
  return assert.fail(`no error: ${text}`)
}

/** The notices of a query. */
async function noticesOf(client: Client, text: string): Promise<string[]> {
  const notices: string[] = []
  const listen = ({ severity, code, message }: { severity?: string; code?: string; message?: string }) =>
    void notices.push(`${severity} ${code} ${message}`)
  client.on('notice', listen)
  await client.query(text)
  client.off('notice', listen)
  return notices
}

describe('nextval', () => {
  test('draws from a generator, in every spelling', async (t) => {
    const { client, node } = await serve(t)
    for (const name of ['order', 'Order', 'shop:order', 's.n'])
      await node.catalogue.create(name, { kind: 'sequence' })
    const connected = await client()
    const spellings: readonly (readonly [text: string, generator: string])[] = [
      ["select nextval('order')", 'order'],
      ["SELECT NEXTVAL ( 'ORDER' )", 'order'],
      ["select pg_catalog.nextval('public.order'::regclass)", 'order'],
      [`select nextval('"Order"')`, 'Order'],
      [`select nextval('public."Order"'::text::regclass) as "Id";`, 'Order'],
      ["select /* a /* nested */ comment */ nextval('shop:order') id -- end", 'shop:order'],
      ["select nextval('s.n')::bigint", 's.n'],
      ["select nextval('s.n')::int", 's.n'],
      ["select nextval(E's\\u002en')", 's.n'],
      ['select nextval($$s.n$$)', 's.n'],
    ]
    const drawn = new Map<string, number>()
    for (const [text, generator] of spellings) {
      const id = (drawn.get(generator) ?? 0) + 1
      drawn.set(generator, id)
      for (const [value] of (await rowsOf(connected, text)) as [string | number][])
        assert.equal(Number(value), id, text)
    }
  })

  test('gives several ids at once, each its own, in the order of rows and columns', async (t) => {
    const { client, node } = await serve(t)
    const { catalogue } = node
    await catalogue.create('a', { kind: 'sequence' })
    await catalogue.create('b', { kind: 'sequence', start: 100, increment: 10 })
    const connected = await client()
    assert.deepEqual(await rowsOf(connected, "SELECT nextval('a'), nextval('b'), nextval('a')"), [
      ['1', '100', '2'],
    ])
    assert.deepEqual(
      await rowsOf(
        connected,
        "SELECT nextval('a') AS x, nextval('b') y, nextval('a') FROM generate_series(1, 3) AS g(i)",
      ),
      [
        ['3', '110', '4'],
        ['5', '120', '6'],
        ['7', '130', '8'],
      ],
    )
    assert.deepEqual(await rowsOf(connected, "SELECT nextval('a') FROM generate_series(5, $1)", [7]), [
      ['9'],
      ['10'],
      ['11'],
    ])
    assert.deepEqual(await rowsOf(connected, 'SELECT nextval($1), nextval($2)', ['a', 'b']), [['12', '140']])
    const { fields } = await connected.query("SELECT nextval('a') AS x, nextval('b') \"Y\", lastval()")
    assert.deepEqual(
      fields.map(({ name, dataTypeID }) => [name, dataTypeID]),
      [
        ['x', 20],
        ['Y', 20],
        ['lastval', 20],
      ],
    )
    const many = (await rowsOf(connected, "SELECT nextval('a') FROM generate_series(1, 20000)")) as [string][]
    assert.deepEqual([many.length, many[0], many.at(-1)], [20_000, ['14'], ['20013']])
  })

  test('works on each kind, but for those with a format', async (t) => {
    const { client, node } = await serve(t)
    const { catalogue } = node
    for (const kind of ['segment', 'timestamp', 'snowflake'] as const) await catalogue.create(kind, { kind })
    await catalogue.create('sms', { kind: 'sequence', format: 'sms_{id}' })
    const connected = await client()
    for (const kind of ['segment', 'timestamp', 'snowflake']) {
      const ids = (
        await rowsOf(connected, `SELECT nextval('${kind}') FROM generate_series(1, 100)`)
      ).flat() as string[]
      assert.equal(new Set(ids).size, 100)
      assert.deepEqual(
        ids,
        [...ids].sort((a, b) => Number(BigInt(a) - BigInt(b))),
      )
    }
    assert.match(await errorOf(connected, "SELECT nextval('sms')"), /^42809 .*fahao_next/)
    assert.equal(catalogue.find('sms')!.lastIssued(), undefined)
    assert.match(await errorOf(connected, "SELECT nextval('snowflake')::int"), /^22003 integer out of range/)
  })

  test('refuses what it cannot give, and uses up no id', async (t) => {
    const { client, node } = await serve(t)
    await node.catalogue.create('order', { kind: 'sequence', max: 3 })
    const connected = await client()
    const refused: readonly (readonly [text: string, error: RegExp])[] = [
      ["SELECT nextval('missing')", /^42P01 relation "missing" does not exist/],
      ["SELECT nextval('missing') WHERE false", /^42P01 relation "missing" does not exist/],
      ["SELECT nextval('order'), setval('missing', NULL)", /^42P01 /],
      ["SELECT nextval('missing') FROM generate_series(1, 0)", /^42P01 /],
      ["SELECT nextval('')", /^42602 /],
      ["SELECT nextval('a b')", /^42602 /],
      ["SELECT nextval('order') FROM generate_series(1, 200000)", /^54000 /],
      ["SELECT nextval('order') FROM generate_series(1, 99999999999)", /^54000 /],
      ["SELECT nextval('order') FROM generate_series(1, 4)", /^2200H /],
      ["SELECT nextval('order') WHERE", /^(?:0A000|42601) /],
      ["SELECT nextval('order", /^42601 unterminated quoted string/],
      ["INSERT INTO t VALUES (nextval('order'))", /^0A000 INSERT is not supported/],
      ['CREATE TABLE t (id int)', /^0A000 CREATE TABLE is not supported/],
      ['DROP TABLE "table"', /^0A000 DROP TABLE is not supported/],
      ['SELECT lastval()', /^55000 lastval is not yet defined/],
      ["SELECT currval('order')", /^55000 currval of sequence "order" is not yet defined/],
      ["SELECT currval('missing')", /^42P01 /],
    ]
    for (const [text, error] of refused) assert.match(await errorOf(connected, text), error, text)
    assert.deepEqual(await rowsOf(connected, "SELECT nextval('order') FROM generate_series(1, 3)"), [
      ['1'],
      ['2'],
      ['3'],
    ])
    assert.match(await errorOf(connected, "SELECT nextval('order')"), /^2200H /)
  })
})

test('currval and lastval are those of the session', async (t) => {
  const { client, node } = await serve(t)
  await node.catalogue.create('a', { kind: 'sequence' })
  await node.catalogue.create('b', { kind: 'sequence' })
  const [one, other] = [await client(), await client()]
  await one.query("SELECT nextval('a') FROM generate_series(1, 5)")
  await one.query("SELECT nextval('b')")
  await other.query("SELECT nextval('a')")
  assert.deepEqual(await rowsOf(one, "SELECT currval('a'), currval('b'), lastval()"), [['5', '1', '1']])
  assert.deepEqual(
    await rowsOf(one, "SELECT nextval('a'), currval('a'), lastval(), nextval('b'), lastval()"),
    [['7', '7', '7', '2', '2']],
  )
  assert.deepEqual(await rowsOf(other, "SELECT currval('a'), lastval()"), [['6', '6']])
  await one.query('BEGIN')
  await one.query("SELECT nextval('a')")
  await one.query('ROLLBACK')
  assert.deepEqual(await rowsOf(one, "SELECT currval('a'), lastval()"), [['8', '8']])
  await one.query('DISCARD SEQUENCES')
  assert.match(await errorOf(one, 'SELECT lastval()'), /^55000 /)
})

test('a word behind nextval that is an operator is no name of a column', async (t) => {
  const { client } = await serveOrder(t)
  const connected = await client()
  const { fields, rows } = await connected.query("SELECT nextval('order') isnull, nextval('order') NOTNULL")
  assert.deepEqual([fields.map(({ dataTypeID }) => dataTypeID), rows[0]], [[16, 16], { '?column?': true }])
})

test('currval forgets a sequence that is dropped, and of very many those that were not drawn from lately', async (t) => {
  const { client } = await serve(t)
  const [one, other] = [await client(), await client()]
  await one.query("CREATE SEQUENCE a; SELECT nextval('a'); DROP SEQUENCE a")
  assert.match(await errorOf(one, "SELECT currval('a')"), /^42P01 /)
  assert.match(await errorOf(one, 'SELECT lastval()'), /^55000 /)
  await one.query('CREATE SEQUENCE a')
  assert.match(await errorOf(one, "SELECT currval('a')"), /^55000 /)
  await one.query("SELECT nextval('a')")
  await other.query('DROP SEQUENCE a')
  assert.match(await errorOf(one, "SELECT currval('a')"), /^42P01 /)

  const draw = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => `SELECT nextval('s${from + at}')`).join(';')
  for (let at = 0; at < 1001; at += 77)
    await one.query(Array.from({ length: 77 }, (_, more) => `CREATE SEQUENCE s${at + more}`).join(';'))
  await one.query(draw(0, 1000))
  await one.query(draw(0, 1))
  await one.query(draw(1000, 1001))
  await one.query("SELECT currval('s0')")
  assert.match(await errorOf(one, "SELECT currval('s1')"), /^55000 /)
})

describe('setval', () => {
  test('takes whether the value is used in every form of a boolean', async (t) => {
    const { client } = await serveOrder(t)
    const connected = await client()
    const next = "nextval('order')"
    let id = 0
    for (const [word, step] of [
      ['y', 1],
      [' TRUE ', 1],
      ['tr', 1],
      ['1', 1],
      ['n', 0],
      ['of', 0],
      ['f', 0],
    ] as const) {
      await rowsOf(connected, 'SELECT setval($1, $2, $3)', ['order', id + 10, word])
      id += 10 + step
      assert.deepEqual(await rowsOf(connected, `SELECT ${next}`), [[String(id)]], word)
    }
    const maybe = connected.query('SELECT setval($1, $2, $3)', ['order', id + 10, 'maybe'])
    await assert.rejects(maybe, { code: '22P02' })
    assert.deepEqual(await rowsOf(connected, `SELECT ${next}`), [[String(id + 1)]])
  })

  test('moves a sequence forward', async (t) => {
    const { client, node } = await serveOrder(t)
    const connected = await client()
    assert.deepEqual(await rowsOf(connected, "SELECT setval('order', 1, false)"), [['1']])
    assert.deepEqual(await rowsOf(connected, "SELECT nextval('order')"), [['1']])
    assert.deepEqual(await rowsOf(connected, "SELECT setval('order', 10)"), [['10']])
    assert.deepEqual(await rowsOf(connected, "SELECT currval('order'), lastval()"), [['10', '10']])
    assert.deepEqual(await rowsOf(connected, "SELECT nextval('order')"), [['11']])
    assert.deepEqual(await rowsOf(connected, 'SELECT setval($1, $2, $3)', ['order', 20, false]), [['20']])
    assert.deepEqual(
      await rowsOf(connected, "SELECT pg_catalog.setval('public.order', 20, true), nextval('order')"),
      [['20', '21']],
    )
    assert.match(await errorOf(connected, "SELECT setval('order', 5)"), /^55000 .*forward only/)
    assert.match(await errorOf(connected, "SELECT setval('order', 4611686018427387904)"), /^55000 .*gives up/)
    await assert.rejects(connected.query("SELECT setval('order', 5)"), { hint: undefined })
    await assert.rejects(connected.query("SELECT setval('order', 4611686018427387904)"), {
      hint: /takes FORCE/,
    })
    assert.match(await errorOf(connected, "SELECT setval('order', 0, false)"), /^22003 /)
    assert.match(await errorOf(connected, "SELECT setval('order', -5)"), /^22003 /)
    assert.match(await errorOf(connected, "SELECT setval('missing', 5)"), /^42P01 /)
    assert.equal(await node.catalogue.exists('missing'), false)
    assert.deepEqual(await rowsOf(connected, "SELECT nextval('order')"), [['22']])
  })

  test('refuses a number between the ids of a sequence', async (t) => {
    const { client, node } = await serve(t)
    await node.catalogue.create('pooled', { kind: 'sequence', start: 1, increment: 50 })
    await node.catalogue.create('flake', { kind: 'snowflake' })
    const connected = await client()
    assert.deepEqual(await rowsOf(connected, "SELECT nextval('pooled'), nextval('pooled')"), [['1', '51']])
    assert.match(
      await errorOf(connected, "SELECT setval('pooled', 120)"),
      /^55000 .*the nearest are 101 and 151$/,
    )
    assert.deepEqual(await rowsOf(connected, "SELECT setval('pooled', 151), nextval('pooled')"), [
      ['151', '201'],
    ])
    assert.match(await errorOf(connected, "SELECT setval('flake', 5)"), /^42809 /)
  })
})

test('the state of a sequence is read from it as from a table', async (t) => {
  const { client } = await serve(t)
  const connected = await client()
  await connected.query('CREATE SEQUENCE order_id START 7')
  assert.deepEqual((await connected.query('SELECT last_value, is_called FROM order_id')).rows, [
    { last_value: '7', is_called: false },
  ])
  await connected.query("SELECT nextval('order_id')")
  assert.deepEqual((await connected.query('SELECT * FROM public.order_id;')).rows, [
    { last_value: '7', log_cnt: '0', is_called: true },
  ])
  assert.match(await errorOf(connected, 'SELECT last_value FROM missing'), /^42P01 /)
})

describe('CREATE, ALTER and DROP SEQUENCE', () => {
  test('make, change and drop generators', async (t) => {
    const { client, node } = await serve(t)
    const connected = await client()
    await connected.query('CREATE SEQUENCE a')
    await connected.query(
      'CREATE SEQUENCE IF NOT EXISTS public."B" AS integer INCREMENT BY 50 MINVALUE 10 MAXVALUE 1000 START WITH 60 CACHE 20 NO CYCLE OWNED BY NONE',
    )
    const { kind, start, increment, max } = (await node.catalogue.info('B')).definition
    assert.deepEqual([kind, start, increment, max], ['sequence', 60n, 50, 1000n])
    await connected.query('CREATE SEQUENCE small AS smallint')
    assert.equal((await node.catalogue.info('small')).definition.max, 32_767n)
    assert.match(await errorOf(connected, 'CREATE SEQUENCE a'), /^42P07 relation "a" already exists/)
    assert.deepEqual(await noticesOf(connected, 'CREATE SEQUENCE IF NOT EXISTS a'), [
      'NOTICE 42P07 relation "a" already exists, skipping',
    ])
    await connected.query('ALTER SEQUENCE a RESTART WITH 100')
    assert.deepEqual(await rowsOf(connected, "SELECT nextval('a')"), [['100']])
    await connected.query('ALTER SEQUENCE a MAXVALUE 5000 CACHE 5 NO CYCLE')
    assert.equal((await node.catalogue.info('a')).definition.max, 5000n)
    await connected.query('ALTER SEQUENCE a NO MAXVALUE')
    await connected.query('ALTER SEQUENCE a INCREMENT BY 10')
    assert.equal((await node.catalogue.info('a')).definition.increment, 10)
    assert.match(await errorOf(connected, 'ALTER SEQUENCE a RESTART'), /^55000 /)
    assert.match(await errorOf(connected, 'ALTER SEQUENCE missing RESTART WITH 5'), /^42P01 /)
    await connected.query('ALTER SEQUENCE IF EXISTS missing RESTART WITH 5')
    assert.match(
      await errorOf(connected, 'DROP SEQUENCE a, missing'),
      /^42P01 sequence "missing" does not exist/,
    )
    assert.equal(await node.catalogue.exists('a'), true)
    assert.deepEqual(await noticesOf(connected, 'DROP SEQUENCE IF EXISTS a, missing, small CASCADE'), [
      'NOTICE 00000 sequence "missing" does not exist, skipping',
    ])
    assert.equal(await node.catalogue.exists('a'), false)
    // The ids of a dropped name do not come back.
    await connected.query('CREATE SEQUENCE a')
    const [[id]] = (await rowsOf(connected, "SELECT nextval('a')")) as [[string]]
    assert.ok(Number(id) > 100)
  })

  test('change nothing where a part of the statement is refused', async (t) => {
    const { client, node } = await serve(t)
    const connected = await client()
    await connected.query('CREATE SEQUENCE a')
    await connected.query("SELECT nextval('a') FROM generate_series(1, 30)")
    await connected.query('CREATE SEQUENCE b; DROP SEQUENCE b; CREATE SEQUENCE b START 50')
    await connected.query("SELECT nextval('b') FROM generate_series(1, 10)")
    await connected.query('DROP SEQUENCE b; CREATE SEQUENCE b')
    for (const [change, sqlState] of [
      ['a INCREMENT BY 5 RESTART WITH 20', '55000'],
      ['a INCREMENT BY 5 RESTART WITH 34', '55000'],
      ['a INCREMENT BY 5 RESTART', '55000'],
      ['a INCREMENT BY 5 MAXVALUE 60 RESTART WITH 65', '22003'],
      ['a INCREMENT BY 5 RESTART WITH 5000000000000000000', '55000'],
      ['b INCREMENT BY 5 RESTART WITH 50', '55000'],
    ] as const)
      assert.equal((await errorOf(connected, `ALTER SEQUENCE ${change}`)).slice(0, 5), sqlState, change)
    for (const name of ['a', 'b']) {
      const { definition } = await node.catalogue.info(name)
      assert.deepEqual([definition.increment, definition.max], [1, 2n ** 63n - 1n], name)
    }
    await connected.query('ALTER SEQUENCE a INCREMENT BY 5 MAXVALUE 8000 RESTART WITH 67')
    const rows = await rowsOf(connected, "SELECT nextval('a') FROM generate_series(1, 2)")
    assert.deepEqual(rows, [['67'], ['72']])
  })

  test('continue at the last value plus a larger increment, as in PostgreSQL', async (t) => {
    const { client } = await serve(t)
    const connected = await client()
    const next = async (name: string) =>
      ((await rowsOf(connected, `SELECT nextval('${name}')`)) as string[][]).join()
    await connected.query('CREATE SEQUENCE a')
    await rowsOf(connected, "SELECT nextval('a') FROM generate_series(1, 3)")
    await connected.query('ALTER SEQUENCE a INCREMENT BY 50')
    assert.deepEqual((await connected.query('SELECT last_value, is_called FROM a')).rows, [
      { last_value: '53', is_called: false },
    ])
    assert.deepEqual([await next('a'), await next('a')], ['53', '103'])
    await connected.query('ALTER SEQUENCE a INCREMENT BY 70')
    assert.deepEqual([await next('a'), await next('a')], ['173', '243'])
    // The first value of a sequence that issued none stays.
    await connected.query('CREATE SEQUENCE unused; ALTER SEQUENCE unused INCREMENT BY 50')
    assert.deepEqual([await next('unused'), await next('unused')], ['1', '51'])
    await connected.query('CREATE SEQUENCE b START 7 INCREMENT BY 50')
    assert.equal(await next('b'), '7')
    // A caller may take a value for the first of its block: 7 for 7 to 56.
    await connected.query('ALTER SEQUENCE b INCREMENT BY 1')
    assert.deepEqual([await next('b'), await next('b')], ['57', '58'])
  })

  test('refuse what a generator cannot keep', async (t) => {
    const { client, node } = await serve(t)
    const connected = await client()
    const refused: readonly (readonly [definition: string, sqlState: string])[] = [
      ['SEQUENCE x CYCLE', '0A000'],
      ['SEQUENCE x INCREMENT -1', '0A000'],
      ['SEQUENCE x INCREMENT 0', '22023'],
      ['SEQUENCE x START -5', '0A000'],
      ['SEQUENCE x MINVALUE 10 START 5', '22023'],
      ['SEQUENCE x MAXVALUE 10 START 50', '22023'],
      ['SEQUENCE x MINVALUE 10 MAXVALUE 10', '22023'],
      ['SEQUENCE x AS smallint MAXVALUE 40000', '22023'],
      ['SEQUENCE x AS text', '22023'],
      ['SEQUENCE x CACHE 0', '22023'],
      ['SEQUENCE x OWNED BY t.id', '0A000'],
      ['SEQUENCE x START 1 START 2', '42601'],
      ['SEQUENCE x NONSENSE', '42601'],
      ['SEQUENCE', '42601'],
      ['TEMP SEQUENCE x', '0A000'],
      ['UNLOGGED SEQUENCE x', '0A000'],
      ['TABLE x (id int)', '0A000'],
    ]
    for (const [definition, sqlState] of refused)
      assert.equal((await errorOf(connected, `CREATE ${definition}`)).slice(0, 5), sqlState, definition)
    assert.equal(await node.catalogue.exists('x'), false)
    await connected.query('CREATE SEQUENCE x')
    for (const change of ['RENAME TO y', 'OWNER TO app', 'SET SCHEMA s', 'CYCLE', 'START 5', 'OWNED BY t.id'])
      assert.equal((await errorOf(connected, `ALTER SEQUENCE x ${change}`)).slice(0, 5), '0A000', change)
  })

  test('take effect at once in a transaction, and say so', async (t) => {
    const { client, node } = await serve(t)
    const connected = await client()
    await connected.query('BEGIN')
    assert.deepEqual(await noticesOf(connected, 'CREATE SEQUENCE a'), [
      'WARNING 01000 CREATE SEQUENCE takes effect at once; a rollback of the transaction does not undo it',
    ])
    await connected.query('ROLLBACK')
    assert.equal(await node.catalogue.exists('a'), true)
  })
})
