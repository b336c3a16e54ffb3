import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Occurrence, TrailPart } from '../../../src/audit/audit-entry.ts'
import { readEntries } from '../../../src/audit/audit-ring.ts'
import { NodeProof } from '../../../src/auth/node-proof.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { basic, openAccess, setUser } from '../auth/open-access.ts'
import { fakeNode } from './fake-node.ts'
import { forwardedHeaders } from './forwarded-headers.ts'

const drop: Occurrence = { event: 'drop', user: 'alice', address: '10.0.0.1', door: 'resp', object: 'order' }

function start() {
  const node = fakeNode()
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const read = async (query = '') => (await app.inject(`/v1/audit${query}`)).json()
  return { trail: node.trail, app, read }
}

test('the audit trail is shown newest first, page by page', async () => {
  const { trail, read } = start()
  for (const object of ['a', 'b', 'c']) {
    trail.audit.record({ ...drop, object })
    await trail.clock.pass(1000)
  }
  const first = await read('?limit=2')
  assert.deepEqual(first.entries[0], {
    ...drop,
    object: 'c',
    time: '2026-06-01T00:00:02.000Z',
    node: 'host:1',
    count: 1,
    detail: null,
  })
  const second = await read(`?limit=2&after=${first.next}`)
  const objects = [...first.entries, ...second.entries].map(({ object }) => object)
  assert.deepEqual([objects, second.next], [['c', 'b', 'a'], null])
})

test('the audit trail is filtered by user, event, object, and by a moment or a duration', async () => {
  const { trail, read } = start()
  trail.audit.record(drop)
  await trail.clock.pass(1000)
  const found = async (query: string) => (await read(query)).entries.length
  assert.equal(await found('?user=alice&event=drop&object=ord*&since=2026-06-01T00:00:00Z'), 1)
  for (const query of [
    '?user=bob',
    '?event=create',
    '?object=user*',
    '?since=2026-06-02T00:00:00Z',
    '?since=1h',
  ])
    assert.equal(await found(query), 0, query)
  assert.equal(await found('?since=365d'), 1)
})

test('a query that has no meaning is refused', async () => {
  const { app } = start()
  for (const query of ['since=yesterday', 'limit=0', 'limit=1001', 'colour=red']) {
    const answer = await app.inject(`/v1/audit?${query}`)
    assert.deepEqual([answer.statusCode, answer.json().code], [400, 'ERR'], query)
  }
  const detailOf = async (query: string) => (await app.inject(`/v1/audit?${query}`)).json().detail
  assert.match(await detailOf('since=yesterday'), /; the last day is written 24h$/)
  assert.match(await detailOf('event=delete'), /^query parameter 'event': must be one of create, .*, drop, /)
})

test('an operation that changes something is in the audit trail, and one that fails or confirms is not', async () => {
  const { app, trail } = start()
  const put = (kind: string) => app.inject({ method: 'PUT', url: '/v1/generators/order', payload: { kind } })
  assert.deepEqual(
    [
      (await put('segment')).statusCode,
      (await put('segment')).statusCode,
      (await put('sequence')).statusCode,
    ],
    [201, 200, 409],
  )
  await app.inject({ method: 'PATCH', url: '/v1/generators/order', payload: { step: 5000 } })
  await app.inject({ method: 'POST', url: '/v1/generators/order/next' })
  await app.inject({ method: 'DELETE', url: '/v1/generators/order' })
  await app.inject({ method: 'DELETE', url: '/v1/generators/order' })
  await app.inject({ method: 'POST', url: '/v1/engine/advance', payload: { by: '1000' } })
  assert.deepEqual(await trail.texts(), [
    'create order by default',
    'alter order by default',
    'drop order by default',
    'advance by 1000 by default',
  ])
  const [{ address, door } = { address: '', door: '' }] = await trail.stored()
  assert.deepEqual([address, door], ['127.0.0.1', 'http'])
})

test('logins and refused requests over HTTP are in the audit trail, with the user and never a password', async () => {
  const node = fakeNode()
  const access = await openAccess(undefined, { audit: node.trail.audit })
  Object.assign(node, { access })
  await setUser(access, 'admin', 'on', '>secret', '~*', '+@all')
  await setUser(access, 'alice', 'on', '>pw', '~a*', '+id.drop')
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const drop = async (name: string, user: string, password: string) => {
    const authorization = basic(user, password)
    const url = `/v1/generators/${name}`
    return (await app.inject({ method: 'DELETE', url, headers: { authorization } })).statusCode
  }
  node.catalogue.add('apple', { kind: 'sequence' })
  assert.equal(await drop('apple', 'alice', 'wrong'), 401)
  assert.equal(await drop('banana', 'alice', 'pw'), 403)
  assert.equal(await drop('apple', 'alice', 'pw'), 204)
  assert.equal((await app.inject('/v1/audit')).statusCode, 401)
  const entries = await node.trail.stored()
  assert.deepEqual(
    entries
      .map(({ event, object, user, door, detail, count }) => [event, object, user, door, detail, count])
      .sort(),
    [
      ['denied', 'id.drop', 'alice', 'http', 'banana', 1],
      ['drop', 'apple', 'alice', 'http', undefined, 1],
      ['login', '', 'alice', 'http', undefined, 1],
      ['login-failed', '', 'alice', 'http', undefined, 1],
    ],
  )
  assert.doesNotMatch(JSON.stringify(entries), /wrong|pw/)
})

test('what a handler refuses is in the audit trail', async () => {
  const node = fakeNode()
  const access = await openAccess(undefined, { audit: node.trail.audit })
  Object.assign(node, { access })
  await setUser(access, 'admin', 'on', 'nopass', '~*', '+@all')
  await setUser(access, 'alice', 'on', 'nopass', '~a*', '+@read')
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const headers = { authorization: basic('alice', '') }
  const token = await app.inject({ method: 'POST', url: '/v1/tokens', headers, payload: { user: 'admin' } })
  const decoded = await app.inject({ url: '/v1/decode?id=1&generator=banana', headers })
  assert.deepEqual([token.statusCode, decoded.statusCode], [403, 403])
  const denied = (await node.trail.stored()).filter(({ event }) => event === 'denied')
  assert.deepEqual(denied.map(({ object, user, detail }) => [object, user, detail]).sort(), [
    ['http|own-tokens', 'alice', "User alice has no permissions to run the 'http|tokens' command"],
    ['id.decode', 'alice', 'No permissions to access a key'],
  ])
})

test('every operation that is no GET, issues no ids or leases and changes something is recorded, and the OpenAPI document names its event', async () => {
  const { app } = start()
  const document: { paths: Record<string, Record<string, Record<string, unknown>>> } = (
    await app.inject('/openapi.json')
  ).json()
  const unrecorded = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method, operation]) => method !== 'get' && operation['x-audit-event'] === undefined)
      .map(([method]) => `${method} ${path}`),
  )
  assert.deepEqual(unrecorded, [
    'post /v1/generators/{name}/next',
    'post /v1/generators/{name}/range',
    'post /v1/generators/{name}/runs',
    'post /v1/generators/{name}/check',
    'post /v1/generators/{name}/leases',
    'patch /v1/generators/{name}/leases/{lease}',
    'delete /v1/generators/{name}/leases/{lease}',
    'post /v1/generators/{name}/reservations',
    'post /v1/generators/{name}/reservations/{reservation}/confirm',
    'post /v1/generators/{name}/reservations/{reservation}/cancel',
    'post /v1/pools/{pool}/workers',
    'patch /v1/pools/{pool}/workers/{lease}',
    'delete /v1/pools/{pool}/workers/{lease}',
  ])
})

test('changes of administrators have a part of the trail of their own, also when a node forwards them', async () => {
  const node = fakeNode()
  const proof = await NodeProof.open(new MemoryEngine(new MemoryStore()), () => 'here')
  const access = await openAccess(undefined, { audit: node.trail.audit, proof })
  Object.assign(node, { access })
  const set = setUser.bind(null, access)
  await set('alice', 'on', '>pw', '~*', '+@all')
  await set('bob', 'on', '>pw', '~*', '+@manage')
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  for (const user of ['alice', 'bob'])
    for (const isForwarded of [false, true]) {
      const name = `${user}-${isForwarded}`
      node.catalogue.add(name, { kind: 'sequence' })
      const url = `/v1/generators/${name}`
      const own = { authorization: basic(user, 'pw') }
      const headers = isForwarded ? forwardedHeaders(proof, { method: 'DELETE', url, user }) : own
      assert.equal((await app.inject({ method: 'DELETE', url, headers })).statusCode, 204)
    }
  const authorization = basic('bob', 'pw')
  await app.inject({ method: 'POST', url: '/v1/tokens', headers: { authorization }, payload: {} })
  await node.trail.stored()
  const of = async (part: TrailPart) =>
    (await readEntries(node.trail.engine, [part])).map(({ event, user }) => `${event} by ${user}`)
  assert.deepEqual(await of('changes'), ['drop by alice', 'drop by alice'])
  assert.deepEqual(await of('user-changes'), ['drop by bob', 'drop by bob', 'token-created by bob'])
})

test('the address of a forwarded change is that of the client, and that of no client that claims to be a node', async () => {
  const node = fakeNode()
  const proof = await NodeProof.open(new MemoryEngine(new MemoryStore()), () => 'here')
  const access = await openAccess(undefined, { audit: node.trail.audit, proof })
  Object.assign(node, { access })
  await setUser(access, 'alice', 'on', '>pw', '~*', '+@all')
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const drop = async (name: string, headersOf: (url: string) => Record<string, string>) => {
    node.catalogue.add(name, { kind: 'sequence' })
    const url = `/v1/generators/${name}`
    const answer = await app.inject({ method: 'DELETE', url, headers: headersOf(url) })
    assert.equal(answer.statusCode, 204)
  }
  const from = (client: string) => (url: string) =>
    forwardedHeaders(proof, { method: 'DELETE', url, user: 'alice', client })
  await drop('one', from('10.0.0.7'))
  await drop('two', from('fd00::7'))
  await drop('three', from('1'))
  const authorization = basic('alice', 'pw')
  await drop('four', () => ({ authorization, 'fahao-forwarded': '10.0.0.7' }))
  const dropped = (await node.trail.stored()).filter(({ event }) => event === 'drop')
  assert.deepEqual(Object.fromEntries(dropped.map(({ object, address }) => [object, address])), {
    one: '10.0.0.7',
    two: 'fd00::7',
    three: '127.0.0.1',
    four: '127.0.0.1',
  })
})
