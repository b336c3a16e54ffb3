/** The order of draws from names that are not open, or are opened meanwhile. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import { DeafEngine, draw, type Node, startNode } from './node.ts'

const names = ['a', 'b', 'c', 'd'] as const
type Name = (typeof names)[number]
/** What a request asks for; `after`: how many turns of promises pass before it is sent. */
type Request = { readonly name: Name; readonly count: number; readonly after: number }

/** The depth of promises before and after the draw differs from command to command. */
const draws = [
  (generator: Generator, count: number) => draw(generator, count),
  async (generator: Generator, count: number) => {
    const ids = await draw(generator, count)
    await Promise.resolve()
    return ids
  },
]

/** Sends requests one behind the other, and notes the ids of each name in the order of the calls. */
async function send(node: Node, requests: readonly Request[], issued: Map<Name, Promise<bigint[]>[]>) {
  for (const [index, { name, count, after }] of requests.entries()) {
    for (let turn = 0; turn < after; turn++) await Promise.resolve()
    const use = draws[index % draws.length]!
    const drawn = node.catalogue.whenOpen(name, (generator) => use(generator, count))
    issued.set(name, [...(issued.get(name) ?? []), drawn])
  }
}

const request = fc.record({
  name: fc.constantFrom(...names),
  count: fc.integer({ min: 1, max: 3 }),
  after: fc.nat({ max: 60 }),
})

describe('callers of a name that is opened', () => {
  for (const kind of ['sequence', 'segment'] as const)
    test(`draw in the order in which they came, whichever found it open: ${kind}`, async () => {
      const pipelines = fc.array(fc.array(request, { maxLength: 12 }), { minLength: 1, maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(pipelines, async (connections) => {
          const node = await startNode({ autoCreate: [{ pattern: '*', kind }] })
          const issued = new Map<Name, Promise<bigint[]>[]>()
          await Promise.all(connections.map((requests) => send(node, requests, issued)))
          for (const drawn of issued.values()) {
            const ids = (await Promise.all(drawn)).flat()
            assert.deepEqual(ids, ids.toSorted(byValue))
            assert.equal(new Set(ids).size, ids.length)
          }
          node.catalogue.assertInvariants()
          await node.stop()
        }),
        { numRuns: 60 },
      )
    })

  test('share one look-up, and its failure', async () => {
    const node = await startNode({ autoCreate: [{ pattern: 'a*', kind: 'sequence' }] })
    const before = node.engine.count('read')
    const held = node.engine.hold('read')
    const absent = [1, 2, 3].map(() => node.catalogue.open('none'))
    await held.arrived
    held.letGo()
    for (const each of absent) await assert.rejects(each, { code: 'NOGENERATOR' })
    assert.equal(node.engine.count('read') - before, 1)
    await node.stop()
  })

  test('are refused one by one where one caller throws', async () => {
    const node = await startNode({ autoCreate: [{ pattern: '*', kind: 'sequence' }] })
    const first = node.catalogue.whenOpen('a', () => {
      throw new Error('mine')
    })
    const second = node.catalogue.whenOpen('a', (generator) => draw(generator))
    await assert.rejects(first, { message: 'mine' })
    assert.deepEqual(await second, [1n])
    await node.stop()
  })

  test('are refused when the node stops', async () => {
    const node = await startNode({ autoCreate: [{ pattern: '*', kind: 'sequence' }] })
    const held = node.engine.hold('read')
    const waiting = assert.rejects(node.catalogue.open('a'), { code: 'SHUTDOWN' })
    await held.arrived
    const stopped = node.stop()
    held.letGo()
    await waiting
    await stopped
  })

  test('keep their order when another node alters the generator before this node hears of it', async () => {
    const node = await startNode({ reach: (store) => new DeafEngine(store) })
    const other = await startNode({ store: node.store, reach: (store) => new DeafEngine(store) })
    await node.catalogue.create('a', { kind: 'segment', step: 2 })
    const generator = await node.catalogue.open('a')
    await draw(generator, 2)
    await other.catalogue.alter('a', { kind: 'sequence' })
    // The first call finds out that its incarnation has ended, and follows; the others come meanwhile.
    const order: string[] = []
    const drawing = (label: string) =>
      node.catalogue.whenOpen('a', async (open) => {
        const ids = await draw(open)
        order.push(label)
        return ids
      })
    const ids = await Promise.all(['first', 'second', 'third'].map(drawing))
    assert.deepEqual(ids.flat(), ids.flat().toSorted(byValue))
    assert.deepEqual(order, ['first', 'second', 'third'])
    await other.stop()
    await node.stop()
  })
})

function byValue(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
