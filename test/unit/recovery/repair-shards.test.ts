import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nodeKey, pinKey, settingsKey, shardKey } from '../../../src/cluster/records.ts'
import { atOnce } from '../../../src/engine/advance-rules.ts'
import { repairShards } from '../../../src/recovery/repair-shards.ts'

function repaired(key: string, value: object): object | undefined {
  const text = atOnce(repairShards()([{ key, value: JSON.stringify(value), version: 7n }])).records.get(key)
  return text === undefined ? undefined : JSON.parse(text)
}

describe('the records of a cluster in a store that has forgotten writes', () => {
  const rested = { holder: '', epoch: 5 + 2 ** 20, from: 'n1', rests: true }

  test('raise every epoch by a large jump, and name no holder, so that every shard rests', () => {
    assert.deepEqual(repaired(shardKey(3), { holder: 'n1', epoch: 5, from: 'n2' }), rested)
    assert.deepEqual(repaired(shardKey(3), { holder: '', epoch: 5, from: 'n1' }), rested)
  })

  test('drop leftover ranges whose ids may have been issued in forgotten writes', () => {
    const leftovers = [{ name: 'order', record: '1', start: '10', end: '20', version: '3' }]
    const led = { holder: 'n1', epoch: 5, from: 'n2' }
    assert.deepEqual(repaired(shardKey(3), { ...led, leftovers }), rested)
  })

  test('are added for shards whose first leader is forgotten: of the settings, or else of the node that advances', () => {
    const settings = JSON.stringify({ cluster: 'ids', shards: 2, leaseTtlMs: 3000, marginMs: 300 })
    const stored = { key: settingsKey, value: settings, version: 7n }
    const [first, second] = [shardKey(0), shardKey(1)]
    assert.deepEqual([...atOnce(repairShards(5)([stored])).records.keys()], [first, second])
    assert.deepEqual(
      [...atOnce(repairShards(1)([])).records],
      [[first, JSON.stringify({ ...rested, epoch: 2 ** 20, from: '' })]],
    )
    assert.deepEqual([...atOnce(repairShards()([])).records], [])
  })

  test('declare every node dead', () => {
    const node = { id: 'n1', resp: 'a:1', heartbeat: 77, joinedMs: 1, draining: true, version: '1' }
    assert.deepEqual(repaired(nodeKey('n1'), node), { ...node, deadBy: 'advance' })
    assert.deepEqual(repaired(nodeKey('n1'), { ...node, deadBy: 'n2' }), { ...node, deadBy: 'n2' })
  })

  test('are written anew where they say the same, so that all see them again', () => {
    assert.deepEqual(repaired(pinKey(3), { to: 'n1' }), { to: 'n1' })
  })

  test('are the only ones that are changed', () => {
    assert.equal(repaired('generators/order', { state: 'live' }), undefined)
    assert.equal(repaired(settingsKey, { cluster: 'ids', shards: 1, leaseTtlMs: 1, marginMs: 0 }), undefined)
  })
})
