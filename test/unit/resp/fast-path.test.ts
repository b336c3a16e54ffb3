import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Counter, connect, frame, Peer, serve } from './peer.ts'

function integers(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `:${from + index}\r\n`).join('')
}

describe('requests that repeat themselves', () => {
  test('are answered in runs, in order, ten thousand in one pipeline', async (test) => {
    const { server, world, peer } = await connect(test)
    const counter = world.counter('a')
    await peer.ask(frame('INCR', 'a').repeat(10_000), integers(1, 10_000))
    assert.deepEqual(world.ran, [])
    assert.ok(counter.takes < 100, `${counter.takes} takes`)
    assert.equal(server.stats.commands, 10_000)
    await peer.ask(frame('CLIENT', 'LAST'), '$11\r\nclient|last\r\n')
  })

  test('are answered one run after the other when runs are short', async (test) => {
    const { world, peer } = await connect(test)
    world.counter('a').runMax = 3
    await peer.ask(frame('INCR', 'a').repeat(1000), integers(1, 1000))
    assert.deepEqual(world.ran, [])
  })

  test('go to the handler while the buffer is empty, and back', async (test) => {
    const { world, peer } = await connect(test)
    const counter = world.counter('a')
    counter.left = 5
    await peer.ask(frame('INCR', 'a').repeat(8), integers(1, 8))
    assert.equal(world.ran.length, 3)
    counter.left = 100
    await peer.ask(frame('INCR', 'a').repeat(8), integers(9, 8))
    assert.equal(world.ran.length, 3)
  })

  test('find the generator once it is in use, and the new one after it was made anew', async (test) => {
    const { world, peer } = await connect(test)
    await peer.ask(frame('INCR', 'a'), ':1\r\n')
    assert.equal(world.ran.length, 1)
    await peer.ask(frame('INCR', 'a').repeat(3), integers(2, 3))
    assert.equal(world.ran.length, 1)
    world.counter('a').left = 0
    world.counters.set('a', new Counter(100n))
    await peer.ask(frame('INCR', 'a').repeat(3), integers(100, 3))
    assert.equal(world.ran.length, 2)
  })

  test('may take turns, more of them than are remembered', async (test) => {
    const { peer } = await connect(test)
    const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`)
    for (let turn = 1; turn <= 10; turn++) {
      await peer.ask(keys.map((key) => frame('INCR', key)).join(''), `:${turn}\r\n`.repeat(20))
    }
  })

  test('are known from other connections, with their protocol and their user left out', async (test) => {
    const { server, peer: first } = await connect(test)
    const second = await Peer.to(server)
    await first.ask(frame('HELLO', '3') + frame('INCR', 'a') + frame('ECHO', 'x'), '_\r\n:1\r\n$1\r\nx\r\n')
    await second.ask(
      frame('HELLO', '2') + frame('INCR', 'a') + frame('ECHO', 'x'),
      '$-1\r\n:2\r\n$1\r\nx\r\n',
    )
  })

  test('may be many: more than are known', async (test) => {
    const { peer } = await connect(test)
    const texts = Array.from({ length: 5000 }, (_, index) => `${index}`)
    const requests = texts.map((text) => frame('ECHO', text)).join('')
    const replies = texts.map((text) => `$${text.length}\r\n${text}\r\n`).join('')
    await peer.ask(requests, replies)
    await peer.ask(requests, replies)
  })

  test('may be cut anywhere', async (test) => {
    const { world, peer } = await connect(test)
    world.counter('a')
    const requests = frame('INCR', 'a').repeat(20)
    for (let start = 0; start < requests.length; start += 7) {
      peer.send(requests.slice(start, start + 7))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await peer.expect(integers(1, 20))
  })

  test('run their handler each time where there is no shorter way', async (test) => {
    const { peer } = await connect(test)
    await peer.ask(frame('ECHO', 'x').repeat(500), '$1\r\nx\r\n'.repeat(500))
    await peer.ask(frame('BUG').repeat(3) + frame('PING'), `${'-ERR internal error\r\n'.repeat(3)}+OK\r\n`)
  })

  test('get an error each while taking fails, and ids again afterwards', async (test) => {
    const { server, world } = await serve(test)
    const counter = world.counter('a')
    counter.runMax = 1
    const take = counter.take.bind(counter)
    counter.take = (count, run) => {
      if (counter.takes === 2) {
        counter.takes++
        throw new TypeError('a bug')
      }
      return take(count, run)
    }
    const peer = await Peer.to(server)
    await peer.ask(frame('INCR', 'a').repeat(4), ':1\r\n:2\r\n-ERR internal error\r\n:3\r\n')
    assert.equal(world.errors.length, 1)
  })

  test('are answered anew after the user has changed', async (test) => {
    const { world, peer } = await connect(test)
    world.counter('a')
    const refusal = '-NOAUTH Authentication required.\r\n'
    await peer.ask(frame('INCR', 'a').repeat(2), integers(1, 2))
    await peer.ask(frame('AUTH', 'none') + frame('INCR', 'a').repeat(2), `+OK\r\n${refusal.repeat(2)}`)
    await peer.ask(frame('AUTH', 'me') + frame('INCR', 'a').repeat(2), `+OK\r\n${integers(3, 2)}`)
  })
})
