import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { RateMeter } from '../../../src/buffers/rate-meter.ts'
import {
  lowMark,
  type RefillNeed,
  refillSize,
  stepAfter,
  stepMaxBinds,
} from '../../../src/issuing/refill-size.ts'

function need(changes: Partial<RefillNeed> = {}): RefillNeed {
  return {
    expected: 0,
    buffered: 0,
    demand: 0,
    contiguous: 0,
    space: 1e15,
    step: 1000,
    stepMin: 1000,
    stepMax: 1_000_000,
    ...changes,
  }
}

describe('a refill', () => {
  test('is a step when little is used', () => {
    assert.equal(refillSize(need()), 1000)
  })

  test('is due below half a step, or below what is expected when that is more', () => {
    assert.equal(refillSize(need({ buffered: 500 })), 0)
    assert.equal(refillSize(need({ buffered: 499 })), 1000)
    assert.equal(refillSize(need({ expected: 6000, buffered: 6000 })), 0)
    assert.equal(refillSize(need({ expected: 6000, buffered: 5999 })), 6001)
    assert.equal(lowMark(need({ expected: 6000 })), 6000)
  })

  test('fills towards twice what is expected, up to stepMax', () => {
    assert.equal(refillSize(need({ expected: 60_000 })), 120_000)
    assert.equal(refillSize(need({ expected: 6_000_000 })), 1_000_000)
    assert.equal(stepMaxBinds(need({ expected: 1_000_000 })), false)
    assert.equal(stepMaxBinds(need({ expected: 1_000_001 })), true)
  })

  test('is never less than the ids that callers wait for', () => {
    assert.equal(refillSize(need({ demand: 5_000_000, buffered: 1000 })), 4_999_000)
    assert.equal(refillSize(need({ demand: 10, buffered: 600, contiguous: 5000 })), 5000)
  })

  test('takes at most 1 % of the space left, and buffers at most twice that', () => {
    assert.equal(refillSize(need({ space: 5000 })), 50)
    assert.equal(refillSize(need({ space: 5000, buffered: 50 })), 0)
    assert.equal(refillSize(need({ space: 5000, buffered: 49 })), 50)
    assert.equal(refillSize(need({ space: 3 })), 1)
    assert.equal(refillSize(need({ space: 0.5 })), 1)
  })

  test('is not tried when no space is left and no caller waits', () => {
    assert.equal(refillSize(need({ space: 0 })), 0)
    assert.equal(refillSize(need({ space: 0, demand: 1 })), 1)
  })

  test('stays countable in a double', () => {
    assert.equal(refillSize(need({ demand: 2 ** 60 })), 2 ** 50)
  })

  test('shrinks the step while no caller waits, and keeps it while one does', () => {
    assert.equal(stepAfter(need({ step: 2000, demand: 1 })), 2000)
    assert.equal(stepAfter(need({ step: 2000 })), 1800)
    assert.equal(refillSize(need({ step: 2000 })), 1800)
    assert.equal(stepAfter(need({ step: 2000, buffered: 5000 })), 2000)
    assert.equal(stepAfter(need({ step: 1050 })), 1000)
  })

  test('is a whole number, and enough for all callers, whatever the need', () => {
    const any = fc.record({
      expected: fc.double({ min: 0, max: 1e13, noNaN: true }),
      buffered: fc.nat(1_000_000),
      demand: fc.nat(1_000_000),
      contiguous: fc.nat(100_000),
      space: fc.double({ min: 0, max: 2 ** 63, noNaN: true }),
    })
    fc.assert(
      fc.property(any, (changes) => {
        const size = refillSize(need(changes))
        assert.ok(Number.isSafeInteger(size) && size >= 0)
        assert.ok(size + changes.buffered >= changes.demand && size >= changes.contiguous)
      }),
    )
  })
})

describe('a rate meter', () => {
  test('rises within seconds, and falls slowly', () => {
    const meter = new RateMeter(0)
    let total = 0
    let now = 0
    let rate = 0
    const pass = (seconds: number, perSecond: number) => {
      for (let second = 0; second < seconds; second++) {
        total += perSecond
        now += 1_000_000
        rate = meter.observe(total, now)
      }
    }
    pass(30, 1000)
    assert.ok(rate > 900 && rate <= 1000)
    pass(11, 0)
    assert.ok(rate > 750)
    pass(359, 0)
    assert.ok(rate < 10)
  })

  test('does not take a burst of milliseconds for a rate', () => {
    const meter = new RateMeter(0)
    assert.equal(meter.observe(1_000_000, 99_999), 0)
    assert.ok(meter.observe(1_000_000, 100_000) > 0)
  })
})
