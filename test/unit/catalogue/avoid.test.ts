/** Generators that skip the ids whose texts contain a word. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { compileFormat } from '../../../src/ids/format.ts'
import { Run } from '../../../src/ids/run.ts'
import { Words } from '../../../src/ids/words.ts'
import { type Node, SharedEngine, startNode } from './node.ts'

const avoid = ['as', 'fox', '2b']
const words = new Words(avoid)
const code: GeneratorInput = { kind: 'segment', format: '{id:4:base36}', avoid }

async function withCodes(input: Partial<GeneratorInput> = {}): Promise<[Node, Generator]> {
  const node = await startNode()
  return [node, await node.catalogue.create('g', { ...code, ...input })]
}

async function ids(generator: Generator, count: number): Promise<bigint[]> {
  const runs = await generator.draw(count)
  return runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
}

function good(format: string, from: bigint, count: number): bigint[] {
  const texts = compileFormat(format)
  const found: bigint[] = []
  for (let id = from; found.length < count; id++) if (words.endIn(texts.format(id)) < 0) found.push(id)
  return found
}

describe('a generator that avoids words', () => {
  for (const kind of ['sequence', 'segment'] as const)
    test(`issues every other id of a ${kind} in order, as text and as number`, async () => {
      const [node, g] = await withCodes({ kind, step: 50 })
      const expected = good('{id:4:base36}', 1n, 4000)
      assert.deepEqual(await ids(g, 3000), expected.slice(0, 3000))
      const run = new Run()
      const taken: bigint[] = []
      while (taken.length < 1000) {
        if (g.take(5, run) === 1) taken.push(run.first)
        const number = g.takeNumber()
        if (number >= 0) taken.push(BigInt(number))
        if (g.row !== 0) assert.fail('a row issues without a look at the text')
        if (taken.length < 1000) taken.push(...(await ids(g, 1)))
      }
      assert.deepEqual(taken.slice(0, 1000), expected.slice(3000))
      assert.equal(g.stats().issued, 3000 + taken.length)
      await node.stop()
    })

  test('issues every id of a scrambled one that has none, and then ends', async () => {
    const format = '{id:2:base36}'
    const [node, g] = await withCodes({ format, scramble: true, avoid: ['as', 'x1'], start: 0, max: 1295 })
    const all = new Set<bigint>()
    const ended = assert.rejects(
      (async () => {
        for (;;) for (const id of await ids(g, 1)) assert.ok(all.size < all.add(id).size)
      })(),
      { code: 'EXHAUSTED' },
    )
    for (let turn = 0; turn < 20; turn++) await node.clock.pass(200)
    await ended
    const list = new Words(['as', 'x1'])
    const left = Array.from({ length: 1296 }, (_, id) => BigInt(id)).filter(
      (id) => list.endIn(g.text(id)) < 0,
    )
    assert.deepEqual(
      [...all].sort((a, b) => Number(a - b)),
      left,
    )
  })

  for (const shared of [false, true])
    test(`passes a million ids with one word in a few steps${shared ? ', by group commit' : ''}`, async () => {
      const node = await startNode(shared ? { reach: (store) => new SharedEngine(store) } : {})
      const format = '{id:8:base36}'
      const start = compileFormat(format).parse('00fowzzz')
      const g = await node.catalogue.create('g', { ...code, kind: 'sequence', format, start })
      const drawing = ids(g, 3)
      await node.clock.pass(100)
      assert.deepEqual(
        (await drawing).map((id) => g.text(id)),
        ['00fowzzz', '00foy000', '00foy001'],
      )
    })

  test('ends where all ids that are left have a word', async () => {
    const at = (text: string) => compileFormat('{id:4:base36}').parse(text)
    const [node, g] = await withCodes({ start: at('fov0'), max: at('foxz') })
    assert.equal((await ids(g, 72)).length, 72)
    const refused = assert.rejects(g.draw(1), { code: 'EXHAUSTED' })
    await node.clock.pass(100)
    await refused
  })

  test('gives no ranges and no blocks', async () => {
    const [node, g] = await withCodes()
    assert.equal(g.contiguous, false)
    await assert.rejects(g.leaseRange(10), {
      code: 'WRONGTYPE',
      message: /skips ids whose texts contain a word/,
    })
    await assert.rejects(g.draw(2, { contiguous: true }), { code: 'WRONGTYPE' })
    await node.stop()
  })

  for (const scramble of [false, true])
    test(`looks at many ids in parts, between which others are served${scramble ? ', of scrambled ones too' : ''}`, async () => {
      let turns = 0
      const figures: number[] = []
      let g: Generator | undefined
      const take = async () => {
        turns++
        figures.push(g!.stats().issued)
        await new Promise(setImmediate)
      }
      const node = await startNode({ turns: { take } })
      g = await node.catalogue.create('g', { ...code, scramble, format: '{id:6:base36}', step: 5000 })
      turns = 0
      const got = await ids(g, 40_000)
      assert.ok(turns >= 40_000 / 4000, `${turns}`)
      assert.deepEqual([new Set(got).size, g.stats().issued], [40_000, 40_000])
      if (!scramble) assert.deepEqual(got, good('{id:6:base36}', 1n, 40_000))
      assert.deepEqual(
        figures,
        [...figures].sort((a, b) => a - b),
      )
      await node.stop()
    })

  test('reads an id that it issued before its words were altered', async () => {
    const [node, g] = await withCodes({ start: 100 })
    const [id] = (await ids(g, 1)) as [bigint]
    const text = g.text(id)
    await node.catalogue.alter('g', { avoid: text.slice(-2) })
    const altered = await node.catalogue.open('g')
    assert.equal(altered.parse(text), id)
    assert.equal(altered.parse(text.toUpperCase()), id)
    assert.equal((await node.catalogue.issuedBelow('g')).never(id), undefined)
    await node.stop()
  })

  test('takes another list at any time, and none', async () => {
    const [node] = await withCodes()
    const { catalogue } = node
    assert.equal((await catalogue.info('g')).definition.avoid, '2b,as,fox')
    await catalogue.alter('g', { avoid: 'Zoo, boo,zoo' })
    assert.equal((await catalogue.info('g')).definition.avoid, 'boo,zoo')
    assert.equal((await catalogue.open('g')).incarnation, 1n)
    await catalogue.alter('g', { avoid: '' })
    assert.equal((await catalogue.info('g')).definition.avoid, undefined)
    assert.equal((await catalogue.open('g')).contiguous, true)
    await node.stop()
  })

  test('is refused where words cannot be avoided', async () => {
    const node = await startNode()
    for (const [input, message] of [
      [{ avoid: 'a,fox' }, /'a' is not 2 to 32 letters a–z and digits/],
      [{ avoid: ['näh'] }, /'näh' is not 2 to 32/],
      [{ avoid: Array.from({ length: 501 }, (_, at) => `w${at}`) }, /at most 500 words/],
      [{ format: '{id:13}', avoid: ['oo', 'oi', 'io', 'ii', 'se'] }, /are in \d+ % of the texts/],
      [{ within: 'shuffled' }, /can have the same word/],
      [{ gene: 3 }, /leave avoid or gene out/],
      [{ kind: 'sequence', family: true, format: undefined }, /leave avoid out/],
      [
        { kind: 'snowflake', format: undefined },
        /option 'avoid' does not apply: a snowflake is made of the clock/,
      ],
      [{ format: '{date:yyyy}{id:5}{check:luhn}' }, /the check digits change with the node or the date/],
    ] as [Partial<GeneratorInput>, RegExp][])
      await assert.rejects(node.catalogue.create('h*', { ...code, ...input }), { code: 'ERR', message })
    await node.stop()
  })
})

test('two nodes on one store skip the same ids', async () => {
  const store = new MemoryStore()
  const nodes = [await startNode({ store }), await startNode({ store })] as const
  await nodes[0].catalogue.create('g', { ...code, step: 100 })
  const drawn: bigint[] = []
  for (let turn = 0; turn < 20; turn++)
    for (const { catalogue, clock } of nodes) {
      const drawing = catalogue.open('g').then((g) => ids(g, 90))
      await clock.pass(10)
      drawn.push(...(await drawing))
    }
  assert.equal(new Set(drawn).size, drawn.length)
  const texts = compileFormat('{id:4:base36}')
  assert.ok(drawn.every((id) => words.endIn(texts.format(id)) < 0))
  for (const node of nodes) await node.stop()
})

test('replies of the store that are lost leave gaps, and no id comes twice or has a word', async () => {
  for (const kind of ['sequence', 'segment'] as const) {
    const node = await startNode({ reach: (store) => new SharedEngine(store) })
    const g = await node.catalogue.create('g', { ...code, kind, step: 20, horizon: '0s' })
    const drawn: bigint[] = []
    let failures = 0
    for (let turn = 0; turn < 120; turn++) {
      if (turn % 3 === 0) node.engine.next('reserve', 'lose-reply')
      const drawing = ids(g, 1 + (turn % 40)).then(
        (got) => drawn.push(...got),
        () => failures++,
      )
      await node.clock.pass(3000)
      await drawing
    }
    assert.ok(drawn.length > 1000 && node.engine.count('reserve') > 50)
    assert.equal(new Set(drawn).size, drawn.length)
    assert.deepEqual(
      drawn,
      [...drawn].sort((a, b) => Number(a - b)),
    )
    assert.ok(drawn.every((id) => words.endIn(g.text(id)) < 0))
    await node.stop()
  }
})
