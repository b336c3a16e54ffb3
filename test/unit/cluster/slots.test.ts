import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shardTable, slotCount, slotOf, slotsOf } from '../../../src/cluster/slots.ts'

describe('slots', () => {
  test("are those of Redis Cluster's specification", () => {
    assert.equal(slotOf('123456789'), 0x31c3)
    assert.equal(slotOf('foo'), 12_182)
    assert.equal(slotOf(''), 0)
    assert.equal(slotOf('订单'), slotOf('{订单}.7'))
  })

  test('look at the first hash tag alone, if it is not empty', () => {
    assert.equal(slotOf('{user1000}.following'), slotOf('user1000'))
    assert.equal(slotOf('foo{{bar}}zap'), slotOf('{bar'))
    assert.equal(slotOf('foo{bar}{zap}'), slotOf('bar'))
    assert.notEqual(slotOf('foo{}{bar}'), slotOf('bar'))
    assert.notEqual(slotOf('foo{bar'), slotOf('bar'))
  })

  test('belong to one shard each, in runs that differ by one slot at most', () => {
    for (const shards of [1, 2, 3, 7, 16, 1000, 1024]) {
      const table = shardTable(shards)
      let next = 0
      for (let shard = 0; shard < shards; shard++) {
        const { first, last } = slotsOf(shard, shards)
        assert.equal(first, next)
        assert.deepEqual([table[first], table[last]], [shard, shard])
        assert.ok(Math.abs(last - first + 1 - slotCount / shards) < 1)
        next = last + 1
      }
      assert.equal(next, slotCount)
    }
  })
})
