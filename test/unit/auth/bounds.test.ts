import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { FailureLimits } from '../../../src/auth/failure-limits.ts'
import { LoginAddresses } from '../../../src/auth/login-addresses.ts'
import { LruMap } from '../../../src/base/lru-map.ts'
import { FakeClock } from '../fake-clock.ts'

const keysMax = 10_000

describe('a limit of failures', () => {
  test('allows the burst, and one more for each interval, at any times', async () => {
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

  test('is as before after a failure that was given back', () => {
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

  test('limits a new key rather than forget one, and has room as soon as one has no failures left', () => {
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

test('an LRU map forgets what was used least recently', () => {
  const map = new LruMap<number>(3)
  for (const [value, key] of ['a', 'b', 'c'].entries()) map.set(key, value)
  map.get('a')
  map.set('d', 3)
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((key) => map.get(key)),
    [0, undefined, 2, 3],
  )
  map.delete('a')
  assert.deepEqual([map.get('a'), map.size], [undefined, 2])
})

describe('the addresses of users', () => {
  test('are the newest sixteen of each', () => {
    const addresses = new LoginAddresses()
    addresses.add('bob', 'home')
    for (let n = 0; n < 20; n++) {
      addresses.add('alice', `${n}`)
      addresses.add('alice', 'home')
    }
    assert.ok(addresses.has('alice', 'home') && addresses.has('alice', '19') && addresses.has('alice', '5'))
    assert.ok(!addresses.has('alice', '4'))
    assert.ok(addresses.has('bob', 'home'))
    assert.equal(addresses.size, 17)
  })

  test('are those of the newest ten thousand users', () => {
    const addresses = new LoginAddresses()
    for (let n = 0; n < 10_000; n++) addresses.add(`user ${n}`, 'home')
    addresses.add('user 0', 'work')
    addresses.add('one more', 'home')
    assert.ok(
      addresses.has('user 0', 'home') && addresses.has('user 0', 'work') && !addresses.has('user 1', 'home'),
    )
    assert.equal(addresses.size, 10_001)
  })
})
