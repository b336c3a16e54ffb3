/** Ids above a number: in every mode, with others who issue meanwhile, and how far they may be. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Catalogue, Generator } from '../../../src/catalogue/catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MeteredCatalogue } from '../../../src/catalogue/metered-catalogue.ts'
import { Meters } from '../../../src/catalogue/metered-generator.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import type { DrawOptions } from '../../../src/issuing/issuer.ts'
import { Namespaces } from '../../../src/quotas/namespaces.ts'
import { type Node, type NodeOptions, SharedEngine, startNode } from './node.ts'

async function ids(generator: Generator, count: number, options?: DrawOptions): Promise<bigint[]> {
  const runs = await generator.draw(count, options)
  return runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
}

async function one(generator: Generator, above?: bigint | number): Promise<bigint> {
  return (await ids(generator, 1, { above }))[0]!
}

function reserves({ engine }: Node): number {
  return engine.calls.filter(({ method }) => method === 'reserve').length
}

const fleet = { reach: (store: MemoryStore) => new SharedEngine(store) }
const modes: Readonly<Record<string, readonly [GeneratorInput, NodeOptions]>> = {
  'a sequence of an owner': [{ kind: 'sequence' }, {}],
  'a sequence of a fleet': [{ kind: 'sequence' }, fleet],
  'a sequence without gaps': [{ kind: 'sequence', gaps: 'none' }, {}],
  'a segment': [{ kind: 'segment' }, fleet],
  'a name of a family': [{ kind: 'sequence', family: true }, {}],
  'a name of a family in a fleet': [{ kind: 'sequence', family: true }, fleet],
}

async function opened([input, options]: readonly [GeneratorInput, NodeOptions]) {
  const node = await startNode(options)
  const name = input.family ? 'g:*' : 'g'
  await node.catalogue.create(name, { step: 10, ...input })
  return { node, generator: await node.catalogue.open(input.family ? 'g:1' : 'g') }
}

describe('ABOVE', () => {
  for (const [what, mode] of Object.entries(modes)) {
    test(`gives the next ids of ${what} that are larger, in one step`, async () => {
      const { node, generator } = await opened(mode)
      assert.equal(await one(generator), 1n)
      assert.equal(await one(generator, 1), 2n, 'the next id is above')
      assert.equal(await one(generator, 5), 6n, 'within what is buffered')
      assert.equal(await one(generator, 5), 7n, 'what is above already skips nothing')
      assert.deepEqual(await ids(generator, 3, { above: 1000n }), [1001n, 1002n, 1003n])
      assert.equal(await one(generator), 1004n)
      assert.equal(await one(generator, 0), 1005n)
      await node.stop()
    })

    test(`gives an id of its own to each of many callers of ${what}`, async () => {
      const { node, generator } = await opened(mode)
      const drawn: [number, bigint][] = []
      const draw = async (above: number) => void drawn.push([above, await one(generator, above)])
      await Promise.all(Array.from({ length: 60 }, (_, at) => draw([0, 3, 40, 41, 500, 777][at % 6]!)))
      assert.equal(new Set(drawn.map(([, id]) => id)).size, 60)
      assert.ok(drawn.every(([above, id]) => id > above))
      await node.stop()
    })

    test(`gives nothing above the largest id of ${what}, and skips nothing then`, async () => {
      const [input, options] = mode
      const { node, generator } = await opened([{ ...input, max: 100 }, options])
      await assert.rejects(one(generator, 100), { code: 'EXHAUSTED' })
      await assert.rejects(ids(generator, 5, { above: 98n }), { code: 'EXHAUSTED' })
      assert.ok((await one(generator)) < 100n)
      assert.equal(await one(generator, 99), 100n)
      await node.stop()
    })
  }

  test('goes on above the number after a crash', async () => {
    const store = new MemoryStore()
    const first = await startNode({ store })
    const generator = await first.catalogue.create('g', { kind: 'sequence' })
    const id = await one(generator, 700)
    await first.crash()
    const second = await startNode({ store })
    assert.ok((await one(await second.catalogue.open('g'))) > id)
    await second.stop()
  })

  test('keeps what is buffered where the store is away and the caller gives up', async () => {
    const { node, generator } = await opened([{ kind: 'segment', step: 100 }, {}])
    await one(generator)
    node.engine.always('reserve', 'unavailable')
    const waiting = assert.rejects(one(generator, 5000), { code: 'DRY' })
    await node.clock.pass(2500)
    await waiting
    assert.equal(await one(generator), 2n)
  })

  test('reserves once where the number lies behind the buffer, and not at all within it', async () => {
    for (const mode of [modes['a sequence of an owner']!, modes['a segment']!]) {
      const { node, generator } = await opened([{ ...mode[0], step: 1000 }, mode[1]])
      await one(generator)
      const before = reserves(node)
      await one(generator, 400)
      assert.equal(reserves(node) - before, 0)
      await one(generator, 5000)
      assert.equal(reserves(node) - before, 1)
      await node.stop()
    }
  })

  test('counts whole blocks where callers give genes: the id is in a later block', async () => {
    const { generator } = await opened([{ kind: 'sequence', gene: 4 }, {}])
    const id = (above: number, gene: number) => ids(generator, 1, { above, gene })
    assert.deepEqual(await id(0, 3), [19n])
    assert.deepEqual(await id(33, 15), [63n])
    assert.deepEqual(await id(62, 0), [64n])
  })

  test('keeps to the distance between ids', async () => {
    const { generator } = await opened([{ kind: 'segment', increment: 7, offset: 3 }, {}])
    assert.equal(await one(generator, 100), 101n)
    assert.equal(await one(generator, 101), 108n)
  })

  test('is refused where ids above a number are no later ones, and for what is no number', async () => {
    const node = await startNode()
    const create = (name: string, input: GeneratorInput) => node.catalogue.create(name, input)
    const wrong = {
      clock: await create('clock', { kind: 'snowflake' }),
      stamp: await create('stamp', { kind: 'timestamp' }),
      hidden: await create('hidden', { kind: 'segment', scramble: true, max: 1000 }),
      mixed: await create('mixed', { kind: 'segment', within: 'shuffled' }),
      random: await create('random', { kind: 'sequence', increment: '1..9' }),
    }
    for (const generator of Object.values(wrong))
      await assert.rejects(one(generator, 5), { code: 'WRONGTYPE', message: /; ABOVE is for sequences and/ })
    const plain = await create('plain', { kind: 'sequence' })
    for (const above of [-1, 1.5, Number.NaN, -1n])
      await assert.rejects(one(plain, above), { code: 'ERR', message: /^ABOVE must be a whole number/ })
    await assert.rejects(ids(plain, 1, { above: 1, at: new Date(0) }), { code: 'WRONGTYPE' })
    assert.equal(await one(plain), 1n)
  })
})

describe('the option JUMP', () => {
  for (const [what, mode] of Object.entries(modes))
    test(`bounds how many ids are skipped of ${what}, unless that is forced`, async () => {
      const [input, options] = mode
      const { node, generator } = await opened([{ ...input, jump: 50 }, options])
      await one(generator)
      await assert.rejects(one(generator, 200), {
        code: 'LIMIT',
        message: /^ABOVE 200 skips \d+ ids of 'g(:1)?', and at most 50 are skipped at once; if it is meant/,
      })
      assert.equal(await one(generator), 2n, 'nothing was skipped')
      assert.equal(await one(generator, 52), 53n)
      const forced = ids(generator, 1, { above: 5000, force: true })
      await node.clock.pass(50)
      assert.deepEqual(await forced, [5001n])
      await node.stop()
    })

  test('is a million by default, and counts what a fleet has issued elsewhere', async () => {
    for (const kind of ['sequence', 'segment'] as const) {
      const store = new MemoryStore()
      const [a, b] = [await startNode({ ...fleet, store }), await startNode({ ...fleet, store })]
      const here = await a.catalogue.create('g', { kind })
      const there = await b.catalogue.open('g')
      await one(there)
      await one(here, 1_000_000)
      await assert.rejects(one(here, 3_000_000), { code: 'LIMIT' })
      await one(here, 1_900_000)
      assert.ok((await one(there, 1_900_000)) > 1_900_000n, 'the store shows that little is skipped')
    }
  })
})

describe('ABOVE with periods', () => {
  for (const options of [{}, fleet])
    test(`goes on within the present one, in steps of JUMP: ${JSON.stringify(Object.keys(options))}`, async () => {
      const node = await startNode(options)
      const generator = await node.catalogue.create('g', { kind: 'sequence', period: 'day', jump: 50 })
      const first = await one(generator, 1)
      assert.equal(await one(generator, first + 10n), first + 11n)
      await assert.rejects(one(generator, first + 500n), { code: 'LIMIT', message: /skips 489 ids/ })
      assert.equal(await one(generator), first + 12n)
      await node.stop()
      const again = await startNode({ ...options, store: node.store })
      const opened = await again.catalogue.open('g')
      assert.ok((await one(opened, first)) > first, 'before a plain draw')
      await assert.rejects(one(opened, first + 9_000_000n), { code: 'LIMIT' })
      await again.stop()
    })
})

describe('quotas', () => {
  test('count what is skipped as ids, unless it is forced', async () => {
    const store = new MemoryStore()
    const node = await startNode({ store })
    const namespaces = await new Namespaces(new MemoryEngine(store)).open()
    const meters = new Meters(namespaces, () => node.clock.wallUs())
    const catalogue: Catalogue = new MeteredCatalogue(node.catalogue, meters, () => 'alice')
    await namespaces.set('shop', { match: '*', idsPerDay: 100 })
    const generator = await catalogue.create('g', { kind: 'sequence' })
    const issued = () => meters.quotas.all()[0]!.issued
    assert.deepEqual([await one(generator, 59), issued()], [60n, 60])
    await assert.rejects(one(generator, 101), { code: 'QUOTA' })
    await assert.rejects(one(generator, 1000), { code: 'LIMIT' })
    assert.equal(issued(), 60)
    assert.deepEqual([await one(generator, 60), issued()], [61n, 61])
    assert.deepEqual(await ids(generator, 2, { above: 9000, force: true }), [9001n, 9002n])
    assert.equal(issued(), 63)
  })

  test('count what a node drops of its own buffer, where the bound of the store is behind that', async () => {
    const node = await startNode({ ...fleet })
    const namespaces = await new Namespaces(new MemoryEngine(node.store)).open()
    const meters = new Meters(namespaces, () => node.clock.wallUs())
    const catalogue: Catalogue = new MeteredCatalogue(node.catalogue, meters, () => 'alice')
    await namespaces.set('shop', { match: '*', idsPerDay: 1900 })
    const generator = await catalogue.create('g', { kind: 'segment', step: 1000 })
    const issued = () => meters.quotas.all()[0]!.issued
    assert.deepEqual([await one(generator), await one(generator, 500)], [1n, 501n])
    assert.equal(issued(), 501)
    assert.deepEqual([await one(generator, 999), issued()], [1000n, 501 + 1 + 498])
    await assert.rejects(one(generator, 1999), { code: 'QUOTA' })
  })
})
