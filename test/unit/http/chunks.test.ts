/** Bodies in chunks that are too short, which cost a call each: where a connection is refused, and what it may send. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { MeteredRequest } from '../../../src/http/chunks.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { turnBytesMax, turns } from '../../../src/listening/turns.ts'
import { fakeNode } from './fake-node.ts'

const path = '/v1/generators/order/next'
const end = '0\r\n\r\n'

async function serve(t: TestContext) {
  const node = fakeNode({})
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0 })
  t.after(() => server.close(0))
  return { order, open: () => open(t, server.port) }
}

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
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
  assert.match(answer!, /^HTTP\/1\.1 400 .*send the body with content-length, or in longer chunks/s)
  assert.deepEqual(more, [])
  assert.equal(order.issued, 0)
})

test('chunks count also after the answer to their request, and over several requests', async (t) => {
  const { open } = await serve(t)
  const answered = await open()
  answered.write(chunked([]).replace('application/json', 'text/plain'))
  const [first] = (await once(answered, 'data')) as [string]
  answered.write(chunksOf(spaces(10_000)))
  assert.deepEqual([first, ...(await answers(answered))].map(statusOf), [415, 400])
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
  many.write(`${chunked(['{', ' ', ' ', '}'])}${end}`.repeat(199) + last)
  assert.deepEqual((await answers(many)).map(statusOf), Array(200).fill(200))
})

test('once a connection is refused, the chunks that have been read cause no call; the next connection has its body', async (t) => {
  let calls = 0
  let refused = 0
  class CountedRequest extends MeteredRequest {
    protected override refuseShortChunks(): void {
      refused++
      this.socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n')
    }

    override push(piece: Buffer | null): boolean {
      if (piece !== null) calls++
      return super.push(piece)
    }
  }
  const server = createServer({ IncomingMessage: CountedRequest }, (request, response) => {
    request
      .setEncoding('latin1')
      .toArray()
      .then(
        (parts) => response.end(parts.join('')),
        () => {},
      )
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = await open(t, port)
  client.write(`${chunked(spaces(10_000))}${end}`)
  assert.deepEqual((await answers(client)).map(statusOf), [400])
  assert.equal(refused, 1)
  assert.ok(calls < 1000, `${calls} calls`)
  const next = await open(t, port)
  next.write(`${chunked(['ab', 'cd'])}${end}`)
  const [echo] = (await once(next, 'data')) as [string]
  assert.match(echo, /abcd/)
})

test('a connection that sends a body after the turn is over is read again in a later turn', async () => {
  const socket = new Socket()
  class Request extends MeteredRequest {
    protected override refuseShortChunks(): void {}
  }
  const request = new Request(socket)
  turns.spend(turnBytesMax)
  request.push(Buffer.alloc(100))
  assert.equal(socket.isPaused(), true)
  // Node resumes it for the rest of the body.
  socket.resume()
  await turn()
  assert.equal(socket.isPaused(), false)
})
