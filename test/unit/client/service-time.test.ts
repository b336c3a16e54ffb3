/** The time of the service in this process, with clocks that go wrong. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ServiceTime } from '../../../client/src/service-time.ts'
import { FakeClock } from '../fake-clock.ts'

const minuteUs = 60_000_000
const noonUs = Date.UTC(2026, 5, 1, 12) * 1000

describe('the time of the service', () => {
  test('is what a node said, and the monotonic clock since', async () => {
    const clock = new FakeClock(0)
    const time = new ServiceTime(clock)
    time.observe(noonUs)
    await clock.pass(1500)
    assert.equal(time.timeline.nowUs(), noonUs + 1_500_000)
  })

  test('is that of this machine until a node has said one', () => {
    const clock = new FakeClock(noonUs)
    assert.equal(new ServiceTime(clock).timeline.nowUs(), noonUs)
  })

  test('does not follow the wall clock of this machine', async () => {
    const clock = new FakeClock(0)
    const time = new ServiceTime(clock)
    time.observe(noonUs)
    clock.wall += 600 * minuteUs
    assert.equal(time.timeline.nowUs(), noonUs)
    clock.wall = 0
    await clock.pass(10_000)
    assert.equal(time.timeline.nowUs(), noonUs + 10_000_000)
  })

  test('follows the service forwards, however far', () => {
    const time = new ServiceTime(new FakeClock(0))
    time.observe(noonUs)
    const { timeline } = time
    time.observe(noonUs + 1)
    assert.equal(timeline.nowUs(), noonUs + 1)
    time.observe(noonUs + 600 * minuteUs)
    assert.equal(timeline.nowUs(), noonUs + 600 * minuteUs)
    assert.equal(time.timeline, timeline)
  })

  test('never goes back on one timeline, and goes on when the service has come up', async () => {
    const clock = new FakeClock(0)
    const time = new ServiceTime(clock)
    time.observe(noonUs)
    const { timeline } = time
    time.observe(noonUs - minuteUs)
    assert.equal(time.timeline, timeline)
    assert.equal(timeline.nowUs(), noonUs)
    await clock.pass(1000)
    assert.equal(timeline.nowUs(), noonUs + 1_000_000)
  })

  test('is another timeline when the service is more than a minute behind', async () => {
    const clock = new FakeClock(0)
    const time = new ServiceTime(clock)
    time.observe(noonUs)
    const before = time.timeline
    time.observe(noonUs - minuteUs - 1)
    assert.notEqual(time.timeline, before)
    assert.equal(time.timeline.nowUs(), noonUs - minuteUs - 1)
    assert.equal(before.nowUs(), noonUs)
    await clock.pass(1)
    assert.equal(time.timeline.nowUs(), noonUs - minuteUs - 1 + 1000)
  })
})
