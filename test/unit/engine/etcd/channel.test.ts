/** The connection for gRPC, with a server of HTTP/2 that answers what a test wants. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { systemClock } from '../../../../src/base/clock.ts'
import { type Call, type CallEnd, Channel } from '../../../../src/engine/etcd/channel.ts'
import { frameOf } from '../../../../src/engine/etcd/frames.ts'
import { startTcpProxy } from '../../../launch/tcp-proxy.ts'

/** An answer of gRPC: a head, messages, and trailers with the status. */
function answer(
  stream: ServerHttp2Stream,
  messages: readonly string[],
  trailers: Record<string, string>,
): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers(trailers))
  stream.end(Buffer.concat(messages.map((text) => frameOf(Buffer.from(text)))))
}

async function serve(t: TestContext, onStream: (stream: ServerHttp2Stream) => void) {
  const server: Http2Server = createServer()
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => sessions.push(session))
  server.on('stream', onStream)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { sessions, port, endpoint: `127.0.0.1:${port}` }
}

function open(t: TestContext, endpoint: string, clock = systemClock): Channel {
  const channel = new Channel(endpoint, undefined, clock)
  t.after(() => channel.close())
  return channel
}

/** Calls once; resolves to the messages, and to the end. */
function callOnce(channel: Channel): Promise<CallEnd & { readonly messages: readonly string[] }> {
  return new Promise((resolve) => {
    const messages: string[] = []
    const call: Call = channel.call(
      '/service/method',
      {},
      {
        message: (bytes) => messages.push(bytes.toString()),
        end: (end) => resolve({ ...end, messages }),
      },
    )
    call.write(Buffer.from('question'))
    call.finish()
  })
}

describe('a call of gRPC', () => {
  test('ends with the status and the words of its trailers, after its messages', async (t) => {
    const { endpoint } = await serve(t, (stream) => {
      answer(stream, ['one', 'two'], { 'grpc-status': '9', 'grpc-message': 'na%C3%AFve 100%' })
    })
    const channel = open(t, endpoint)
    await channel.connect()
    // A percent sign that encodes nothing leaves the text as it is.
    const details = 'na%C3%AFve 100%'
    assert.deepEqual(await callOnce(channel), { status: 9, details, messages: ['one', 'two'] })
  })

  test('ends with a status that comes without a message', async (t) => {
    const { endpoint } = await serve(t, (stream) =>
      stream.respond(
        { ':status': 200, 'grpc-status': '7', 'grpc-message': 'no%20right' },
        { endStream: true },
      ),
    )
    const channel = open(t, endpoint)
    await channel.connect()
    assert.deepEqual(await callOnce(channel), { status: 7, details: 'no right', messages: [] })
  })

  test('ends without a status if the answer has none: a proxy, a lost connection, a compressed message', async (t) => {
    const answers: readonly ((stream: ServerHttp2Stream) => void)[] = [
      (stream) => stream.respond({ ':status': 502 }, { endStream: true }),
      (stream) => stream.session!.destroy(),
      (stream) => {
        stream.on('error', () => {})
        stream.respond({ ':status': 200 })
        stream.end(Buffer.from([1, 0, 0, 0, 0]))
      },
    ]
    const waiting = [...answers]
    const { endpoint } = await serve(t, (stream) => waiting.shift()!(stream))
    for (const _ of answers) {
      const channel = open(t, endpoint)
      await channel.connect()
      const { status, details } = await callOnce(channel)
      assert.equal(status, undefined)
      assert.match(details, /502|ended before|compressed/)
    }
  })
})

describe('a connection', () => {
  test('is made again after the server has ended it, and a call in between is not sent', async (t) => {
    let calls = 0
    const { endpoint, sessions } = await serve(t, (stream) => {
      calls++
      answer(stream, ['x'], { 'grpc-status': '0' })
    })
    const channel = open(t, endpoint)
    assert.equal(channel.ready, false)
    assert.throws(() => callOnceOrThrow(channel))
    await channel.connect()
    assert.equal((await callOnce(channel)).status, 0)
    const closed = once(sessions[0]!, 'close')
    sessions[0]!.goaway(0)
    sessions[0]!.close()
    await closed
    while (channel.ready) await new Promise((turn) => setImmediate(turn))
    assert.throws(() => callOnceOrThrow(channel))
    await channel.connect()
    assert.equal((await callOnce(channel)).status, 0)
    assert.equal(calls, 2)
  })

  test('is ready only when the server speaks HTTP/2, and fails with a reason', async (t) => {
    const silent = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    })
    await once(silent.listen(0, '127.0.0.1'), 'listening')
    t.after(() => silent.close())
    const channel = open(t, `127.0.0.1:${(silent.address() as AddressInfo).port}`)
    await assert.rejects(channel.connect(), /\w/)
    assert.equal(channel.ready, false)
    // At once: the pause after a failure is not over.
    await assert.rejects(channel.connect(), channel.failure)
  })

  test('ends when a ping is not answered while a call waits', async (t) => {
    let arrived = () => {}
    const call = new Promise<void>((resolve) => (arrived = resolve))
    const { port } = await serve(t, () => arrived())
    const proxy = await startTcpProxy(t, port)
    const hurried = {
      ...systemClock,
      timer: (delayMs: number, callback: () => void) =>
        systemClock.timer(delayMs === 10_000 ? 10 : delayMs / 50, callback),
    }
    const channel = open(t, `127.0.0.1:${proxy.port}`, hurried)
    await channel.connect()
    const end = callOnce(channel)
    await call
    proxy.stallReplies()
    assert.equal((await end).status, undefined)
    assert.equal(channel.ready, false)
  })
})

function callOnceOrThrow(channel: Channel): void {
  channel.call('/service/method', {}, { message: () => {}, end: () => {} })
}
