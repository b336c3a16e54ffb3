/** Generators whose ids are random distances apart, as their definition says: `increment: 1..9`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { definitionJson, definitionText } from '../../../src/catalogue/definition.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import type { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { draw, type Node, type NodeOptions, SharedEngine, startNode } from './node.ts'

const shared: NodeOptions = { reach: (store: MemoryStore) => new SharedEngine(store) }

async function open(options: Partial<GeneratorInput> = {}, nodeOptions: NodeOptions = {}) {
  const node = await startNode(nodeOptions)
  const generator = await node.catalogue.create('g', { kind: 'sequence', increment: '1..9', ...options })
  return { ...node, generator }
}

/** Asserts that each id is 1 to 9 above the one before it. */
function assertSteps(ids: readonly bigint[], mayJump = false): void {
  for (const [at, id] of ids.entries()) {
    const step = at === 0 ? 1n : id - ids[at - 1]!
    assert.ok(step >= 1n && (mayJump || step <= 9n), `${ids}`)
  }
  assert.ok(new Set(ids.slice(1).map((id, at) => id - ids[at]!)).size > 4, `${ids}`)
}

async function drawOne(node: Pick<Node, 'catalogue'>, count = 1): Promise<bigint[]> {
  return draw(await node.catalogue.open('g'), count)
}

describe('a random increment', () => {
  test('is shown as it was given', async () => {
    const { generator, stop } = await open()
    assert.deepEqual(
      definitionText(generator.definition).filter(([name]) => name.startsWith('increment')),
      [['increment', '1..9']],
    )
    assert.equal(definitionJson(generator.definition).increment, '1..9')
    await stop()
  })

  for (const [title, options, nodeOptions] of [
    ['a sequence of one process', {}, {}],
    ['a sequence of many processes', {}, shared],
    ['a segment', { kind: 'segment' }, {}],
  ] as const)
    test(`begins at the start, and leaves ids out: ${title}`, async () => {
      const { generator, stop } = await open(options, nodeOptions)
      assert.equal(generator.contiguous, false)
      const ids: bigint[] = []
      for (let each = 0; each < 60; each++) ids.push(...(await draw(generator, each % 3 === 0 ? 5 : 1)))
      assert.equal(ids[0], 1n)
      assertSteps(ids)
      assert.equal(generator.lastIssued(), ids.at(-1))
      await stop()
    })

  test('keeps strict order among processes that share a store', async () => {
    const first = await open({}, shared)
    const second = await startNode({ ...shared, store: first.store })
    const ids: bigint[] = []
    for (let each = 0; each < 60; each++)
      ids.push(...(await drawOne(each % 2 === 0 ? first : second, 1 + (each % 4))))
    assertSteps(ids, true)
    await second.stop()
    await first.stop()
  })

  test('issues ids in one reserve for all callers of a batch, and exactly as many as are wanted', async () => {
    const { generator, store, engine, stop } = await open({}, shared)
    const ids = (await Promise.all([draw(generator), draw(generator, 20), draw(generator, 3)])).flat()
    assertSteps(ids)
    assert.equal(engine.count('reserve'), 1)
    const { bound } = store.counters.get('generators/g')!
    assert.ok(bound > ids.at(-1)! && bound <= ids.at(-1)! + 9n)
    await stop()
  })

  test('ends at the maximum, and refuses those that ask for more than is left', async () => {
    const { generator, stop } = await open({ max: 40 }, shared)
    await assert.rejects(draw(generator, 41), { code: 'EXHAUSTED' })
    const ids = await draw(generator, 4)
    for (let isOver = false; !isOver; )
      await draw(generator).then(
        (more) => ids.push(...more),
        (error) => {
          assert.equal(error.code, 'EXHAUSTED')
          isOver = true
        },
      )
    assert.ok(ids.at(-1)! > 31n && ids.at(-1)! <= 40n, `${ids}`)
    await stop()
  })

  test('goes on from the last id of another increment, the larger of both away at least', async () => {
    for (const nodeOptions of [{}, shared]) {
      const node = await open({ increment: 50 }, nodeOptions)
      const [last] = await drawOne(node)
      await node.catalogue.alter('g', { increment: '1..9' })
      const ids = await drawOne(node, 20)
      assert.equal(ids[0], last! + 50n)
      assertSteps(ids)
      await node.catalogue.alter('g', { increment: '1..900' })
      const [newest] = (await drawOne(node, 20)).slice(-1)
      await node.catalogue.alter('g', { increment: 3 })
      const [next] = await drawOne(node)
      assert.ok(next! >= newest! + 900n && next! < newest! + 1801n, `${next} after ${newest}`)
      await node.stop()
    }
  })

  test('stays when something else is altered, and cannot be lost by another kind', async () => {
    const node = await open()
    await node.catalogue.alter('g', { kind: 'segment', step: 10 })
    assert.equal(definitionJson((await node.catalogue.open('g')).definition).increment, '1..9')
    await assert.rejects(node.catalogue.alter('g', { kind: 'snowflake' }), {
      code: 'ERR',
      message: 'a snowflake cannot keep increment 1..9; alter increment to 1 first',
    })
    await assert.rejects(node.catalogue.create('g', { kind: 'segment', increment: '1..8' }), {
      code: 'EXISTS',
      message: "generator 'g' exists and differs: increment is 1..9, not 1..8; alter it, or use another name",
    })
    await node.stop()
  })

  test('is refused beside what would undo it', async () => {
    const { catalogue, stop } = await startNode()
    const refusals: [Partial<GeneratorInput>, RegExp][] = [
      [{ scramble: true }, /keeps ids in order; leave scramble out/],
      [{ within: 'shuffled' }, /keeps ids in order; leave within: shuffled out/],
      [{ offset: 3 }, /no residue in common; leave offset out/],
      [{ increment: '9..1' }, /a range such as 1\.\.9/],
      [{ increment: 'many' }, /a range such as 1\.\.9/],
    ]
    for (const [options, message] of refusals)
      await assert.rejects(catalogue.create('h', { kind: 'segment', increment: '1..9', ...options }), message)
    await assert.rejects(
      catalogue.create('f:*', { kind: 'sequence', family: true, increment: '1..9' }),
      /count by one; leave increment out/,
    )
    await stop()
  })

  test('counts the ids that are left by their distance on average', async () => {
    const { catalogue, generator, stop } = await open({ max: 1_000_000, step: 10 })
    await draw(generator)
    const info = await catalogue.info('g')
    assert.equal(info.lastIssued, 1n)
    await stop()
  })
})
