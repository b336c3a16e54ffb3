/** Generators whose callers give the lowest bits of each id. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emptyRow } from '../../../src/buffers/fast-runs.ts'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import type { OpenGenerator } from '../../../src/catalogue/open-generator.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import type { GeneInput } from '../../../src/ids/gene.ts'
import { geneOf } from '../../../src/ids/gene.ts'
import { Run } from '../../../src/ids/run.ts'
import { nothingAtRest } from '../../../src/issuing/counter-rows.ts'
import type { DrawOptions } from '../../../src/issuing/issuer.ts'
import { draw, type Node, startNode } from './node.ts'

const needsGene = { code: 'ERR', message: /^'g' needs a gene with each draw: GENE 0 to 1023, or BY key/ }

async function ids(generator: Generator, count: number, options: DrawOptions): Promise<bigint[]> {
  const runs = await generator.draw(count, options)
  return runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
}

async function withGene(input: Partial<GeneratorInput> = {}): Promise<[Node, Generator]> {
  const node = await startNode()
  return [node, await node.catalogue.create('g', { kind: 'segment', gene: 10, ...input })]
}

describe('a generator with a gene', () => {
  for (const kind of ['sequence', 'segment'] as const)
    test(`issues ids of a ${kind} in order, whatever their genes`, async () => {
      const [, g] = await withGene({ kind, step: 3 })
      const drawn = [
        ...(await ids(g, 1, { gene: 1023 })),
        ...(await ids(g, 3, { gene: 0 })),
        ...(await ids(g, 3, { gene: [5, 4, 3] })),
        ...(await ids(g, 1, { by: 'user:8812' })),
      ]
      assert.deepEqual(
        drawn.map((id) => [id >> 10n, Number(id % 1024n)]),
        [1023, 0, 0, 0, 5, 4, 3, geneOf('user:8812', 10)].map((gene, at) => [BigInt(at + 1), gene]),
      )
    })

  test('gives nothing without one, and uses no id up', async () => {
    const [node, g] = await withGene()
    const run = new Run()
    await ids(g, 1, { gene: 1 })
    const refusals: GeneInput[] = [{}, { gene: 1024 }, { gene: [1, 2, 3] }, { gene: 1, by: 'a' }]
    for (const input of refusals) await assert.rejects(g.draw(2, input), { code: 'ERR' })
    assert.deepEqual([g.row, g.take(1, run), g.takeNumber()], [0, 0, -1])
    await assert.rejects(g.draw(1), needsGene)
    await assert.rejects(g.leaseRange(5), needsGene)
    assert.equal(g.contiguous, false)
    assert.deepEqual(await ids(g, 1, { gene: 2 }), [2050n])
    assert.equal(g.stats().issued, 2)
    await node.stop()
  })

  test('does not rest: ids of a row at rest are issued as they are', async () => {
    const [, g] = await withGene({ step: 'adaptive' })
    await ids(g, 1, { gene: 1 })
    assert.equal((g as OpenGenerator).rest(nothingAtRest()), emptyRow)
    assert.deepEqual(await ids(g, 1, { gene: 1 }), [2049n])
  })

  test('shuffles blocks, and keeps the genes', async () => {
    const [, g] = await withGene({ within: 'shuffled' })
    const drawn = await ids(g, 500, { gene: 77 })
    assert.equal(new Set(drawn).size, 500)
    assert.ok(drawn.every((id) => id % 1024n === 77n && id >= 1024n && id < 1025n * 1024n))
    assert.notDeepEqual(
      drawn,
      [...drawn].sort((a, b) => Number(a - b)),
    )
  })

  test('begins at the first whole block from START on, and ends with the last one below MAX', async () => {
    const [node, g] = await withGene({ start: 1025, max: 4200 })
    assert.deepEqual(await ids(g, 1, { gene: 7 }), [2055n])
    assert.deepEqual(await ids(g, 1, { gene: 7 }), [3079n])
    const refused = assert.rejects(g.draw(1, { gene: 7 }), { code: 'EXHAUSTED' })
    await node.clock.pass(100)
    await refused
    const [, zero] = await withGene({ start: 0 })
    assert.deepEqual(await ids(zero, 1, { gene: 7 }), [7n])
  })

  test('shows bits for the gene, and no distance', async () => {
    const [node] = await withGene()
    const { definition, lastIssued } = await node.catalogue.info('g')
    assert.deepEqual([definition.gene, lastIssued], [10, undefined])
    const again = await node.catalogue.create('g', { kind: 'segment', gene: '10' })
    assert.equal(again.incarnation, 1n)
    await assert.rejects(node.catalogue.create('g', { kind: 'segment', gene: 9 }), {
      code: 'EXISTS',
      message: /gene is 10, not 9/,
    })
  })

  test('is not one of sites, scrambled, or of a family', async () => {
    const node = await startNode()
    const refused: [string, GeneratorInput, RegExp][] = [
      [
        'a',
        { kind: 'segment', gene: 10, increment: 2 },
        /sets ids 1024 apart; leave increment and offset out/,
      ],
      ['a', { kind: 'segment', gene: 10, offset: 2 }, /leave increment and offset out/],
      ['a', { kind: 'segment', gene: 10, scramble: true }, /scramble moves every id, and its gene/],
      [
        'a:*',
        { kind: 'sequence', gene: 10, family: true },
        /the names of a family count by one; leave gene out/,
      ],
      ['a', { kind: 'segment', gene: 17 }, /must be at most 16/],
      [
        'a',
        { kind: 'segment', gene: 10, max: 2000 },
        /no block of 1024 ids fits between start 1 and max 2000/,
      ],
      ['a', { kind: 'snowflake', gene: 10 }, /option 'gene' does not apply/],
    ]
    for (const [name, input, message] of refused)
      await assert.rejects(node.catalogue.create(name, input), { code: 'ERR', message })
  })

  test('refuses a gene where there is none', async () => {
    const node = await startNode()
    const plain = await node.catalogue.create('plain', { kind: 'sequence' })
    await assert.rejects(plain.draw(1, { gene: 1 }), {
      code: 'ERR',
      message: /'plain' has no bits for a gene/,
    })
    await assert.rejects(plain.draw(1, { by: 'a' }), { code: 'ERR' })
    assert.deepEqual(await draw(plain), [1n])
  })

  test('says what it may have issued, and moves past whole blocks', async () => {
    const [node, g] = await withGene({ kind: 'sequence' })
    await ids(g, 1, { gene: 3 })
    assert.equal(g.lastIssued(), 2047n)
    await g.moveTo(5000n)
    assert.deepEqual(await ids(g, 1, { gene: 0 }), [5120n])
    await node.crash()
    const next = await startNode(node)
    const after = await ids(await next.catalogue.open('g'), 1, { gene: 0 })
    assert.ok(after[0]! > 5120n)
  })
})

describe('another number of bits for the gene', () => {
  /** Draws with the smallest and the largest gene, alternating. */
  async function extremes(generator: Generator): Promise<bigint[]> {
    const most = 2 ** (generator.definition.gene ?? 0) - 1
    if (most === 0) return draw(generator, 40)
    return [...(await ids(generator, 20, { gene: 0 })), ...(await ids(generator, 20, { gene: most }))]
  }

  for (const kind of ['sequence', 'segment'] as const)
    test(`repeats no id of a ${kind}, in any sequence of changes`, async () => {
      const node = await startNode()
      await node.catalogue.create('g', { kind, step: 7 })
      const seen: bigint[] = []
      const changes: Parameters<typeof node.catalogue.alter>[1][] = [
        { gene: 10 },
        { gene: 3 },
        { gene: 12 },
        { gene: 0 },
        { increment: 5 },
        { gene: 4 },
        { gene: 0, increment: 3 },
        { gene: 10, floor: 1_000_001n, now: true },
        { floor: 2_000_001n, now: true },
      ]
      for (const change of changes) {
        seen.push(...(await extremes(await node.catalogue.open('g'))))
        const last = seen.at(-1)!
        const next = await node.catalogue.alter('g', change)
        const [first] = next.definition.gene ? await ids(next, 1, { gene: 0 }) : await draw(next)
        assert.ok(first! > last, `${JSON.stringify(Object.keys(change))} begins at ${first}, below ${last}`)
        if (change.floor !== undefined) assert.ok(first! >= BigInt(change.floor))
        seen.push(first!)
      }
      seen.push(...(await extremes(await node.catalogue.open('g'))))
      await node.catalogue.drop('g')
      const again = await node.catalogue.create('g', { kind, gene: 8 })
      seen.push(...(await ids(again, 1, { gene: 0 })))
      assert.deepEqual(
        seen,
        [...seen].sort((a, b) => (a < b ? -1 : 1)),
      )
      assert.equal(new Set(seen).size, seen.length)
    })

  test('begins above the bound of a counter whose record was lost', async () => {
    const store = new MemoryStore()
    const node = await startNode({ store })
    const before = await draw(await node.catalogue.create('g', { kind: 'segment', step: 5000 }), 5000)
    await node.stop()
    store.records.delete('generators/g')
    const next = await startNode({ store })
    const after = await ids(await next.catalogue.create('g', { kind: 'segment', gene: 10 }), 1, { gene: 0 })
    assert.ok(after[0]! > before.at(-1)!)
  })

  test('stays unless it is changed, and keeps a kind from the clock', async () => {
    const [node] = await withGene()
    const tuned = await node.catalogue.alter('g', { step: 50 })
    assert.deepEqual([tuned.incarnation, tuned.definition.gene], [1n, 10])
    const strict = await node.catalogue.alter('g', { kind: 'sequence' })
    assert.deepEqual([strict.incarnation, strict.definition.gene], [2n, 10])
    await assert.rejects(node.catalogue.alter('g', { kind: 'snowflake' }), {
      code: 'ERR',
      message: /a snowflake cannot keep gene 10; alter gene to 0 first/,
    })
  })
})

describe('a layout with a gene', () => {
  const layout = 'time:41,node:6,sequence:6,gene:10;epoch=2024-01-01T00:00:00.000Z'

  for (const kind of ['timestamp', 'snowflake'] as const)
    test(`issues ids of a ${kind} in order, whatever their genes`, async () => {
      const node = await startNode()
      const g = await node.catalogue.create('g', { kind, layout })
      await assert.rejects(g.draw(1), needsGene)
      const drawn = [
        ...(await ids(g, 1, { gene: 1023 })),
        ...(await ids(g, 100, { gene: 0 })),
        ...(await ids(g, 3, { gene: [5, 4, 3] })),
        ...(await ids(g, 1, { by: 'user:8812' })),
      ]
      assert.deepEqual(
        drawn.map((id) => Number(id % 1024n)),
        [1023, ...Array(100).fill(0), 5, 4, 3, geneOf('user:8812', 10)],
      )
      assert.deepEqual(
        drawn,
        [...new Set(drawn)].sort((a, b) => (a < b ? -1 : 1)),
      )
      assert.equal(g.lastIssued(), drawn.at(-1)! | 1023n)
      assert.deepEqual([g.row, g.takeNumber()], [0, -1])
      await node.stop()
    })

  test('is followed by another layout above all of its ids', async () => {
    const node = await startNode()
    const g = await node.catalogue.create('g', { kind: 'timestamp', layout })
    const [last] = (await ids(g, 50, { gene: 1023 })).slice(-1)
    const next = await node.catalogue.alter('g', {
      layout: layout.replace('sequence:6,gene:10', 'sequence:16'),
    })
    assert.ok((await draw(next))[0]! > last!)
  })
})
