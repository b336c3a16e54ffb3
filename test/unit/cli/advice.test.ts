import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AdviceRequest, advise } from '../../../src/cli/advice.ts'
import { layouts } from '../../../src/ids/presets.ts'
import { refillSize } from '../../../src/issuing/refill-size.ts'

const request: AdviceRequest = {
  rate: 5000,
  nodes: 1,
  horizonMs: 600_000,
  layout: layouts.twitter,
  nowUs: Date.UTC(2026, 10, 21) * 1000,
}

describe('advice on counters', () => {
  test('buffers one to two horizons of the peak rate on each node', () => {
    assert.deepEqual(advise(request).counter.inHand, [3_000_000, 6_000_000])
    assert.deepEqual(advise({ ...request, nodes: 4 }).counter.inHand, [750_000, 1_500_000])
  })

  test('gives a step that buffers the horizon at peak even on an idle node', () => {
    const { step, inHand } = advise(request).counter
    const steps = { step, stepMin: step, stepMax: 10 ** 10 }
    const need = { expected: 0, demand: 0, contiguous: 0, space: 2 ** 60, ...steps }
    const size = (ids: number) => refillSize({ ...need, buffered: ids })
    assert.equal(size(inHand[0]), 0)
    assert.ok(size(inHand[0] - 1) > 0)
  })

  test('never advises a step below the default', () => {
    assert.equal(advise({ ...request, rate: 1, horizonMs: 1000 }).counter.step, 1000)
  })

  test('shows when ids outgrow their readers at this rate', () => {
    // 2^53 seconds are too many for a calendar; 2^53 ids at 10^9 per second are 104 days.
    const { outgrows } = advise({ ...request, rate: 1e9 }).counter
    assert.deepEqual(
      outgrows.map(({ name, at }) => [name, at.slice(0, 10)]),
      [
        ['INT', '2026-11-21'],
        ['15 digits', '2026-12-02'],
        ['2^53', '2027-03-05'],
      ],
    )
  })
})

describe('advice on clock kinds', () => {
  test('shows whether rate and nodes fit the layout', () => {
    const js53 = { ...request, layout: layouts.js53 }
    assert.equal(advise({ ...js53, rate: 128_000 }).clock.enough, true)
    assert.equal(advise({ ...js53, rate: 128_001 }).clock.enough, false)
    assert.equal(advise({ ...js53, rate: 32 * 128_000, nodes: 32 }).clock.enough, true)
    assert.equal(advise({ ...js53, rate: 33, nodes: 33 }).clock.enough, false)
  })

  test('rejects a layout whose time field has ended, at any rate', () => {
    const baidu = { ...request, rate: 1, layout: layouts.baidu }
    const { ended, enough, ends } = advise(baidu).clock
    assert.deepEqual([ended, enough], [true, false])
    assert.match(ends, /^2024-11/)
    const before = advise({ ...baidu, nowUs: Date.UTC(2024, 0, 1) * 1000 }).clock
    assert.deepEqual([before.ended, before.enough], [false, true])
  })

  test('shows which readers hold the ids now, and for how long', () => {
    const outgrown = ({ outgrows }: ReturnType<typeof advise>['clock']) =>
      outgrows.map(({ at, isPast }) => (isPast ? 'past' : at))
    assert.deepEqual(outgrown(advise(request).clock), ['past', 'past', 'past'])
    const js53 = advise({ ...request, layout: layouts.js53 }).clock
    assert.deepEqual(outgrown(js53), ['past', '2032-09-26T16:50:25Z', undefined])
  })
})
