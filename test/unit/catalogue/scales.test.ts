import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../../src/base/errors.ts'
import { type Definition, layoutOf } from '../../../src/catalogue/definition.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { FakeClock } from '../fake-clock.ts'
import { draw, type Node, startNode } from './node.ts'

const twitterEpoch = '2010-11-04T01:42:54.657Z'
const dayUs = 86_400_000_000
const layout = (time: number, node: number, sequence: number, unit = 'ms', epoch = twitterEpoch) =>
  `time:${time},node:${node},sequence:${sequence};unit=${unit};epoch=${epoch}`
const layouts = [
  layout(41, 10, 12),
  layout(41, 10, 10),
  layout(42, 10, 11),
  layout(41, 12, 10),
  layout(41, 9, 13),
  layout(41, 1, 21),
  layout(39, 10, 14, '10ms'),
  layout(32, 10, 21, 's', '2020-01-01T00:00:00Z'),
  layout(53, 4, 6, 'us'),
]
const plain = { increment: 1, offset: 0, within: 'ordered' } as const
const counters: GeneratorInput[] = [
  { kind: 'sequence', step: 10, ...plain },
  { kind: 'sequence', step: 10, ...plain, increment: 7, offset: 3 },
  { kind: 'segment', step: 10, ...plain },
  { kind: 'segment', step: 10, ...plain, increment: 2, offset: 1 },
  { kind: 'segment', step: 10, ...plain, within: 'shuffled' },
]
const definitions: GeneratorInput[] = [
  ...counters,
  ...layouts.map((each) => ({ kind: 'timestamp' as const, layout: each })),
  ...layouts.map((each) => ({ kind: 'snowflake' as const, layout: each })),
]
const ways = ['altered', 'dropped and created'] as const

/** The time of `id` under a definition, in Unix µs; 0 for a counter, which can continue above any id. */
function startUs(definition: Definition, id: bigint): number {
  if (definition.layout === undefined) return 0
  const { epochUs, timeShift, unitUs } = layoutOf(definition)
  return epochUs + Number(id >> BigInt(timeShift)) * unitUs
}

/** One generator that changes from definition to definition. */
class Generation {
  readonly #node: Node
  #newest = -1n

  constructor(node: Node) {
    this.#node = node
  }

  async create(input: GeneratorInput): Promise<Definition> {
    return (await this.#node.catalogue.create('g', input)).definition
  }

  /** Issues ids, which are above all before and, if they contain a time, dated today or tomorrow. */
  async issue(): Promise<void> {
    const generator = await this.#node.catalogue.open('g')
    const drawing = draw(generator, 5)
    await this.#node.clock.pass(1)
    const ids = await drawing
    assert.ok(ids.every((id) => id > this.#newest))
    assert.equal(new Set(ids).size, 5)
    for (const id of ids) {
      assert.ok(startUs(generator.definition, id) < this.#node.clock.wall + 1.1 * dayUs)
      if (id > this.#newest) this.#newest = id
    }
  }

  /** Whether ids of the next definition are above all before without being dated ahead. */
  hasRoomFor(definition: Definition): boolean {
    return startUs(definition, this.#newest) < this.#node.clock.wall + dayUs / 2
  }

  /** Resolves to whether the change was accepted. */
  async become(next: GeneratorInput, back: GeneratorInput, way: (typeof ways)[number]): Promise<boolean> {
    const { catalogue } = this.#node
    if (way === 'dropped and created') await catalogue.drop('g')
    try {
      if (way === 'dropped and created') await catalogue.create('g', next)
      else {
        const leavesCounter = back.layout === undefined && next.layout !== undefined
        // Ids with an offset move only with a floor, above those of other sites.
        const floor = this.#newest + 1_000_000n
        if (leavesCounter) await catalogue.alter('g', { ...plain, floor })
        await catalogue.alter('g', next.layout === undefined ? { ...next, floor } : next)
      }
      return true
    } catch (error) {
      assert.ok(hasCode(error, 'ERR') && /far in the future; use another name/.test(error.message))
      if (way === 'dropped and created') await catalogue.create('g', back)
      return false
    }
  }
}

describe('a generator that changes its definition and changes it back', () => {
  for (const way of ways) {
    for (const first of definitions) {
      test(`continues above all its ids, or keeps its definition: ${JSON.stringify(first)}, ${way}`, async () => {
        for (const second of definitions) {
          if (first === second) continue
          const node = await startNode({ clock: new FakeClock() })
          const wanted = (await node.catalogue.create('wanted', second)).definition
          const generation = new Generation(node)
          const original = await generation.create(first)
          await generation.issue()
          const same = original.kind === 'snowflake' && wanted.kind === 'snowflake'
          const accepts = generation.hasRoomFor(wanted) || (same && original.layout === wanted.layout)
          assert.equal(await generation.become(second, first, way), accepts, JSON.stringify(second))
          await generation.issue()
          if (!accepts) continue
          const returns = generation.hasRoomFor(original)
          assert.equal(
            await generation.become(first, second, way),
            returns,
            `back from ${JSON.stringify(second)}`,
          )
          await generation.issue()
        }
      })
    }
  }
})
