/** Ids of past moments: none meets another, nor an id that follows the clock, whatever changes and fails. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Timeline } from '../../../src/base/timeline.ts'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import { layoutOf } from '../../../src/catalogue/definition.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { decode } from '../../../src/ids/id-parts.ts'
import { formatLayout } from '../../../src/ids/layout-text.ts'
import type { DrawOptions } from '../../../src/issuing/issuer.ts'
import { PastMoments } from '../../../src/issuing/past-moments.ts'
import { readWorker } from '../../../src/issuing/worker-records.ts'
import { repairsOf } from '../../../src/recovery/repairs.ts'
import { type Node, type NodeOptions, SharedEngine, startNode } from './node.ts'

/** Four ids in each ms on each of 8 nodes or lanes. */
const small = 'time:41,node:4,sequence:2;epoch=2025-01-01T00:00:00Z'
const at = '2026-01-02T00:00:00Z'
const nextMs = Date.UTC(2026, 0, 2) + 1

async function ids(generator: Generator, count: number, options: DrawOptions = { at }): Promise<bigint[]> {
  const runs = await generator.draw(count, options)
  return runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
}

async function start(
  input: Partial<GeneratorInput> = {},
  options: NodeOptions = {},
): Promise<[Node, Generator]> {
  const node = await startNode({ reach: (store) => new SharedEngine(store), ...options })
  return [node, await node.catalogue.create('e', { kind: 'snowflake', layout: small, past: 2, ...input })]
}

describe('ids of past moments', () => {
  test('lie in their moment, on lanes that show as a field of their own', async () => {
    const [node, e] = await start()
    const layout = layoutOf(e.definition)
    assert.equal(
      formatLayout(layout),
      'time:41,past:1=0,node:3,sequence:2;unit=ms;epoch=2025-01-01T00:00:00Z',
    )
    const drawn = (await ids(e, 6)).map((id) => decode(layout, id))
    assert.deepEqual(
      drawn.map(({ date, node: lane, sequence, fields }) => [date, fields.past, lane, sequence]),
      [0, 1, 2, 3, 4, 5].map((index) => [at, 1, index >> 2, index & 3]),
    )
    const [present] = await ids(e, 1, {})
    assert.equal(decode(layout, present!).fields.past, 0)
    await node.stop()
  })

  test('are all or none, and a full moment says so', async () => {
    const [, e] = await start()
    assert.equal((await ids(e, 7)).length, 7)
    await assert.rejects(e.draw(2, { at }), {
      code: 'EXHAUSTED',
      message: /2026-01-02T00:00:00Z has fewer than 2 of its 8/,
    })
    assert.equal((await ids(e, 1)).length, 1)
    await assert.rejects(e.draw(1, { at }), { code: 'EXHAUSTED' })
    assert.equal((await ids(e, 8, { at: nextMs })).length, 8, 'the next moment has its own')
  })

  test('are never of the future, nor before the epoch; the present moment has some', async () => {
    const [node, e] = await start()
    const nowMs = node.clock.wallUs() / 1000
    await assert.rejects(e.draw(1, { at: nowMs + 1 }), { code: 'ERR', message: /has not passed yet/ })
    await assert.rejects(e.draw(1, { at: new Date('2024-01-01T00:00:00Z') }), {
      code: 'ERR',
      message: /before the epoch of 'e', 2025/,
    })
    const both = [...(await ids(e, 8, { at: nowMs })), ...(await ids(e, 16, {}))]
    assert.equal(new Set(both).size, 24)
  })

  test('are refused in one short sentence, however long the moment is', async () => {
    const [, e] = await start()
    for (const long of ['x', '9'].map((each) => each.repeat(10_000)))
      await assert.rejects(e.draw(1, { at: long }), ({ message }: Error) => message.length < 200)
  })

  test('end with the time field, whatever the clock shows', async () => {
    // 2^35 ms: until 3 July 2026.
    const layout = 'time:35,node:4,sequence:2;epoch=2025-06-01T00:00:00Z'
    const store = new MemoryStore()
    const reach = (reached: MemoryStore) => new SharedEngine(reached)
    const [{ clock }] = await start({ layout }, { store })
    clock.wall = Date.UTC(2027, 0, 1) * 1000
    const e = await (await startNode({ store, clock, reach })).catalogue.open('e')
    assert.equal((await ids(e, 1, { at: '2026-07-02T00:00:00Z' })).length, 1)
    const late = { at: '2026-07-04T00:00:00Z' }
    await assert.rejects(e.draw(1, late), { code: 'EXHAUSTED', message: /past the end of the time field/ })
  })

  test('are refused to callers of numbers where the moment has ids above 2^53−1, and none is used', async () => {
    const [, e] = await start()
    assert.equal((await ids(e, 8, { at, safe: true })).length, 8, '46 bits are numbers')
    const [, large] = await start({ layout: 'twitter', past: 1 })
    await assert.rejects(large.draw(1, { at, safe: true }), { code: 'UNSAFE' })
    assert.equal((await ids(large, 4096)).length, 4096)
    const [, scattered] = await start({
      layout: 'scatter:8,time:37,node:4,sequence:6;unit=10ms;epoch=2025-01-01T00:00:00Z',
    })
    await assert.rejects(scattered.draw(1, { at, safe: true }), { code: 'UNSAFE' })
  })

  test('are refused where a generator has no lanes, or a kind has none, with what to do', async () => {
    const node = await startNode()
    const without = await node.catalogue.create('w', { kind: 'snowflake' })
    await assert.rejects(without.draw(1, { at }), { code: 'ERR', message: /ID\.ALTER w PAST 4/ })
    for (const kind of ['sequence', 'segment', 'timestamp'] as const) {
      const other = await node.catalogue.create(kind, { kind })
      await assert.rejects(other.draw(1, { at }), {
        code: 'WRONGTYPE',
        message: /AT is for kind snowflake and for PERIOD/,
      })
      await assert.rejects(
        node.catalogue.create(`${kind}2`, { kind, past: 1 }),
        /option 'past' does not apply/,
      )
    }
    for (const layout of ['time:41,node:1,sequence:2;epoch=0', 'node:5,time:41,sequence:2;epoch=0'])
      await assert.rejects(
        node.catalogue.create('x', { kind: 'snowflake', layout, past: 1 }),
        /takes the highest bit of the node/,
      )
    await assert.rejects(
      node.catalogue.create('x', { kind: 'snowflake', layout: small, past: 9 }),
      /above the 8 lanes/,
    )
  })

  test('of two nodes at once are different, whatever replies are lost', async () => {
    const store = new MemoryStore()
    const [one, e] = await start({ past: 8 }, { store })
    const two = await startNode({ store, reach: (reached) => new SharedEngine(reached) })
    const other = await two.catalogue.open('e')
    const drawn: bigint[] = []
    for (let round = 0; round < 8; round++) {
      const faulty = round % 2 === 0 ? one : two
      faulty.engine.next('reserve', round % 4 < 2 ? 'lose-reply' : 'late')
      const draws = [ids(e, 2), ids(other, 1)]
      for (const outcome of await Promise.allSettled(draws)) {
        if (outcome.status === 'fulfilled') drawn.push(...outcome.value)
        else assert.equal(outcome.reason.code, 'UNKNOWN')
      }
      await faulty.engine.deliver()
    }
    assert.ok(drawn.length > 8 && new Set(drawn).size === drawn.length)
  })

  test('leave only if the incarnation is the current one after the reserve', async () => {
    const store = new MemoryStore()
    const [one, e] = await start({}, { store })
    const two = await startNode({ store, reach: (reached) => new SharedEngine(reached) })
    const held = one.engine.hold('reserve')
    const drawing = e.draw(1, { at })
    await held.arrived
    await two.catalogue.alter('e', {
      layout: 'time:41,past:1=0,node:2,sequence:3;epoch=2025-01-01T00:00:00Z',
    })
    held.letGo()
    await assert.rejects(drawing, { code: 'ERR', message: /of its earlier layout/ })
  })

  test('of an incarnation with one layout go on where those before it ended', async () => {
    const [node, e] = await start()
    const before = await ids(e, 5)
    await node.catalogue.drop('e')
    const again = await node.catalogue.create('e', { kind: 'snowflake', layout: small, past: 2 })
    const after = await ids(again, 3)
    assert.equal(new Set([...before, ...after]).size, 8)
    await assert.rejects(again.draw(1, { at }), { code: 'EXHAUSTED' })
    const wider = await node.catalogue.alter('e', { past: 3 })
    assert.equal(wider.incarnation, again.incarnation, 'more lanes are no other incarnation')
    assert.equal(new Set([...before, ...after, ...(await ids(wider, 4))]).size, 12)
  })

  test('of an incarnation with another layout begin above every id before it, those of nodes that are ahead too', async () => {
    const store = new MemoryStore()
    const [, e] = await start({ past: undefined }, { store })
    const before = await ids(e, 300, {})
    const two = await startNode({ store, reach: (reached) => new SharedEngine(reached) })
    two.clock.wall += 3_600_000_000
    const other = await (
      await startNode({ store, clock: two.clock, reach: (reached) => new SharedEngine(reached) })
    ).catalogue.alter('e', { past: 8 })
    await assert.rejects(other.draw(1, { at }), /of its earlier layout/)
    assert.ok(before.length === 300)
  })

  test('are covered by the bound of a worker id before they leave, which no release takes back', async () => {
    const store = new MemoryStore()
    const [node, e] = await start({}, { store })
    node.clock.wall += 60_000_000
    await node.clock.pass(60_000)
    const nowUs = node.clock.wallUs()
    await ids(e, 1, { at: nowUs / 1000 })
    await node.stop()
    const bounds = [...store.records.entries()]
      .filter(([key]) => key.startsWith('workers/'))
      .map(([key, record]) => readWorker({ ...record, key }).boundUs)
    assert.ok(
      bounds.some((boundUs) => boundUs > nowUs),
      `${bounds} above ${nowUs}`,
    )
  })

  test('are dropped if a copy of this memory is noticed after their reserve', async () => {
    const [node, e] = await start()
    const copies = { count: 0, check: () => false }
    const options = {
      engine: node.engine,
      timeline: new Timeline(node.clock),
      worker: node.worker,
      copies,
      lanes: 2,
    }
    const past = new PastMoments({ ...options, layout: layoutOf(e.definition), confirm: async () => {} })
    const incarnation = { name: 'e', counter: 'c', incarnation: 1n, floor: 0n, advances: 0 }
    assert.equal((await past.draw(incarnation, 1, { at }))[0]!.count, 1)
    copies.check = () => ++copies.count > 0
    await assert.rejects(past.draw(incarnation, 1, { at }), { code: 'STALE' })
  })

  test('before an advance are drawn no more: the store may have forgotten them', async () => {
    const store = new MemoryStore()
    const [node, e] = await start({}, { store })
    await ids(e, 1)
    for (const counter of [...store.counters.keys()])
      if (counter.startsWith('moments/')) store.counters.delete(counter)
    await new SharedEngine(store).advance(1000n, repairsOf(node.clock.wallUs(), 1000n, 600_000_000))
    await assert.rejects(e.draw(1, { at }), {
      code: 'ERR',
      message: /may have forgotten which past ids/,
    })
    const later = await node.catalogue.create('later', { kind: 'snowflake', layout: small, past: 2 })
    await assert.rejects(later.draw(1, { at }), { code: 'ERR', message: /may have forgotten/ })
  })

  test('have texts of 128 bits that are read back, and none that an id of now has', async () => {
    const [, e] = await start({ format: 'uuidv7' })
    const nowMs = Date.UTC(2026, 5, 1)
    const both = [...(await ids(e, 8, { at: nowMs })), ...(await ids(e, 8, {}))]
    const texts = both.map((id) => e.text(id))
    assert.deepEqual(
      texts.map((text) => e.parse(text)),
      both,
    )
    const withoutKey = (text: string) => text.slice(0, 25)
    assert.equal(new Set(texts.map(withoutKey)).size, 16, texts.join(' '))
  })

  test('have genes and scatter as the layout says', async () => {
    const layout = 'scatter:4,time:35,node:4,sequence:2,gene:3;unit=10ms;epoch=2025-01-01T00:00:00Z'
    const [, e] = await start({ layout })
    await assert.rejects(e.draw(1, { at }), /needs a gene/)
    const drawn = await ids(e, 8, { at, gene: 5 })
    const decoded = drawn.map((id) => decode(layoutOf(e.definition), id))
    assert.equal(new Set(drawn).size, 8)
    assert.ok(
      decoded.every(
        ({ gene, fields, date }) => gene === 5 && fields.past === 1 && date === '2026-01-02T00:00:00Z',
      ),
    )
  })
})
