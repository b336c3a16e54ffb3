import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LeftoverRanges, leftoverOf } from '../../../src/catalogue/leadership/leftover-ranges.ts'
import type { LeftoverRange } from '../../../src/cluster/records.ts'

const range = { start: 2n ** 60n, end: 2n ** 60n + 1000n, version: 7n }

/** As the record that names the successor brings them. */
function brought(...tails: LeftoverRange[]): LeftoverRanges {
  return new LeftoverRanges(JSON.parse(JSON.stringify(tails)))
}

describe('what a leader leaves', () => {
  it('arrives as it was, whatever its name, and is handed out once', () => {
    for (const name of ['order', '__proto__', '订单 "1"']) {
      const tails = brought(leftoverOf(name, 3n, range))
      assert.deepEqual(tails.names(), [name])
      assert.deepEqual(tails.take(name, 3n), range)
      assert.equal(tails.take(name, 3n), undefined)
    }
  })

  it('is nothing for a generator that has been changed, nor later; and nothing of another', () => {
    const tails = brought(leftoverOf('order', 3n, range), leftoverOf('third', 3n, range))
    assert.deepEqual([tails.has('order', 4n), tails.has('order', 3n)], [false, true])
    assert.equal(tails.take('order', 4n), undefined)
    assert.equal(tails.take('other', 3n), undefined)
    assert.equal(tails.has('order', 3n), false)
    assert.equal(tails.take('order', 3n), undefined)
    assert.deepEqual(tails.take('third', 3n), range)
  })

  it('is nothing where it cannot be read', () => {
    const sound = leftoverOf('order', 3n, range)
    for (const broken of [{ start: '-1' }, { end: '1e9' }, { version: '' }, { end: sound.start }]) {
      assert.equal(brought({ ...sound, ...broken }).take('order', 3n), undefined)
    }
    for (const broken of [null, 7, {}, { ...sound, name: 1 }, 'order']) {
      assert.deepEqual(brought(broken as never, sound).names(), ['order'])
    }
  })
})
