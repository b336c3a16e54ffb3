import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nodeKey, pinKey, settingsKey, shardKey } from '../../../src/cluster/records.ts'
import { repairShards } from '../../../src/recovery/repair-shards.ts'

function repaired(key: string, value: object): object | undefined {
  const text = repairShards()([{ key, value: JSON.stringify(value), version: 7n }]).records.get(key)
  return text === undefined ? undefined : JSON.parse(text)
}

describe('the records of a cluster in a store that has forgotten writes', () => {
  it('raise every epoch by a large jump, and keep the holder until it is declared dead', () => {
    const led = { holder: 'n1', epoch: 5, from: 'n2' }
    assert.deepEqual(repaired(shardKey(3), led), { ...led, epoch: 5 + 2 ** 20 })
  })

  it('drop leftover ranges whose ids may have been issued in forgotten writes', () => {
    const tails = [{ name: 'order', record: '1', start: '10', end: '20', version: '3' }]
    const led = { holder: 'n1', epoch: 5, from: 'n2' }
    assert.deepEqual(repaired(shardKey(3), { ...led, tails }), { ...led, epoch: 5 + 2 ** 20 })
  })

  it('give every node a record that it has not written', () => {
    const node = { id: 'n1', resp: 'a:1', beat: 77, joinedMs: 1, draining: true, version: '1' }
    assert.deepEqual(repaired(nodeKey('n1'), node), { ...node, beat: 0 })
    assert.deepEqual(repaired(nodeKey('n1'), { ...node, deadBy: 'n2' }), { ...node, beat: 0, deadBy: 'n2' })
  })

  it('are written anew where they say the same, so that all see them again', () => {
    assert.deepEqual(repaired(pinKey(3), { to: 'n1' }), { to: 'n1' })
  })

  it('are the only ones that are changed', () => {
    assert.equal(repaired('generators/order', { state: 'live' }), undefined)
    assert.equal(repaired(settingsKey, { cluster: 'ids', shards: 1, leaseTtlMs: 1, marginMs: 0 }), undefined)
  })
})
