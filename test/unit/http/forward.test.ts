import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import fastify from 'fastify'
import { everything } from '../../../src/auth/access.ts'
import { NodeProof } from '../../../src/auth/node-proof.ts'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { FahaoError } from '../../../src/base/errors.ts'
import { Moved } from '../../../src/base/moved.ts'
import type { NodeRecord } from '../../../src/cluster/records.ts'
import type { ClusterListener } from '../../../src/cluster/shell.ts'
import type { CompatName } from '../../../src/config/compat-settings.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { forwardRequests } from '../../../src/http/forward.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { dialPlain } from '../../../src/listening/dial.ts'
import type { ClusterView } from '../../../src/operations/context.ts'
import { openAccess } from '../auth/open-access.ts'
import { fakeNode } from './fake-node.ts'

/** An address without a listener: no system assigns this port, as it might one that was just freed. */
const vacant = '127.0.0.1:1'

/** The secret of all nodes. */
const store = new MemoryStore()

type Options = { readonly compat?: readonly CompatName[]; readonly timeoutMs?: number }

/** A node with a generator `order` that it leads, or not. */
async function start(t: TestContext, { compat = [], timeoutMs = 5000 }: Options = {}) {
  const node = fakeNode()
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const state = {
    looks: 0,
    foundHere: true,
    leader: '',
    /** Each waits for another leader than one that cannot be reached, and is told who that is. */
    waits: [] as ((http: string) => void)[],
    isDead: (_http: string) => {},
  }
  const cluster = {
    async leadWithin(_slot: number, _waitMs: number, sentHere: boolean, unreachable?: string) {
      assert.equal(sentHere, true)
      if (unreachable !== undefined) return waitForAnother(unreachable)
      state.looks++
      if (state.foundHere) leads()
      return state.foundHere ? { state: 'here' } : { state: 'elsewhere', node: nodeAt(state.leader) }
    },
    listen({ onDead }: ClusterListener) {
      const earlier = state.isDead
      state.isDead = (http) => {
        earlier(http)
        onDead?.({ http } as NodeRecord)
      }
      return () => {}
    },
  } as unknown as ClusterView
  async function waitForAnother(unreachable: string) {
    assert.equal(unreachable, `node at ${state.leader}`)
    return {
      state: 'elsewhere',
      node: nodeAt(await new Promise<string>((resolve) => state.waits.push(resolve))),
    }
  }
  const proof = await NodeProof.open(new MemoryEngine(store), () => nodeAt(address).id)
  const access = await openAccess(undefined, { proof })
  const served = {
    ...node,
    access,
    config: { ...node.config, callTimeoutMs: timeoutMs },
    server: { ...node.server, access, cluster },
  }
  const server = await startHttpServer({ node: served, host: '127.0.0.1', port: 0, compat })
  t.after(() => server.close(0))
  const address = `127.0.0.1:${server.port}`

  function leads(): void {
    order.dry = false
    order.failure = undefined
  }
  /** From now on it holds the node at `http` for the leader. */
  function follows(http: string | undefined): void {
    order.dry = true
    state.leader = http ?? ''
    order.failure = new Moved({ node: `node at ${http}`, slot: 1234, resp: '127.0.0.1:1', http })
  }
  const ask = (path: string, init?: RequestInit) => fetch(`http://${address}${path}`, init)
  const post = (path: string, init?: RequestInit) => ask(path, { method: 'POST', ...init })
  return { node, order, address, follows, ask, post, state, server }
}

function nodeAt(http: string) {
  return { id: `node at ${http}`, http }
}

async function pair(t: TestContext, options: Options = {}) {
  const leader = await start(t, options)
  const other = await start(t, options)
  other.follows(leader.address)
  return { leader, other }
}

describe('a request for a generator that is led elsewhere', () => {
  test('is answered by any node, as the leader answers it', async (t) => {
    const { leader, other } = await pair(t)
    leader.order.next = 41n
    const answer = await other.post('/v1/generators/order/next?count=2')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(await answer.text(), '{"ids":["41","42"]}\n')
    const text = await other.post('/v1/generators/order/next', { headers: { accept: 'text/plain' } })
    assert.equal(await text.text(), '43\n')
    const ranges = await other.post('/v1/generators/order/range?count=10')
    assert.deepEqual(await ranges.json(), { ranges: [{ start: '44', end: '54' }] })
    const runs = await other.post('/v1/generators/order/runs?count=10')
    assert.deepEqual(await runs.json(), { runs: [{ first: '54', stride: '1', count: 10 }] })
    assert.equal(other.order.issued, 0)
  })

  test('gets the leader’s errors with status, code and Retry-After', async (t) => {
    const { leader, other } = await pair(t)
    leader.node.catalogue.generators.delete('order')
    const answer = await other.post('/v1/generators/order/next')
    assert.equal(answer.status, 404)
    assert.match(answer.headers.get('content-type')!, /^application\/problem\+json/)
    assert.equal(((await answer.json()) as { code: string }).code, 'NOGENERATOR')
  })

  test('is shown as the leader sees it', async (t) => {
    const { leader, other } = await pair(t)
    leader.order.next = 37n
    await other.post('/v1/generators/order/next')
    const shown = (await (await other.ask('/v1/generators/order')).json()) as { lastIssued: string }
    assert.equal(shown.lastIssued, '37')
    assert.equal(other.order.issued, 0)
  })

  test('is also answered on the paths of Leaf and IdBuilder', async (t) => {
    const { leader, other } = await pair(t, { compat: ['leaf', 'idbuilder'] })
    leader.order.next = 7n
    assert.equal(await (await other.ask('/api/segment/get/order')).text(), '7')
    assert.equal(await (await other.ask('/id-builder/increase-seq-id?code=order')).text(), '8')
    assert.equal(other.order.issued, 0)
  })

  test('is forwarded once: a node that receives it by mistake looks the leader up again, and answers', async (t) => {
    const { leader, other } = await pair(t)
    leader.follows(other.address)
    assert.equal(await (await other.post('/v1/generators/order/next')).text(), '{"ids":["1"]}\n')
    assert.equal(leader.state.looks, 1)
  })

  test('goes to a third node that has taken over since, or is answered by the node that received it', async (t) => {
    const { leader, other } = await pair(t, { compat: ['leaf'] })
    const third = await start(t, { compat: ['leaf'] })
    leader.follows(third.address)
    for (const { state } of [leader, other]) Object.assign(state, { foundHere: false, leader: third.address })
    assert.equal(await (await other.post('/v1/generators/order/next')).text(), '{"ids":["1"]}\n')
    assert.equal(await (await other.ask('/api/segment/get/order')).text(), '2')
    other.state.foundHere = true
    assert.equal(await (await other.ask('/api/segment/get/order')).text(), '1')
  })

  test('gets a retryable error if no node takes over from a leader that cannot be reached', async (t) => {
    const { other } = await pair(t)
    other.follows(vacant)
    const asked = other.post('/v1/generators/order/next')
    while (other.state.waits.length === 0) await new Promise(setImmediate)
    other.state.waits[0]!(vacant)
    const answer = await asked
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'])
    const { code, detail } = (await answer.json()) as { code: string; detail: string }
    assert.equal(code, 'CLUSTERDOWN')
    assert.match(detail, /^the leader at .* cannot be reached .* no other node took over in time; retry$/)
  })

  test('gets a retryable error at once when the leader serves no HTTP', async (t) => {
    const { other } = await pair(t)
    other.follows(undefined)
    const answer = await other.post('/v1/generators/order/next')
    assert.equal(answer.status, 503)
    assert.equal(((await answer.json()) as { code: string }).code, 'UNAVAILABLE')
  })

  test('is repeated at the next leader when the first is declared dead before it answers, if it only draws', async (t) => {
    const silent = await listening(t)
    const connections: Socket[] = []
    silent.on('connection', (socket: Socket) => connections.push(socket))
    const other = await start(t, { compat: ['leaf'] })
    const next = await start(t, { compat: ['leaf'] })
    const leader = addressOf(silent)
    other.follows(leader)
    const drawn = other.post('/v1/generators/order/next')
    const leaf = other.ask('/api/segment/get/order')
    const shown = other.ask('/v1/generators/order')
    while (connections.filter(({ bytesRead }) => bytesRead > 0).length < 3) await new Promise(setImmediate)
    Object.assign(other.state, { foundHere: false, leader: next.address })
    other.state.isDead('127.0.0.1:1')
    other.state.isDead(leader)
    assert.match(await (await drawn).text(), /^\{"ids":\["[12]"\]\}\n$/)
    assert.match(await (await leaf).text(), /^[12]$/)
    assert.equal(next.order.issued, 2)
    const { code, detail } = (await (await shown).json()) as { code: string; detail: string }
    assert.equal(code, 'UNKNOWN')
    assert.match(detail, /it was declared dead/)
  })

  test('has the address of its client, and is not repeated when that has gone', async (t) => {
    const silent = await listening(t)
    const forwarded = once(silent, 'connection') as Promise<[Socket]>
    const other = await start(t)
    other.follows(addressOf(silent))
    const client = new AbortController()
    const answer = other.post('/v1/generators/order/next', { signal: client.signal })
    answer.catch(() => {})
    const [connection] = await forwarded
    const [received] = await once(connection, 'data')
    assert.match(String(received), /\r\nfahao-forwarded: 127\.0\.0\.1\r\n/i)
    client.abort()
    await once(connection, 'close')
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    assert.deepEqual([other.state.looks, other.state.waits.length, other.order.issued], [0, 0, 0])
  })

  test('gets UNKNOWN if the leader sends no answer in time', async (t) => {
    const silent = await listening(t)
    const other = await start(t, { timeoutMs: 2000 })
    other.follows(addressOf(silent))
    const answer = await other.post('/v1/generators/order/next')
    assert.equal(answer.status, 503)
    assert.equal(((await answer.json()) as { code: string }).code, 'UNKNOWN')
  })
})

describe('the time for an answer', () => {
  test('runs also while a request waits for a connection; nothing was sent then, and another node may be asked', async (t) => {
    const silent = await listening(t)
    const received: string[] = []
    silent.on('connection', (socket: Socket) => {
      socket.on('data', (chunk: Buffer) =>
        received.push(...(/(?<=generators.)\w+/.exec(chunk.toString()) ?? [])),
      )
    })
    const leader = await start(t)
    const node = await forwarding(t, silent)
    const held = Array.from({ length: 256 }, () => node.draw('held'))
    while (received.length < held.length) await new Promise(setImmediate)
    const queued = node.draw('order')
    while (node.timers.length <= held.length) await new Promise(setImmediate)
    assert.deepEqual(node.elsewhere, [])
    node.timers.at(-1)!()
    while (node.elsewhere.length === 0) await new Promise(setImmediate)
    for (const fire of node.timers.slice(0, held.length)) fire()
    assert.deepEqual(new Set(await Promise.all(held)), new Set(['UNKNOWN']))
    // The agent goes through its queue in order: what is asked now arrives after what was given up.
    const last = node.draw('last')
    while (!received.includes('last')) await new Promise(setImmediate)
    assert.ok(!received.includes('order'))
    node.timers.at(-1)!()
    assert.equal(await last, 'UNKNOWN')
    node.another.resolve(leader.address)
    assert.equal(await queued, '{"ids":["1"]}\n')
    assert.equal(node.elsewhere.length, 1)
  })

  test('ends at once when the leader is declared dead while a request waits for a connection', async (t) => {
    const silent = await listening(t)
    const leader = await start(t)
    const node = await forwarding(t, silent)
    const held = Array.from({ length: 257 }, () => node.draw('held'))
    while (node.timers.length < held.length) await new Promise(setImmediate)
    const last = node.draw('order')
    while (node.timers.length <= held.length) await new Promise(setImmediate)
    node.isDead()
    node.another.resolve(leader.address)
    assert.match(await last, /"ids"/)
    await Promise.all(held)
  })

  test('is not lengthened by an answer that comes in drops', async (t) => {
    const dripping = await listening(t)
    dripping.on('connection', (socket: Socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n')
      const drip = () => {
        if (socket.destroyed) return
        socket.write('x')
        systemClock.timer(10, drip)
      }
      socket.once('data', drip)
    })
    const other = await start(t, { timeoutMs: 2000 })
    other.follows(addressOf(dripping))
    const answer = await other.post('/v1/generators/order/next')
    assert.equal(((await answer.json()) as { code: string }).code, 'UNKNOWN')
  })
})

/** A node that holds `silent` for the leader, and waits for `another` where it is not reached. A test fires its timers. */
async function forwarding(t: TestContext, silent: Server) {
  const timers: (() => void)[] = []
  const clock: Clock = {
    ...systemClock,
    timer(_, callback) {
      timers.push(callback)
      return { cancel() {} }
    },
  }
  const http = addressOf(silent)
  const elsewhere: string[] = []
  const another = Promise.withResolvers<string>()
  let onDead: ClusterListener['onDead']
  const cluster = {
    async leadWithin(_slot: number, _waitMs: number, _sentHere: boolean, unreachable: string) {
      elsewhere.push(unreachable)
      return { state: 'elsewhere', node: nodeAt(await another.promise) }
    },
    listen(listener: ClusterListener) {
      onDead = listener.onDead
      return () => {}
    },
  } as unknown as ClusterView
  const app = fastify()
  app.addHook('onRequest', async (request) => {
    request.access = everything
  })
  const proof = await NodeProof.open(new MemoryEngine(store), () => 'the node under test')
  forwardRequests(app, cluster, 5000, dialPlain, await openAccess(undefined, { proof }), clock)
  app.post('/v1/generators/:name/next', { config: { isForwardable: true } }, () => {
    throw new Moved({ node: nodeAt(http).id, slot: 1234, resp: undefined, http })
  })
  app.setErrorHandler((error: FahaoError, _, reply) => reply.send(error.code))
  t.after(() => app.close())
  const draw = async (name: string) =>
    (await app.inject({ method: 'POST', url: `/v1/generators/${name}/next` })).body
  return { timers, elsewhere, another, draw, isDead: () => onDead?.({ http } as NodeRecord) }
}

function addressOf(server: Server): string {
  return `127.0.0.1:${(server.address() as { port: number }).port}`
}

/** A server that takes connections and says nothing. */
async function listening(t: TestContext): Promise<Server> {
  const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
  t.after(() => void silent.close())
  await new Promise((resolve) => silent.once('listening', resolve))
  return silent
}
