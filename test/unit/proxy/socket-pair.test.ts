import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type PairHost, SocketPair } from '../../../src/proxy/socket-pair.ts'

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

const noEffects: Omit<PairHost, 'fromClient' | 'fromServer'> = {
  mayReadClient: () => true,
  unreadChanged() {},
  clientEnded() {},
  serverEnded() {},
  clientClosed() {},
  serverClosed() {},
  serverFailed: assert.fail,
  fail: assert.fail,
}

const directions = [
  ['client', 'server'],
  ['server', 'client'],
] as const

for (const [from, to] of directions) {
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
      ...noEffects,
    })
    sides[from].peer.write(much)
    // A side also pauses for a turn of the event loop, and goes on then.
    for (let [idle, before] = [0, 0]; idle < 1000 && taken[from] < much.length; idle++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (taken[from] !== before || taken[from] === 0) idle = 0
      before = taken[from]
    }
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

  test(`what ${from}s send at once is taken in many turns of the event loop, a few chunks in each`, async (t) => {
    const [count, bytes] = [32, 1_048_576]
    let [taken, inTurn, most, turns] = [0, 0, 0, 0]
    const take = (chunk: Buffer) => {
      taken += chunk.length
      inTurn += chunk.length
    }
    const all: SocketPair[] = []
    while (all.length < count) {
      const sides = { client: await connected(t), server: await connected(t) }
      for (const { socket } of Object.values(sides)) socket.pause()
      sides[from].peer.write(much.subarray(0, bytes))
      const host = { ...noEffects, fromClient: take, fromServer: take }
      all.push(new SocketPair(sides.client.socket, sides.server.socket, host))
    }
    for (const pair of all) pair[from].resume()
    while (taken < count * bytes) {
      await new Promise((resolve) => setImmediate(resolve))
      most = Math.max(most, inTurn)
      if (inTurn > 0) turns++
      inTurn = 0
    }
    // At first all of them are read, each a chunk beyond the end of the turn; then a few go on in each turn.
    assert.ok(most <= 8_388_608, `${most} bytes in one turn`)
    assert.ok(turns > 40, `${turns} turns`)
  })
}
