import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FakeClock } from '../fake-clock.ts'
import { DeafEngine, draw, type Node, startNode } from './node.ts'

async function twoNodes(): Promise<{ clock: FakeClock; one: Node; two: Node }> {
  const store = new MemoryStore()
  const clock = new FakeClock()
  const start = () => startNode({ store, clock, reach: (reached) => new DeafEngine(reached) })
  return { clock, one: await start(), two: await start() }
}

describe('an absent name, on a shared store', () => {
  test('is found 10 ms after a request for it, even if the watch reports nothing', async () => {
    const { clock, one, two } = await twoNodes()
    await assert.rejects(two.catalogue.open('user'), { code: 'NOGENERATOR' })
    await one.catalogue.create('user', { kind: 'segment' })
    await clock.pass(10)
    assert.equal((await draw(await two.catalogue.open('user'))).length, 1)
  })

  test('is served at once by a node that had no request for it', async () => {
    const { one, two } = await twoNodes()
    await one.catalogue.create('user', { kind: 'segment' })
    assert.equal((await draw(await two.catalogue.open('user'))).length, 1)
  })

  test('is altered and served at once by a node that has just not found it', async () => {
    const { one, two } = await twoNodes()
    await assert.rejects(two.catalogue.open('user'), { code: 'NOGENERATOR' })
    await one.catalogue.create('user', { kind: 'segment' })
    assert.equal((await two.catalogue.alter('user', { kind: 'snowflake' })).kind, 'snowflake')
  })

  test('costs one read at a time, and at most a hundred a second, at any rate of requests', async () => {
    const { clock, two } = await twoNodes()
    const reads = () => two.engine.count('read')
    const before = reads()
    const held = two.engine.hold('read')
    const asked = Array.from({ length: 1000 }, () => two.catalogue.open('user').catch(({ code }) => code))
    await held.arrived
    // Longer than a name counts as absent.
    await clock.pass(500)
    held.letGo()
    assert.deepEqual([...new Set(await Promise.all(asked))], ['NOGENERATOR'])
    assert.equal(reads() - before, 1)
    for (let each = 0; each < 100; each++) {
      await clock.pass(1)
      await assert.rejects(two.catalogue.open('user'), { code: 'NOGENERATOR' })
    }
    assert.ok(reads() - before <= 11, `${reads() - before} reads`)
  })
})
