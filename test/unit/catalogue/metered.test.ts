import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import type { Catalogue, Generator } from '../../../src/catalogue/catalogue.ts'
import { MeteredCatalogue } from '../../../src/catalogue/metered-catalogue.ts'
import { Meters } from '../../../src/catalogue/metered-generator.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Run } from '../../../src/ids/run.ts'
import { Namespaces } from '../../../src/quotas/namespaces.ts'
import { settled } from '../fake-clock.ts'
import { draw, type Node, type NodeOptions, startNode, tryNext } from './node.ts'

const counter = { kind: 'segment' } as const

/** A node, its namespaces, and its catalogue as each user sees it. */
async function start(options: NodeOptions = {}): Promise<{
  node: Node
  namespaces: Namespaces
  as: (user: string) => Catalogue
}> {
  const store = options.store ?? new MemoryStore()
  const namespaces = await new Namespaces(new MemoryEngine(store)).open()
  const node = await startNode({ ...options, store, namespaces })
  const meters = new Meters(namespaces, () => node.clock.wallUs())
  return { node, namespaces, as: (user) => new MeteredCatalogue(node.catalogue, meters, () => user) }
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'ok',
    (error) => (error instanceof FahaoError ? error.code : assert.fail(String(error))),
  )
}

function take(generator: Generator, count: number): number | string {
  try {
    return generator.take(count, new Run())
  } catch (error) {
    return error instanceof FahaoError ? error.code : assert.fail(String(error))
  }
}

describe('a metered catalogue', () => {
  test('returns a generator that no namespace counts as it is', async () => {
    const { node, namespaces, as } = await start()
    await node.catalogue.create('order', counter)
    assert.equal(as('alice').find('order'), node.catalogue.find('order'))
    await namespaces.set('shop', { match: 'shop:*', idsPerSecond: 10 })
    await namespaces.set('bob', { match: '*', user: 'bob', idsPerSecond: 10 })
    assert.equal(as('alice').find('order'), node.catalogue.find('order'))
    assert.notEqual(as('bob').find('order'), node.catalogue.find('order'))
    assert.equal(as('bob').find('order'), as('bob').find('order'), 'one object for all requests')
    await node.stop()
  })

  test('issues what the namespace allows, and no id is used up by a refused request', async () => {
    const { node, namespaces, as } = await start()
    await namespaces.set('shop', { match: 'shop:*', idsPerSecond: 10 })
    const order = await as('alice').create('shop:order', counter)
    const refund = await as('alice').create('shop:refund', counter)
    await draw(node.catalogue.find('shop:refund')!)
    assert.deepEqual(await draw(order, 6), [1n, 2n, 3n, 4n, 5n, 6n])
    assert.equal(take(refund, 100), 4, 'the generators of a namespace share its quota')
    assert.equal(take(order, 1), 'QUOTA')
    assert.equal(await codeOf(order.draw(2)), 'QUOTA')
    assert.equal(await codeOf(order.draw(11)), 'LIMIT')
    assert.throws(() => order.takeNumber(), { code: 'QUOTA' })
    await node.clock.pass(200)
    assert.equal(order.takeNumber(), 7)
    assert.equal(tryNext(order), 8n)
    assert.equal(take(order, 1), 'QUOTA')
    await node.stop()
  })

  test('counts the requests of each user apart', async () => {
    const { node, namespaces, as } = await start()
    await namespaces.set('alice', { match: '*', user: 'alice', idsPerSecond: 1 })
    await node.catalogue.create('order', counter)
    await draw(node.catalogue.find('order')!)
    const [alice, bob] = [as('alice').find('order')!, as('bob').find('order')!]
    assert.deepEqual([take(alice, 1), take(alice, 1), take(bob, 1), take(bob, 1)], [1, 'QUOTA', 1, 1])
    await node.stop()
  })

  test('applies a change of a namespace to the next request', async () => {
    const { node, namespaces, as } = await start()
    const order = await as('alice').create('order', counter)
    await draw(order)
    await namespaces.set('all', { match: '*', idsPerDay: 2 })
    assert.equal(take(order, 5), 5, 'the object from before is not metered')
    assert.equal(take(as('alice').find('order')!, 5), 2)
    await namespaces.set('all', { match: '*', idsPerDay: 3 })
    assert.equal(take(as('alice').find('order')!, 5), 1, 'what was counted still counts')
    await namespaces.drop('all')
    assert.equal(take(as('alice').find('order')!, 5), 5)
    await node.stop()
  })

  test('charges nothing for a draw that fails, and counts callers while they wait', async () => {
    const { node, namespaces, as } = await start()
    await namespaces.set('all', { match: '*', idsPerDay: 30, waiting: 1 })
    const held = node.engine.hold('reserve')
    const order = await as('alice').create('order', counter)
    const aborter = new AbortController()
    const waits = order.draw(20, { signal: aborter.signal })
    await held.arrived
    assert.equal(await codeOf(order.draw(5)), 'BUSY')
    aborter.abort()
    await assert.rejects(waits, { name: 'AbortError' })
    const next = draw(order, 20)
    held.letGo()
    assert.equal((await next).length, 20)
    assert.equal(take(order, 1000), 10, 'of the 30 of the day')
    assert.equal(await codeOf(order.draw(1)), 'QUOTA')
    await node.stop()
  })

  test('refuses a generator beyond those that its namespace may have', async () => {
    const { node, namespaces, as } = await start({ autoCreate: [{ pattern: 'shop:*', kind: 'segment' }] })
    await node.catalogue.create('shop:old', counter)
    await node.catalogue.create('shopping', counter)
    await namespaces.set('shop', { match: 'shop:*', owner: 'team-a', generators: 3 })
    const shop = as('alice')
    assert.equal(await codeOf(shop.create('shop:new', counter)), 'ok')
    assert.equal(await codeOf(shop.open('shop:automatic')), 'ok')
    assert.equal(await codeOf(shop.create('shop:more', counter)), 'LIMIT')
    assert.equal(await codeOf(shop.open('shop:more')), 'LIMIT')
    assert.equal(await shop.exists('shop:more'), false)
    assert.equal(await codeOf(shop.create('shop:new', counter)), 'ok', 'it exists already')
    assert.equal(await codeOf(shop.create('other', counter)), 'ok')
    await shop.drop('shop:old')
    assert.equal(await codeOf(shop.create('shop:more', counter)), 'ok')
    await node.stop()
  })

  test('counts generators of other nodes again after a while, and reads no list for each refusal', async () => {
    const store = new MemoryStore()
    const { node, namespaces, as } = await start({ store })
    await namespaces.set('all', { match: '*', generators: 1 })
    assert.equal(await codeOf(as('alice').create('one', counter)), 'ok')
    const lists = () => node.engine.calls.filter(({ method }) => method === 'list').length
    const before = lists()
    for (let each = 0; each < 20; each++)
      assert.equal(await codeOf(as('alice').create(`more-${each}`, counter)), 'LIMIT')
    assert.equal(lists(), before)
    const other = await startNode({ store })
    await other.catalogue.drop('one')
    await settled()
    await node.clock.pass(10_001)
    assert.equal(await codeOf(as('alice').create('two', counter)), 'ok')
    await other.stop()
    await node.stop()
  })
})
