import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Timeline } from '../../../src/base/timeline.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { WorkerIdUsage } from '../../../src/leasing/worker-id-usage.ts'
import { draw } from '../catalogue/node.ts'
import { settled } from '../fake-clock.ts'
import { asker, byteLayout, oneLayout, startEvent, startServer } from './server.ts'

test('a count for descriptions is a second old at most, and shared by all that ask meanwhile', async () => {
  const { engine, clock, catalogue, leases } = await startEvent()
  const usage = new WorkerIdUsage(engine, new Timeline(clock))
  await catalogue.create('narrow', { kind: 'snowflake', ...oneLayout })
  await draw(await catalogue.open('event'))
  await leases.lease('event', asker)
  await leases.lease('event', asker)
  await leases.lease('narrow', asker)
  const lists = engine.count('list')
  const [count] = await Promise.all([usage.recent(), usage.recent()])
  assert.equal(engine.count('list') - lists, 1)
  assert.deepEqual([count.leased(8), count.leased(8, 'event'), count.leased(1)], [3, 2, 1])
  await leases.lease('event', asker)
  await clock.pass(999)
  assert.equal((await usage.recent()).leased(8), 3)
  await clock.pass(1)
  assert.equal((await usage.recent()).leased(8), 4)
  engine.always('any', 'unavailable')
  await clock.pass(1000)
  await assert.rejects(usage.recent(), { code: 'UNAVAILABLE' })
  engine.heal()
  await clock.pass(1000)
  assert.equal((await usage.recent()).leased(8), 4)
})

test('worker ids are counted by holder, by a read that the previous request has begun', async () => {
  const { engine, clock, catalogue, leases } = await startServer({ store: new MemoryStore() })
  const usage = new WorkerIdUsage(engine, new Timeline(clock))
  const event = await catalogue.create('event', { kind: 'snowflake', ...byteLayout })
  await draw(event)
  const first = await leases.lease('event', asker)
  await leases.lease('event', asker)
  assert.equal(usage.newest(), undefined)
  await settled()
  const shown = () => {
    const { node, caller, resting, taken } = usage.newest()!
    return { node, caller, resting, taken }
  }
  assert.deepEqual(shown(), { node: 1, caller: 2, resting: 0, taken: 3 })
  assert.equal(usage.newest()!.free(8), 250, 'of 252 that nodes leave to callers')
  assert.equal(usage.newest()!.free(1), 1)
  await clock.pass(1000)
  await leases.giveBack(first.lease, { fromUs: first.untilUs, untilUs: first.untilUs })
  assert.equal(shown().caller, 2, 'a read is good for ten seconds')
  await clock.pass(9001)
  usage.newest()
  await settled()
  assert.deepEqual(shown(), { node: 1, caller: 1, resting: 1, taken: 3 })
  engine.always('any', 'unavailable')
  await clock.pass(10_001)
  usage.newest()
  await settled()
  assert.equal(usage.newest(), undefined)
})
