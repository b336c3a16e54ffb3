/** A segment under the quotas of a namespace: how much is asked for, how often, and what callers get. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { SizeCap } from '../../../client/src/size-cap.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { stateOf } from './fake-service.ts'
import { Leasing } from './leasing.ts'

/** What a namespace says to more ids than it ever permits at once. */
const limit = (most: number) => (count: number) => {
  if (count > most) throw new FahaoError('LIMIT', `at most ${most} ids at once; ask for fewer`)
}

/** Charges a number of ids in all. */
function budget(ids: number) {
  let left = ids
  return (count: number) => {
    if (count > left) throw new FahaoError('QUOTA', `${left} ids are left until midnight; retry later`)
    left -= count
  }
}

function leasingOf(t: TestContext, first?: number): Leasing {
  const leasing = new Leasing(first)
  t.after(() => leasing.source.close(new FahaoError('SHUTDOWN', 'the test is over')))
  return leasing
}

const codeOf = (state: unknown) => (state instanceof FahaoError ? state.code : state)

describe('a refill that is larger than a quota ever permits', () => {
  test('is cut by halves, and the next ones ask for what was permitted', async (t) => {
    const leasing = leasingOf(t)
    leasing.quota = limit(500)
    assert.equal(await leasing.takeFor(50, 40), 0)
    const fits = leasing.asked.findIndex((count) => count <= 500)
    assert.ok(fits > 0)
    for (let at = 1; at <= fits; at++) assert.equal(leasing.asked[at], Math.floor(leasing.asked[at - 1]! / 2))
    assert.ok(leasing.asked.slice(fits).every((count) => count <= 500))
    // Once a minute more is tried.
    leasing.asked.length = 0
    assert.equal(await leasing.takeFor(240, 40), 0)
    assert.ok(leasing.asked.filter((count) => count > 500).length <= 5)
    leasing.quota = () => {}
    await leasing.takeFor(200, 40)
    assert.ok(Math.max(...leasing.asked) >= 1000)
  })

  test('is cut to one id', async (t) => {
    const leasing = leasingOf(t, 0)
    leasing.quota = limit(1)
    const first = leasing.source.draw(1, {})
    assert.ok(Array.isArray(await stateOf(first)))
  })

  test('is an error of the callers whose own number of ids is refused, and of no others', async (t) => {
    const leasing = leasingOf(t, 0)
    leasing.quota = limit(500)
    const [large, larger, small] = [600, 700, 400].map((count) => leasing.source.draw(count, {}))
    assert.equal(codeOf(await stateOf(large!)), 'LIMIT')
    assert.equal(codeOf(await stateOf(larger!)), 'LIMIT')
    await leasing.clock.pass(500)
    assert.ok(Array.isArray(await stateOf(small!)))
  })

  test('is not asked for again by each caller', async (t) => {
    const leasing = leasingOf(t, 0)
    leasing.quota = limit(0)
    for (let callers = 0; callers < 100; callers++) {
      void leasing.source.draw(1, {}).catch(() => {})
      await leasing.clock.pass(10)
    }
    // The first cut, and one request in each pause.
    assert.ok(leasing.asked.length <= 12 + 3, `${leasing.asked.length} requests`)
  })
})

describe('a quota that is used up for now', () => {
  test('gives its last ids to callers', async (t) => {
    const leasing = leasingOf(t, 0)
    leasing.quota = budget(300)
    let served = 0
    for (let calls = 0; calls < 320; calls++)
      void leasing.source.draw(1, {}).then(
        () => served++,
        () => {},
      )
    await leasing.clock.pass(9000)
    assert.equal(served, 300)
  })

  test('is what callers are told after their time, and few requests are sent until then', async (t) => {
    const leasing = leasingOf(t, 0)
    leasing.quota = budget(0)
    const calls = Array.from({ length: 100 }, () => leasing.source.draw(1, {}))
    for (const call of calls) call.catch(() => {})
    await leasing.clock.pass(10_000)
    for (const call of calls) assert.equal(codeOf(await stateOf(call)), 'QUOTA')
    assert.ok(leasing.asked.length <= 11 + 8, `${leasing.asked.length} requests`)
  })

  test('is asked rarely while no caller waits', async (t) => {
    const leasing = leasingOf(t)
    leasing.quota = budget(0)
    await leasing.takeFor(20, 40)
    assert.ok(leasing.asked.length <= 15, `${leasing.asked.length} requests`)
  })

  test('that permits the rate of the caller lets all of its ids through', async (t) => {
    const leasing = leasingOf(t, 0)
    let credit = 5000
    let sinceUs = 0
    leasing.quota = (count) => {
      credit = Math.min(5000, credit + ((leasing.clock.mono - sinceUs) / 1_000_000) * 5000)
      sinceUs = leasing.clock.mono
      limit(5000)(count)
      if (count > credit) throw new FahaoError('QUOTA', 'at most 5000 a second; retry')
      credit -= count
    }
    await leasing.takeFor(2, 1000)
    assert.equal(await leasing.takeFor(60, 1000), 0)
    assert.ok(leasing.asked.length <= 6 * 62, `${leasing.asked.length} requests`)
  })
})

test('the size rises again after a refusal: at once where the quota fills up, once a minute where it is fixed', () => {
  const cap = new SizeCap()
  assert.equal(cap.largest(0), Number.POSITIVE_INFINITY)
  cap.refused(new FahaoError('QUOTA', 'later'), 1000, 0)
  assert.equal(cap.largest(0), 500)
  cap.granted(500)
  assert.equal(cap.largest(0), 1000)
  cap.refused(new FahaoError('LIMIT', 'never'), 1000, 0)
  cap.granted(500)
  assert.equal(cap.largest(59_000_000), 500)
  assert.equal(cap.largest(60_000_000), 1000)
  assert.equal(cap.largest(61_000_000), 1000)
  cap.refused(new FahaoError('LIMIT', 'never'), 1, 61_000_000)
  assert.equal(cap.largest(61_000_000), 1)
})
