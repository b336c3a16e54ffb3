import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadConfig } from '../../../src/config/load-config.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Membership } from '../../../src/node/membership.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { SharedEngine } from '../catalogue/node.ts'
import { FakeClock } from '../fake-clock.ts'

let ids = 0

/** A node's membership as its flags ask for it, on a store that others share. */
function of(store: MemoryStore, clock: FakeClock, flags: Record<string, string>, engine?: Engine) {
  const { config } = loadConfig({ flags: { resp: '127.0.0.1:7379', http: '127.0.0.1:7380', ...flags } })
  const told: string[] = []
  const newNodeId = () => `n${++ids}`
  const onEvent = ({ message }: { readonly message: string }) => told.push(message)
  const made = Membership.of({ config, engine: engine ?? new SharedEngine(store), clock, newNodeId, onEvent })
  return { made, told }
}

describe('membership', () => {
  test('is undefined for a single node, which is refused if the installation is a cluster', async () => {
    const [store, clock] = [new MemoryStore(), new FakeClock()]
    assert.equal(await of(store, clock, {}).made, undefined)
    await of(store, clock, { cluster: 'ids', shards: '4' }).made
    await assert.rejects(of(store, clock, {}).made, {
      code: 'CONFIG',
      message: /is the cluster 'ids'.*start this node with --cluster ids --shards 4/,
    })
  })

  test('is refused on an engine that is for one process', async () => {
    const [store, clock] = [new MemoryStore(), new FakeClock()]
    const { made } = of(store, clock, { cluster: 'ids' }, new MemoryEngine(store))
    await assert.rejects(made, { code: 'CONFIG', message: /needs an engine that its nodes share/ })
  })

  test('is refused with another name, number of shards or lease than the first node had', async () => {
    const [store, clock] = [new MemoryStore(), new FakeClock()]
    await of(store, clock, { cluster: 'ids', shards: '4' }).made
    const first = { cluster: 'ids', shards: '4' }
    const others: Record<string, string>[] = [{ cluster: 'other' }, { shards: '8' }, { 'lease-ttl': '5s' }]
    for (const other of others) {
      await assert.rejects(of(store, clock, { ...first, ...other }).made, { code: 'CONFIG' })
    }
  })

  test('explains why strict kinds are not served: not joined, lease lapsed, no leader', async () => {
    const [store, clock] = [new MemoryStore(), new FakeClock()]
    const engine = new FaultyEngine(new SharedEngine(store))
    const { made, told } = of(store, clock, { cluster: 'ids', shards: '1' }, engine)
    const membership = (await made)!
    assert.match(membership.trouble ?? '', /has not joined/)
    const joining = membership.join()
    await clock.pass(1000)
    await joining
    assert.equal(membership.trouble, undefined)
    engine.always('any', 'unavailable')
    await clock.pass(4000)
    assert.match(membership.trouble ?? '', /lapsed/)
    engine.heal()
    await clock.pass(1000)
    assert.equal(membership.trouble, undefined)
    assert.equal(membership.transitions.get('lapsed'), 1)
    assert.equal(membership.transitions.get('resumed'), 1)
    assert.ok(told.some((message) => /lapsed/.test(message)))
  })

  test('counts hand-overs, and the time in which no node could issue', async () => {
    const [store, clock] = [new MemoryStore(), new FakeClock()]
    const join = async (resp: string, http: string) => {
      const membership = (await of(store, clock, { cluster: 'ids', shards: '1', resp, http }).made)!
      const joining = membership.join()
      await clock.pass(1000)
      await joining
      return membership
    }
    const one = await join('127.0.0.1:7001', '127.0.0.1:8001')
    const two = await join('127.0.0.1:7002', '127.0.0.1:8002')
    await clock.pass(10_000)
    const [leader, other] = one.cluster.here(0) === undefined ? [two, one] : [one, two]
    const { count } = leader.handovers
    await leader.cluster.move(0, other.cluster.nodeId)
    await clock.pass(2000)
    assert.notEqual(other.cluster.here(0), undefined)
    assert.equal(leader.handovers.count, count + 1)
    assert.ok(leader.handovers.seconds < 1)
    const left = leader.leave()
    await clock.pass(4000)
    await left
    assert.equal(leader.transitions.get('left'), 1)
  })
})
