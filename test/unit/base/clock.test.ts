import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sleep, systemClock, systemRandom } from '../../../src/base/clock.ts'
import { FakeClock } from '../fake-clock.ts'

describe('the machine’s clock', () => {
  test('reads wall time and monotonic time in microseconds', () => {
    const before = Date.now()
    assert.ok(systemClock.wallUs() >= before * 1000 && systemClock.wallUs() <= (Date.now() + 1) * 1000)
    const mono = performance.now() * 1000
    assert.ok(systemClock.monoUs() >= mono && systemClock.monoUs() < mono + 10_000_000)
  })

  test('fires a timer once, unless it is cancelled', async () => {
    const fired: string[] = []
    systemClock.timer(0, () => fired.push('cancelled')).cancel()
    systemClock.timer(1, () => fired.push('kept'))
    // The machine's own timers do not keep a process alive.
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.deepEqual(fired, ['kept'])
  })

  test('fires a timer of a month later, not at once', async () => {
    let fired = false
    const timer = systemClock.timer(31 * 86_400_000, () => {
      fired = true
    })
    await new Promise((resolve) => setTimeout(resolve, 5))
    timer.cancel()
    assert.equal(fired, false)
  })

  test('sleeps on the given clock', async () => {
    const clock = new FakeClock()
    let awake = false
    const sleeping = sleep(clock, 1000).then(() => {
      awake = true
    })
    await clock.pass(999)
    assert.equal(awake, false)
    await clock.pass(1)
    await sleeping
    assert.equal(awake, true)
  })

  test('has random numbers from 0 up to 1', () => {
    const number = systemRandom()
    assert.ok(number >= 0 && number < 1)
  })
})
