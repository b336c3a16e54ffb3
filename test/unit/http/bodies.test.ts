/** Clients that do not send the rest of a body: what the server holds for all of them together. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { JoinedRequest } from '../../../src/http/bodies.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { noTraffic } from '../../../src/http/traffic.ts'
import type { Config } from '../../../src/node/config-schema.ts'
import { fakeNode } from './fake-node.ts'

const part = 60_000
const room = 5

async function serve(t: TestContext, settings: Partial<Config> = {}) {
  const traffic = noTraffic()
  const node = fakeNode({ httpUnreadTotalMaxBytes: room * part + 1000, ...settings })
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, traffic })
  t.after(() => server.close(0))
  const open = async (...texts: readonly string[]): Promise<Socket> => {
    const socket = connect(server.port, '127.0.0.1').setEncoding('latin1')
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    for (const text of texts) socket.write(text)
    return socket
  }
  return { order, open, traffic }
}

function head(method: string, path: string, length: number): string {
  const lines = ['host: localhost', 'content-type: application/json', `content-length: ${length}`]
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

const create = head('PUT', '/v1/generators/other', part + 1)
const status = (socket: Socket) => once(socket, 'data').then(([text]) => Number(String(text).slice(9, 12)))
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('the bodies of all requests that are not complete have one budget: the oldest connection is closed', async (t) => {
  const { open, traffic } = await serve(t)
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
  const { open, traffic } = await serve(t)
  const clients = await Promise.all(Array.from({ length: 3 * room }, () => open()))
  for (const client of clients) {
    client.write(create)
    client.write(`${' '.repeat(part)}5`)
    assert.equal(await status(client), 400)
  }
  assert.equal(traffic.connections, clients.length)
})

test('a body that waited behind another request is counted once that is answered', async (t) => {
  const { order, open, traffic } = await serve(t)
  order.dry = true
  const first = head('POST', '/v1/generators/order/next', 0)
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
  const { open, traffic } = await serve(t)
  const others = await Promise.all(Array.from({ length: room - 2 }, () => open(create, ' '.repeat(part))))
  const client = await open(head('GET', '/healthz', 10_000_000), ' '.repeat(10_000_000))
  assert.equal(await status(client), 200)
  assert.equal(traffic.connections, others.length + 1)
})

test('a body that comes too slowly gets 408, however long it is', async (t) => {
  const { open } = await serve(t, { httpRequestTimeoutMs: 200 })
  assert.equal(await status(await open(create, ' '.repeat(part))), 408)
})

/** The pieces in which a body is passed on. */
async function passedOn(pieces: readonly Buffer[]): Promise<Buffer[]> {
  const request = new JoinedRequest(new Socket())
  for (const piece of pieces) request.push(piece)
  request.push(null)
  return await request.toArray()
}

test('many short pieces of a body are joined, in order with the long ones', async () => {
  const bytes = Array.from({ length: part }, (_, at) => Buffer.from(String(at % 10)))
  const joined = await passedOn(bytes)
  assert.ok(joined.length < part / 1000, `${joined.length} pieces`)
  assert.deepEqual(Buffer.concat(joined), Buffer.concat(bytes))
  const mixed = [1, 4095, 4096, 2, 10_000, 4000, 97, 3].map((length, at) => Buffer.alloc(length, at))
  assert.deepEqual(Buffer.concat(await passedOn(mixed)), Buffer.concat(mixed))
})

test('short pieces that are not read have the connection not read either', () => {
  const request = new JoinedRequest(new Socket())
  let bytes = 0
  while (request.push(Buffer.from('x'))) bytes++
  assert.ok(bytes >= request.readableHighWaterMark && bytes < 2 * request.readableHighWaterMark)
})

test('a body of which each byte is a chunk of its own is read', async (t) => {
  const { open } = await serve(t)
  const body = [...JSON.stringify({ kind: 'sequence', comment: 'x'.repeat(200) })]
  const client = await open(
    'PUT /v1/generators/other HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    body.map((byte) => `1\r\n${byte}\r\n`).join(''),
    '0\r\n\r\n',
  )
  const [answer] = (await once(client, 'data')) as [string]
  assert.match(answer, /comment/)
})
