import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeBuckets } from '../../../src/base/times.ts'
import { FakeClock } from '../fake-clock.ts'
import { connect, frame, Peer } from './peer.ts'

function bucketOf(seconds: number): number {
  return timeBuckets.indexOf(seconds)
}

test('the times of requests that wait last from their arrival until their reply, also of those behind them', async (test) => {
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
  const { counts, seconds } = server.stats.requests.times.ok
  assert.deepEqual([counts[bucketOf(1)], counts[bucketOf(2.5)]], [1, 2])
  assert.equal(seconds, 1 + 2 + 2)
})

/** Each reading is 30 µs after the one before. */
class SlowClock extends FakeClock {
  readings = 0

  override monoUs(): number {
    this.readings++
    this.mono += 30
    return this.mono
  }
}

test('the requests that are answered in one callback have its time, which is read once however many they are', async (test) => {
  const clock = new SlowClock()
  const { server, peer } = await connect(test, { clock })
  const readingsFor = async (requests: number) => {
    const before = clock.readings
    const { ok } = server.stats.requests.times
    const { counts, seconds } = ok
    const [counted, took] = [counts[0]!, seconds]
    peer.send(frame('PING').repeat(requests))
    await peer.expect('+OK\r\n'.repeat(requests))
    assert.equal(counts[0]! - counted, requests)
    const us = (ok.seconds - took) * 1_000_000
    assert.ok(Math.abs(us - requests * 30) < 0.001, `${us} µs`)
    return clock.readings - before
  }
  assert.equal(await readingsFor(1), await readingsFor(100))
})

test('the errors of requests are counted by code, and are the outcomes of their requests', async (test) => {
  const { server, world, peer } = await connect(test)
  world.counter('large').next = 2n ** 53n - 66n
  peer.send(frame('NONE') + frame('NONE') + frame('INCR', 'large').repeat(3) + frame('PING'))
  while (!peer.received.includes('+OK')) await new Promise((resolve) => setImmediate(resolve))
  const { errors, times } = server.stats.requests
  assert.deepEqual(Object.fromEntries(errors), { ERR: 2, UNSAFE: 1 })
  const count = (outcome: 'ok' | 'refused' | 'failed') =>
    times[outcome].counts.reduce((sum, each) => sum + each)
  assert.deepEqual([count('ok'), count('refused'), count('failed')], [3, 3, 0])
  assert.equal(server.stats.commands, 6)
})

test('an error of no request is the outcome of none', async (test) => {
  const { server, peer } = await connect(test)
  const broken = await Peer.to(server)
  broken.send('*1\r\nx\r\n')
  await broken.closed
  peer.send(frame('PING'))
  await peer.expect('+OK\r\n')
  const { errors, times } = server.stats.requests
  assert.deepEqual(Object.fromEntries(errors), { ERR: 1 })
  const count = (outcome: 'ok' | 'refused') => times[outcome].counts.reduce((sum, each) => sum + each)
  assert.deepEqual([count('ok'), count('refused')], [1, 0])
})
