import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { requestBuckets } from '../../../src/listening/request-figures.ts'
import { FakeClock } from '../fake-clock.ts'
import { frame, Peer, serve } from './peer.ts'

function bucketOf(seconds: number): number {
  return requestBuckets.indexOf(seconds)
}

describe('the times of requests', () => {
  test('that wait last from their arrival until their reply; those that are answered at once are not measured', async (test) => {
    const clock = new FakeClock()
    const { server, world } = await serve(test, { clock })
    const peer = await Peer.to(server)
    peer.send(frame('DRAW', 'a'))
    while (world.waits.length < 1) await new Promise((resolve) => setImmediate(resolve))
    clock.mono = 400_000
    peer.send(frame('DRAW', 'b') + frame('PING'))
    while (world.waits.length < 2) await new Promise((resolve) => setImmediate(resolve))
    clock.mono = 1_000_000
    await world.release('1')
    await peer.expect('$1\r\n1\r\n')
    clock.mono = 2_400_000
    await world.release('2')
    await peer.expect('$1\r\n2\r\n+OK\r\n')
    const { counts, seconds } = server.stats.requests
    // PING was answered at once, and is not measured.
    assert.deepEqual([counts[bucketOf(1)], counts[bucketOf(2.5)]], [1, 1])
    assert.equal(seconds, 1 + 2)
  })
})

describe('the errors of requests', () => {
  test('are counted by code', async (test) => {
    const { server, world } = await serve(test)
    world.counter('large').next = 2n ** 53n - 66n
    const peer = await Peer.to(server)
    peer.send(frame('NONE') + frame('NONE') + frame('INCR', 'large').repeat(3) + frame('PING'))
    while (!peer.received.includes('+OK')) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(Object.fromEntries(server.stats.requests.errors), { ERR: 2, UNSAFE: 1 })
  })
})
