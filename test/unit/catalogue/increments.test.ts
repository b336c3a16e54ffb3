/**
 * Changes of the increment, as callers meet them that take a value of a sequence for a block of ids: Hibernate's `pooled`
 * takes V for the last id of its block, `pooled-lo` and the hi-lo of EF Core take it for the first.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { draw, type Node, SharedEngine, startNode } from './node.ts'

type Observer = (value: bigint, increment: bigint) => readonly [first: bigint, last: bigint]

const observers: readonly (readonly [name: string, observe: Observer])[] = [
  ['the id alone', (value) => [value, value]],
  // Hibernate begins at the first value, whatever its block would be.
  [
    'the last of its block',
    (value, increment) => [value < increment ? value : value - increment + 1n, value],
  ],
  ['the first of its block', (value, increment) => [value, value + increment - 1n]],
]

const increments = [1, 2, 3, 7, 10, 49, 50, 51, 100]
const modes = [
  ['a sequence of one process', { kind: 'sequence' }, false],
  ['a sequence of many processes', { kind: 'sequence' }, true],
  ['a segment', { kind: 'segment', step: 3 }, true],
] as const satisfies readonly (readonly [string, GeneratorInput, boolean])[]

/** A value, and the increment of its time. */
type Seen = readonly [value: bigint, increment: bigint]

/** Asserts that no observer takes two values for a common id. */
function assertApart(seen: readonly Seen[]): void {
  for (const [name, observe] of observers) {
    const blocks = seen.map(([value, increment]) => observe(value, increment))
    const inOrder = blocks.toSorted((a, b) => (a[0] < b[0] ? -1 : 1))
    for (const [index, [first]] of inOrder.entries()) {
      const before = inOrder[index - 1]
      assert.ok(
        before === undefined || before[1] < first,
        `${name}: ${before} and ${inOrder[index]} of ${seen}`,
      )
    }
  }
}

async function start(isShared: boolean): Promise<Node> {
  return startNode(isShared ? { reach: (store: MemoryStore) => new SharedEngine(store) } : {})
}

/** Draws `count` ids, one at a time. */
async function use({ catalogue }: Node, count: number, increment: number): Promise<Seen[]> {
  const seen: Seen[] = []
  for (let each = 0; each < count; each++)
    for (const id of await draw(await catalogue.open('g'))) seen.push([id, BigInt(increment)])
  return seen
}

describe('a change of the increment', () => {
  for (const [title, definition, isShared] of modes) {
    test(`repeats no id of a block, for all pairs of increments: ${title}`, async () => {
      for (const before of increments)
        for (const after of increments)
          for (const used of [0, 1, 3]) {
            const node = await start(isShared)
            await node.catalogue.create('g', { ...definition, increment: before })
            const seen = await use(node, used, before)
            await node.catalogue.alter('g', { increment: after })
            const next = await use(node, 2, after)
            assertApart([...seen, ...next])
            const [last, [first]] = [seen.at(-1)?.[0], next[0]!]
            const why = `${before} to ${after} after ${used}: ${first} after ${last}`
            assert.ok(last === undefined ? first === 1n : first >= last + BigInt(after), why)
            if (definition.kind === 'sequence' && last !== undefined)
              assert.equal(first, last + BigInt(Math.max(before, after)), why)
            await node.stop()
          }
    })
  }

  test('repeats none in a row of alterations, drops and moves, on two nodes', async () => {
    const step = fc.record({
      increment: fc.constantFrom(...increments),
      used: fc.integer({ min: 0, max: 4 }),
      node: fc.constantFrom(0, 1),
      how: fc.constantFrom('alter', 'alter', 'alter', 'drop', 'kind', 'floor'),
    })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...modes), fc.array(step, { maxLength: 8 }), async (mode, steps) => {
        const [, definition, isShared] = mode
        const store = new MemoryStore()
        const reach = (reached: MemoryStore) => new SharedEngine(reached)
        const first = await startNode(isShared ? { store, reach } : { store })
        const nodes = isShared ? [first, await startNode({ store, reach })] : [first, first]
        await first.catalogue.create('g', definition)
        let increment = 1
        const seen = await use(first, 2, 1)
        for (const { how, used, node, increment: next } of steps) {
          const { catalogue } = nodes[node]!
          if (how === 'drop') {
            await catalogue.drop('g')
            await catalogue.create('g', { ...definition, increment: next })
          } else if (how === 'kind') {
            const { kind } = (await catalogue.info('g')).definition
            await catalogue.alter('g', {
              kind: kind === 'sequence' ? 'segment' : 'sequence',
              increment: next,
            })
          } else if (how === 'floor') {
            const { bound } = await catalogue.info('g')
            await catalogue.alter('g', { increment: next, floor: bound! + 17n })
          } else await catalogue.alter('g', { increment: next })
          increment = next
          for (const each of nodes) await each.clock.pass(2000)
          for (const each of nodes) seen.push(...(await use(each, used, increment)))
        }
        assertApart(seen)
      }),
      { numRuns: 60 },
    )
  })

  test('works on a record from before records said whether the offset was given', async () => {
    for (const [options, after] of [
      [{ increment: 50 }, [2n, 3n]],
      [{ increment: 50, start: 7 }, [8n, 9n]],
    ] as const) {
      const node = await startNode({ generators: { g: { kind: 'sequence', ...options } } })
      const record = (await node.engine.read('generators/g'))!
      const { offsetGiven: _, ...before } = JSON.parse(record.value)
      await node.engine.write(record.key, JSON.stringify(before), record.version)
      await use(node, 1, 50)
      await node.catalogue.alter('g', { increment: 1 })
      assert.deepEqual(
        (await use(node, 2, 1)).map(([id]) => id),
        after.map((each) => each + 49n),
      )
      await node.stop()
    }
  })

  test('may be taken back', async () => {
    const node = await startNode({ generators: { g: { kind: 'sequence', increment: 50 } } })
    await use(node, 2, 50)
    const { definition } = await node.catalogue.alter('g', { increment: 1 })
    assert.deepEqual([definition.increment, definition.offset], [1, 0n])
    assert.deepEqual(await use(node, 1, 1), [[101n, 1n]])
    await node.catalogue.alter('g', { increment: 50 })
    assert.deepEqual(await use(node, 2, 50), [
      [151n, 50n],
      [201n, 50n],
    ])
  })
})
