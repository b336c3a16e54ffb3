import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { type Command, ok } from '../../../src/commands/command.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { compileFormat } from '../../../src/ids/format.ts'
import type { IdText } from '../../../src/ids/id-text.ts'
import { Run, ScatteredRun } from '../../../src/ids/run.ts'
import { IssuedTexts } from '../../../src/operations/issued-texts.ts'
import { encode, TextsWriter } from '../../../src/resp/encoder.ts'
import { Output } from '../../../src/resp/output.ts'
import { commandsOf, connect, frame, Peer, serve, World } from './peer.ts'

function runOf(first: bigint, count: number, stride = 1): Run {
  const run = new Run()
  run.set(first, count, stride)
  return run
}

function textOf(template: string): IdText {
  return compileFormat(template).texts()
}

function encoded(reply: IssuedTexts): string {
  const output = new Output()
  encode(output, reply, { protocol: 2, wideIds: 'integer' })
  return output.take().toString('latin1')
}

/** The reply to MANY. */
function many(first: number, count: number, prefix = ''): string {
  const texts = Array.from({ length: count }, (_, index) => `${prefix}${first + index}`)
  return `*${count}\r\n${texts.map((text) => `$${text.length}\r\n${text}\r\n`).join('')}`
}

describe('a reply of many ids', () => {
  test('is the array of their texts, whichever digits change', () => {
    const runs = [
      runOf(0n, 1200),
      runOf(999_999_990n, 30),
      runOf(9_999_999_999n, 3),
      runOf(2n ** 63n - 3000n, 1000, 3),
      runOf(7n, 1),
      runOf(95n, 5, 999_999_999),
      new ScatteredRun(600, (index) => BigInt((index * 7919) % 600)),
    ]
    const texts = runs.flatMap((run) => Array.from({ length: run.count }, (_, at) => String(run.at(at))))
    const expected = `*${texts.length}\r\n${texts.map((text) => `$${text.length}\r\n${text}\r\n`).join('')}`
    assert.equal(encoded(new IssuedTexts(runs, undefined)), expected)
    assert.equal(encoded(new IssuedTexts(runs, textOf('{id}'))), expected)
  })

  test('is written in smaller parts where ids take longer, so that each part takes about as long', () => {
    const output = new Output()
    const parts = (runs: Run[], text?: IdText) => {
      const texts = new TextsWriter(output, new IssuedTexts(runs, text))
      let count = 0
      for (; !texts.done; count++) texts.writePart(output)
      return count
    }
    const scattered = () => new ScatteredRun(2048, BigInt)
    assert.equal(parts([runOf(0n, 2048)]), 2)
    assert.equal(parts([runOf(0n, 2048)], textOf(`${'a'.repeat(93)}{id}`)), 8)
    assert.equal(parts([scattered()]), 8)
    assert.equal(parts([scattered(), scattered()]), 16)
  })

  test('lets other connections pass, and comes whole and in order', async (test) => {
    const { server } = await serve(test, { limits: { unreadMaxBytes: 100_000_000 } })
    const large = await Peer.to(server)
    const other = await Peer.to(server)
    const count = 200_000
    large.send(frame('MANY', '1', String(count)) + frame('PING') + frame('MANY', '5', '3', 'no-'))
    while (server.stats.bytesOut === 0) await new Promise((resolve) => setImmediate(resolve))
    await other.ask(frame('PING'), '+OK\r\n')
    assert.ok(server.stats.bytesOut < many(1, count).length, 'it is not written at once')
    assert.ok(large.received.length < many(1, count).length, 'the large reply is still under way')
    await large.expect(`${many(1, count)}+OK\r\n${many(5, 3, 'no-')}`)
  })

  test('is not written on while its peer does not read, nor anything behind it', async (test) => {
    const { server, world, peer } = await connect(test, { limits: { unreadMaxBytes: 100_000 } })
    peer.socket.pause()
    peer.send(frame('MANY', '1', '1000000') + frame('INCR', 'a'))
    const [session] = [...server.sessions()]
    while (session!.unreadBytes < 100_000) await new Promise((resolve) => setImmediate(resolve))
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(session!.unreadBytes < 300_000, `${session!.unreadBytes} bytes are unread`)
    assert.deepEqual(world.ran, [])
    peer.socket.resume()
    await peer.expect(`${many(1, 1_000_000)}:1\r\n`)
  })

  test('is completed before a connection closes', async (test) => {
    const { server, peer } = await connect(test)
    peer.send(frame('MANY', '1', '100000'))
    const [session] = [...server.sessions()]
    while (peer.received === '') await new Promise((resolve) => setImmediate(resolve))
    session!.close()
    assert.equal(await peer.closed, many(1, 100_000))
  })

  test('is completed before the server stops', async (test) => {
    const { server, peer } = await connect(test)
    peer.send(frame('MANY', '1', '100000', 'x') + frame('PING'))
    while (peer.received === '') await new Promise((resolve) => setImmediate(resolve))
    await server.close(10_000)
    assert.equal(await peer.closed, `${many(1, 100_000, 'x')}+OK\r\n`)
  })
})

test('turns of the event loop start one command each that announces work for a whole turn', async (test) => {
  let turn = 0
  const started: number[] = []
  const [common] = commandsOf(new World()).filter(({ name }) => name === 'ping')
  const heavy: Command = {
    ...common!,
    name: 'heavy',
    work: () => 1_600_000n,
    handler: () => {
      started.push(turn)
      return ok
    },
  }
  const { server } = await serve(test, { table: new CommandTable([heavy]) })
  const peers = [await Peer.to(server), await Peer.to(server)]
  for (const peer of peers) peer.send(frame('HEAVY').repeat(20))
  for (; started.length < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
  // A request that has just come may start beside one that has waited.
  assert.ok(new Set(started).size >= 38, `40 commands started in ${new Set(started).size} turns`)
})

describe('short replies', () => {
  /** How many of these requests start in one turn of the event loop, at most. */
  async function mostInTurn(
    test: TestContext,
    handler: Command['handler'],
    overlaps: boolean,
    peers: number,
    request = frame('SHORT'),
    count = 4000,
  ) {
    let inTurn = 0
    let most = 0
    const common = commandsOf(new World())[0]!
    const short: Command = {
      ...common,
      name: 'short',
      arity: -1,
      overlaps: () => overlaps,
      handler: (context, args) => {
        if (inTurn++ === 0) setImmediate(() => (inTurn = 0))
        most = Math.max(most, inTurn)
        return handler!(context, args)
      },
    }
    const { server } = await serve(test, { table: new CommandTable([short]) })
    const all = await Promise.all(Array.from({ length: peers }, () => Peer.to(server)))
    await Promise.all(all.map((peer) => peer.ask(request.repeat(count), '-ERR x\r\n'.repeat(count))))
    return most
  }

  const failure = new FahaoError('ERR', 'x')

  test('of errors fill a turn by what an error takes, not by their bytes', async (test) => {
    const most = await mostInTurn(test, () => Promise.reject(failure), false, 1)
    assert.ok(most < 600, `${most} in one turn`)
    const thrown = () => {
      throw failure
    }
    const mostThrown = await mostInTurn(test, thrown, false, 1)
    assert.ok(mostThrown < 600, `${mostThrown} in one turn`)
  })

  test('to inline commands fill a turn by the time it takes to split their lines', async (test) => {
    const line = `SHORT ${'x'.repeat(900)}\r\n`
    const most = await mostInTurn(test, () => Promise.reject(failure), false, 4, line, 60)
    assert.ok(most < 30, `${most} in one turn`)
  })

  test('that wait together fill a turn over all connections', async (test) => {
    const most = await mostInTurn(test, async () => Promise.reject(failure), true, 20)
    assert.ok(most < 1200, `${most} in one turn`)
  })
})

test('short replies that are waited for fill a turn by what their commands do, not by their bytes', async (test) => {
  let inTurn = 0
  let most = 0
  const read: Command = {
    ...commandsOf(new World())[0]!,
    name: 'read',
    arity: -2,
    handler: async () => {
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0))
      most = Math.max(most, inTurn)
      return null
    },
  }
  delete (read as { overlaps?: unknown }).overlaps
  const { peer } = await connect(test, { table: new CommandTable([read]) })
  await peer.ask(frame('READ', 'a', 'b').repeat(2000), '$-1\r\n'.repeat(2000))
  assert.ok(most < 600, `${most} in one turn`)
})
