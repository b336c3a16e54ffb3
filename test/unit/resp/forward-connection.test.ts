import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import type { FahaoError } from '../../../src/base/errors.ts'
import { dialPlain } from '../../../src/listening/dial.ts'
import { encodedRequest, ForwardConnection } from '../../../src/resp/forward-connection.ts'
import { FakeClock } from '../fake-clock.ts'

const timeoutMs = 100

/** A link to a leader that replies when a test has it do so. */
async function start(t: TestContext) {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const clock = new FakeClock()
  const state = { ends: 0, received: '' }
  const accepted = once(server, 'connection')
  const link = new ForwardConnection({
    host: '127.0.0.1',
    port,
    dial: dialPlain,
    greetings: [],
    clock,
    timeoutMs,
    onEnd: () => void state.ends++,
  })
  t.after(() => link.close('the test is over'))
  const leader = (await accepted)[0] as Socket
  // A link that ends with a reply unread resets the connection.
  leader.on('error', () => {})
  leader.on('data', (chunk: Buffer) => {
    state.received += chunk.toString()
  })
  /** Resolves to what the asker is told. */
  const ask = (name: string): Promise<string> =>
    link.send(encodedRequest([Buffer.from(name)])).then(
      (reply) => reply.bytes.toString().slice(1).trim(),
      (error: FahaoError) => error.code,
    )
  /** Resolves when all of them have arrived at the leader. */
  const arrival = async (...names: string[]) => {
    while (!names.every((name) => state.received.includes(name))) await new Promise(setImmediate)
  }
  const reply = (...names: string[]) => leader.write(names.map((name) => `+${name}\r\n`).join(''))
  return { link, leader, clock, state, ask, arrival, reply }
}

describe('a reply that is late', () => {
  test('affects its own request only: later replies go to their requests', async (t) => {
    const { clock, state, ask, arrival, reply } = await start(t)
    const first = ask('first')
    const slow = ask('slow')
    await arrival('first', 'slow')
    await clock.pass(60)
    const quick = ask('quick')
    await arrival('quick')
    reply('first')
    assert.equal(await first, 'first')
    await clock.pass(40)
    assert.equal(await slow, 'UNKNOWN')
    const later = ask('later')
    await arrival('later')
    reply('slow', 'quick', 'later')
    assert.deepEqual([await quick, await later], ['quick', 'later'])
    const last = ask('last')
    await arrival('last')
    reply('last')
    assert.equal(await last, 'last')
    assert.equal(state.ends, 0)
  })

  test('is the error UNKNOWN when the request has timed out, and not before', async (t) => {
    const { clock, ask, arrival, reply } = await start(t)
    const told: string[] = []
    const first = ask('first')
    void ask('slow').then((code) => told.push(`slow ${code}`))
    await clock.pass(30)
    void ask('slower').then((code) => told.push(`slower ${code}`))
    await arrival('first', 'slow', 'slower')
    await clock.pass(60)
    reply('first')
    await first
    await clock.pass(9)
    assert.deepEqual(told, [])
    await clock.pass(1)
    assert.deepEqual(told, ['slow UNKNOWN'])
    await clock.pass(29)
    assert.deepEqual(told, ['slow UNKNOWN'])
    await clock.pass(1)
    assert.deepEqual(told, ['slow UNKNOWN', 'slower UNKNOWN'])
  })

  test('counts among the requests that may wait until it has come', async (t) => {
    const { clock, state, ask, arrival, reply } = await start(t)
    const first = ask('first')
    const slow = Array.from({ length: 9999 }, () => ask('slow'))
    assert.equal(await ask('toomany'), 'BUSY')
    await clock.pass(60)
    await arrival('first')
    reply('first')
    assert.equal(await first, 'first')
    slow.push(ask('slow'))
    await clock.pass(40)
    assert.equal(new Set(await Promise.all(slow.slice(0, 9999))).size, 1)
    assert.equal(await slow[0], 'UNKNOWN')
    assert.equal(await ask('toomany'), 'BUSY')
    reply(...slow.map(() => 'slow'))
    assert.equal(await slow.at(-1), 'slow')
    const next = ask('next')
    await arrival('next')
    reply('next')
    assert.equal(await next, 'next')
    assert.equal(state.ends, 0)
  })

  test('delays no later timeout once it has arrived', async (t) => {
    const { clock, state, ask, arrival, reply } = await start(t)
    for (const round of ['a', 'b', 'c']) {
      const first = ask(`first ${round}`)
      const slow = ask(`slow ${round}`)
      await arrival(`first ${round}`, `slow ${round}`)
      await clock.pass(60)
      reply('first')
      assert.equal(await first, 'first')
      await clock.pass(40)
      assert.equal(await slow, 'UNKNOWN')
      reply('slow')
    }
    assert.equal(state.ends, 0)
  })
})

describe('a link on which nothing arrives', () => {
  test('ends when a request has waited for as long, and takes all others with it', async (t) => {
    const { leader, clock, state, ask, arrival } = await start(t)
    const closed = once(leader, 'close')
    const oldest = ask('oldest')
    await clock.pass(60)
    const younger = ask('younger')
    await arrival('oldest', 'younger')
    await clock.pass(39)
    assert.equal(state.ends, 0)
    await clock.pass(1)
    assert.deepEqual([await oldest, await younger, state.ends], ['UNKNOWN', 'UNKNOWN', 1])
    assert.equal(clock.timers, 0)
    assert.equal(await ask('next'), 'UNAVAILABLE')
    await closed
  })

  test('ends also if the requests that wait have timed out already', async (t) => {
    const { clock, state, ask, arrival, reply } = await start(t)
    const first = ask('first')
    const slow = ask('slow')
    await arrival('first', 'slow')
    await clock.pass(60)
    reply('first')
    await first
    await clock.pass(99)
    assert.deepEqual([await slow, state.ends], ['UNKNOWN', 0])
    await clock.pass(1)
    assert.equal(state.ends, 1)
  })

  test('ends a minute after the last request, and leaves no timer', async (t) => {
    const { clock, state, ask, arrival, reply } = await start(t)
    await clock.pass(10 * timeoutMs)
    const first = ask('first')
    await arrival('first')
    await clock.pass(timeoutMs - 1)
    reply('first')
    assert.equal(await first, 'first')
    await clock.pass(59_000)
    const second = ask('second')
    await arrival('second')
    reply('second')
    assert.equal(await second, 'second')
    await clock.pass(60_000)
    assert.deepEqual([state.ends, clock.timers], [0, 1])
    await clock.pass(timeoutMs)
    assert.deepEqual([state.ends, clock.timers], [1, 0])
    assert.equal(await ask('third'), 'UNAVAILABLE')
  })
})
