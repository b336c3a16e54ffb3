import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { EvenTotal, RisingCount, SteppedCount, stepsKept } from '../../../src/metrics/steps.ts'

describe('a count in steps', () => {
  test('has what it has grown by in each step, from the first one that is known', () => {
    const count = new SteppedCount(100)
    count.take(105)
    count.end(1000, 1)
    count.end(1001, 1)
    count.take(112)
    count.end(1002, 1)
    assert.deepEqual(count.upTo(1002), [5, 0, 7])
    assert.equal(count.total, 112)
  })

  test('spreads what was counted while no step was ended', () => {
    const count = new SteppedCount()
    count.end(5, 1)
    count.take(30)
    count.end(8, 3)
    assert.deepEqual(count.upTo(8), [0, 10, 10, 10])
  })

  test('forgets what was an hour ago, also of a reader that began before', () => {
    const count = new SteppedCount()
    for (let step = 1; step <= stepsKept + 3; step++) {
      count.take(step * step)
      count.end(step, 1)
    }
    assert.equal(count.upTo(stepsKept + 3).length, stepsKept)
    assert.equal(count.upTo(stepsKept + 3)[0], 7)
    const late = count.upTo(stepsKept)
    assert.deepEqual([late.length, late[0], late.at(-1)], [stepsKept - 3, 7, 2 * stepsKept - 1])
  })

  test('forgets all after a pause of more than an hour', () => {
    const count = new SteppedCount()
    count.take(7)
    count.end(1, 1)
    count.take(7 + 1000 * stepsKept)
    count.end(1 + 1000, 1000)
    assert.deepEqual(new Set(count.upTo(1001)), new Set([stepsKept]))
  })

  test('never falls, where what is counted begins again', () => {
    const count = new RisingCount(10)
    for (const now of [12, 3, 3, 5, 0, 1]) count.take(now)
    assert.equal(count.total, 10 + 2 + 3 + 2 + 1)
  })
})

describe('a total that is known now and then', () => {
  test('goes to what became known in as much time as had passed before', () => {
    const total = new EvenTotal(0)
    total.know(100, 10)
    assert.deepEqual(
      [10, 15, 20, 99].map((at) => total.at(at)),
      [0, 50, 100, 100],
    )
    total.know(300, 30)
    assert.deepEqual(
      [30, 40, 50].map((at) => total.at(at)),
      [100, 200, 300],
    )
  })

  test('never falls, and never exceeds what is known', () => {
    const moves = fc.array(fc.tuple(fc.nat(50), fc.nat(1000), fc.boolean()), { maxLength: 60 })
    fc.assert(
      fc.property(moves, (all) => {
        const total = new EvenTotal(0)
        let [now, shown, known] = [0, 0, 0]
        for (const [passed, value, isKnown] of all) {
          now += passed
          if (isKnown) {
            total.know(value, now)
            known = Math.max(known, value)
          }
          assert.ok(total.at(now) >= shown && total.at(now) <= known)
          shown = total.at(now)
        }
        assert.equal(total.at(now + 1e9), known)
      }),
    )
  })
})
