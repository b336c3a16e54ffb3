/** What a connection may send in bodies: pieces that are too short, which cost a call each, and bodies without their end. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Config } from '../../../src/config/config-schema.ts'
import { Connections, connectionOf, HttpRequest, HttpResponse } from '../../../src/http/connection.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { noTraffic } from '../../../src/http/traffic.ts'
import { turnBytesMax, turns } from '../../../src/listening/turns.ts'
import { FakeClock } from '../fake-clock.ts'
import { fakeNode } from './fake-node.ts'

const path = '/v1/generators/order/next'
const end = '0\r\n\r\n'

/** The connections of a server that counts its requests. */
function connectionsOf(traffic = noTraffic()): Connections {
  const limits = {
    unreadTimeoutMs: 1000,
    unreadTotalMaxBytes: 1_000_000,
    bodyBytesMax: 65_536,
    requestTimeoutMs: 1000,
  }
  return new Connections({ ...limits, traffic, clock: new FakeClock() })
}

async function serve(t: TestContext, settings: Partial<Config> = {}) {
  const traffic = noTraffic()
  const node = fakeNode(settings)
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, traffic })
  t.after(() => server.close(0))
  return { node, order, traffic, open: (...texts: readonly string[]) => open(t, server.port, texts) }
}

async function open(t: TestContext, port: number, texts: readonly string[] = []): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  for (const text of texts) socket.write(text)
  return socket
}

function head(target = path, ...lines: readonly string[]): string {
  return [`POST ${target} HTTP/1.1`, 'host: localhost', ...lines, '', ''].join('\r\n')
}

function chunked(chunks: readonly string[], target = path): string {
  const type = ['content-type: application/json', 'transfer-encoding: chunked']
  return `${head(target, ...type)}${chunksOf(chunks)}`
}

function chunksOf(texts: readonly string[]): string {
  return texts.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('')
}

/** The last request of a connection. */
const last = head(path, 'connection: close')

const spaces = (count: number, length = 1) => Array<string>(count).fill(' '.repeat(length))

const statusOf = (answer: string) => Number(answer.slice(9, 12))
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** All answers of a connection that the server ends. */
async function answers(socket: Socket): Promise<string[]> {
  const texts = (await socket.toArray()) as string[]
  return texts.join('').split(/(?=HTTP\/1\.1 )/)
}

test('a connection whose chunks are far too short is refused, is told what to do, and gets no id', async (t) => {
  const { order, open } = await serve(t)
  const client = await open()
  client.write(`${chunked(spaces(10_000))}${end}${head()}`)
  const [answer, ...more] = await answers(client)
  assert.match(answer!, /^HTTP\/1\.1 400 .*send the body at once with content-length, or in longer chunks/s)
  assert.deepEqual(more, [])
  assert.equal(order.issued, 0)
})

test('chunks count also after the answer to their request, and over several requests', async (t) => {
  const { open } = await serve(t)
  const answered = await open()
  answered.write(chunked([]).replace('application/json', 'text/plain'))
  const [first] = (await once(answered, 'data')) as [string]
  answered.write(chunksOf(spaces(10_000)))
  assert.equal(statusOf(first), 415)
  assert.deepEqual(await answers(answered), [''])
  const repeating = await open()
  repeating.write(`${chunked(spaces(100), '/nothing')}${end}`.repeat(100))
  assert.equal((await answers(repeating)).map(statusOf).at(-1), 400)
})

test('few short chunks, moderate ones, and many requests with short bodies are answered', async (t) => {
  const { open } = await serve(t)
  const create = (comment: string, length: number) => {
    const body = JSON.stringify({ kind: 'sequence', comment })
    const chunks = body.match(new RegExp(`.{1,${length}}`, 'g'))!
    return `${chunked(chunks, '/v1/generators/other').replace('POST', 'PUT')}${end}`
  }
  const few = await open()
  few.write(create('x'.repeat(200), 1) + last)
  const moderate = await open()
  moderate.write(create('x'.repeat(50_000), 250) + last)
  for (const client of [few, moderate]) {
    const [answer, ...more] = await answers(client)
    assert.match(answer!, /^HTTP\S+ 4.*comment/s)
    assert.deepEqual(more.map(statusOf), [200])
  }
  const many = await open()
  many.write(`${chunked(['{', ' ', ' ', '}'])}${end}`.repeat(100) + last)
  assert.deepEqual((await answers(many)).map(statusOf), Array(101).fill(200))
})

test('pieces of a body with a length count too', async () => {
  const request = received()
  const isRefused = () => request.servedBy!.isRefused
  for (let pieces = 0; pieces < 256; pieces++) request.push(Buffer.from('x'))
  assert.equal(isRefused(), false)
  for (let pieces = 0; pieces < 10; pieces++) request.push(Buffer.from('x'))
  assert.equal(isRefused(), true)
})

test('once a connection is refused, the chunks that have been read cause no call; the next connection has its body', async (t) => {
  let calls = 0
  class CountedRequest extends HttpRequest {
    override push(piece: Buffer | null): boolean {
      if (piece !== null) calls++
      return super.push(piece)
    }
  }
  const traffic = noTraffic()
  const echo = connectionsOf(traffic).inTurn((request, response) => {
    request
      .setEncoding('latin1')
      .toArray()
      .then(
        (parts) => response.end(parts.join('')),
        () => {},
      )
  })
  const server = createServer({ IncomingMessage: CountedRequest, ServerResponse: HttpResponse }, echo)
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = await open(t, port, [`${chunked(spaces(10_000))}${end}`])
  assert.deepEqual((await answers(client)).map(statusOf), [400])
  assert.deepEqual([...traffic.requests.errors], [['ERR', 1]])
  assert.ok(calls < 1000, `${calls} calls`)
  const next = await open(t, port, [`${chunked(['ab', 'cd'])}${end}`])
  const [answer] = (await once(next, 'data')) as [string]
  assert.match(answer, /abcd/)
  client.destroy()
  next.destroy()
})

test('a connection that sends a body after the turn is over is read again in a later turn', async () => {
  const request = received()
  const { socket } = request
  turns.spend(turnBytesMax)
  request.push(Buffer.alloc(100))
  assert.equal(socket.isPaused(), true)
  // Node resumes it for the rest of the body.
  socket.resume()
  await turn()
  assert.equal(socket.isPaused(), false)
})

/** A request that waits for its turn. */
function received(): HttpRequest {
  const request = new HttpRequest(new Socket())
  connectionsOf().inTurn(() => {})(request, new HttpResponse(request))
  return request
}

test('a piece of a body counts with the buffer that Node makes of it', () => {
  const request = received()
  for (let count = 0; count < 100; count++) request.push(Buffer.alloc(1))
  assert.equal(connectionOf(request)!.queuedBytes, 8192 + 100 * 641)
})

test('a refused connection is not read, also where it was about to be', async () => {
  const { socket, servedBy } = received()
  servedBy!.stop()
  let pauses = 0
  socket.on('pause', () => pauses++)
  socket.resume()
  socket.pause()
  await turn()
  // Once here, and once after the event that Node begins to read at.
  assert.equal(pauses, 2)
})

test('CONNECT behind a long answer is refused after it', async (t) => {
  const { node, open } = await serve(t)
  Reflect.set(node.server, 'countMax', 100_000)
  const client = await open(`${head(`${path}?count=100000`)}CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n`)
  assert.deepEqual((await answers(client)).map(statusOf), [200, 501])
})

test('a request that was answered before its body ended gets no second answer', async (t) => {
  const { open } = await serve(t)
  const client = await open(
    `${head(path, 'content-type: text/plain', 'transfer-encoding: chunked')}${chunksOf(['ab'])}`,
  )
  assert.equal(await status(client), 415)
  client.write('no chunk\r\n')
  assert.deepEqual(await answers(client), [''])
})

const part = 60_000
const room = 5
/** Room for the bodies of so few connections. */
const small = { httpUnreadTotalMaxBytes: room * (part + 4096) }

function headOf(method: string, path: string, length: number): string {
  const lines = ['host: localhost', 'content-type: application/json', `content-length: ${length}`]
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

const create = headOf('PUT', '/v1/generators/other', part + 1)
const status = (socket: Socket) => once(socket, 'data').then(([text]) => statusOf(String(text)))

test('the bodies of all requests that are not complete have one budget: the oldest connection is closed', async (t) => {
  const { open, traffic } = await serve(t, small)
  const clients: Socket[] = []
  for (let count = 1; count <= room + 3; count++) {
    const client = await open(create, ' '.repeat(part))
    clients.push(client)
    if (count > room) await once(clients[count - room - 1]!, 'close')
  }
  while (traffic.connections > room) await turn()
  const newest = clients.at(-1)!
  newest.write('5')
  assert.equal(await status(newest), 400)
  assert.equal(traffic.connections, room)
})

test('an answer gives the room of its body back', async (t) => {
  const { open, traffic } = await serve(t, small)
  const clients = await Promise.all(Array.from({ length: 3 * room }, () => open()))
  for (const client of clients) {
    client.write(create)
    client.write(`${' '.repeat(part)}5`)
    assert.equal(await status(client), 400)
  }
  assert.equal(traffic.connections, clients.length)
})

test('a body that waited behind another request is counted once that is answered', async (t) => {
  const { order, open, traffic } = await serve(t, small)
  order.dry = true
  const first = headOf('POST', '/v1/generators/order/next', 0)
  const clients = []
  for (let count = 0; count < room - 1; count++) clients.push(await open(first, create, ' '.repeat(part)))
  while (order.stats().waiting < clients.length) await turn()
  order.wet()
  for (const client of clients) assert.equal(await status(client), 200)
  const late = []
  for (let count = 0; count < room - 1; count++) late.push(await open(create, ' '.repeat(part)))
  while (traffic.connections > room) await turn()
  for (const client of late) client.write('5')
  assert.deepEqual(await Promise.all(late.map(status)), Array(late.length).fill(400))
})

test('a body that is ignored takes no more than the longest that is read', async (t) => {
  const { open, traffic } = await serve(t, small)
  const others = await Promise.all(Array.from({ length: room - 2 }, () => open(create, ' '.repeat(part))))
  const client = await open(headOf('GET', '/healthz', 10_000_000), ' '.repeat(10_000_000))
  assert.equal(await status(client), 200)
  assert.equal(traffic.connections, others.length + 1)
})

test('a body that comes too slowly gets 408, however long it is', async (t) => {
  const { open } = await serve(t, { httpRequestTimeoutMs: 200 })
  assert.equal(await status(await open(create, ' '.repeat(part))), 408)
})
