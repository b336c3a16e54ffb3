import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { framed, int32, message, query, serve, serveOrder, startup } from './serve.ts'

const codeOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'ok',
    (error: { code?: string }) => error.code,
  )

describe('with users', () => {
  test('a client logs in with its password', async (t) => {
    const { client, setUser, node, faults } = await serve(t)
    await setUser('admin', '>secret', '~*', '+@all')
    await node.catalogue.create('order', { kind: 'sequence' })
    const admin = await client({ user: 'admin', password: 'secret' })
    assert.equal((await admin.query("SELECT nextval('order')")).rows[0].nextval, '1')
    assert.equal((await admin.query('SHOW session_authorization')).rows[0].session_authorization, 'admin')
    assert.equal(await codeOf(client({ user: 'admin', password: 'wrong' })), '28P01')
    assert.equal(await codeOf(client({ user: 'other', password: 'secret' })), '28P01')
    assert.deepEqual(faults, [])
  })

  test('nothing but the password is accepted before the login, and it is short', async (t) => {
    const { raw, setUser } = await serve(t)
    await setUser('admin', '>secret', '~*', '+@all')
    for (const [bytes, sqlState] of [
      [query('SELECT 1'), '08P01'],
      [message('p', Buffer.alloc(20_000, 120), ''), '08P01'],
      [message('p', Buffer.from('secret')), '08P01'],
      [message('p', 'secret', 'more'), '08P01'],
      [message('p', ''), '28P01'],
    ] as const) {
      const one = await raw()
      one.send(startup({ user: 'admin' }))
      const asked = (await one.next())!
      assert.deepEqual([asked.type, asked.body.toString('hex')], ['R', '00000003'])
      one.send(bytes)
      const { S, C } = await one.error()
      assert.deepEqual([S, C], ['FATAL', sqlState])
      await one.ended
    }
  })

  test('a statement needs the permissions of its command', async (t) => {
    const { client, setUser, node } = await serve(t)
    await setUser('admin', '>secret', '~*', '+@all')
    await setUser('drawer', '>secret', '~order*', '+@issue')
    await setUser('reader', '>secret', '~*', '+@read')
    const password = 'secret'
    const [admin, drawer, reader] = [
      await client({ user: 'admin', password }),
      await client({ user: 'drawer', password }),
      await client({ user: 'reader', password }),
    ]
    await admin.query('CREATE SEQUENCE orders; CREATE SEQUENCE other')
    const { catalogue } = node
    const expected: readonly (readonly [text: string, drawer: string, reader: string])[] = [
      ["SELECT nextval('orders')", 'ok', '42501'],
      ["SELECT nextval('other')", '42501', '42501'],
      ["SELECT nextval('orders') FROM generate_series(1, 2)", 'ok', '42501'],
      ["SELECT currval('other')", '42501', '42501'],
      ["SELECT setval('orders', 50)", '42501', '42501'],
      ['SELECT last_value FROM orders', '42501', 'ok'],
      ['CREATE SEQUENCE orders2', '42501', '42501'],
      ['CREATE SEQUENCE IF NOT EXISTS orders', '42501', '42501'],
      ['ALTER SEQUENCE orders RESTART WITH 90', '42501', '42501'],
      ['DROP SEQUENCE IF EXISTS orders', '42501', '42501'],
      ['SET timezone = UTC', 'ok', 'ok'],
    ]
    for (const [text, forDrawer, forReader] of expected) {
      assert.equal(await codeOf(drawer.query(text)), forDrawer, text)
      assert.equal(await codeOf(reader.query(text)), forReader, text)
    }
    await assert.rejects(drawer.query("SELECT nextval('other')"), { hint: /ACL SETUSER.*~PATTERN/ })
    assert.equal(catalogue.find('orders')!.lastIssued(), 3n)
    assert.equal(catalogue.find('other')?.lastIssued(), undefined)
  })

  test('a change of permissions is in force at once, and a removed user is disconnected', async (t) => {
    const { client, setUser, node } = await serve(t)
    await setUser('admin', '>secret', '~*', '+@all')
    await setUser('app', '>secret', '~*', '+@issue')
    await node.catalogue.create('order', { kind: 'sequence' })
    const app = await client({ user: 'app', password: 'secret' })
    assert.equal(await codeOf(app.query("SELECT nextval('order')")), 'ok')
    await setUser('app', '-@all')
    assert.equal(await codeOf(app.query("SELECT nextval('order')")), '42501')
    await setUser('app', '+@issue')
    assert.equal(await codeOf(app.query("SELECT nextval('order')")), 'ok')
    const told = new Promise<{ code?: string }>((resolve) => app.once('error', resolve))
    const ended = new Promise<void>((resolve) => app.once('end', () => resolve()))
    await node.access.users.remove('app')
    assert.equal((await told).code, '57P01')
    await ended
  })

  test('an oid tells no name that the user may not see', async (t) => {
    const { client, setUser, node } = await serve(t)
    await setUser('admin', '>secret', '~*', '+@all')
    await setUser('app', '>secret', '~app:*', '+@all')
    await node.catalogue.create('secret', { kind: 'sequence' })
    await node.catalogue.create('app:own', { kind: 'sequence' })
    const admin = await client({ user: 'admin', password: 'secret' })
    const oids = "SELECT oid FROM pg_class WHERE relkind = 'S' ORDER BY relname"
    const { rows } = await admin.query(oids)
    const app = await client({ user: 'app', password: 'secret' })
    const shown = await app.query('SELECT $1::oid::regclass::text AS a, $2::oid::regclass::text AS b', [
      rows[0].oid,
      rows[1].oid,
    ])
    assert.deepEqual(shown.rows, [{ a: '"app:own"', b: String(rows[1].oid) }])
    assert.equal((await app.query(oids)).rows.length, 1)
    assert.equal((await app.query('SELECT FROM pg_class WHERE oid = $1', [rows[1].oid])).rows.length, 0)
  })

  test('the first user ends the connections that had none', async (t) => {
    const { client, setUser } = await serve(t)
    const anonymous = await client()
    const ended = new Promise<void>((resolve) => anonymous.once('end', () => resolve()))
    await setUser('admin', '>secret', '~*', '+@all')
    await ended
  })

  test('logins, refusals and changes are in the audit trail', async (t) => {
    const { client, setUser, node } = await serve(t)
    await setUser('admin', '>secret', '~*', '+@all')
    await setUser('app', '>secret', '~*', '+@issue')
    const recorded: string[] = []
    t.mock.method(node.server.audit, 'record', (entry: Record<string, unknown>) => {
      recorded.push(`${entry.event} ${entry.user} ${entry.door} ${entry.address} ${entry.object}`)
    })
    const admin = await client({ user: 'admin', password: 'secret' })
    await codeOf(client({ user: 'admin', password: 'wrong' }))
    await admin.query('CREATE SEQUENCE order_id')
    const app = await client({ user: 'app', password: 'secret' })
    await codeOf(app.query('DROP SEQUENCE order_id'))
    assert.deepEqual(recorded, [
      'login admin postgres 127.0.0.1 ',
      'login-failed admin postgres 127.0.0.1 ',
      'create admin postgres 127.0.0.1 order_id',
      'login app postgres 127.0.0.1 ',
      'denied app postgres 127.0.0.1 id.drop',
    ])
  })
})

test('a quota counts the ids of nextval, and refuses all of a statement or none', async (t) => {
  const { client, node } = await serveOrder(t)
  const connected = await client()
  await node.server.meters.namespaces.set('team', { match: 'order*', idsPerDay: 5 })
  await connected.query("SELECT nextval('order') FROM generate_series(1, 3)")
  await connected.query("SELECT nextval('order')")
  assert.equal(await codeOf(connected.query("SELECT nextval('order') FROM generate_series(1, 2)")), '53400')
  await connected.query("SELECT nextval('order')")
  assert.equal(await codeOf(connected.query("SELECT nextval('order')")), '53400')
  assert.equal(node.catalogue.find('order')!.lastIssued(), 5n)
})

test('a refusal names the namespace to a client that may name its whole pattern, and to no other', async (t) => {
  const { client, node, setUser } = await serve(t)
  await setUser('one', '>secret', '~order', '+@all')
  await setUser('all', '>secret', '~ord*', '+@all')
  await node.catalogue.create('order', { kind: 'sequence' })
  await node.server.meters.namespaces.set('shop', { match: 'ord*', idsPerDay: 1 })
  for (const [user, message] of [
    ['one', /^a namespace may issue at most 1 id/],
    ['all', /^namespace 'shop' may issue at most 1 id/],
  ] as const) {
    const connected = await client({ user, password: 'secret' })
    await assert.rejects(connected.query("SELECT nextval('order') FROM generate_series(1, 2)"), { message })
  }
})

test('a statement that waits is cancelled by its key alone', async (t) => {
  const { raw, node } = await serveOrder(t)
  const generator = node.catalogue.find('order')!
  const waiting = Promise.withResolvers<AbortSignal>()
  t.mock.method(generator, 'take', () => 0)
  t.mock.method(generator, 'draw', (_: number, { signal }: { signal: AbortSignal }) => {
    waiting.resolve(signal)
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(Object.assign(signal.reason))),
    )
  })
  const client = await raw()
  client.send(startup({ user: 'app' }))
  const key = (await client.until('Z')).find(({ type }) => type === 'K')!.body
  client.send(query("SELECT nextval('order')"))
  const signal = await waiting.promise
  const cancel = async (bytes: Buffer) => {
    const canceller = await raw()
    canceller.send(framed(int32(80877102), bytes))
    await canceller.ended
    assert.equal(await canceller.next(), undefined)
  }
  const wrong = Buffer.from(key)
  wrong[7]! ^= 1
  await cancel(wrong)
  assert.equal(signal.aborted, false)
  await cancel(key)
  assert.equal(signal.aborted, true)
  assert.match(await client.types(), /^EZI$/)
})
