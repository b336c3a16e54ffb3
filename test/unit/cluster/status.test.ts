import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { refuseLoneDrain } from '../../../src/cluster/status.ts'
import { leaseMs, Nodes, two } from './nodes.ts'

describe('the status of a cluster whose engine is gone', () => {
  test('tells how old its news are, of the node itself too', async () => {
    const { clock, a, b } = await two()
    const before = a.cluster.status().nodes.map(({ silentMs }) => silentMs)
    assert.ok(before.every((silentMs) => silentMs < leaseMs / 2))
    for (const { engine } of [a, b]) engine.always('any', 'unavailable')
    await clock.pass(20_000)
    for (const [at, { silentMs }] of a.cluster.status().nodes.entries())
      assert.equal(Math.round(silentMs - before[at]!), 20_000)
  })

  test('counts nothing as led once a lease has passed, and sends requests where they went', async () => {
    const { clock, a, b } = await two()
    for (const { engine } of [a, b]) engine.always('any', 'unavailable')
    await clock.pass(leaseMs + 10)
    const { nodes, shards } = a.cluster.status()
    assert.ok(shards.every(({ nobodyForMs }) => nobodyForMs !== undefined && nobodyForMs < leaseMs))
    assert.ok(shards.every(({ leader }) => leader !== undefined))
    assert.deepEqual(
      nodes.map(({ leads }) => leads),
      [0, 0],
    )
    const elsewhere = shards.filter(({ firstSlot }) => a.cluster.lead(firstSlot).state === 'elsewhere')
    assert.equal(elsewhere.length, 3)
  })
})

test('at every moment of a join, nodes lead together as many shards as are led', async () => {
  const nodes = new Nodes(6)
  const a = await nodes.start('a:1')
  const b = await nodes.start('b:1')
  let sharedAt = 0
  for (let step = 0; step < 400; step++) {
    await nodes.clock.pass(10)
    for (const { cluster } of [a, b]) {
      const status = cluster.status()
      const led = status.shards.filter(({ nobodyForMs }) => nobodyForMs === undefined).length
      assert.equal(
        status.nodes.reduce((sum, { leads }) => sum + leads, 0),
        led,
      )
    }
    if (b.leads().length === 3) sharedAt ||= step
  }
  assert.ok(sharedAt > 0)
})

test('a drain is refused where every other node drains', async () => {
  const { a, b, clock } = await two()
  refuseLoneDrain(a.cluster.status())
  const drained = b.cluster.drain()
  await clock.pass(1000)
  await drained
  assert.throws(() => refuseLoneDrain(a.cluster.status()), /no other node could take over; start one/)
})
