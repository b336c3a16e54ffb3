/** How much a source of a segment has leased when the service goes away. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { settled } from '../fake-clock.ts'
import { stateOf } from './fake-service.ts'
import { horizonMs, Leasing } from './leasing.ts'

describe('a segment lasts the horizon when the service goes away', () => {
  for (const perSecond of [0.5, 20, 3000])
    test(`at ${perSecond} ids a second, at any moment`, async () => {
      for (const seconds of [61, 89, 119, 121, 151]) {
        const leasing = new Leasing()
        assert.equal(await leasing.takeFor(seconds, perSecond), 0)
        assert.ok(leasing.source.stats().lastsMs >= horizonMs - 1000)
        leasing.isAway = true
        assert.equal(await leasing.takeFor(59, perSecond), 0)
        await leasing.source.close(new FahaoError('SHUTDOWN', 'the test is over'))
      }
    })

  test('after the rate has fallen: ids that come to their deadline before their turn do not count', async () => {
    for (const perSecond of [100, 300])
      for (const seconds of [73, 87, 101, 108, 192, 220]) {
        const leasing = new Leasing()
        await leasing.takeFor(170, 1000)
        assert.equal(await leasing.takeFor(seconds, perSecond), 0)
        leasing.isAway = true
        assert.equal(await leasing.takeFor(59, perSecond), 0, `${seconds} s after the fall`)
        await leasing.source.close(new FahaoError('SHUTDOWN', 'the test is over'))
      }
  })

  test('soon after the rate has risen', async () => {
    const leasing = new Leasing()
    await leasing.takeFor(200, 10)
    await leasing.takeFor(20, 40)
    leasing.isAway = true
    assert.equal(await leasing.takeFor(55, 40), 0)
  })
})

test('a caller that waits for more than is there is served by the refill that it starts', async () => {
  const leasing = new Leasing()
  const done = Promise.withResolvers<number>()
  void leasing.source
    .draw(5000, {})
    .then((runs) => done.resolve(runs.reduce((sum, { count }) => sum + count, 0)))
  assert.equal(await done.promise, 5000)
})

test('ids that follow one another are of one range, or of ranges without a gap between them', async () => {
  const leasing = new Leasing(10)
  for (let round = 0; round < 50; round++) {
    const count = 1 + ((round * 7) % 40)
    if (round % 3 === 0) leasing.leaseElsewhere(5)
    const [runs] = await Promise.all([
      leasing.source.draw(count, { contiguous: true }),
      leasing.clock.pass(2000),
    ])
    const ids = runs.flatMap((run) => Array.from({ length: run.count }, (_, at) => run.at(at)))
    assert.deepEqual(
      ids,
      Array.from({ length: count }, (_, at) => ids[0]! + BigInt(at)),
    )
  }
})

test('ids in front of a gap are kept until enough ids that follow one another are there', async () => {
  const leasing = new Leasing(10)
  leasing.isAway = true
  leasing.leaseElsewhere(5)
  const block = leasing.source.draw(20, { contiguous: true })
  await leasing.clock.pass(1000)
  assert.equal(leasing.source.stats().buffered, 10)
  leasing.isAway = false
  const [[run]] = await Promise.all([block, leasing.clock.pass(2000)])
  assert.deepEqual([run!.first, run!.count], [16n, 20])
})

test('ids that follow one another continue the last buffered ids, so that a quota has to permit no more than the rest', async () => {
  const leasing = new Leasing(100)
  leasing.quota = (count) => {
    if (count > 100) throw new FahaoError('LIMIT', 'at most 100 at a time')
  }
  const [runs] = await Promise.all([leasing.source.draw(180, { contiguous: true }), leasing.clock.pass(2000)])
  assert.deepEqual([runs[0]!.first, runs.reduce((sum, { count }) => sum + count, 0)], [1n, 180])
})

describe('a slow user', () => {
  /** Takes `ids` ids, one every `seconds`. */
  async function take(leasing: Leasing, seconds: number, ids: number) {
    for (let taken = 0; taken < ids; taken++) {
      const [[run]] = await Promise.all([leasing.source.draw(1, {}), leasing.clock.pass(1)])
      assert.ok(run!.first < leasing.bound)
      await leasing.clock.pass(seconds * 1000)
    }
    await leasing.source.close(new FahaoError('SHUTDOWN', 'the test is over'))
  }

  test('uses no more ids than it takes, where each range is given back before the next', async () => {
    const leasing = new Leasing()
    await take(leasing, 130, 100)
    assert.equal(leasing.bound, 101n)
    assert.ok(leasing.returned.length >= 99)
  })

  for (const seconds of [20, 59, 61, 100, 119])
    test(`of an id in ${seconds} s burns a few for each`, async () => {
      const leasing = new Leasing()
      await take(leasing, seconds, 400)
      assert.ok(leasing.bound < 2400n, `${leasing.bound}`)
    })
})

describe('refills do not follow each other without a pause', () => {
  test('where leases end within the horizon', async () => {
    const leasing = new Leasing()
    leasing.ttlMs = horizonMs / 2
    assert.equal(await leasing.takeFor(180, 1), 0)
    assert.ok(leasing.asked.length >= 5 && leasing.asked.length <= 30, `${leasing.asked.length} requests`)
    await leasing.source.close(new FahaoError('SHUTDOWN', 'the test is over'))
  })

  test('where leases have ended when they are here', async () => {
    const leasing = new Leasing(0)
    leasing.ttlMs = 0
    const call = leasing.source.draw(1, {}).catch((error: FahaoError) => error.code)
    await leasing.clock.pass(10_000)
    assert.equal(await call, 'UNAVAILABLE')
    assert.ok(leasing.asked.length >= 5 && leasing.asked.length <= 12, `${leasing.asked.length} requests`)
    leasing.ttlMs = horizonMs * 2
    const later = leasing.source.draw(1, {})
    await leasing.clock.pass(2000)
    assert.equal((await later).length, 1)
    await leasing.source.close(new FahaoError('SHUTDOWN', 'the test is over'))
  })
})

test('a copy of the memory, which its first request after a pause notices, returns nothing', async () => {
  const leasing = new Leasing()
  leasing.isAway = true
  await leasing.takeFor(1, 600)
  await leasing.clock.pass(118_900)
  leasing.clock.wall += 3_600_000_000
  await leasing.clock.pass(100)
  leasing.isAway = false
  await leasing.clock.pass(1000)
  assert.ok(leasing.source.stats().requests > 0)
  assert.deepEqual(leasing.returned, [])
  await leasing.source.close(new FahaoError('SHUTDOWN', 'the test is over'))
})

describe('the end of a segment', () => {
  const over = new FahaoError('SHUTDOWN', 'the test is over')

  test('returns what the refill under way brings, and then the rest, the newest first', async () => {
    const leasing = new Leasing(100)
    const gate = Promise.withResolvers<void>()
    leasing.answers = gate.promise
    await leasing.source.draw(60, {})
    await settled()
    assert.equal(leasing.asked.length, 1, 'a refill is under way')
    const closed = leasing.source.close(over)
    await settled()
    assert.deepEqual(leasing.returns, [])
    gate.resolve()
    await closed
    assert.deepEqual(leasing.returns, [
      { lease: 'lease-2', from: 101n },
      { lease: 'lease-1', from: 61n },
    ])
    assert.equal(leasing.clock.timers, 0)
  })

  test('waits a second for the refill under way, and returns the rest without it', async () => {
    const leasing = new Leasing(100)
    leasing.answers = new Promise(() => {})
    await leasing.source.draw(60, {})
    const closed = leasing.source.close(over)
    await leasing.clock.pass(1000)
    await closed
    assert.deepEqual(leasing.returns, [{ lease: 'lease-1', from: 61n }])
  })

  test('returns nothing of what a copy of this memory may hold, also if it is noticed only then', async () => {
    const leasing = new Leasing(100)
    await leasing.source.draw(1, {})
    // Wall clock and monotonic clock part: the process stood still.
    leasing.clock.wall += 3_600_000_000
    await leasing.source.close(over)
    assert.deepEqual(
      leasing.returns.filter(({ from }) => from < leasing.bound),
      [],
    )
  })
})

test('what is dropped in front of ids that follow one another is returned, though it is a gap', async () => {
  const leasing = new Leasing(10)
  leasing.leaseElsewhere(5)
  await leasing.source.draw(20, { contiguous: true })
  await leasing.source.draw(2000, {})
  assert.deepEqual(leasing.returns[0], { lease: 'lease-1', from: 1n })
})

test('callers behind one that gives up are served at once, if the buffer has enough for them', async () => {
  const leasing = new Leasing()
  leasing.isAway = true
  const stop = new AbortController()
  const large = leasing.source.draw(5000, { signal: stop.signal })
  const small = leasing.source.draw(10, {})
  await settled()
  assert.equal(await stateOf(small), undefined)
  stop.abort()
  await assert.rejects(large, { name: 'AbortError' })
  assert.equal((await small)[0]!.count, 10)
})

test('callers behind one whose time is over are served at once, if the buffer has enough for them', async () => {
  const leasing = new Leasing()
  leasing.isAway = true
  const large = assert.rejects(leasing.source.draw(5000, {}), { code: 'UNAVAILABLE' })
  const small = leasing.source.draw(10, {})
  await leasing.clock.pass(10_000)
  await large
  assert.equal((await small)[0]!.count, 10)
})
