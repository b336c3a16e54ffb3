import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LeftoverRanges, leftoverOf } from '../../../src/catalogue/leadership/leftover-ranges.ts'
import type { LeftoverRange } from '../../../src/cluster/records.ts'

const range = { start: 2n ** 60n, end: 2n ** 60n + 1000n, version: 7n }

/** As the successor reads them from the record that names it. */
function stored(...ranges: LeftoverRange[]): LeftoverRanges {
  return new LeftoverRanges(JSON.parse(JSON.stringify(ranges)))
}

describe('a leftover range', () => {
  test('reaches the successor unchanged, whatever its name, and is given out once', () => {
    for (const name of ['order', '__proto__', '订单 "1"']) {
      const leftovers = stored(leftoverOf(name, 3n, range))
      assert.deepEqual(leftovers.names(), [name])
      assert.deepEqual(leftovers.take(name, 3n), range)
      assert.equal(leftovers.take(name, 3n), undefined)
    }
  })

  test('is a gap after a change of its generator, also later; and belongs to no other generator', () => {
    const leftovers = stored(leftoverOf('order', 3n, range), leftoverOf('third', 3n, range))
    assert.deepEqual([leftovers.has('order', 4n), leftovers.has('order', 3n)], [false, true])
    assert.equal(leftovers.take('order', 4n), undefined)
    assert.equal(leftovers.take('other', 3n), undefined)
    assert.equal(leftovers.has('order', 3n), false)
    assert.equal(leftovers.take('order', 3n), undefined)
    assert.deepEqual(leftovers.take('third', 3n), range)
  })

  test('is a gap if it cannot be read', () => {
    const sound = leftoverOf('order', 3n, range)
    for (const broken of [{ start: '-1' }, { end: '1e9' }, { version: '' }, { end: sound.start }]) {
      assert.equal(stored({ ...sound, ...broken }).take('order', 3n), undefined)
    }
    for (const broken of [null, 7, {}, { ...sound, name: 1 }, 'order']) {
      assert.deepEqual(stored(broken as never, sound).names(), ['order'])
    }
  })
})
