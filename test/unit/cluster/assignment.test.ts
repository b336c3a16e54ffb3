import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { assign, type Candidate } from '../../../src/cluster/assignment.ts'

const place = (address: string): Candidate => ({ id: `id of ${address}`, address })
const places = fc
  .uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 12 })
  .map((addresses) => addresses.map(place))
const shards = fc.integer({ min: 1, max: 200 })

/** How many shards lead elsewhere in `after`. */
function moved(before: readonly string[], after: readonly string[]): number {
  return before.filter((id, shard) => after[shard] !== id).length
}

describe('the assignment of shards', () => {
  test('gives every shard to one of the nodes, in shares that differ by one at most', () => {
    fc.assert(
      fc.property(shards, places, (count, all) => {
        const leaders = assign(count, all)
        const shares = all.map(({ id }) => leaders.filter((leader) => leader === id).length)
        assert.equal(
          shares.reduce((sum, share) => sum + share, 0),
          count,
        )
        assert.ok(Math.max(...shares) - Math.min(...shares) <= 1, `${shares}`)
      }),
    )
  })

  test('does not depend on the order in which nodes are known', () => {
    fc.assert(
      fc.property(shards, places, (count, all) => {
        assert.deepEqual(assign(count, all.toReversed()), assign(count, all))
      }),
    )
  })

  test('depends on addresses, not on ids: a node that comes back gets back what it led', () => {
    const all = ['a:1', 'b:1', 'c:1'].map(place)
    const again = all.map((each, at) => (at === 1 ? { ...each, id: 'fresh' } : each))
    const renamed = assign(64, all).map((id) => (id === all[1]!.id ? 'fresh' : id))
    assert.deepEqual(assign(64, again), renamed)
  })

  test('leaves most shards where they are when a node comes or goes', () => {
    for (let nodes = 2; nodes <= 10; nodes++) {
      const all = Array.from({ length: nodes }, (_, at) => place(`10.0.0.${at}:7379`))
      const [count, share] = [256, Math.ceil(256 / nodes)]
      const left = moved(assign(count, all), assign(count, all.slice(1)))
      assert.ok(left >= share - 1 && left <= 1.6 * share, `${left} of ${count} moved, the node had ${share}`)
    }
  })

  test('gives shards to no node where there are none', () => {
    assert.deepEqual(assign(2, []), ['', ''])
  })
})
