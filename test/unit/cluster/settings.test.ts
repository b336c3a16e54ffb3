import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasCode } from '../../../src/base/errors.ts'
import { settingsKey } from '../../../src/cluster/records.ts'
import { agreeOnSettings, clusterSettings, type WantedSettings } from '../../../src/cluster/settings.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'

const ids: WantedSettings = { cluster: 'ids', shards: 16 }

function empty() {
  return new FaultyEngine(new MemoryEngine(new MemoryStore()))
}

async function refused(engine: FaultyEngine, wanted: WantedSettings): Promise<string> {
  const reasons: Error[] = []
  await agreeOnSettings(engine, wanted).catch((reason: Error) => reasons.push(reason))
  assert.ok(hasCode(reasons[0], 'CONFIG'))
  return reasons[0].message
}

describe('the settings of a cluster', () => {
  test('are those of its first node, the lease and its margin too', async () => {
    const engine = empty()
    assert.equal(await clusterSettings(engine), undefined)
    const agreed = await agreeOnSettings(engine, { ...ids, leaseTtlMs: 5000 })
    assert.deepEqual(agreed, { ...ids, leaseTtlMs: 5000, marginMs: 500 })
    assert.deepEqual(await clusterSettings(engine), agreed)
  })

  test('are taken over by a node that was given neither a number of shards nor a lease', async () => {
    const engine = empty()
    const first = { cluster: 'ids', shards: 4, leaseTtlMs: 5000, marginMs: 700 }
    await agreeOnSettings(engine, first)
    assert.deepEqual(await agreeOnSettings(engine, { cluster: 'ids' }), first)
  })

  test('have 16 shards where the first node was not given a number', async () => {
    assert.equal((await agreeOnSettings(empty(), { cluster: 'ids' })).shards, 16)
  })

  test('refuse a node with another lease or margin, naming both', async () => {
    const engine = empty()
    await agreeOnSettings(engine, ids)
    const message = await refused(engine, { ...ids, leaseTtlMs: 1500 })
    assert.match(message, /lease .* is 3s, .* started with 1500ms; start it with --lease-ttl 3s/)
    assert.match(await refused(engine, { ...ids, marginMs: 200 }), /is 300 ms, not 200 ms/)
    await agreeOnSettings(engine, { ...ids, leaseTtlMs: 3000, marginMs: 300 })
  })

  test('are not written where they cannot work', async () => {
    const engine = empty()
    assert.match(await refused(engine, { ...ids, leaseTtlMs: 50 }), /too short/)
    assert.match(await refused(engine, { ...ids, shards: 0 }), /--shards must be/)
    assert.equal(await clusterSettings(engine), undefined)
  })

  test('count for both of two first nodes, whichever was faster', async () => {
    const engine = empty()
    const held = engine.hold('write')
    const slow = agreeOnSettings(engine, { ...ids, leaseTtlMs: 1000 })
    await held.arrived
    const fast = await agreeOnSettings(engine, { ...ids, leaseTtlMs: 2000 })
    held.letGo()
    await assert.rejects(slow, /is 2s, .* started with 1s/)
    assert.equal(fast.leaseTtlMs, 2000)
  })

  test('are found when the answer to their write is lost', async () => {
    const engine = empty()
    engine.next('write', 'lose-reply')
    assert.equal((await agreeOnSettings(engine, ids)).leaseTtlMs, 3000)
  })

  test('that say nothing of the lease cannot be read', async () => {
    const engine = empty()
    await engine.write(settingsKey, JSON.stringify(ids), undefined)
    await assert.rejects(agreeOnSettings(engine, ids), { code: 'ENGINE' })
  })
})
