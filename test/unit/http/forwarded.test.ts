/** What a request that was read between two nodes is worth: repeated, changed, or its proof used elsewhere. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { NodeProof } from '../../../src/auth/node-proof.ts'
import { Moved } from '../../../src/base/moved.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import type { ClusterView } from '../../../src/operations/context.ts'
import { basic, openAccess, setUser } from '../auth/open-access.ts'
import { fakeNode } from './fake-node.ts'
import { forwardedHeaders } from './forwarded-headers.ts'

const url = '/v1/generators/order/next'

/** A node with the administrator alice, and the proofs that another node makes for it. */
async function receiver() {
  const node = fakeNode({ tinyidTokens: [{ token: 'own', pattern: '*' }] })
  node.catalogue.add('order', { kind: 'sequence' })
  const proof = await NodeProof.open(new MemoryEngine(new MemoryStore()), () => 'here')
  const access = await openAccess(undefined, { audit: node.trail.audit, proof })
  await setUser(access, 'alice', 'on', '>pw', '~*', '+@all')
  Object.assign(node, { access, engine: new MemoryEngine(new MemoryStore()) })
  const app = buildHttpApp({ node, host: '127.0.0.1', compat: ['leaf', 'tinyid'] })
  const ask = async (method: string, path: string, headers: Record<string, string>, payload?: string) =>
    app.inject({ method: method as 'GET', url: path, headers, ...(payload !== undefined && { payload }) })
  return { node, proof, access, app, ask }
}

test('a forwarded request that is repeated issues nothing more, and leaves a trace', async () => {
  const { node, proof, ask } = await receiver()
  const headers = forwardedHeaders(proof, { url, user: 'alice' })
  assert.equal((await ask('POST', url, headers)).statusCode, 200)
  assert.equal((await ask('POST', url, headers)).statusCode, 401)
  assert.equal(node.catalogue.generators.get('order')?.issued, 1)
  const failed = (await node.trail.stored()).filter(({ event }) => event === 'login-failed')
  assert.deepEqual(
    failed.map(({ detail, address }) => [detail, address]),
    [['node proof: used', '127.0.0.1']],
  )
})

test('a proof of one request opens no other: not by path, method, body or client, and none of administration', async () => {
  const { node, proof, ask, access } = await receiver()
  const statusOf = async (method: string, path: string, headers: Record<string, string>, payload?: string) =>
    (await ask(method, path, headers, payload)).statusCode
  const unused = () => forwardedHeaders(proof, { url, user: 'alice' })
  assert.equal(await statusOf('POST', `${url}?count=1000`, unused()), 401)
  assert.equal(await statusOf('POST', '/v1/generators/other/next', unused()), 401)
  assert.equal(await statusOf('GET', '/v1/generators/order', unused()), 401)
  assert.equal(await statusOf('POST', url, { ...unused(), 'fahao-forwarded': '10.0.0.8' }), 401)
  const create = { method: 'PUT', url: '/v1/generators/new', user: 'alice', body: '{"kind":"sequence"}' }
  const another = forwardedHeaders(proof, create)
  assert.equal(await statusOf('PUT', create.url, another, '{"kind":"segment"}'), 401)
  assert.equal(await statusOf('PUT', create.url, forwardedHeaders(proof, create), create.body), 201)
  // Even a node has no administration to forward.
  for (const [method, path, body] of [
    ['POST', '/v1/tokens', '{}'],
    ['GET', '/v1/tokens', undefined],
    ['GET', '/v1/users', undefined],
    ['PUT', '/v1/users/evil', '{"rules":["on",">pw","~*","+@all"]}'],
    ['GET', '/v1/generators', undefined],
    ['GET', '/v1/audit', undefined],
    ['GET', '/metrics', undefined],
  ] as const) {
    const headers = forwardedHeaders(proof, { method, url: path, user: 'alice', ...(body && { body }) })
    assert.equal(await statusOf(method, path, headers, body), 401, path)
  }
  assert.deepEqual([access.tokens.all(), access.users.all().length], [[], 1])
  assert.equal(node.catalogue.generators.get('order')?.issued, 0)
})

test('a proof is no password of its user', async () => {
  const { proof, ask } = await receiver()
  const [, value = ''] = forwardedHeaders(proof, { url, user: 'alice' }).authorization?.split(' ') ?? []
  for (const password of [value, value.split(':').at(-1) ?? '']) {
    const authorization = basic('alice', password)
    assert.equal((await ask('POST', '/v1/tokens', { authorization }, '{}')).statusCode, 401)
  }
})

test('a forwarded request may do what its user may do now', async () => {
  const { proof, access, ask } = await receiver()
  const set = (...rules: string[]) => setUser(access, 'bob', ...rules)
  await set('on', '>pw', '~order', '+@issue')
  const next = async () => (await ask('POST', url, forwardedHeaders(proof, { url, user: 'bob' }))).statusCode
  assert.equal(await next(), 200)
  await set('resetkeys', '~other')
  assert.equal(await next(), 403)
  await set('off')
  assert.equal(await next(), 401)
})

test('tokens of clients do not leave the node that has checked them', async (t) => {
  const received: string[] = []
  const leader = createServer((socket) => {
    socket.on('data', (chunk) => {
      received.push(String(chunk))
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n7')
    })
  }).listen(0, '127.0.0.1')
  await once(leader, 'listening')
  t.after(() => leader.close())
  const { port } = leader.address() as { port: number }
  const node = fakeNode({ tinyidTokens: [{ token: 'own', pattern: '*' }] })
  const access = await openAccess()
  await setUser(access, 'alice', 'on', '>pw', '~*', '+@all')
  const { text } = await access.tokens.create({
    user: 'alice',
    label: '',
    lifetimeMs: undefined,
    by: 'alice',
  })
  for (const name of ['order', 'counter'])
    Object.assign(node.catalogue.add(name, { kind: 'segment' }), {
      dry: true,
      failure: new Moved({ node: 'leader', slot: 1, resp: undefined, http: `127.0.0.1:${port}` }),
    })
  const cluster = { listen: () => () => {} } as unknown as ClusterView
  const served = { ...node, access, server: { ...node.server, access, cluster } }
  const server = await startHttpServer({
    node: served,
    host: '127.0.0.1',
    port: 0,
    compat: ['leaf', 'tinyid'],
  })
  t.after(() => server.close(0))
  const ask = async (path: string, init?: RequestInit) =>
    (await fetch(`http://127.0.0.1:${server.port}${path}`, init)).text()
  const encoded = text.replaceAll('_', '%5F')
  const form = new URLSearchParams({ bizType: 'order', token: text })
  assert.equal(await ask(`/api/segment/get/order?access_token=${text}`), '7')
  assert.equal(await ask(`/tinyid/id/nextIdSimple?bizType=order&token=${encoded}`), '7')
  assert.equal(await ask('/tinyid/id/nextIdSimple', { method: 'POST', body: form }), '7')
  const headers = { authorization: `Bearer ${text}`, cookie: 'a=b' }
  assert.equal(await ask(url, { method: 'POST', headers }), '7')
  const login = { authorization: basic('alice', 'pw') }
  assert.equal(await ask(url, { method: 'POST', headers: login }), '7')
  // The secret may contain the separator.
  const secrets = text.split('_').filter((part) => part.length > 5)
  const all = received.join('\n')
  assert.equal(received.length, 5)
  for (const part of [...secrets, login.authorization, 'cookie'])
    assert.equal(all.includes(part), false, part)
  assert.equal(all.match(/authorization: Fahao-Node YWxpY2U:/g)?.length, 5)
})

test('a request with a token of Fahao for tinyid is answered by the leader as that of the user of the token', async () => {
  const { proof, ask } = await receiver()
  const forwarded = async (path: string, user: string) => {
    const headers = forwardedHeaders(proof, { method: 'GET', url: path, user })
    return (await ask('GET', path, headers)).body
  }
  const path = '/tinyid/id/nextIdSimple?bizType=order&token='
  assert.equal(await forwarded(`${path}fahao_***`, 'alice'), '1')
  assert.equal(await forwarded(`${path}own`, ''), '2')
  assert.equal(await forwarded(`${path}fahao_***`, ''), '')
  assert.equal((await ask('GET', `${path}fahao_***`, {})).body, '')
})
