/** What is said of ids that were issued, and of those that were not, by any node, and whatever has happened to the generator. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { lower, planLowering } from '../../../src/catalogue/lowering.ts'
import type { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { draw, type Node, SharedEngine, startNode } from './node.ts'

const reach = (store: MemoryStore) => new SharedEngine(store)

async function open(options: GeneratorInput, name = 'g'): Promise<Node> {
  const node = await startNode({ reach })
  await node.catalogue.create(name, options)
  return node
}

async function drawn(node: Node, count = 1): Promise<bigint[]> {
  return draw(await node.catalogue.open('g'), count)
}

async function never(node: Node, ids: readonly bigint[]): Promise<(string | undefined)[]> {
  const issued = await node.catalogue.issuedBelow('g')
  return ids.map((id) => issued.never(id))
}

const kinds: readonly (readonly [string, GeneratorInput])[] = [
  ['a sequence', { kind: 'sequence' }],
  ['a sequence at random distances', { kind: 'sequence', increment: '1..9' }],
  ['a segment', { kind: 'segment', step: 10 }],
  ['a shuffled segment', { kind: 'segment', step: 10, within: 'shuffled' }],
  ['a scrambled segment', { kind: 'segment', step: 10, scramble: true, max: 99_999_999 }],
  ['one of several sites', { kind: 'segment', step: 10, increment: 4, offset: 3 }],
  ['a segment with a gene', { kind: 'segment', step: 10, gene: 4 }],
  ['a snowflake', { kind: 'snowflake' }],
]

describe('an id that was issued', () => {
  for (const [title, options] of kinds)
    test(`is never said not to be, whichever node has issued it: ${title}`, async () => {
      const first = await open(options)
      const second = await startNode({ reach, store: first.store, clock: first.clock })
      for (let each = 0; each < 12; each++) {
        const node = each % 2 === 0 ? first : second
        const generator = await node.catalogue.open('g')
        const gene = options.gene === undefined ? {} : { gene: each }
        const runs = await generator.draw(1 + each, gene)
        const ids = runs.flatMap((run) => Array.from({ length: run.count }, (_, at) => run.at(at)))
        for (const asked of [first, second])
          assert.deepEqual(new Set(await never(asked, ids)), new Set([undefined]), `${ids}`)
      }
      await second.stop()
      await first.stop()
    })

  test('is not after the generator was altered, lowered or created again', async () => {
    const node = await open({ kind: 'sequence', start: 100, increment: 10 })
    const ids = await drawn(node, 5)
    await node.catalogue.alter('g', { increment: 3 })
    ids.push(...(await drawn(node, 5)))
    await node.catalogue.alter('g', { floor: 5000n })
    ids.push(...(await drawn(node)))
    await lower(node.engine, await planLowering(node.engine, 'g', 200n))
    ids.push(...(await drawn(node)))
    await node.catalogue.alter('g', { increment: 2 })
    ids.push(...(await drawn(node)))
    await node.catalogue.drop('g')
    await node.catalogue.create('g', { kind: 'segment' })
    ids.push(...(await drawn(node)))
    assert.deepEqual(new Set(await never(node, ids)), new Set([undefined]), `${ids}`)
    await node.stop()
  })
})

describe('an id that cannot have been issued', () => {
  test('is at or above what is reserved', async () => {
    const node = await open({ kind: 'sequence' })
    const above = /no id at or above it/
    assert.match((await never(node, [1n]))[0]!, above)
    await drawn(node, 5)
    const [five, six, far] = await never(node, [5n, 6n, 10n ** 15n])
    assert.equal(five, undefined)
    assert.match(six!, above)
    assert.match(far!, above)
    await node.stop()
  })

  test('is nearly every one of a scrambled domain', async () => {
    const node = await open({ kind: 'segment', step: 10, scramble: true, max: 99_999_999 })
    await drawn(node, 10)
    const answers = await never(
      node,
      Array.from({ length: 1000 }, (_, at) => BigInt(at) * 99_991n),
    )
    assert.ok(answers.filter((why) => why === undefined).length <= 1)
    assert.match((await never(node, [100_000_000n]))[0]!, /no id is above 99999999/)
    await node.stop()
  })

  test('is, of the first incarnation, below the start or between two ids', async () => {
    const node = await open({ kind: 'segment', start: 100, increment: 10 })
    await drawn(node, 3)
    assert.deepEqual(await never(node, [90n, 100n, 105n, 110n]), [
      'it is below the first id',
      undefined,
      'ids are 10 apart, and it lies between two',
      undefined,
    ])
    await node.stop()
  })

  test('lies in a time that no node has reserved', async () => {
    for (const kind of ['timestamp', 'snowflake'] as const) {
      const node = await startNode({ generators: { g: { kind } } })
      const [id] = await drawn(node)
      const far = id! + (10_000_000n << 22n)
      const [now, later] = await never(node, [id!, far])
      assert.deepEqual([now, typeof later], [undefined, 'string'], kind)
      await node.stop()
    }
  })
})
