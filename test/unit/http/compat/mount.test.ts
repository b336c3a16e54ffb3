import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import fastify, { type InjectOptions } from 'fastify'
import { NodeProof } from '../../../../src/auth/node-proof.ts'
import { MemoryEngine, MemoryStore } from '../../../../src/engine/memory/engine.ts'
import { buildHttpApp } from '../../../../src/http/app.ts'
import { checkCallers } from '../../../../src/http/caller.ts'
import { mountForNodes } from '../../../../src/http/compat/mount.ts'
import { restRefusedCallers } from '../../../../src/http/refused-callers.ts'
import { openAccess, setUser } from '../../auth/open-access.ts'
import { FakeClock } from '../../fake-clock.ts'
import { fakeNode } from '../fake-node.ts'
import { forwardedHeaders } from '../forwarded-headers.ts'
import { type Served, serve } from './serve.ts'

const generators = { order: { kind: 'segment' }, '7': { kind: 'segment' } } as const
/** A request for an id on each API. */
const issuing = [
  '/api/segment/get/order',
  '/id-builder/increase-seq-id?code=7',
  '/tinyid/id/nextId?bizType=order&token=t-0123456789abcdef',
  '/tinyid/id/nextSegmentIdSimple?bizType=order&token=t-0123456789abcdef',
]

function start(t: TestContext): Promise<Served> {
  return serve(t, generators, { flags: { 'tinyid-tokens': 't-0123456789abcdef=*' } })
}

function issued({ node }: Served): number {
  return [...node.catalogue.inUse()].reduce((sum, each) => sum + each.stats().issued, 0)
}

describe('the compatible APIs', () => {
  test('are not there unless they are asked for, one by one', async (t) => {
    for (const compat of [[], ['leaf'], ['tinyid']] as const) {
      const { app } = await serve(t, generators, {
        compat,
        flags: { 'tinyid-tokens': 't-0123456789abcdef=*' },
      })
      const statuses = await Promise.all(
        [
          '/api/segment/get/order',
          '/tinyid/id/nextId?bizType=order&token=t-0123456789abcdef',
          '/id-builder/increase-id',
        ].map(async (url) => (await app.inject({ method: 'GET', url })).statusCode),
      )
      assert.deepEqual(statuses, [compat[0] === 'leaf' ? 200 : 404, compat[0] === 'tinyid' ? 200 : 404, 404])
    }
  })

  test('answer a node that forwards a request with a token of tinyid, once users exist too', async () => {
    const node = fakeNode({ tinyidTokens: [{ token: 't-0123456789abcdef', pattern: '*' }] })
    node.catalogue.add('order', { kind: 'segment' })
    const proof = await NodeProof.open(new MemoryEngine(new MemoryStore()), () => 'here')
    const access = await openAccess(undefined, { proof })
    await setUser(access, 'zoe', 'on', '>pw', '~*', '+@all')
    Object.assign(node, { access, server: { ...node.server, access } })
    const app = fastify()
    restRefusedCallers(app, new FakeClock(), 1000)
    checkCallers(app, access, node.server.audit)
    mountForNodes(app, node, ['tinyid'])
    const ask = async (nodeId: string) => {
      const headers = forwardedHeaders(proof, { method: 'GET', url: issuing[2]!, user: '', nodeId })
      const { statusCode, body } = await app.inject({ url: issuing[2]!, headers })
      return [statusCode, statusCode === 200 ? body : '']
    }
    assert.deepEqual(await ask('here'), [200, '{"data":[1],"code":200,"message":""}'])
    assert.deepEqual(await ask('elsewhere'), [500, ''])
    assert.deepEqual((await app.inject({ url: issuing[2]! })).statusCode, 404)
  })

  test('leave the native API as it is, next to them', async (t) => {
    const { ask, app } = await start(t)
    const next = '/v1/generators/order/next'
    assert.deepEqual(await ask(next, { method: 'POST' }), [
      200,
      'application/json; charset=utf-8',
      '{"ids":["1"]}\n',
    ])
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await app.inject({ method: 'POST', url: next, headers, payload: 'a=b' })
    assert.deepEqual(
      [answer.statusCode, answer.headers['content-type']],
      [415, 'application/problem+json; charset=utf-8'],
    )
    const missing = await app.inject({ method: 'OPTIONS', url: '/api/segment/get/order' })
    assert.deepEqual(
      [missing.statusCode, missing.headers.allow],
      [405, 'GET, HEAD, POST, PUT, PATCH, DELETE'],
    )
  })

  test('refuse bodies above the limit, in Spring’s form', async (t) => {
    const served = await start(t)
    const headers = { 'content-type': 'text/plain' }
    const payload = 'x'.repeat(70_000)
    const [status, type, body] = await served.ask('/api/segment/get/order', {
      method: 'POST',
      headers,
      payload,
    })
    assert.deepEqual([status, type, JSON.parse(body).status], [413, 'application/json;charset=UTF-8', 413])
    assert.equal(issued(served), 0)
  })
})

describe('a web page', () => {
  const foreign: readonly [what: string, headers: Record<string, string>][] = [
    ['of another site', { 'sec-fetch-site': 'cross-site' }],
    ['of another origin', { origin: 'http://evil.example' }],
    ['in a sandbox', { origin: 'null' }],
  ]
  for (const [what, headers] of foreign) {
    for (const method of ['GET', 'POST'] as const) {
      test(`(${what}, by ${method}) uses up no id`, async (t) => {
        const served = await start(t)
        for (const url of issuing.filter((url) => method === 'GET' || !url.includes('id-builder'))) {
          const [status, , body] = await served.ask(url, { method, headers })
          assert.deepEqual([status, JSON.parse(body).error], [403, 'Forbidden'])
        }
        assert.equal(issued(served), 0)
      })
    }
  }

  test('with a foreign name for this machine uses up no id', async (t) => {
    const served = await start(t)
    for (const url of [...issuing, '/cache', '/db']) {
      const [status, type, body] = await served.ask(url, { headers: { host: 'evil.example:8080' } })
      assert.deepEqual([status, type], [421, 'application/json;charset=UTF-8'])
      assert.match(JSON.parse(body).message, /http-names/)
    }
    assert.equal(issued(served), 0)
  })

  test('of our own, and a person with a link to a table, are let through', async (t) => {
    const { ask } = await start(t)
    const own = { host: 'localhost:7380', origin: 'http://localhost:7380', 'sec-fetch-site': 'same-origin' }
    for (const url of issuing) assert.equal((await ask(url, { headers: own }))[0], 200)
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    for (const url of ['/cache', '/db']) assert.equal((await ask(url, { headers: link }))[0], 200)
  })
})

describe('a port of its own', () => {
  function alone() {
    const node = fakeNode()
    node.catalogue.add('order', { kind: 'segment' })
    const app = buildHttpApp({ node, host: '0.0.0.0', compat: ['leaf'], compatOnly: true })
    return (url: string, method: 'GET' | 'OPTIONS' = 'GET') =>
      app.inject({ method, url, headers: { host: 'leaf.internal:8080' } })
  }

  test('has the one API, under any name where it is open to others', async () => {
    const get = alone()
    assert.equal((await get('/api/segment/get/order')).body, '1')
  })

  test('has nothing else, and refuses in Spring’s form', async () => {
    const get = alone()
    for (const path of ['/', '/v1/generators', '/metrics', '/docs', '/tinyid/id/nextId']) {
      const answer = await get(path)
      const { timestamp, ...body } = answer.json()
      assert.equal(typeof timestamp, 'number')
      const message = 'No message available'
      assert.deepEqual(body, { status: 404, error: 'Not Found', message, path })
    }
    const answer = await get('/api/segment/get/order', 'OPTIONS')
    assert.deepEqual([answer.statusCode, answer.json().error], [405, 'Method Not Allowed'])
  })
})

test('any request is answered without a fault of the server', async (t) => {
  const { app, faults } = await start(t)
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('%', '%2F', '%00', 'order', 't', '7'))
  const path = fc.oneof(
    text.map((key) => `/api/segment/get/${key}`),
    text.map((key) => `/api/snowflake/get/${key}`),
    text.map((id) => `/decodeSnowflakeId?snowflakeId=${id}`),
    text.map((at) => `/cache?from=${at}`),
    text.map((after) => `/db?after=${after}`),
    text.map((code) => `/id-builder/increase-id?code=${code}`),
    fc
      .tuple(text, text)
      .map(([a, b]) => `/tinyid/id/nextId?bizType=${a}&token=t-0123456789abcdef&batchSize=${b}&token=${b}`),
    fc
      .tuple(text, text)
      .map(([a, b]) => `/tinyid/id/nextSegmentId?bizType=${a}&bizType=${b}&token=t-0123456789abcdef`),
  )
  const method = fc.constantFrom('GET', 'HEAD', 'PUT', 'POST', 'DELETE') as fc.Arbitrary<'GET'>
  const payload = fc.option(fc.string(), { nil: undefined })
  const type = fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'x/y', 'no type')
  await fc.assert(
    fc.asyncProperty(method, path, payload, type, async (method, url, payload, type) => {
      const more = payload === undefined ? {} : { payload, headers: { 'content-type': type } }
      const { statusCode, body } = await app.inject({ method, url, ...more } as InjectOptions)
      assert.ok(statusCode <= 500, `${statusCode} ${body}`)
      assert.deepEqual(faults, [])
    }),
    { numRuns: 300 },
  )
})
