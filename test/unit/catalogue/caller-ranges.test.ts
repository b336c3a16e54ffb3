/** Ranges that callers lease of a generator, beside the ids that nodes issue of it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { GeneratorRange } from '../../../src/catalogue/catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MeteredCatalogue } from '../../../src/catalogue/metered-catalogue.ts'
import { Meters } from '../../../src/catalogue/metered-generator.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { permutation } from '../../../src/ids/permutation.ts'
import { Namespaces } from '../../../src/quotas/namespaces.ts'
import { draw, type Node, SharedEngine, startNode } from './node.ts'

const reach = (store: MemoryStore) => new SharedEngine(store)

describe('a range that a caller leases', () => {
  test('lies beside what the node has buffered, and names what its ids are made by', async () => {
    const node = await startNode()
    const order = await node.catalogue.create('order', { kind: 'segment', step: 100 })
    assert.deepEqual(await draw(order, 2), [1n, 2n])
    const range = await order.leaseRange(10)
    assert.ok(range.start > 2n)
    assert.equal(range.end, range.start + 10n)
    assert.deepEqual([range.incarnation, range.definition.kind, range.key], [1n, 'segment', undefined])
    assert.deepEqual(await draw(order), [3n], 'the buffer goes on where it was')
    await node.stop()
  })

  test('keeps the node from releasing a buffer below it', async () => {
    const store = new MemoryStore()
    const node = await startNode({ store })
    const order = await node.catalogue.create('order', { kind: 'segment', step: 100 })
    await draw(order)
    const { end } = await order.leaseRange(10)
    await node.stop()
    const next = await startNode({ store })
    assert.ok((await draw(await next.catalogue.open('order')))[0]! >= end)
    await next.stop()
  })

  test('is of raw values where ids are scrambled, and comes with the key that makes ids of them', async () => {
    const node = await startNode()
    const coupon = await node.catalogue.create('coupon', {
      kind: 'segment',
      scramble: true,
      max: 999,
      step: 1,
    })
    const { start, end, key } = await coupon.leaseRange(500)
    const forward = permutation(Buffer.from(key!, 'hex'), 1000n)
    const mine = Array.from({ length: Number(end - start) }, (_, index) =>
      forward.forward(start + BigInt(index)),
    )
    const issued = await draw(coupon, 400)
    assert.equal(new Set([...mine, ...issued]).size, 900)
    await node.stop()
  })

  test('is leased of no other kind', async () => {
    const node = await startNode()
    for (const kind of ['sequence', 'timestamp', 'snowflake'] as const) {
      const generator = await node.catalogue.create(kind, { kind })
      await assert.rejects(generator.leaseRange(1), { code: 'WRONGTYPE' })
    }
    await node.stop()
  })

  test('follows an alteration, and goes to no earlier incarnation', async () => {
    const node = await startNode()
    const order = await node.catalogue.create('order', { kind: 'segment', step: 100 })
    const before = await order.leaseRange(10)
    await node.catalogue.alter('order', { increment: 5 })
    const after = await order.leaseRange(10)
    assert.deepEqual([after.incarnation, after.definition.increment, after.end - after.start], [2n, 5, 50n])
    assert.ok(after.start >= before.end)
    assert.deepEqual(await before.release(before.start), { ids: 10, isBack: false })
    await node.catalogue.drop('order')
    await assert.rejects(order.leaseRange(1), { code: 'NOGENERATOR' })
    await node.stop()
  })

  test('goes back after its generator has been tuned', async () => {
    const node = await startNode()
    const order = await node.catalogue.create('order', { kind: 'segment' })
    const range = await order.leaseRange(10)
    await node.catalogue.alter('order', { step: 7 })
    assert.deepEqual(await range.release(range.start), { ids: 10, isBack: true })
    const again = await (await node.catalogue.open('order')).leaseRange(10)
    await again.release(again.start + 4n)
    assert.deepEqual((await node.catalogue.info('order')).notes, [
      'callers have leased 10 ids on this node, returned 6, of which 0 are a gap, and issued 0 themselves, as far as they have reported here',
    ])
    await node.stop()
  })

  test('is charged to the namespaces that count it, as far as there are ids', async () => {
    const store = new MemoryStore()
    const namespaces = await new Namespaces(new MemoryEngine(store)).open()
    await namespaces.set('shop', { match: 'order', idsPerDay: 100 })
    const node = await startNode({ store, namespaces })
    const meters = new Meters(namespaces, () => node.clock.wallUs())
    const catalogue = new MeteredCatalogue(node.catalogue, meters, () => 'alice')
    const order = await catalogue.create('order', { kind: 'segment', max: 60 })
    await assert.rejects(order.leaseRange(101), { code: 'LIMIT' })
    assert.equal(node.engine.count('reserve'), 0, 'nothing was reserved')
    node.engine.next('reserve', 'unavailable')
    await assert.rejects(order.leaseRange(100), { code: 'UNAVAILABLE' })
    const range = await order.leaseRange(80)
    assert.equal(range.ids, 60)
    await range.release(range.start)
    await assert.rejects(order.leaseRange(41), { code: 'QUOTA' }, 'what goes back stays charged')
    assert.equal((await order.leaseRange(40)).ids, 40)
    await node.stop()
  })
})

/** What happens on one of two nodes. */
type Step = { readonly by: number } & (
  | { readonly act: 'draw' | 'lease'; readonly ids: number; readonly lost: boolean }
  | { readonly act: 'return'; readonly used: number; readonly lost: boolean }
  | { readonly act: 'stop' | 'crash' | 'tune' }
)

const by = fc.nat(1)
const ids = fc.integer({ min: 1, max: 30 })
const lost = fc.constantFrom(false, false, true)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ by, act: fc.constantFrom('draw' as const, 'lease' as const), ids, lost }),
    },
    { weight: 4, arbitrary: fc.record({ by, act: fc.constant('return' as const), used: fc.nat(30), lost }) },
    {
      weight: 1,
      arbitrary: fc.record({ by, act: fc.constantFrom('stop' as const, 'crash' as const, 'tune' as const) }),
    },
  ),
  { maxLength: 25 },
)

const definitions: Record<string, GeneratorInput> = {
  ordered: { kind: 'segment', step: 7, horizon: 1000 },
  'ordered, two apart': { kind: 'segment', step: 7, horizon: 1000, increment: 2 },
  shuffled: { kind: 'segment', step: 7, horizon: 1000, within: 'shuffled' },
  scrambled: { kind: 'segment', step: 7, horizon: 1000, scramble: true, max: 1_000_000 },
}

describe('callers that lease ranges and give them back, beside nodes that draw', () => {
  for (const [name, definition] of Object.entries(definitions)) {
    test(`use no raw value twice, whatever is lost or killed (${name})`, async () => {
      await fc.assert(
        fc.asyncProperty(steps, (sequence) => issuesOnce(definition, sequence)),
        { numRuns: 60 },
      )
    })
  }
})

async function issuesOnce(definition: GeneratorInput, sequence: readonly Step[]): Promise<void> {
  const store = new MemoryStore()
  const nodes = [await startNode({ store, reach }), await startNode({ store, reach })]
  const { name } = await nodes[0]!.catalogue.create('order', definition)
  const held: GeneratorRange[][] = [[], []]
  const seen = new Set<bigint>()
  const use = (id: bigint) => {
    assert.ok(!seen.has(id), `${id} is issued twice`)
    seen.add(id)
  }
  for (const step of sequence) {
    const node = nodes[step.by]!
    if (step.act === 'draw') for (const id of await drawn(node, name, step)) use(id)
    else if (step.act === 'lease') {
      if (step.lost) node.engine.next('reserve', 'lose-reply')
      const leased = await (await node.catalogue.open(name)).leaseRange(step.ids).catch(() => undefined)
      if (leased !== undefined) held[step.by]!.push(leased)
    } else if (step.act === 'return') {
      const range = held[step.by]!.pop()
      if (range === undefined) continue
      if (step.lost) node.engine.next('release', 'lose-reply')
      const from = range.start + BigInt(step.used)
      const unused = from < range.end ? from : range.end
      for (const id of idsOf(range, unused)) use(id)
      await range.release(unused)
    } else if (step.act === 'tune') await node.catalogue.alter(name, { step: 5 + seen.size })
    else {
      await node[step.act]()
      nodes[step.by] = await startNode({ store, reach })
    }
    node.engine.heal()
  }
  for (const range of held.flat()) for (const id of idsOf(range, range.end)) use(id)
  for (const node of nodes) await node.stop()
}

async function drawn(node: Node, name: string, step: { ids: number; lost: boolean }): Promise<bigint[]> {
  if (step.lost) node.engine.next('reserve', 'lose-reply')
  const drawing = node.catalogue.open(name).then((generator) => draw(generator, step.ids))
  drawing.catch(() => {})
  await node.clock.pass(3000)
  return drawing.catch(() => [])
}

/** The ids that a caller makes of the raw values below `end`. */
function idsOf({ start, definition, key }: GeneratorRange, end: bigint): bigint[] {
  const increment = BigInt(definition.increment!)
  const scrambled = key === undefined ? undefined : permutation(Buffer.from(key, 'hex'), definition.max! + 1n)
  const raw: bigint[] = []
  for (let value = start; value < end; value++) if (value % increment === definition.offset) raw.push(value)
  return scrambled === undefined ? raw : raw.map((value) => scrambled.forward(value))
}
