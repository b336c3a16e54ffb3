import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { unauthenticated } from '../../../src/auth/access.ts'
import type { AccessControl } from '../../../src/auth/access-control.ts'
import type { Config } from '../../../src/config/config-schema.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { type HttpServer, startHttpServer } from '../../../src/http/server.ts'
import { fakeNode } from './fake-node.ts'

const running: HttpServer[] = []
afterEach(() => Promise.all(running.splice(0).map((server) => server.close(0))))

async function start(settings: Partial<Config> = {}) {
  const node = fakeNode(settings)
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0 })
  running.push(server)
  const url = (path: string) => `http://127.0.0.1:${server.port}${path}`
  const next = () => fetch(url('/v1/generators/order/next'), { method: 'POST' })
  return { node, order, server, url, next }
}

/** Sends bytes and resolves to all that comes back until the server closes. */
async function exchange(port: number, ...pieces: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  for (const piece of pieces) socket.write(piece)
  return readAll(socket)
}

async function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  socket.on('error', () => {})
  await once(socket, 'close')
  return text
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('the HTTP server', () => {
  test('issues over one connection that is kept alive, request after request', async () => {
    const { next } = await start()
    const first = await next()
    assert.deepEqual([first.headers.get('connection'), await first.json()], ['keep-alive', { ids: ['1'] }])
    assert.deepEqual(await (await next()).json(), { ids: ['2'] })
  })

  test('answers pipelined requests in order, also when the first has to wait', async () => {
    const { node, order, server } = await start()
    node.catalogue.add('quick', { kind: 'sequence' })
    order.dry = true
    const request = (name: string, more = '') =>
      `POST /v1/generators/${name}/next HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n${more}\r\n`
    const answers = exchange(server.port, request('order'), request('quick', 'connection: close\r\n'))
    while (order.stats().waiting === 0) await turn()
    order.next = 77n
    order.wet()
    assert.deepEqual((await answers).match(/\{.*\}/g), ['{"ids":["77"]}', '{"ids":["1"]}'])
  })

  test('uses up no id for a client that closes its connection while it waits', async () => {
    const { order, server } = await start()
    order.dry = true
    const socket = connect(server.port, '127.0.0.1')
    const post = 'POST /v1/generators/order/next?count=2 HTTP/1.1\r\nhost: localhost\r\n\r\n'
    socket.write(post)
    while (order.stats().waiting === 0) await turn()
    order.wet()
    await once(socket, 'data')
    // Also when the connection has brought an answer before.
    order.dry = true
    socket.write(post)
    while (order.stats().waiting === 0) await turn()
    socket.destroy()
    while (order.aborted === 0) await turn()
    order.wet()
    await turn()
    assert.equal(order.issued, 2)
  })

  test('rejects with the reason if it cannot listen', async () => {
    const { node, server } = await start()
    await assert.rejects(startHttpServer({ node, host: '127.0.0.1', port: server.port }), {
      code: 'CONFIG',
      message: /EADDRINUSE.*--http/,
    })
  })

  test('finds its limits: headers, body, time, connections', async () => {
    const { order, server } = await start({
      httpHeaderMaxBytes: 2048,
      httpBodyMaxBytes: 1024,
      httpRequestTimeoutMs: 3000,
    })
    const post = 'POST /v1/generators/order/next HTTP/1.1\r\nhost: localhost\r\n'
    const headers = await exchange(server.port, `${post}x: ${'y'.repeat(3000)}\r\n\r\n`)
    assert.match(headers, /^HTTP\/1\.1 431 [\s\S]*problem\+json[\s\S]*http-header-max/)
    const json = `content-type: application/json\r\nconnection: close\r\ncontent-length: 1025\r\n`
    const body = await exchange(server.port, `${post}${json}\r\n`, `"${'x'.repeat(1023)}"`)
    assert.match(body, /^HTTP\/1\.1 413 [\s\S]*"code":"LIMIT"/)
    const slow = await exchange(server.port, 'POST /v1/generators/order/next HT')
    assert.match(slow, /^HTTP\/1\.1 408 [\s\S]*http-request-timeout/)
    assert.equal(order.issued, 0)
  })

  for (const [setting, reason] of [
    ['httpConnectionsMax', 'limit'],
    ['httpConnectionsPerAddressMax', 'address'],
  ] as const) {
    test(`closes connections beyond the limit of ${setting}`, async () => {
      const { server, order } = await start({ [setting]: 1 })
      const first = connect(server.port, '127.0.0.1')
      first.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
      await once(first, 'data')
      assert.equal(
        await exchange(server.port, 'POST /v1/generators/order/next HTTP/1.1\r\nhost: a\r\n\r\n'),
        '',
      )
      assert.equal(order.issued, 0)
      first.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
      const rejected = `^fahao_connections_rejected_total\\{protocol="http",reason="${reason}"\\} 1$`
      assert.match(await readAll(first), new RegExp(rejected, 'm'))
    })
  }

  test('has connections give way whose requests were of no user', async () => {
    const node = fakeNode({ httpConnectionsMax: 1 })
    const access = {
      initial: unauthenticated,
      initialOf: () => unauthenticated,
      subjects: node.access.subjects,
      listen: () => {},
    } as unknown as AccessControl
    const server = await startHttpServer({ node: { ...node, access }, host: '127.0.0.1', port: 0 })
    running.push(server)
    const probe = connect(server.port, '127.0.0.1')
    probe.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(probe, 'data')
    const given = readAll(probe)
    const asked = 'GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
    assert.match(await exchange(server.port, asked), /^HTTP\/1\.1 401/)
    assert.equal(await given, '')
  })

  test('has connections without a request give way to new ones, and none that has had one', async () => {
    const { server } = await start({ httpConnectionsMax: 2 })
    const known = connect(server.port, '127.0.0.1')
    known.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(known, 'data')
    const silent = connect(server.port, '127.0.0.1')
    const given = readAll(silent)
    await once(silent, 'connect')
    const asked = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
    assert.match(await exchange(server.port, asked), /^HTTP\/1\.1 200/)
    assert.equal(await given, '')
    known.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    const metrics = await readAll(known)
    assert.match(metrics, /^fahao_connections_rejected_total\{protocol="http",reason="pending"\} 1$/m)
    assert.match(metrics, /^fahao_connections_pending\{protocol="http"\} 0$/m)
  })

  for (const bytes of ['*1\r\n$4\r\nPING\r\n', 'INCR order\r\n', '\0\0\0\0', 'GET / HTTP/9.9\r\n\r\n']) {
    test(`tells ${JSON.stringify(bytes)} that this is no HTTP`, async () => {
      const { server } = await start()
      const answer = await exchange(server.port, bytes)
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*problem\+json[\s\S]*no HTTP/)
    })
  }

  test('counts connections and requests', async () => {
    const { next, url } = await start()
    await (await next()).text()
    const metrics = await (await fetch(url('/metrics'))).text()
    assert.match(metrics, /^fahao_requests_total\{protocol="http"\} 2$/m)
    assert.match(metrics, /^fahao_connections\{protocol="http"\} [12]$/m)
  })
})

type Order = Awaited<ReturnType<typeof start>>['order']

/** A POST for one id. */
function post(headers = ''): string {
  return `POST /v1/generators/order/next HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`
}

/** The statuses and the ids that come back for `pieces`, of which the first request waits for its id at first. */
async function outcome(order: Order, port: number, ...pieces: string[]) {
  order.dry = true
  const answers = exchange(port, ...pieces)
  while (order.stats().waiting === 0) await turn()
  for (let turns = 0; turns < 20; turns++) await turn()
  order.wet()
  const text = await answers
  return [text.match(/(?<=HTTP\/1\.1 )\d+/g)?.join(' '), text.match(/(?<="ids":\[")\d+/g)?.join(' ')]
}

describe('an error that ends a connection', () => {
  const errors = [
    ['bytes that are no HTTP', 'GARBAGE\r\n\r\n', 400],
    ['an unknown method', 'FOO / HTTP/1.1\r\nhost: localhost\r\n\r\n', 501],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nhost: localhost\r\n\r\n', 501],
    ['headers that are too large', `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    [
      'a body that is no body',
      `${post('content-type: application/json\r\ntransfer-encoding: chunked\r\n')}GARBAGE\r\n`,
      400,
    ],
  ] as const
  for (const [what, bytes, status] of errors) {
    test(`about ${what} comes after the answers to the requests before it`, async () => {
      const { order, server } = await start()
      const one = await outcome(order, server.port, post() + bytes)
      assert.deepEqual(one, [`200 ${status}`, '1'])
      const three = await outcome(order, server.port, post().repeat(3) + bytes, bytes)
      assert.deepEqual(three, [`200 200 200 ${status}`, '2 3 4'])
    })
  }

  test('about a request that is late comes after the answers to the requests before it', async () => {
    const { order, server } = await start({ httpRequestTimeoutMs: 400 })
    order.dry = true
    const answers = exchange(server.port, post() + post().slice(0, 20))
    await new Promise((resolve) => setTimeout(resolve, 1000))
    order.wet()
    assert.deepEqual((await answers).match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 408'])
  })

  test('closes it for good, also if the client leaves its own end open', async (t) => {
    const { server } = await start()
    const lingering = errors.map(async ([, bytes, status]) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
      t.after(() => socket.destroy())
      socket.write(bytes)
      let text = ''
      for await (const piece of socket.iterator({ destroyOnReturn: false })) text += piece
      assert.match(text, new RegExp(`HTTP/1.1 ${status} `))
      // A connection that is closed answers what it is sent with a reset.
      const poke = setInterval(() => socket.write('x'), 10)
      const [error] = await once(socket, 'error')
      clearInterval(poke)
      assert.match(String(error), /EPIPE|ECONNRESET/)
    })
    await Promise.all(lingering)
  })

  test('is not sent about bytes after a request that closes its connection', async () => {
    const { order, server } = await start()
    for (const bytes of [post(), 'GARBAGE\r\n\r\n']) {
      const [statuses] = await outcome(order, server.port, post('connection: close\r\n') + bytes, bytes)
      assert.equal(statuses, '200')
    }
    assert.equal(order.issued, 2)
  })
})

describe('closing', () => {
  test('answers what is in flight, and accepts nothing more', async () => {
    const { order, server, next } = await start()
    order.dry = true
    const answer = next()
    while (order.stats().waiting === 0) await turn()
    const closed = server.close(60_000)
    await assert.rejects(async () => {
      for (;;) await (await fetch(`http://127.0.0.1:${server.port}/healthz`)).text()
    })
    order.wet()
    assert.deepEqual(await (await answer).json(), { ids: ['1'] })
    await closed
  })

  test('lets go of idle connections at once', async () => {
    const { server, next } = await start()
    await (await next()).text()
    await server.close(60_000)
  })

  test('ends at its deadline, also if clients still wait', async () => {
    const { order, server, next } = await start()
    order.dry = true
    const answer = next()
    answer.catch(() => {})
    const refused = exchange(server.port, `${post()}CONNECT a:1 HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    while (order.stats().waiting < 2) await turn()
    await server.close(50)
    await assert.rejects(answer)
    assert.equal(await refused, '')
    assert.equal(order.issued, 0)
  })
})

test('any request is answered without a fault of the server, and only POST next issues', async () => {
  const node = fakeNode()
  const faults: string[] = []
  const log = { error: (_: object, message: string) => void faults.push(message) }
  const app = buildHttpApp({ node, host: '127.0.0.1', log })
  node.catalogue.add('order', { kind: 'sequence' })
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('%', '%2F', '%00', '%FF', '..', 'order'),
  )
  const path = fc.oneof(
    fc.tuple(text, fc.constantFrom('', '/range?count=0', '?x')).map(([a, b]) => `/v1/generators/${a}${b}`),
    text.map((query) => `/v1/decode?id=${query}`),
    text.map((query) => `/v1/generators?match=${query}`),
    text.map((rest) => `/${rest}`),
  )
  const method = fc.constantFrom('GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'OPTIONS') as fc.Arbitrary<'GET'>
  const payload = fc.option(fc.oneof(fc.json(), fc.string()), { nil: undefined })
  await fc.assert(
    fc.asyncProperty(method, path, payload, async (method, url, payload) => {
      const more = payload === undefined ? {} : { payload, headers: { 'content-type': 'application/json' } }
      const { statusCode } = await app.inject({ method, url, ...more } as InjectOptions)
      assert.ok(statusCode < 500, `${statusCode}`)
    }),
    { numRuns: 500 },
  )
  assert.deepEqual(faults, [])
  assert.equal(node.catalogue.issued, 0)
  await app.close()
})
