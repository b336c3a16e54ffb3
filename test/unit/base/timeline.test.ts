import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type ClockStep, Timeline } from '../../../src/base/timeline.ts'
import { FakeClock, settled } from '../fake-clock.ts'

const second = 1_000_000
const hour = 3600 * second
const year = 365 * 24 * hour

function open(options: ConstructorParameters<typeof Timeline>[1] = {}) {
  const clock = new FakeClock()
  const steps: ClockStep[] = []
  return { clock, steps, timeline: new Timeline(clock, { onStep: (step) => steps.push(step), ...options }) }
}

/** Moves both clocks, as time does. */
function elapse(clock: FakeClock, us: number): void {
  clock.mono += us
  clock.wall += us
}

describe('a timeline', () => {
  test('starts at the wall clock and follows it', () => {
    const { clock, timeline } = open()
    assert.equal(timeline.nowUs(), clock.wall)
    elapse(clock, 1234)
    assert.equal(timeline.nowUs(), clock.wall)
    assert.equal(timeline.monoUs(), 1234)
  })

  test('advances with the monotonic clock when the wall clock is set back or frozen', () => {
    const { clock, timeline, steps } = open()
    const start = timeline.nowUs()
    clock.wall -= hour
    clock.mono += 5 * second
    assert.equal(timeline.nowUs(), start + 5 * second)
    clock.mono += 2 * hour
    assert.equal(timeline.nowUs(), start + 2 * hour + 5 * second)
    assert.deepEqual(steps, [])
  })

  test('follows a wall clock ahead by at most leadMax at once', () => {
    const { clock, timeline, steps } = open({ leadMaxUs: hour })
    clock.wall += hour
    assert.equal(timeline.nowUs(), clock.wall)
    assert.deepEqual(steps, [])
  })

  test('holds a larger step until it has persisted', () => {
    const { clock, timeline, steps } = open()
    const start = timeline.nowUs()
    clock.wall += year
    assert.equal(timeline.nowUs(), start)
    elapse(clock, 5 * second - 1)
    assert.equal(timeline.nowUs(), start + 5 * second - 1)
    elapse(clock, 1)
    assert.equal(timeline.nowUs(), clock.wall)
    assert.deepEqual(steps, [
      { state: 'held', aheadUs: year },
      { state: 'taken', aheadUs: year },
    ])
  })

  test('ignores a step that reverts by itself, and measures the next one from its start', () => {
    const { clock, timeline, steps } = open()
    const start = timeline.nowUs()
    clock.wall += year
    timeline.nowUs()
    elapse(clock, second)
    clock.wall -= year
    assert.equal(timeline.nowUs(), start + second)
    clock.wall += year
    elapse(clock, 4 * second)
    assert.equal(timeline.nowUs(), start + 5 * second)
    elapse(clock, 4 * second)
    assert.equal(timeline.nowUs(), start + 9 * second)
    assert.deepEqual(
      steps.map(({ state }) => state),
      ['held', 'gone', 'held'],
    )
  })

  test('follows a step only as far as it has persisted', () => {
    const { clock, timeline } = open()
    const start = timeline.nowUs()
    clock.wall += 2 * hour
    timeline.nowUs()
    elapse(clock, 6 * second)
    clock.wall += year
    assert.equal(timeline.nowUs(), start + 2 * hour + 6 * second)
  })

  test('starts at the last recorded write when the wall clock is far past it', () => {
    const clock = new FakeClock()
    const lastWriteUs = clock.wall - year
    const timeline = new Timeline(clock, { lastWriteUs })
    assert.equal(timeline.nowUs(), lastWriteUs)
    elapse(clock, 5 * second)
    assert.equal(timeline.nowUs(), clock.wall)
    assert.equal(new Timeline(clock, { lastWriteUs: clock.wall - 29 * 24 * hour }).nowUs(), clock.wall)
    assert.equal(new Timeline(clock, { lastWriteUs: clock.wall - hour }).nowUs(), clock.wall)
    assert.equal(new Timeline(clock, { lastWriteUs: clock.wall + year }).nowUs(), clock.wall)
  })

  test('reads the time once per burst of 64, and again in the next callback', async () => {
    const { clock, timeline } = open()
    const start = timeline.burstUs()
    elapse(clock, second)
    for (let call = 1; call < 64; call++) assert.equal(timeline.burstUs(), start)
    assert.equal(timeline.burstUs(), start + second)
    elapse(clock, second)
    assert.equal(timeline.burstUs(), start + second)
    await settled()
    assert.equal(timeline.burstUs(), start + 2 * second)
    elapse(clock, second)
    await settled()
    assert.equal(timeline.burstUs(), start + 3 * second)
  })

  test('never decreases, for any changes of the wall clock', () => {
    const step = fc.record({
      mono: fc.double({ min: 0, max: 10 * second, noNaN: true }),
      wall: fc.integer({ min: -2 * year, max: 2 * year }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (moves) => {
        const { clock, timeline } = open()
        let now = timeline.nowUs()
        let burst = timeline.burstUs()
        for (const { mono, wall } of moves) {
          clock.mono += mono
          clock.wall += wall
          const elapsed = timeline.nowUs() - now
          assert.ok(elapsed >= Math.floor(mono) - 1)
          now += elapsed
          const next = timeline.burstUs()
          assert.ok(next >= burst)
          assert.ok(Number.isSafeInteger(next))
          burst = next
        }
      }),
    )
  })
})
