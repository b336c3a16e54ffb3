import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createCommands } from '../../../src/commands/all.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { wideIdsFor } from '../../../src/resp/rounding.ts'
import { commandsOf, frame, Peer, serve, World } from './peer.ts'

const wide = 2n ** 53n

describe('which ids a library is sent', () => {
  it('goes by its name, whatever the application adds to it', () => {
    assert.equal(wideIdsFor('', 2), 'integer')
    assert.equal(wideIdsFor('redis-py', 2), 'integer')
    assert.equal(wideIdsFor('ioredis', 2), 'refused')
    assert.equal(wideIdsFor('node-redis(my app)', 2), 'refused')
    assert.equal(wideIdsFor('node-redis', 3), 'big-number')
  })

  it('is never one that it would round, and a refusal uses none up', async (test) => {
    const { server, world } = await serve(test)
    const counter = world.counter('a')
    counter.next = wide - 66n
    const peer = await Peer.to(server)
    const refusal = /^-UNSAFE .*ID\.NEXT.*\r\n$/
    await peer.ask(
      frame('LIBRARY', 'ioredis') + frame('INCR', 'a').repeat(2),
      '+OK\r\n:9007199254740926\r\n:9007199254740927\r\n',
    )
    // Issuers look out for 2^53; these few below it are lost to the margin.
    for (let index = 0; index < 64; index++) assert.match(await peer.line(frame('INCR', 'a')), refusal)
    assert.equal(counter.next, wide)
    assert.match(await peer.line(frame('INCR', 'a')), refusal)
    assert.equal(counter.next, wide)
    await peer.ask(
      frame('HELLO', '3') + frame('INCR', 'a').repeat(2),
      '_\r\n(9007199254740992\r\n(9007199254740993\r\n',
    )
    await peer.ask(frame('LIBRARY', 'jedis') + frame('INCR', 'a'), '+OK\r\n:9007199254740994\r\n')
  })

  it('is any when the guard is off', async (test) => {
    const { server, world } = await serve(test, { roundingGuard: false })
    world.counter('a').next = wide
    const peer = await Peer.to(server)
    await peer.ask(frame('LIBRARY', 'ioredis') + frame('INCR', 'a'), '+OK\r\n:9007199254740992\r\n')
  })
})

describe('JavaScript libraries as they are', () => {
  /** The commands with which libraries introduce themselves, and the test's INCR. */
  function table(world: World): CommandTable {
    const introductions = createCommands()
      .all()
      .filter((command) => ['hello', 'client', 'select'].includes(command.name))
    const own = commandsOf(world).filter((command) => command.name === 'incr')
    const { direct: _, ...plain } = own[0]!
    const info = { ...plain, name: 'info', arity: -1, handler: () => 'loading:0\r\n' }
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
    it(`node-redis never rounds in RESP${RESP}`, async (test) => {
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

    it(`ioredis never rounds in RESP${RESP}`, async (test) => {
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
