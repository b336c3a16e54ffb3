import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { SocketPair } from '../../../src/proxy/socket-pair.ts'

/** More than the system takes for a peer that does not read. */
const much = Buffer.alloc(32 * 1_048_576, 97)

/** A socket, and its peer, which does not read yet. */
async function connected(t: TestContext): Promise<{ socket: Socket; peer: Socket }> {
  const server = createServer({ pauseOnConnect: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  const [peer] = (await once(server, 'connection')) as [Socket]
  server.close()
  t.after(() => {
    socket.destroy()
    peer.destroy()
  })
  return { socket, peer }
}

for (const [from, to] of [
  ['client', 'server'],
  ['server', 'client'],
] as const)
  test(`the ${from} is not read while the ${to} does not read what it was sent, and is read after it`, async (t) => {
    const sides = { client: await connected(t), server: await connected(t) }
    const taken = { client: 0, server: 0 }
    const pair: SocketPair = new SocketPair(sides.client.socket, sides.server.socket, {
      fromClient(chunk) {
        taken.client += chunk.length
        pair.toServer(chunk)
      },
      fromServer(chunk) {
        taken.server += chunk.length
        pair.toClient(chunk)
      },
      mayReadClient: () => true,
      unreadChanged() {},
      clientEnded() {},
      serverEnded() {},
      clientClosed() {},
      serverClosed() {},
      serverFailed: assert.fail,
      fail: assert.fail,
    })
    sides[from].peer.write(much)
    while (!pair[from].isPaused() && taken[from] < much.length)
      await new Promise((resolve) => setImmediate(resolve))
    assert.ok(taken[from] < much.length)
    assert.ok(pair[to].writableLength < 2_097_152, `${pair[to].writableLength} bytes are held`)
    let received = 0
    const { peer } = sides[to]
    const all = new Promise<void>((resolve) => {
      peer.on('data', (chunk: Buffer) => {
        received += chunk.length
        if (received === much.length) resolve()
      })
    })
    peer.resume()
    await all
    assert.equal(taken[from], much.length)
  })
