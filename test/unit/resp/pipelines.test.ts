/** Pipelines on a sequence that asks its engine for each batch: bytes to ids, with no part replaced. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createCommands } from '../../../src/commands/all.ts'
import { startRespServer } from '../../../src/resp/server.ts'
import { SharedEngine, startNode } from '../catalogue/node.ts'
import { Desk } from '../commands/desk.ts'
import { frame, Peer } from './peer.ts'

async function serve(test: { after(callback: () => Promise<void>): void }) {
  const node = await startNode({ reach: (store) => new SharedEngine(store) })
  const { catalogue, engine } = node
  await catalogue.create('order', { kind: 'sequence' })
  await catalogue.create('ticket', { kind: 'sequence' })
  const { server: view } = new Desk()
  const server = await startRespServer({
    host: '127.0.0.1',
    port: 0,
    table: createCommands(),
    context: (session) => ({ session, catalogue, server: view }),
    onError: (error) => assert.fail(String(error)),
  })
  test.after(async () => {
    await server.close(0)
    await node.stop()
  })
  return { engine, catalogue, peer: await Peer.to(server) }
}

function integers(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => `:${from + index}\r\n`).join('')
}

describe('a pipeline with group commit', () => {
  test('is one reserve, answered in order', async (test) => {
    const { engine, peer } = await serve(test)
    await peer.ask(frame('INCR', 'order').repeat(100), integers(1, 100))
    assert.ok(engine.count('reserve') <= 2, `${engine.count('reserve')} reserves`)
  })

  test('serves blocks, ranges and texts among each other in the order of the requests', async (test) => {
    const { engine, peer } = await serve(test)
    const requests =
      frame('INCRBY', 'order', '10') +
      frame('ID.NEXT', 'order') +
      frame('INCR', 'ticket') +
      frame('INCR', 'order') +
      frame('ID.RANGE', 'order', '5') +
      frame('INCRBY', 'order', '1') +
      frame('ID.NEXT', 'ticket')
    await peer.ask(
      requests,
      ':10\r\n$2\r\n11\r\n:1\r\n:12\r\n*1\r\n*2\r\n$2\r\n13\r\n$2\r\n18\r\n:18\r\n$1\r\n2\r\n',
    )
    assert.ok(engine.count('reserve') <= 4, `${engine.count('reserve')} reserves`)
  })

  test('serves runs among blocks and texts in the order of the requests', async (test) => {
    const { catalogue, engine, peer } = await serve(test)
    await catalogue.create('odd', { kind: 'segment', increment: 2 })
    await catalogue.open('odd')
    const requests =
      frame('INCRBY', 'order', '10') +
      frame('ID.RUNS', 'order', '5') +
      frame('ID.NEXT', 'order') +
      frame('ID.RUNS', 'order', '1') +
      frame('ID.RUNS', 'odd', '2000') +
      frame('ID.RUNS', 'odd', '1') +
      frame('INCR', 'order')
    await peer.ask(
      requests,
      ':10\r\n*1\r\n*3\r\n$2\r\n11\r\n$1\r\n1\r\n:5\r\n$2\r\n16\r\n*1\r\n*3\r\n$2\r\n17\r\n$1\r\n1\r\n:1\r\n' +
        '*1\r\n*3\r\n$1\r\n1\r\n$1\r\n2\r\n:2000\r\n*1\r\n*3\r\n$4\r\n4001\r\n$1\r\n2\r\n:1\r\n:18\r\n',
    )
    assert.ok(engine.count('reserve') <= 7, `${engine.count('reserve')} reserves`)
  })

  test('shows GET what the requests before it were given', async (test) => {
    const { peer } = await serve(test)
    const round = frame('INCR', 'order') + frame('INCR', 'order') + frame('GET', 'order')
    await peer.ask(round.repeat(3), ':1\r\n:2\r\n$1\r\n2\r\n:3\r\n:4\r\n$1\r\n4\r\n:5\r\n:6\r\n$1\r\n6\r\n')
  })

  test('keeps the order of requests also on a generator with buffered ids', async (test) => {
    const { catalogue, peer } = await serve(test)
    await catalogue.create('user', { kind: 'segment' })
    await peer.ask(frame('INCR', 'user'), ':1\r\n')
    await peer.ask(
      frame('INCRBY', 'user', '3') + frame('ID.NEXT', 'user') + frame('INCR', 'user'),
      ':4\r\n$1\r\n5\r\n:6\r\n',
    )
  })

  test('answers each request by itself when the ids come to their end', async (test) => {
    const { catalogue, peer } = await serve(test)
    await catalogue.create('few', { kind: 'sequence', max: 2n })
    peer.send(frame('INCR', 'few').repeat(4) + frame('QUIT'))
    const lines = (await peer.closed).split('\r\n')
    assert.deepEqual(
      lines.map((line) => line.split(' ')[0]),
      [':1', ':2', '-EXHAUSTED', '-EXHAUSTED', '+OK', ''],
    )
  })
})
