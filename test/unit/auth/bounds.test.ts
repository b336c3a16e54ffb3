import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { FailureLimits } from '../../../src/auth/failure-limits.ts'
import { Newest } from '../../../src/auth/newest.ts'
import { Places } from '../../../src/auth/places.ts'
import { FakeClock } from '../fake-clock.ts'

const keysMax = 10_000

describe('a limit of failures', () => {
  it('allows the burst, and one more for each interval, at any times', async () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 3000 }), { minLength: 1, maxLength: 50 })
    await fc.assert(
      fc.asyncProperty(pauses, async (pausesMs) => {
        const clock = new FakeClock()
        const limits = new FailureLimits(clock, 5, 1000)
        let taken = 0
        let elapsedMs = 0
        for (const pauseMs of pausesMs) {
          clock.mono += pauseMs * 1000
          elapsedMs += pauseMs
          while (limits.waitMs('key') === 0) {
            limits.take('key')
            taken++
          }
          const wait = limits.waitMs('key')
          assert.ok(wait > 0 && wait <= 1000)
          assert.ok(taken <= 5 + elapsedMs / 1000, `${taken} in ${elapsedMs} ms`)
        }
        assert.ok(taken >= 5)
      }),
    )
  })

  it('is as before after a failure that was given back', () => {
    const clock = new FakeClock()
    const limits = new FailureLimits(clock, 2, 1000)
    limits.take('key')
    for (let n = 0; n < 10; n++) {
      assert.equal(limits.waitMs('key'), 0)
      limits.take('key')
      assert.equal(limits.waitMs('key'), 1000)
      limits.giveBack('key')
    }
    limits.giveBack('key')
    limits.giveBack('key')
    assert.equal(limits.size, 0)
  })

  it('limits a new key rather than forget one, and has room as soon as one has no failures left', () => {
    const clock = new FakeClock()
    const limits = new FailureLimits(clock, 1, 1000)
    limits.take('first')
    clock.mono += 500_000
    for (let n = 1; n < keysMax; n++) limits.take(`key ${n}`)
    assert.equal(limits.size, keysMax)
    assert.equal(limits.waitMs('new'), 1000)
    assert.equal(limits.waitMs('first'), 500)
    clock.mono += 500_000
    assert.equal(limits.waitMs('new'), 0)
    assert.equal(limits.size, keysMax - 1)
  })
})

describe('a map of the newest', () => {
  it('forgets what was used least recently', () => {
    const newest = new Newest<number>(3)
    for (const [value, key] of ['a', 'b', 'c'].entries()) newest.set(key, value)
    newest.get('a')
    newest.set('d', 3)
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((key) => newest.get(key)),
      [0, undefined, 2, 3],
    )
    newest.delete('a')
    assert.deepEqual([newest.get('a'), newest.size], [undefined, 2])
  })
})

describe('the addresses of users', () => {
  it('are the newest sixteen of each', () => {
    const places = new Places()
    places.add('bob', 'home')
    for (let n = 0; n < 20; n++) {
      places.add('alice', `${n}`)
      places.add('alice', 'home')
    }
    assert.ok(places.has('alice', 'home') && places.has('alice', '19') && places.has('alice', '5'))
    assert.ok(!places.has('alice', '4'))
    assert.ok(places.has('bob', 'home'))
    assert.equal(places.size, 17)
  })

  it('are those of the newest ten thousand users', () => {
    const places = new Places()
    for (let n = 0; n < 10_000; n++) places.add(`user ${n}`, 'home')
    places.add('user 0', 'work')
    places.add('one more', 'home')
    assert.ok(places.has('user 0', 'home') && places.has('user 0', 'work') && !places.has('user 1', 'home'))
    assert.equal(places.size, 10_001)
  })
})
