import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestBuckets } from '../../../src/listening/request-figures.ts'
import { FakeClock } from '../fake-clock.ts'
import { connect, frame } from './peer.ts'

function bucketOf(seconds: number): number {
  return requestBuckets.indexOf(seconds)
}

test('the times of requests that wait last from their arrival until their reply; those that are answered at once are not measured', async (test) => {
  const clock = new FakeClock()
  const { server, world, peer } = await connect(test, { clock })
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

test('the errors of requests are counted by code', async (test) => {
  const { server, world, peer } = await connect(test)
  world.counter('large').next = 2n ** 53n - 66n
  peer.send(frame('NONE') + frame('NONE') + frame('INCR', 'large').repeat(3) + frame('PING'))
  while (!peer.received.includes('+OK')) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(Object.fromEntries(server.stats.requests.errors), { ERR: 2, UNSAFE: 1 })
})
