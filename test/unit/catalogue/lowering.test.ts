import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { lower, planLowering } from '../../../src/catalogue/lowering.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { draw, SharedEngine, startNode } from './node.ts'

const top = 2n ** 63n - 1n

describe('a lowered generator', () => {
  for (const kind of ['sequence', 'segment'] as const) {
    test(`continues at the given id, in a new incarnation: ${kind}`, async () => {
      const { catalogue, engine } = await startNode()
      await catalogue.create('g', { kind })
      await draw(await catalogue.open('g'), 5)
      await catalogue.alter('g', { floor: top, force: true })
      assert.deepEqual(await draw(await catalogue.open('g')), [top])
      await assert.rejects(draw(await catalogue.open('g')), { code: 'EXHAUSTED' })
      const plan = await planLowering(engine, 'g', 1000n)
      assert.deepEqual([plan.from, plan.to], [2n ** 63n, 1000n])
      await lower(engine, plan)
      assert.deepEqual(await draw(await catalogue.open('g'), 2), [1000n, 1001n])
      assert.equal((await catalogue.open('g')).incarnation, 2n)
    })
  }

  test('begins lower than it was created to, also when its name was dropped', async () => {
    const { catalogue, engine } = await startNode()
    await catalogue.create('g', { kind: 'sequence', start: top })
    await draw(await catalogue.open('g'))
    await catalogue.drop('g')
    await lower(engine, await planLowering(engine, 'g', 7n))
    await catalogue.create('g', { kind: 'segment' })
    assert.deepEqual(await draw(await catalogue.open('g')), [7n])
    const other = await startNode({ generators: { g: { kind: 'sequence', start: top } } })
    await lower(other.engine, await planLowering(other.engine, 'g', 7n))
    assert.deepEqual(await draw(await other.catalogue.open('g')), [7n])
  })

  test('refuses the reserves of nodes that continue the incarnation before', async () => {
    const store = new MemoryStore()
    const reach = (reached: MemoryStore) => new SharedEngine(reached)
    const [one, two] = [await startNode({ store, reach }), await startNode({ store, reach })]
    await one.catalogue.create('g', { kind: 'segment', step: 10 })
    await one.catalogue.alter('g', { floor: 10n ** 6n })
    const old = await two.catalogue.open('g')
    await draw(old, 10)
    store.watchers.clear()
    await lower(one.engine, await planLowering(one.engine, 'g', 50n))
    const held = await two.engine.counter('generators/g')
    assert.equal(held.incarnation, 2n)
    const ids = await draw(old, 2000)
    assert.equal(
      ids.filter((id) => id >= 10n ** 6n).length,
      new Set(ids.filter((id) => id >= 10n ** 6n)).size,
    )
    assert.ok(ids.at(-1)! < 10n ** 6n)
  })

  test('is refused if it is impossible, and changes nothing then', async () => {
    const { catalogue, engine, store } = await startNode()
    await catalogue.create('clock', { kind: 'timestamp' })
    await catalogue.create('hidden', { kind: 'segment', scramble: true })
    await catalogue.create('g', { kind: 'sequence', start: 10 })
    for (const [name, message] of [
      ['clock', /follows the clock/],
      ['hidden', /scrambled/],
      ['g', /'g' stands at 10 already; to move it forward use ID.ALTER g FLOOR 10/],
    ] as const)
      await assert.rejects(planLowering(engine, name, 10n), { code: 'ERR', message })
    await assert.rejects(planLowering(engine, 'none', 1n), { code: 'NOGENERATOR' })
    const other = await startNode({ store })
    await assert.rejects(planLowering(other.engine, 'g', 1n), {
      code: 'NOTOWNER',
      message: /stop all its servers/,
    })
    const plan = await planLowering(engine, 'g', 5n)
    await catalogue.alter('g', { step: 5 })
    await assert.rejects(lower(engine, plan), { code: 'CONFLICT' })
    assert.deepEqual(await draw(await catalogue.open('g')), [10n])
  })
})
