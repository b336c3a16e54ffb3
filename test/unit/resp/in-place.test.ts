/** Requests that are answered where their bytes lie, on a real node. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { createCommands } from '../../../src/commands/all.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { Dice } from '../dice.ts'
import { startScene } from './in-place-scene.ts'
import { frame, Peer } from './peer.ts'

function integers(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `:${from + index}\r\n`).join('')
}

/** The commands, of which those that can be answered in place note that their handlers ran. */
function noting(ran: string[]): CommandTable {
  return new CommandTable(
    createCommands()
      .all()
      .map((command) => {
        const { handler } = command
        if (handler === undefined || !/^(incr|incrby|get|id\.next|id\.runs)$/.test(command.name))
          return command
        return {
          ...command,
          handler(context, args) {
            ran.push(`${command.name} ${args.texts().join(' ')}`)
            return handler(context, args)
          },
        }
      }),
  )
}

test('every form is answered without its handler, in upper and lower case, once ids are buffered', async (t) => {
  const { node, serve } = await startScene(t, {
    a: { kind: 'sequence' },
    f: { kind: 'sequence', format: 'F{id}' },
  })
  const ran: string[] = []
  const server = await serve({ table: noting(ran) })
  const peer = await Peer.to(server)
  for (const name of ['a', 'f']) await peer.ask(frame('INCR', name).repeat(2), integers(1, 2))
  ran.length = 0
  await peer.ask(frame('INCR', 'a') + frame('incr', 'a') + frame('InCr', 'a'), integers(3, 3))
  await peer.ask(frame('INCRBY', 'a', '1') + frame('incrby', 'a', '10'), ':6\r\n:16\r\n')
  await peer.ask(frame('ID.NEXT', 'a') + frame('id.next', 'f'), '$2\r\n17\r\n$2\r\nF3\r\n')
  await peer.ask(
    frame('ID.RUNS', 'a', '5') + frame('id.runs', 'a', '1'),
    '*1\r\n*3\r\n$2\r\n18\r\n$1\r\n1\r\n:5\r\n*1\r\n*3\r\n$2\r\n23\r\n$1\r\n1\r\n:1\r\n',
  )
  await peer.ask(frame('GET', 'a') + frame('get', 'f'), '$2\r\n23\r\n$1\r\n3\r\n')
  await peer.ask(frame('INCR', 'a').repeat(500) + frame('GET', 'a'), `${integers(24, 500)}$3\r\n523\r\n`)
  assert.deepEqual(ran, [])
  assert.equal(server.stats.commands, 4 + 3 + 2 + 2 + 2 + 2 + 501)
  assert.equal([...server.sessions()][0]!.lastCommand, 'get')
  assert.equal(node.catalogue.find('a')!.stats().issued, 523)
})

test('a GET of ids that were drawn together is answered without its handler, and so is INCRBY behind one that was not', async (t) => {
  const { serve } = await startScene(t)
  const ran: string[] = []
  const peer = await Peer.to(await serve({ table: noting(ran) }))
  await peer.ask(frame('INCRBY', 'a', '10'), ':10\r\n')
  assert.deepEqual(ran, ['incrby a 10'])
  await peer.ask(
    frame('GET', 'a') + frame('INCRBY', 'a', '10') + frame('GET', 'a'),
    '$2\r\n10\r\n:20\r\n$2\r\n20\r\n',
  )
  assert.deepEqual(ran, ['incrby a 10'])
})

test('names of a family are answered without their handlers from their first id on, once one of their section is open', async (t) => {
  const { node, serve } = await startScene(t, { 'room:*': { kind: 'sequence', family: true } })
  const ran: string[] = []
  const table = noting(ran)
  const access = new Access('ann', undefined, ['room:{a}*'])
  const peer = await Peer.to(await serve({ table, initialAccess: () => access }))
  await peer.ask(frame('INCR', 'room:{a}0'), ':1\r\n')
  assert.equal(ran.length, 1)
  await peer.ask(
    frame('INCR', 'room:{a}1').repeat(4) + frame('GET', 'room:{a}1'),
    `${integers(1, 4)}$1\r\n4\r\n`,
  )
  // The fifth id wants a reserve, and its row goes on to the bound.
  await peer.ask(
    frame('ID.NEXT', 'room:{a}2') + frame('INCR', 'room:{a}1') + frame('incrby', 'room:{a}1', '2'),
    '$1\r\n1\r\n:5\r\n:7\r\n',
  )
  assert.equal(ran.length, 1)
  await peer.ask(frame('GET', 'room:{a}3'), '$-1\r\n')
  assert.equal(node.catalogue.find('room:{a}3'), undefined)
  await peer.ask(frame('INCR', 'room:a'), '-NOPERM No permissions to access a key\r\n')
  assert.equal(node.catalogue.find('room:a'), undefined)
  node.catalogue.assertInvariants()
})

test('a generator of which no id was issued has no newest id, whatever is buffered', async (t) => {
  const { connect } = await startScene(t, { a: { kind: 'sequence', start: '100' } })
  const peer = await connect()
  await peer.ask(frame('GET', 'a'), '$-1\r\n')
  await peer.ask(frame('SET', 'a', '500') + frame('GET', 'a'), '+OK\r\n$3\r\n500\r\n')
  await peer.ask(frame('INCR', 'a') + frame('GET', 'a'), ':501\r\n$3\r\n501\r\n')
})

test('odd frames among others go to the decoder, which answers them in their place', async (t) => {
  const { connect } = await startScene(t)
  const peer = await connect()
  const one = frame('INCR', 'a')
  await peer.ask(one, ':1\r\n')
  const odd = [
    ['*2\r\n$04\r\n', '-ERR Protocol error: invalid bulk length\r\n'],
    ['*02\r\n', '-ERR Protocol error: invalid multibulk length\r\n'],
  ] as const
  await peer.ask(`${one}INCR a\r\n${one}PING\r\n${one}`, ':2\r\n:3\r\n:4\r\n+PONG\r\n:5\r\n')
  await peer.ask(`${one}*2\r\n$4\r\nINCR\r\n$1\r\naXX${one}`, integers(6, 3))
  const unknown = `-ERR no generator 'b2'`
  const lines = await peer.line(one + frame('INCR', 'b2') + frame('INCR', 'a', 'x') + one, 4)
  assert.match(lines, /^:9\r\n-(NOGENERATOR|ERR) .*\r\n-ERR wrong number .*\r\n:10\r\n$/, unknown)
  for (const [text, reply] of odd) {
    const other = await connect()
    await other.ask(`${one}${text}`, '')
    assert.match(await other.closed, new RegExp(`^:\\d+\\r\\n${reply.replaceAll('\r\n', '\\r\\n')}$`))
  }
})

test('a request that is cut off is answered when it is whole, wherever the cut is', async (t) => {
  const { connect } = await startScene(t)
  const peer = await connect()
  const requests = frame('INCR', 'a').repeat(4) + frame('INCRBY', 'a', '12') + frame('GET', 'a')
  for (let cut = 1, next = 0; cut < requests.length; cut += 5, next += 16) {
    peer.send(requests.slice(0, cut))
    await new Promise((resolve) => setImmediate(resolve))
    peer.send(requests.slice(cut))
    await peer.expect(
      `${integers(next + 1, 4)}:${next + 16}\r\n$${`${next + 16}`.length}\r\n${next + 16}\r\n`,
    )
  }
})

test('requests of an open transaction are queued', async (t) => {
  const { connect } = await startScene(t)
  const peer = await connect()
  const one = frame('INCR', 'a')
  await peer.ask(one.repeat(2), integers(1, 2))
  await peer.ask(
    `${one}MULTI\r\n${one}${one}EXEC\r\n${one}`,
    ':3\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:4\r\n:5\r\n:6\r\n',
  )
})

test('a connection that tracks is told to drop what it has read', async (t) => {
  const { connect } = await startScene(t)
  const peer = await connect()
  await peer.line(frame('HELLO', '3'))
  peer.received = ''
  await peer.ask(frame('INCR', 'a').repeat(2), integers(1, 2))
  await peer.ask(
    frame('CLIENT', 'TRACKING', 'ON') + frame('GET', 'a') + frame('INCR', 'a'),
    '+OK\r\n$1\r\n2\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n:3\r\n',
  )
})

describe('what was noted about a name', () => {
  const denied = '-NOPERM No permissions to access a key\r\n'

  test('ends with the permissions, between two requests of a pipeline too', async (t) => {
    const { serve } = await startScene(t)
    const all = createCommands().all()
    const ada = (...patterns: string[]) => new Access('ada', new Set(['incr', 'ping', 'id.next']), patterns)
    const ping = all.find(({ name }) => name === 'ping')!
    let after = ada('b*')
    const handler = () => {
      server.refreshAccess(() => after)
      return 'changed'
    }
    const table = new CommandTable(
      all.map((command) => (command === ping ? { ...command, handler } : command)),
    )
    const server = await serve({ table, initialAccess: () => ada('a*') })
    const peer = await Peer.to(server)
    const [a, b] = [frame('INCR', 'a'), frame('INCR', 'b')]
    const changed = '$7\r\nchanged\r\n'
    await peer.ask(a.repeat(3) + b, `${integers(1, 3)}${denied}`)
    await peer.ask(a + frame('PING') + a + b + b, `:4\r\n${changed}${denied}:1\r\n:2\r\n`)
    after = ada('a', 'b')
    await peer.ask(b + frame('PING') + a + b, `:3\r\n${changed}:5\r\n:4\r\n`)
    after = new Access('ada', new Set(['ping', 'id.next']), ['*'])
    const reply = "-NOPERM User ada has no permissions to run the 'incr' command\r\n"
    await peer.ask(a + frame('PING') + a + frame('ID.NEXT', 'a'), `:6\r\n${changed}${reply}$1\r\n7\r\n`)
  })

  test('holds for one user only, although many ask for the same name', async (t) => {
    const { serve } = await startScene(t)
    const users = ['a*', 'b*', '*'].map((pattern) => new Access(pattern, new Set(['incr']), [pattern]))
    let next = 0
    const server = await serve({ initialAccess: () => users[next++]! })
    const peers = [await Peer.to(server), await Peer.to(server), await Peer.to(server)]
    let id = 0
    for (let round = 0; round < 3; round++) {
      await peers[2]!.ask(frame('INCR', 'a'), `:${++id}\r\n`)
      await peers[1]!.ask(frame('INCR', 'a').repeat(2), denied.repeat(2))
      await peers[0]!.ask(frame('INCR', 'a'), `:${++id}\r\n`)
    }
  })

  test('ends with the name: another one that takes its place is checked anew', async (t) => {
    const { node, desk, serve } = await startScene(t)
    await desk.namespaces.set('of-b', { match: 'b*', idsPerDay: '2' })
    const access = new Access('ada', new Set(['incr']), ['a*', 'bb'])
    const peer = await Peer.to(await serve({ initialAccess: () => access }))
    const { catalogue } = node
    await peer.ask(frame('INCR', 'a').repeat(3), integers(1, 3))
    const { row } = catalogue.find('a')!
    assert.equal(await catalogue.drop('a'), true)
    await catalogue.create('c', { kind: 'sequence' })
    assert.equal(catalogue.find('c')!.row, row)
    await peer.ask(frame('INCR', 'c').repeat(2), denied.repeat(2))
    assert.equal(await catalogue.drop('c'), true)
    await catalogue.create('bb', { kind: 'sequence' })
    await peer.ask(frame('INCR', 'bb').repeat(2), integers(1, 2))
    assert.match(await peer.line(frame('INCR', 'bb')), /^-QUOTA /)
  })

  test('ends with the namespaces, between two requests of a pipeline too', async (t) => {
    const { node, connect } = await startScene(t)
    const peer = await connect()
    const one = frame('INCR', 'a')
    const set = (...words: string[]) => frame('ID.NAMESPACE', 'SET', 'n', ...words)
    await peer.ask(set('MATCH', 'x*', 'DAILY', '2') + one.repeat(3), `+OK\r\n${integers(1, 3)}`)
    const refused = await peer.line(one + set('MATCH', 'a', 'DAILY', '2') + one.repeat(4), 6)
    assert.match(refused, /^:4\r\n\+OK\r\n:5\r\n:6\r\n-QUOTA .*\r\n-QUOTA .*\r\n$/)
    await new Promise((resolve) => setTimeout(resolve, 0))
    await peer.ask(set('MATCH', 'x*', 'DAILY', '2') + one.repeat(3), `+OK\r\n${integers(7, 3)}`)
    await peer.ask(frame('ID.NAMESPACE', 'DROP', 'n') + one, ':1\r\n:10\r\n')
    assert.equal(node.catalogue.find('a')!.stats().issued, 10)
  })
})

test('ids in place are charged to every namespace that counts them, exactly', async (t) => {
  const { desk, connect } = await startScene(t)
  await desk.namespaces.set('all', { match: '*', idsPerDay: '100' })
  await desk.namespaces.set('of-a', { match: 'a', idsPerDay: '60' })
  const peer = await connect()
  await peer.ask(frame('INCR', 'a').repeat(40) + frame('INCRBY', 'a', '10'), `${integers(1, 40)}:50\r\n`)
  await peer.ask(frame('INCR', 'b').repeat(5) + frame('ID.NEXT', 'b'), `${integers(1, 5)}$1\r\n6\r\n`)
  const issued = () => desk.meters.quotas.all().map((quota) => quota.issued)
  assert.deepEqual(issued(), [56, 50])
  const over = await peer.line(frame('INCR', 'a').repeat(12) + frame('ID.RUNS', 'a', '2'), 13)
  assert.match(over, /^(:\d+\r\n){10}(-QUOTA .*\r\n){2}-(QUOTA|LIMIT) .*\r\n$/)
  assert.deepEqual(issued(), [66, 60])
})

test('a row goes to no other generator while the name of a closed one is in it', async (t) => {
  const { node, connect } = await startScene(t)
  const peer = await connect()
  const { catalogue } = node
  await peer.ask(frame('INCR', 'a').repeat(3), integers(1, 3))
  const { row } = catalogue.find('a')!
  // As while a store is disowned: it is closed, and its name has not left yet.
  await catalogue.names.get('a')!.close(new FahaoError('STALE', 'closed'))
  await catalogue.create('c', { kind: 'sequence', start: '1000' })
  assert.notEqual(catalogue.find('c')!.row, row)
  await peer.ask(frame('INCR', 'c').repeat(3), integers(1000, 3))
  await peer.ask(frame('INCR', 'a').repeat(2) + frame('GET', 'a'), ':4\r\n:5\r\n$1\r\n5\r\n')
  await peer.ask(frame('INCR', 'c'), ':1003\r\n')
})

test('a bug while an id is taken costs the request its handler answers, and no other', async (t) => {
  const { node, errors, connect } = await startScene(t)
  const peer = await connect()
  await peer.ask(frame('INCR', 'a').repeat(2), integers(1, 2))
  const { mock } = t.mock.method(
    node.catalogue.names,
    'entryOf',
    () => {
      throw new TypeError('a bug')
    },
    { times: 1 },
  )
  await peer.ask(frame('INCR', 'a').repeat(3), integers(3, 3))
  assert.equal(mock.callCount() > 0, true)
  assert.equal(errors.length, 1)
})

for (const step of [10, 'adaptive'] as const)
  test(`texts of a counter at rest, whose row is used up, are of ids in their order (step ${step})`, async (t) => {
    const { node, serve } = await startScene(t, { f: { kind: 'sequence', step, format: 'F{id}' } })
    const peer = await Peer.to(await serve())
    const { names } = node.catalogue
    let next = 1
    const incr = async (count: number) => {
      await peer.ask(frame('INCR', 'f').repeat(count), integers(next, count))
      next += count
    }
    await incr(1)
    for (let round = 0; round < 3; round++) {
      await node.clock.pass(3000)
      const entry = names.entryNamed('f')
      assert.ok(names.isAtRest(entry))
      const count = names.runs.count(entry)
      if (count > 0) await incr(count)
      const text = `F${next++}`
      await peer.ask(frame('ID.NEXT', 'f'), `$${text.length}\r\n${text}\r\n`)
      await incr(1 + (round % 3))
    }
  })

/** Generators whose ids are the same on every node: not made of the clock. */
const kinds: Readonly<Record<string, GeneratorInput>> = {
  s: { kind: 'sequence' },
  'room:1': { kind: 'sequence', start: '9007199254740800' },
  'room:12': { kind: 'segment', increment: 3, offset: '2' },
  odd: { kind: 'sequence', increment: 7 },
  format: { kind: 'sequence', format: 'A-{id:6}' },
  // They run low within a round, and at rest.
  few: { kind: 'sequence', step: 10 },
  text: { kind: 'sequence', step: 'adaptive', format: 'T{id}' },
}

function requestOf(dice: Dice): string {
  const name = dice.of([...Object.keys(kinds), 'auto-1', 'auto-22', 'absent', 'x'.repeat(300), ''])
  const count = dice.of(['1', '2', '7', '100', '0', '-1', '01', 'x', '9223372036854775808', '1000001'])
  const choices = [
    ['INCR', name],
    ['incr', name],
    ['INCRBY', name, count],
    ['ID.NEXT', name],
    ['ID.RUNS', name, count],
    ['GET', name],
    ['MGET', name, 's'],
    ['ID.NEXT', name, 'COUNT', '2'],
    ['PING'],
    ['INCR', name, 'x'],
  ]
  if (dice.below(12) === 0)
    return frame(...dice.of([['MULTI'], ['EXEC'], ['DISCARD'], ['HELLO', dice.of(['2', '3'])]]))
  const request = frame(...dice.of(choices))
  return dice.below(3) === 0 ? request.repeat(1 + dice.below(5)) : request
}

describe('random pipelines', () => {
  for (let seed = 1; seed <= 6; seed++)
    test(`have the same replies in place, through handlers, and a byte at a time (seed ${seed})`, async (t) => {
      const library = frame('CLIENT', 'SETINFO', 'LIB-NAME', ['node-redis', 'jedis', 'iovalkey'][seed % 3]!)
      const replies = await Promise.all(
        (['in place', 'handlers', 'bytes'] as const).map(async (way) => {
          const { node, serve, errors } = await startScene(t, kinds)
          const peer = await Peer.to(await serve({ isPlain: way === 'handlers' }))
          const dice = new Dice(seed)
          await peer.ask(library, '+OK\r\n')
          const all: string[] = []
          for (let round = 0; round < 25; round++) {
            const pipeline = Array.from({ length: 1 + dice.below(30) }, () => requestOf(dice)).join('')
            const end = `$3\r\nend\r\n`
            const text = pipeline + frame('DISCARD') + frame('ECHO', 'end')
            if (way !== 'bytes') peer.send(text)
            else
              for (const byte of text.slice(0, 400)) {
                peer.send(byte)
                await new Promise((resolve) => setImmediate(resolve))
              }
            if (way === 'bytes') peer.send(text.slice(400))
            while (!peer.received.endsWith(end))
              await new Promise((resolve) => peer.socket.once('data', resolve))
            all.push(peer.received)
            peer.received = ''
            // What is not used is put to rest.
            if (dice.below(3) === 0) await node.clock.pass(3000)
          }
          assert.deepEqual(errors, [])
          return all
        }),
      )
      assert.deepEqual(replies[0], replies[1])
      assert.deepEqual(replies[2], replies[1])
    })
})
