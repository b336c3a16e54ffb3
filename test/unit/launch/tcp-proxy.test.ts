import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { accepts } from '../../launch/process.ts'
import { startTcpProxy } from '../../launch/tcp-proxy.ts'

test('stalls both ways, open and new connections alike, and then delivers all of it', async (t) => {
  const { port, received } = await startEcho(t)
  const proxy = await startTcpProxy(t, port)
  const old = open(t, proxy.port)
  await old.roundTrip('one')
  proxy.stall()
  const young = open(t, proxy.port)
  for (const client of [old, young]) client.socket.write('two')
  old.socket.end()
  await once(young.socket, 'connect')
  await settle()
  assert.equal(received(), 3)
  assert.equal(old.text(), 'one')
  proxy.resume()
  await young.until('two')
  assert.equal((await old.toEnd()).toString(), 'onetwo')
})

test('stalls replies alone: the request is served, and its answer comes later', async (t) => {
  const { port, received } = await startEcho(t)
  const proxy = await startTcpProxy(t, port)
  const client = open(t, proxy.port)
  proxy.stallReplies()
  client.socket.write('one')
  await until(() => received() === 3)
  await settle()
  assert.equal(client.text(), '')
  proxy.resume()
  await client.until('one')
})

test('cuts all connections and refuses new ones until it is restored', async (t) => {
  const { port, sockets } = await startEcho(t)
  const proxy = await startTcpProxy(t, port)
  const client = open(t, proxy.port)
  await client.roundTrip('one')
  const closed = closeOf(sockets()[0]!)
  await proxy.cut()
  await client.failed
  await closed
  assert.equal(await accepts(proxy.port), false)
  await proxy.restore()
  await open(t, proxy.port).roundTrip('two')
})

test('drops the reply of what matches, after the server has served it, as often as asked', async (t) => {
  const { port, received } = await startEcho(t)
  const proxy = await startTcpProxy(t, port)
  const drops = proxy.dropReplyOf((request) => request.includes('COMMIT'), 2)
  for (let round = 1; round <= 2; round++) {
    const client = open(t, proxy.port)
    await client.roundTrip('UPDATE')
    const before = received()
    client.socket.write('COMMIT')
    await client.failed
    assert.equal(client.text(), 'UPDATE')
    assert.equal(received(), before + 6)
    assert.equal(drops.count, round)
  }
  await drops.all
  await open(t, proxy.port).roundTrip('COMMIT')
})

async function startEcho(t: TestContext) {
  let received = 0
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      received += chunk.length
    })
    socket.pipe(socket)
  })
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  t.after(close)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    sockets: () => sockets,
    close,
  }
}

function open(t: TestContext, port: number) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const chunks: Buffer[] = []
  let wake = () => {}
  t.after(() => socket.destroy())
  socket.on('data', (chunk) => {
    chunks.push(chunk)
    wake()
  })
  const failed = new Promise<Error>((resolve) => socket.once('error', resolve))
  const ended = new Promise<void>((resolve) => socket.once('end', resolve))
  const bytes = () => Buffer.concat(chunks)
  const client = {
    socket,
    /** Resolves when the connection is reset or refused. */
    failed,
    text: () => bytes().toString(),
    async toEnd() {
      await ended
      return bytes()
    },
    async until(text: string) {
      while (!client.text().endsWith(text)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    roundTrip(text: string) {
      socket.write(text)
      return client.until(text)
    },
  }
  return client
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await settle()
}

/** Long enough for bytes to arrive on loopback, if they were to. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 30))
}
