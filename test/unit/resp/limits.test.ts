import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { unauthenticated } from '../../../src/auth/access.ts'
import type { ClientSession } from '../../../src/commands/context.ts'
import type { RespServer } from '../../../src/resp/server.ts'
import { connect, frame, Peer, serve } from './peer.ts'

describe('connections', () => {
  test('beyond the limit get an error and are closed; one that ends makes room', async (test) => {
    const { server, peer: first } = await connect(test, { limits: { connectionsMax: 2 } })
    const second = await Peer.to(server)
    await second.ask(frame('PING'), '+OK\r\n')
    const third = await Peer.to(server)
    assert.equal(await third.closed, '-ERR max number of clients reached\r\n')
    assert.deepEqual([server.stats.connections, server.stats.connectionsRejected], [2, 1])
    first.socket.end()
    await first.closed
    while (server.stats.connections === 2) await new Promise((resolve) => setImmediate(resolve))
    const fourth = await Peer.to(server)
    await fourth.ask(frame('PING'), '+OK\r\n')
  })

  test('beyond the limit of their address are refused', async (test) => {
    const { server, peer: first } = await connect(test, { limits: { connectionsPerAddressMax: 1 } })
    const second = await Peer.to(server)
    assert.equal(await second.closed, '-ERR max number of clients reached\r\n')
    await first.ask(frame('PING'), '+OK\r\n')
    assert.deepEqual(server.stats.rejected, { limit: 0, address: 1, pending: 0 })
  })

  test('that have not authenticated keep out no user: the oldest of them gives way', async (test) => {
    const { server } = await serve(test, {
      initialAccess: () => unauthenticated,
      limits: { connectionsMax: 3, unauthenticatedConnectionsMax: 2 },
    })
    const user = await Peer.to(server)
    await user.ask(frame('AUTH', 'me'), '+OK\r\n')
    const [oldest, newer, newest] = [await Peer.to(server), await Peer.to(server), await Peer.to(server)]
    assert.equal(await oldest.closed, '')
    await newest.ask(frame('AUTH', 'you'), '+OK\r\n')
    const another = await Peer.to(server)
    assert.equal(await newer.closed, '')
    await another.ask(frame('AUTH', 'her'), '+OK\r\n')
    assert.equal(await (await Peer.to(server)).closed, '-ERR max number of clients reached\r\n')
    await user.ask(frame('PING'), '+OK\r\n')
    const { connections, pending, rejected } = server.stats
    assert.deepEqual(
      { connections, pending, rejected },
      {
        connections: 3,
        pending: 0,
        rejected: { limit: 1, address: 0, pending: 2 },
      },
    )
  })

  test('that are silent are closed when idle time is limited, but not while a command waits', async (test) => {
    const { server, world } = await serve(test, { limits: { idleTimeoutMs: 3000 } })
    const waiting = await Peer.to(server)
    waiting.send(frame('WAIT'))
    while (world.waits.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const idle = await Peer.to(server)
    assert.equal(await idle.closed, '')
    await world.release('still here')
    await waiting.expect('$10\r\nstill here\r\n')
  })

  test('that have not authenticated have smaller limits and a deadline', async (test) => {
    const { server } = await serve(test, {
      initialAccess: () => unauthenticated,
      limits: { unauthenticatedTimeoutMs: 3000, unauthenticatedMaxBytes: 20 },
    })
    const greedy = await Peer.to(server)
    greedy.send(frame('PING') + frame('AUTH', 'x'.repeat(21)))
    assert.equal(
      await greedy.closed,
      '-NOAUTH Authentication required.\r\n-ERR Protocol error: unauthenticated bulk length\r\n',
    )
    const known = await Peer.to(server)
    await known.ask(
      frame('AUTH', 'me') + frame('ECHO', 'x'.repeat(30)),
      `+OK\r\n$30\r\n${'x'.repeat(30)}\r\n`,
    )
    const silent = await Peer.to(server)
    assert.equal(await silent.closed, '')
    await known.ask(frame('PING'), '+OK\r\n')
  })

  test('that have not authenticated rest after several refusals', async (test) => {
    const { server, peer } = await connect(test, { initialAccess: () => unauthenticated })
    const count = 17
    peer.send(frame('PING').repeat(count))
    let most = 0
    for (let before = 0; before < count; ) {
      await new Promise((resolve) => setImmediate(resolve))
      most = Math.max(most, server.stats.commands - before)
      before = server.stats.commands
    }
    assert.equal(most, 16)
    await peer.expect('-NOAUTH Authentication required.\r\n'.repeat(count))
  })

  test('that have not authenticated send no request of many long arguments', async (test) => {
    const { peer } = await connect(test, {
      initialAccess: () => unauthenticated,
      limits: { unauthenticatedMaxBytes: 1000 },
    })
    peer.send(frame('AUTH', 'x'.repeat(1000), 'y'.repeat(1000)))
    assert.equal(await peer.closed, '-ERR Protocol error: too big request\r\n')
  })

  test('that have not authenticated and do not read are dropped, however short their replies are', async (test) => {
    const { server, peer } = await connect(test, {
      initialAccess: () => unauthenticated,
      limits: { unauthenticatedMaxBytes: 1000 },
    })
    peer.socket.pause()
    peer.send(frame('PING').repeat(1_000_000))
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    peer.socket.destroy()
  })

  test('have all their time for AUTH again after a logout', async (test) => {
    const { server, peer } = await connect(test, {
      initialAccess: () => unauthenticated,
      limits: { unauthenticatedTimeoutMs: 3000 },
    })
    await peer.ask(frame('AUTH', 'me'), '+OK\r\n')
    await new Promise((resolve) => setTimeout(resolve, 3100))
    await peer.ask(frame('AUTH', ''), '+OK\r\n')
    await peer.ask(frame('PING'), '-NOAUTH Authentication required.\r\n')
    assert.equal(server.stats.pending, 1)
    await peer.closed
  })

  test('that do not close their end are dropped after a while', async (test) => {
    const { server, peer } = await connect(test, { limits: { lingerMs: 40 } })
    peer.socket.allowHalfOpen = true
    await peer.ask(frame('QUIT'), '+OK\r\n')
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    peer.socket.destroy()
  })
})

describe('a peer that does not read', () => {
  const limits = { unreadMaxBytes: 100_000 }
  const requests = 400
  const replyBytes = 100_000

  test('has no more of its requests carried out, until it reads', async (test) => {
    const { server, world, peer } = await connect(test, { limits })
    peer.socket.pause()
    peer.send((frame('BIG', String(replyBytes)) + frame('INCR', 'a')).repeat(requests))
    const [session] = [...server.sessions()]
    while (session!.unreadBytes < limits.unreadMaxBytes) await new Promise((resolve) => setImmediate(resolve))
    // A moment in which more would be carried out if anything were.
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.ok(world.counter('a').next < requests / 2)
    assert.ok(session!.unreadBytes < limits.unreadMaxBytes + 65_536 + 2 * replyBytes)
    peer.socket.resume()
    peer.socket.removeAllListeners('data')
    while (world.counter('a').next <= requests) await once(peer.socket, 'data')
    assert.equal(Number(world.counter('a').next), requests + 1)
  })

  test('is dropped after the timeout', async (test) => {
    const { server, peer } = await connect(test, { limits: { ...limits, unreadTimeoutMs: 80 } })
    peer.socket.pause()
    peer.send(frame('BIG', String(replyBytes)).repeat(requests))
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    peer.socket.destroy()
  })

  test('is dropped at once when all such peers together hold too much', async (test) => {
    const { server, peer } = await connect(test, { limits: { ...limits, unreadTotalMaxBytes: 150_000 } })
    peer.socket.pause()
    peer.send(frame('BIG', '60000000'))
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    peer.socket.destroy()
  })
})

describe('a peer with unread replies below its own limit', () => {
  const unreadMaxBytes = 100_000_000
  /** More than the kernel holds for a connection. */
  const replyBytes = 20_000_000
  const big = frame('BIG', String(replyBytes))

  /** A peer that has not read a large reply. */
  async function unreading(server: RespServer): Promise<{ peer: Peer; session: ClientSession }> {
    const peer = await Peer.to(server)
    const session = [...server.sessions()].at(-1)!
    peer.socket.pause()
    peer.send(big)
    while (session.unreadBytes === 0) await new Promise((resolve) => setImmediate(resolve))
    return { peer, session }
  }

  test('is dropped when it does not read for too long', async (test) => {
    const { server } = await serve(test, { limits: { unreadMaxBytes, unreadTimeoutMs: 80 } })
    const { peer } = await unreading(server)
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    peer.socket.destroy()
  })
})

test('a peer that does not complete a long request is dropped when all such peers together hold too much, the one first that has sent nothing for the longest time', async (test) => {
  const { server } = await serve(test, { limits: { unreadTotalMaxBytes: 250_000 } })
  const unfinished = frame('ECHO', 'x'.repeat(60_000), 'y'.repeat(60_000)).slice(0, -1)
  const [first, second, third] = [await Peer.to(server), await Peer.to(server), await Peer.to(server)]
  for (const peer of [first, second, third]) {
    const before = server.stats.bytesIn
    peer.send(unfinished)
    while (server.stats.bytesIn < before + unfinished.length)
      await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(await first.closed, '')
  assert.equal(server.stats.connections, 2)
  for (const peer of [second, third]) peer.socket.destroy()
})

test('a peer that sends on while its command waits is not read beyond the limit, and gets every answer in the end', async (test) => {
  const { server, world, peer } = await connect(test, { limits: { queuedMaxBytes: 10_000 } })
  const pings = 300_000
  peer.send(frame('WAIT') + frame('PING').repeat(pings))
  let before = -1
  while (server.stats.bytesIn !== before || before <= 0) {
    before = server.stats.bytesIn
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
  assert.ok(before < 10_000 + 3 * 65_536, `${before} bytes were read`)
  await world.release('go')
  await peer.expect(`$2\r\ngo\r\n${'+OK\r\n'.repeat(pings)}`)
})
