/** What a node knows of the ids that callers issue themselves. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CallerIds } from '../../../src/issuing/caller-ids.ts'
import { FakeClock } from '../fake-clock.ts'

describe('ids that callers issue themselves', () => {
  for (const [every, clients] of [
    [5, 1],
    [60, 1],
    [100, 1],
    [60, 40],
  ] as const)
    test(`have the rate at which ${clients} callers lease every ${every} s, within a minute, and whenever it is read`, async () => {
      const clock = new FakeClock()
      const callers = new CallerIds(clock)
      const perSecond = 10_000
      for (let second = 0; second < 900; second++) {
        for (let client = 0; client < clients; client++)
          if ((second + Math.floor((client * every) / clients)) % every === 0)
            callers.leased((perSecond * every) / clients)
        await clock.pass(500)
        const { callersPerSecond } = callers.stats()
        // A lease lasts until the next one, so the second one shows the rate.
        if (second > Math.max(60, every) + 60)
          assert.ok(Math.abs(callersPerSecond / perSecond - 1) < 0.1, `${callersPerSecond} after ${second} s`)
        await clock.pass(500)
      }
      await clock.pass(3_600_000)
      assert.ok(callers.stats().callersPerSecond < perSecond / 10, 'an hour later they have stopped')
    })

  test('are those that were leased and cannot be issued again, or more if callers report more', () => {
    const clock = new FakeClock()
    const callers = new CallerIds(clock)
    callers.leased(6000)
    callers.returned(3100, 100)
    callers.drawn(600)
    clock.mono += 60_000_000
    assert.deepEqual(callers.stats(), {
      leased: 6000,
      drawn: 600,
      returned: 3100,
      gap: 100,
      callersPerSecond: 50,
    })
    callers.drawn(8400)
    assert.equal(callers.stats().callersPerSecond, 100)
  })
})
