/** MULTI, EXEC, DISCARD, WATCH and UNWATCH on a connection. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { unauthenticated } from '../../../src/auth/access.ts'
import { createCommands } from '../../../src/commands/all.ts'
import { type Command, Invalidating } from '../../../src/commands/command.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { transactionCommands } from '../../../src/commands/transactions.ts'
import type { RespServerOptions } from '../../../src/resp/server.ts'
import { Counter, commandsOf, frame, Peer, serve, World } from './peer.ts'

const abort = '-EXECABORT Transaction discarded because of previous errors.\r\n'
const arity = "-ERR wrong number of arguments for 'incr' command\r\n"

const common = { flags: [], permission: 'connection', group: 'generic', summary: '', reply: '' } as const
const extra: readonly Command[] = [
  {
    ...common,
    name: 'cached',
    arity: 2,
    handler: (_, args) => new Invalidating(args.text(0), [args.bytes(0)]),
  },
  {
    ...common,
    name: 'placed',
    arity: 2,
    handler: (_, args) => args.text(0),
    overlaps: () => true,
    placed: async (_, args) => {
      if (args.text(0) === 'away') throw new TypeError('a bug')
      return undefined
    },
  },
]
/** RESET and CLIENT, as they are. */
const real = createCommands()
  .all()
  .filter(({ name }) => name === 'reset')

/** A server with the test's commands and transactions. */
async function start(t: TestContext, options: Partial<RespServerOptions> = {}) {
  const world = new World()
  const table = new CommandTable([...commandsOf(world), ...extra, ...real, ...transactionCommands])
  const { server } = await serve(t, { table, onError: (error) => world.errors.push(error), ...options })
  world.counter('order')
  return { server, world, peer: await Peer.to(server) }
}

test('the error of one request is an element, and the others run', async (t) => {
  const { peer, world } = await start(t)
  await peer.ask(
    'MULTI\r\nINCR order\r\nFAIL\r\nLATEBUG\r\nHALFBUG\r\nINCR order\r\nEXEC\r\n',
    `+OK\r\n${'+QUEUED\r\n'.repeat(5)}*5\r\n:1\r\n-DRY the buffer is empty\r\n-ERR internal error\r\n-ERR internal error\r\n:2\r\n`,
  )
  assert.equal(world.errors.length, 2)
})

test('a request of a transaction is counted when it runs, or when it is refused, and its outcome with it', async (t) => {
  const { peer, server } = await start(t)
  const counted = () => {
    const { commands, requests } = server.stats
    const { ok, refused, failed } = requests.times
    const sums = [ok, refused, failed].map(({ counts }) => counts.reduce((sum, each) => sum + each))
    return [commands, ...sums]
  }
  const inTurn = async (text: string, replies: string) => {
    await peer.ask(text, replies)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await inTurn(
    'MULTI\r\nINCR order\r\nFAIL\r\nPLACED near\r\nLATER now\r\n',
    `+OK\r\n${'+QUEUED\r\n'.repeat(4)}`,
  )
  assert.deepEqual(counted(), [1, 1, 0, 0])
  await inTurn('EXEC\r\n', '*4\r\n:1\r\n-DRY the buffer is empty\r\n$4\r\nnear\r\n$3\r\nnow\r\n')
  assert.deepEqual(counted(), [6, 5, 0, 1])
  await inTurn(`MULTI\r\nPLACED away\r\nEXEC\r\n`, `+OK\r\n-ERR internal error\r\n${abort}`)
  assert.equal(counted()[0], 9)
})

test('after a request whose place cannot be told EXEC runs nothing and uses up no id', async (t) => {
  const { peer, world } = await start(t)
  await peer.ask(
    `MULTI\r\nINCR order\r\nPLACED away\r\nPLACED here\r\nEXEC\r\n`,
    `+OK\r\n+QUEUED\r\n-ERR internal error\r\n+QUEUED\r\n${abort}`,
  )
  assert.equal(world.counter('order').next, 1n)
  await peer.ask(
    'MULTI\r\nPLACED here\r\nINCR order\r\nEXEC\r\n',
    '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$4\r\nhere\r\n:1\r\n',
  )
})

test('WATCH is refused inside and outside, in the words of Redis, and QUIT discards what is queued', async (t) => {
  const { peer, world } = await start(t)
  assert.match(
    await peer.line('WATCH order\r\n'),
    /^-ERR WATCH is not supported: there is no value to compare/,
  )
  await peer.ask('MULTI\r\nWATCH order\r\n', '+OK\r\n-ERR WATCH inside MULTI is not allowed\r\n')
  await peer.ask('INCR order\r\nQUIT\r\n', '+QUEUED\r\n+OK\r\n')
  await peer.closed
  assert.equal(world.counter('order').next, 1n)
})

test('the end of the connection discards what is queued', async (t) => {
  const { peer, world } = await start(t)
  peer.send('MULTI\r\nINCR order\r\n')
  peer.socket.end()
  assert.equal(await peer.closed, '+OK\r\n+QUEUED\r\n')
  assert.equal(world.counter('order').next, 1n)
})

test('a transaction waits for each of its requests, and the next request for all of them', async (t) => {
  const { peer, world } = await start(t)
  await peer.ask(
    'MULTI\r\nWAIT\r\nDRAW a\r\nDRAW b\r\nINCR order\r\nEXEC\r\nPING\r\n',
    `+OK\r\n${'+QUEUED\r\n'.repeat(4)}*4\r\n`,
  )
  await world.release('first')
  await peer.expect('$5\r\nfirst\r\n')
  await world.release('a')
  await world.release('b')
  await peer.expect('$1\r\na\r\n$1\r\nb\r\n:1\r\n+OK\r\n')
})

test('a connection that is closed while its transaction runs still gets the whole reply', async (t) => {
  const { peer, world, server } = await start(t)
  await peer.ask(
    'MULTI\r\nWAIT\r\nINCR order\r\nEXEC\r\nINCR order\r\n',
    '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n',
  )
  for (const session of server.sessions()) session.close()
  await world.release('first')
  assert.equal(await peer.closed, '$5\r\nfirst\r\n:1\r\n')
  assert.equal(world.counter('order').next, 2n)
})

test('a connection that ends while its transaction runs draws nothing more', async (t) => {
  const { peer, world, server } = await start(t)
  await peer.ask('MULTI\r\nWAIT\r\nINCR order\r\nEXEC\r\n', '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n')
  peer.socket.resetAndDestroy()
  while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
  await world.release('late')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(world.counter('order').next, 1n)
})

test('invalidations follow the last element', async (t) => {
  const { peer } = await start(t)
  const push = '>2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n'
  await peer.ask('HELLO 3\r\n', '_\r\n')
  await peer.ask(
    'MULTI\r\nCACHED a\r\nCACHED b\r\nPING\r\nEXEC\r\nPING\r\n',
    `+OK\r\n${'+QUEUED\r\n'.repeat(3)}*3\r\n$1\r\na\r\n$1\r\nb\r\n+OK\r\n${push}+OK\r\n`,
  )
})

test('a change of the protocol inside of a transaction holds from its element on', async (t) => {
  const { peer } = await start(t)
  await peer.ask('MULTI\r\nHELLO 3\r\nHELLO 2\r\nEXEC\r\n', '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n_\r\n$-1\r\n')
})

test('a client that must authenticate cannot begin a transaction', async (t) => {
  const { peer } = await start(t, { initialAccess: () => unauthenticated })
  const noauth = '-NOAUTH Authentication required.\r\n'
  const reason = '-EXECABORT Transaction discarded because of: NOAUTH Authentication required.\r\n'
  await peer.ask('MULTI\r\nDISCARD\r\nEXEC\r\n', `${noauth}${noauth}${reason}`)
  await peer.ask(
    'AUTH ada\r\nMULTI\r\nAUTH none\r\nPING\r\nEXEC\r\nPING\r\n',
    `+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n${noauth}${noauth}`,
  )
})

test('a transaction that is too long is refused, and its memory is freed', async (t) => {
  const { peer, server, world } = await start(t, {
    limits: { transactionMaxBytes: 100, transactionRequestsMax: 5 },
  })
  const [session] = server.sessions()
  const incr = 'INCR order\r\n'
  await peer.ask(`MULTI\r\n${incr.repeat(5)}`, `+OK\r\n${'+QUEUED\r\n'.repeat(5)}`)
  assert.equal(session!.transaction.count, 5)
  assert.equal(session!.transaction.bytes, 5 * incr.length)
  await peer.ask(incr, '-LIMIT a transaction has at most 5 requests; send several\r\n')
  assert.equal(session!.transaction.bytes, 0)
  await peer.ask(incr, '+QUEUED\r\n')
  assert.equal(session!.transaction.bytes, 0)
  await peer.ask('EXEC\r\n', abort)
  const echo = `ECHO ${'x'.repeat(60)}\r\n`
  await peer.ask(
    `MULTI\r\n${echo}${echo}EXEC\r\n`,
    `+OK\r\n+QUEUED\r\n-LIMIT the requests of a transaction have at most 100 bytes; send several\r\n${abort}`,
  )
  assert.equal(world.counter('order').next, 1n)
})

test('what many clients queue together is bounded, and the one that was silent for longest is dropped', async (t) => {
  const { peer, server } = await start(t, { limits: { unreadTotalMaxBytes: 50_000 } })
  const others = await Promise.all([Peer.to(server), Peer.to(server)])
  const echo = `ECHO ${'x'.repeat(993)}\r\n`
  for (const one of [peer, ...others]) {
    await one.ask(`MULTI\r\n${echo.repeat(20)}`, `+OK\r\n${'+QUEUED\r\n'.repeat(20)}`)
  }
  await peer.closed
  await others[1]!.ask('DISCARD\r\n', '+OK\r\n')
})

test('the replies of a transaction are held in memory no further than those of a pipeline', async (t) => {
  const { peer, server } = await start(t, { limits: { unreadMaxBytes: 200_000 } })
  peer.socket.pause()
  // 500 × 1 MB, if all of it were made at once.
  peer.send(`MULTI\r\n${'MANY 1000000 50000\r\n'.repeat(500)}EXEC\r\n`)
  const [session] = server.sessions()
  while (session!.unreadBytes < 200_000) await new Promise((resolve) => setImmediate(resolve))
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
  assert.ok(session!.unreadBytes < 1_000_000, `${session!.unreadBytes} bytes`)
  assert.ok(
    server.stats.bytesOut < 10_000_000,
    `${server.stats.bytesOut} bytes, those in the kernel included`,
  )
  peer.socket.destroy()
})

/** What a transaction should do, in a few lines: requests in, replies out. */
class Model {
  next = 1
  #queue: string[] | undefined
  #refused = false

  reply(request: string): string {
    const queue = this.#queue
    if (request === 'MULTI') {
      if (queue !== undefined) return '-ERR MULTI calls can not be nested\r\n'
      this.#queue = []
      this.#refused = false
      return '+OK\r\n'
    }
    if (request === 'EXEC' || request === 'DISCARD') return this.#end(request)
    if (request === 'EXEC 1') {
      this.#queue = undefined
      return "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command\r\n"
    }
    if (request === 'RESET') {
      this.#queue = undefined
      return '+RESET\r\n'
    }
    const error = refusals[request]
    if (error !== undefined) {
      this.#refused = true
      return error
    }
    if (queue === undefined) return this.#run(request)
    queue.push(request)
    return '+QUEUED\r\n'
  }

  #end(request: string): string {
    const queue = this.#queue
    this.#queue = undefined
    if (queue === undefined) return `-ERR ${request} without MULTI\r\n`
    if (request === 'DISCARD') return '+OK\r\n'
    if (this.#refused) return abort
    return `*${queue.length}\r\n${queue.map((each) => this.#run(each)).join('')}`
  }

  #run(request: string): string {
    if (request === 'INCR order') return `:${this.next++}\r\n`
    if (request === 'LATER x') return '$1\r\nx\r\n'
    if (request === 'MANY 7 2') return '*2\r\n$1\r\n7\r\n$1\r\n8\r\n'
    return request === 'FAIL' ? '-DRY the buffer is empty\r\n' : '+OK\r\n'
  }
}

const refusals: Readonly<Record<string, string>> = {
  INCR: arity,
  'NOPE a': "-ERR unknown command 'NOPE', with args beginning with: 'a' \r\n",
}
const words = ['INCR order', 'INCR order', 'LATER x', 'MANY 7 2', 'FAIL', 'PING', 'UNWATCH']
const controls = ['MULTI', 'EXEC', 'DISCARD', 'RESET', 'EXEC 1']

test('any sequence of requests gets the replies of the model, and uses up the ids of the model', async (t) => {
  const { server, world } = await start(t)
  const request = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...words) },
    { weight: 3, arbitrary: fc.constantFrom(...controls) },
    { weight: 1, arbitrary: fc.constantFrom(...Object.keys(refusals)) },
  )
  const asArray = (text: string) => frame(...text.split(' '))
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { maxLength: 40 }),
      fc.boolean(),
      fc.nat(200),
      async (sent, inline, cut) => {
        world.counters.set('order', new Counter())
        const model = new Model()
        const expected = sent.map((each) => model.reply(each)).join('')
        const bytes = sent.map((each) => (inline ? `${each}\r\n` : asArray(each))).join('')
        const peer = await Peer.to(server)
        peer.send(bytes.slice(0, cut))
        await new Promise((resolve) => setImmediate(resolve))
        peer.send(`${bytes.slice(cut)}QUIT\r\n`)
        assert.equal(await peer.closed, `${expected}+OK\r\n`)
        assert.equal(world.counter('order').next, BigInt(model.next))
      },
    ),
    { numRuns: 200 },
  )
})
