import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createCommands } from '../../../src/commands/all.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { forwardNames, type RoundingGuard, wideIdsFor } from '../../../src/resp/rounding.ts'
import { commandsOf, connect, frame, serve, World } from './peer.ts'

const wide = 2n ** 53n

describe('which ids a library is sent', () => {
  const names = [
    '',
    'unheard-of',
    'redis-py',
    'go-redis(,go1.26)',
    'Lettuce',
    'node-redis(my app)',
    'GlideJS',
  ]
  const forms = (guard: RoundingGuard, protocol: 2 | 3) =>
    names.map((name) => wideIdsFor(name, protocol, guard))

  test('is integers only where its name is known to stand for exact ones', () => {
    const [refused, integer, big] = ['refused', 'integer', 'big-number']
    assert.deepEqual(forms('strict', 2), [refused, refused, integer, integer, integer, refused, refused])
    assert.deepEqual(forms('strict', 3), [refused, refused, integer, integer, integer, big, big])
    assert.deepEqual(forms('known', 2), [integer, integer, integer, integer, integer, refused, refused])
    assert.deepEqual(forms('known', 3), [integer, integer, integer, integer, integer, big, big])
    assert.deepEqual(forms('off', 2), Array(7).fill(integer))
  })

  test('is integers where the platform appends to the name of an exact library', () => {
    const forms = ['SE.Redis-DC', 'SE.Redis-aspnet(v2)', 'redis-py-fork'].map((name) =>
      wideIdsFor(name, 2, 'strict'),
    )
    assert.deepEqual(forms, ['integer', 'integer', 'refused'])
  })

  test('is decided by the node of the client, not by the guard of the leader', () => {
    for (const guard of ['strict', 'known', 'off'] as const) {
      for (const form of ['integer', 'big-number', 'refused'] as const) {
        assert.equal(wideIdsFor(forwardNames[form], 3, guard), form)
      }
    }
  })

  test('is never one that it would round, and a refusal uses none up', async (test) => {
    const { world, peer } = await connect(test)
    const counter = world.counter('a')
    counter.next = wide - 66n
    const refusal = /^-UNSAFE .*ID\.NEXT.*\r\n$/
    await peer.ask(frame('INCR', 'a').repeat(2), ':9007199254740926\r\n:9007199254740927\r\n')
    // Issuers look out for 2^53; these few below it are lost to the margin.
    for (let index = 0; index < 64; index++) assert.match(await peer.line(frame('INCR', 'a')), refusal)
    assert.equal(counter.next, wide)
    assert.match(await peer.line(frame('INCR', 'a')), refusal)
    assert.equal(counter.next, wide)
    await peer.ask(
      frame('LIBRARY', 'ioredis') + frame('HELLO', '3') + frame('INCR', 'a').repeat(2),
      '+OK\r\n_\r\n(9007199254740992\r\n(9007199254740993\r\n',
    )
    await peer.ask(frame('LIBRARY', 'jedis') + frame('INCR', 'a'), '+OK\r\n:9007199254740994\r\n')
  })

  test('is any when the guard is off, and for a nameless client when only known libraries are guarded', async (test) => {
    for (const roundingGuard of ['off', 'known'] as const) {
      const { world, peer } = await connect(test, { roundingGuard })
      world.counter('a').next = wide
      await peer.ask(frame('INCR', 'a'), ':9007199254740992\r\n')
      const reply = await peer.line(frame('LIBRARY', 'ioredis') + frame('INCR', 'a'), 2)
      assert.match(reply, roundingGuard === 'off' ? /:9007199254740993/ : /-UNSAFE/)
    }
  })

  test('comes as long as the ids are small, to a client without a name', async (test) => {
    const { world, peer } = await connect(test)
    const counter = world.counter('a')
    counter.next = wide - 1064n
    const first = Number(counter.next)
    const integers = Array.from({ length: 1000 }, (_, at) => `:${first + at}\r\n`).join('')
    await peer.ask(frame('INCR', 'a').repeat(1000), integers)
    // Each id past the line is an error.
    counter.next = wide - 66n
    await peer.ask(frame('PING'), '+OK\r\n')
    const replies = await peer.line(frame('INCR', 'a').repeat(3), 3)
    assert.match(replies, /^:9007199254740926\r\n:9007199254740927\r\n-UNSAFE .*\r\n$/)
  })
})

describe('JavaScript libraries as they are', () => {
  /** The commands with which libraries introduce themselves, and the test's INCR. */
  function table(world: World): CommandTable {
    const introductions = createCommands()
      .all()
      .filter((command) => ['hello', 'client', 'select'].includes(command.name))
    const own = commandsOf(world).filter((command) => command.name === 'incr')
    const info = { ...own[0]!, name: 'info', arity: -1, handler: () => 'loading:0\r\n' }
    return new CommandTable([...introductions, ...own, info])
  }

  async function start(test: Parameters<typeof serve>[0]) {
    const world = new World()
    world.counter('a').next = wide - 65n
    const { server } = await serve(test, {
      table: table(world),
      context: (session) => ({ session, server: { version: '0' } }) as never,
    })
    return { port: server.port }
  }

  for (const RESP of [2, 3] as const) {
    test(`node-redis never rounds in RESP${RESP}`, async (test) => {
      const { port } = await start(test)
      const client = createClient({ socket: { port, host: '127.0.0.1' }, RESP })
      // The server may close first when the test ends.
      client.on('error', () => {})
      await client.connect()
      test.after(() => client.destroy())
      assert.equal(await client.sendCommand(['INCR', 'a']), 2 ** 53 - 65)
      const next = client.sendCommand(['INCR', 'a'])
      if (RESP === 3) assert.equal(await next, wide - 64n)
      else await assert.rejects(next, /UNSAFE/)
    })

    test(`ioredis never rounds in RESP${RESP}`, async (test) => {
      const { port } = await start(test)
      const client = new Redis({ port, host: '127.0.0.1', protocol: RESP })
      test.after(async () => client.disconnect())
      assert.equal(await client.call('INCR', 'a'), 2 ** 53 - 65)
      const next = client.call('INCR', 'a')
      if (RESP === 3) assert.equal(await next, String(wide - 64n))
      else await assert.rejects(next, /UNSAFE/)
    })
  }
})
