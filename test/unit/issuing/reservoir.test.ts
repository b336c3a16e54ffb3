import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { emptyRow } from '../../../src/buffers/fast-runs.ts'
import { Run } from '../../../src/ids/run.ts'
import { nothingAtRest, restingStepMax } from '../../../src/issuing/counter-rows.ts'
import { settled } from '../fake-clock.ts'
import { count, idsOf, type Process, startCounter } from './counter-process.ts'

/** The buffered ids, one by one, up to `most`. */
function takeAll({ reservoir }: Process, most = 1000): bigint[] {
  const ids: bigint[] = []
  const run = new Run()
  while (ids.length < most && reservoir.take(1, run) > 0) ids.push(run.first)
  return ids
}

async function draw({ reservoir }: Process, wanted: number, options = {}): Promise<bigint[]> {
  return idsOf(await reservoir.draw(wanted, options))
}

describe('a reservoir', () => {
  test('waits for the first refill, and issues without waiting from then on', async () => {
    const process = await startCounter()
    assert.deepEqual(takeAll(process), [])
    assert.deepEqual(await draw(process, 1), [1n])
    assert.deepEqual(takeAll(process), count(2, 11))
    await settled()
    const { issued, waits, reserved, waiting, refills } = process.reservoir.stats()
    assert.deepEqual(
      { issued, waits, reserved, waiting, refills },
      { issued: 10, waits: 1, reserved: 20, waiting: 0, refills: 2 },
    )
  })

  test('refills in the background, one refill at a time', async () => {
    const process = await startCounter()
    await draw(process, 1)
    const held = process.engine.hold('reserve')
    takeAll(process, 5)
    await held.arrived
    assert.deepEqual(takeAll(process, 4), count(7, 11))
    assert.deepEqual(takeAll(process), [])
    await settled()
    assert.equal(process.engine.count('reserve'), 2)
    held.letGo()
    await settled()
    assert.deepEqual(takeAll(process, 1), [11n])
  })

  test('serves many callers over several turns of the event loop, in the order of arrival', async () => {
    const process = await startCounter({ step: 20_000, waitersMax: 20_000 })
    const held = process.engine.hold('reserve')
    const callers = 10_000
    const ids: bigint[] = []
    const drawn = Array.from({ length: callers }, () => draw(process, 1).then(([id]) => ids.push(id!)))
    await held.arrived
    held.letGo()
    await settled()
    assert.ok(ids.length < callers, `${ids.length} callers were served at once`)
    while (ids.length < callers) {
      await process.clock.pass(1)
    }
    await Promise.all(drawn)
    assert.deepEqual(ids, count(1, callers + 1))
  })

  test('serves in the order of arrival, without overtaking', async () => {
    const process = await startCounter()
    const held = process.engine.hold('reserve')
    const large = draw(process, 12)
    const small = draw(process, 1)
    await held.arrived
    held.letGo()
    assert.deepEqual(takeAll(process), [])
    assert.deepEqual(await large, count(1, 13))
    assert.deepEqual(await small, [13n])
    process.engine.hold('reserve')
    void draw(process, 500).catch(() => {})
    assert.ok(process.reservoir.stats().inHand > 0)
    assert.deepEqual(takeAll(process), [])
  })

  test('issues large counts all at once, also beyond stepMax', async () => {
    const process = await startCounter({ stepMax: 50 })
    assert.deepEqual(await draw(process, 200), count(1, 201))
    assert.equal(process.engine.count('reserve'), 1)
  })

  test('issues contiguous blocks, and drops the ids before them only when it must', async () => {
    const process = await startCounter()
    const other = await startCounter({}, process)
    assert.deepEqual(await draw(process, 3), count(1, 4))
    assert.deepEqual(await draw(other, 1), [11n])
    assert.deepEqual(await draw(process, 9, { contiguous: true }), count(21, 30))
    assert.deepEqual(await draw(process, 5, { contiguous: true }), count(30, 35))
  })

  test('makes callers wait no longer than issueTimeout, and rejects with the reason', async () => {
    const process = await startCounter()
    process.engine.always('reserve', 'unavailable')
    const waiting = assert.rejects(draw(process, 1), {
      code: 'DRY',
      message: /no buffered ids and the engine said: UNAVAILABLE/,
    })
    await process.clock.pass(2000)
    await waiting
    process.engine.heal()
    process.engine.hold('reserve')
    await process.clock.pass(2000)
    const second = assert.rejects(draw(process, 1), { code: 'DRY' })
    await process.clock.pass(2000)
    await second
  })

  test('issues the buffered ids while the engine is away, and refills when it is back', async () => {
    const process = await startCounter()
    await draw(process, 1)
    process.engine.always('any', 'unavailable')
    assert.deepEqual(takeAll(process), count(2, 11))
    const waiting = draw(process, 1)
    await process.clock.pass(900)
    process.engine.heal()
    await process.clock.pass(1000)
    assert.deepEqual(await waiting, [11n])
    assert.ok(process.engine.count('reserve') < 10, 'pauses grow')
    assert.deepEqual(process.outcomes, ['test UNAVAILABLE', 'test ok'])
    assert.ok(process.reservoir.stats().refillFailures > 1)
  })

  for (const fault of ['lose-request', 'lose-reply', 'late'] as const) {
    test(`abandons a range whose reserve had no reply (${fault})`, async () => {
      const process = await startCounter()
      process.engine.next('reserve', fault)
      const waiting = draw(process, 1)
      await process.clock.pass(100)
      const [id] = await waiting
      assert.equal(id, fault === 'lose-reply' ? 11n : 1n)
      await process.engine.deliver()
      const ids = [...takeAll(process), ...(await draw(process, 5))]
      assert.ok(ids.every((each, index) => each > (ids[index - 1] ?? id!)))
      const { bound } = await process.engine.counter('generators/test')
      assert.ok(ids.at(-1)! < bound)
    })
  }

  test('rejects at once with an error that waiting does not end, and retries after a pause', async () => {
    let owner = false
    const process = await startCounter({
      mayReserve: () => (owner ? Promise.resolve() : Promise.reject(new FahaoError('NOTOWNER', 'not here'))),
    })
    await assert.rejects(draw(process, 1), { code: 'NOTOWNER' })
    owner = true
    await assert.rejects(draw(process, 1), { code: 'NOTOWNER' })
    assert.equal(process.engine.count('reserve'), 0)
    await process.clock.pass(1000)
    assert.deepEqual(await draw(process, 1), [1n])
  })

  test('handles an engine that throws as one that fails', async () => {
    const process = await startCounter({ mayReserve: () => assert.fail('a bug') })
    await assert.rejects(draw(process, 1), /a bug/)
    await process.close()
  })

  test('serves the callers behind one that gives up or times out', async () => {
    const process = await startCounter()
    await draw(process, 1)
    process.engine.hold('reserve')
    const large = assert.rejects(draw(process, 50), { code: 'DRY' })
    await process.clock.pass(100)
    const small = draw(process, 2)
    await process.clock.pass(1900)
    await large
    assert.deepEqual(await small, [2n, 3n])
    const aborter = new AbortController()
    const second = assert.rejects(draw(process, 50, { signal: aborter.signal }), { name: 'AbortError' })
    const behind = draw(process, 1)
    aborter.abort()
    await second
    assert.deepEqual(await behind, [4n])
  })

  test('makes no caller wait where waitersMax is 0, and issues all the same', async () => {
    const process = await startCounter({ waitersMax: 0 })
    await assert.rejects(draw(process, 1), { code: 'BUSY' })
    await settled()
    assert.deepEqual(takeAll(process), count(1, 11))
  })

  test('issues the last id, then rejects with EXHAUSTED', async () => {
    const process = await startCounter({ max: 25n })
    const ids: bigint[] = []
    for (let id = 1; id <= 25; id++) ids.push(...(await draw(process, 1)))
    assert.deepEqual(ids, count(1, 26))
    await assert.rejects(draw(process, 1), { code: 'EXHAUSTED' })
    assert.deepEqual(takeAll(process), [])
  })

  test('issues up to 2^63−1', async () => {
    const process = await startCounter({ floor: 2n ** 63n - 3n })
    assert.deepEqual(await draw(process, 3), [2n ** 63n - 3n, 2n ** 63n - 2n, 2n ** 63n - 1n])
    await assert.rejects(draw(process, 1), { code: 'EXHAUSTED' })
  })

  test('rejects near the end only the callers that ask for more than is left', async () => {
    const process = await startCounter({ max: 10n })
    const held = process.engine.hold('reserve')
    const places = [
      draw(process, 4),
      assert.rejects(draw(process, 100), { code: 'EXHAUSTED' }),
      draw(process, 6),
      assert.rejects(draw(process, 1), { code: 'EXHAUSTED' }),
    ]
    await held.arrived
    held.letGo()
    await process.clock.pass(100)
    const [first, , third] = await Promise.all(places)
    assert.deepEqual([first, third], [count(1, 5), count(5, 11)])
  })

  test('makes no engine calls when no space is left and no caller waits', async () => {
    const process = await startCounter({ max: 100n })
    await draw(process, 99)
    assert.deepEqual(takeAll(process), [])
    assert.deepEqual(await draw(process, 1), [100n])
    const before = process.engine.calls.length
    takeAll(process)
    await process.clock.pass(10_000)
    assert.equal(process.engine.calls.length, before)
  })

  test('buffers little of a small space', async () => {
    const process = await startCounter({ max: 2000n, step: 1000 })
    for (let id = 1; id <= 100; id++) await draw(process, 1)
    await settled()
    assert.ok(process.reservoir.stats().inHand <= 40)
  })

  test('reserves more at a time when callers had to wait, once for each range that was used up', async () => {
    const process = await startCounter({ horizonSeconds: 0 })
    for (let round = 0; round < 6; round++) {
      takeAll(process)
      await draw(process, 1)
    }
    assert.ok(process.source.counter.reserved > 150, `${process.source.counter.reserved} were reserved`)
    const before = process.source.counter.reserved
    process.engine.always('any', 'unavailable')
    takeAll(process)
    for (let each = 0; each < 20; each++) {
      const waiting = assert.rejects(draw(process, 1), { code: 'DRY' })
      await process.clock.pass(2000)
      await waiting
    }
    process.engine.heal()
    await process.clock.pass(2000)
    await draw(process, 1)
    assert.ok(
      process.source.counter.reserved < before * 3,
      `${process.source.counter.reserved} were reserved`,
    )
  })

  test('reserves no more than stepMax at a time, however often callers had to wait', async () => {
    const process = await startCounter({ horizonSeconds: 0, stepMax: 20 })
    for (let round = 0; round < 6; round++) {
      takeAll(process)
      await draw(process, 1)
    }
    for (let each = 0; each < 10; each++) {
      await draw(process, 1)
      await settled()
    }
    assert.ok(process.reservoir.stats().inHand <= 30, 'half of stepMax is the mark, and one refill above it')
  })

  test('reserves for the horizon at the recent rate, and reports when stepMax prevents that', async () => {
    let warnings = 0
    const process = await startCounter({ stepMax: 300, onStepMax: () => warnings++, horizonSeconds: 60 })
    for (let second = 0; second < 60; second++) {
      await draw(process, 3)
      await process.clock.pass(1000)
    }
    const { inHand, inHandSeconds, ratePerSecond } = process.reservoir.stats()
    assert.ok(ratePerSecond > 2.5 && ratePerSecond < 3.1)
    assert.ok(inHand > 150 && inHand < 500)
    assert.ok(Math.abs(inHandSeconds - inHand / ratePerSecond) < 1e-9)
    assert.equal(warnings, 0)
    for (let second = 0; second < 60; second++) {
      await draw(process, 100)
      await process.clock.pass(1000)
    }
    assert.equal(warnings, 1)
  })

  test('keeps ids below the low mark in the fast run while the refill is under way', async () => {
    const process = await startCounter({ step: 1000, horizonSeconds: 0 })
    await draw(process, 1)
    process.engine.slow('any', 1000, process.clock)
    for (let id = 2; id <= 600; id++) assert.equal(process.reservoir.take(1, new Run()), 1)
    assert.equal(process.source.buffer.fastRun.count, 400)
    process.engine.heal()
    await process.clock.pass(1000)
    assert.equal(process.reservoir.stats().inHand, 1400)
  })

  test('refills again after a failure, also when ids were issued from the fast run meanwhile', async () => {
    const process = await startCounter({ step: 1000, horizonSeconds: 0 })
    await draw(process, 1)
    process.engine.always('any', 'unavailable')
    for (let id = 2; id <= 600; id++) process.reservoir.take(1, new Run())
    await settled()
    process.engine.heal()
    assert.equal(process.reservoir.take(1, new Run()), 1)
    await process.clock.pass(10_000)
    assert.equal(process.reservoir.stats().inHand, 1399)
  })

  test('rejects a draw that a number would round, and uses no id up', async () => {
    const process = await startCounter({ floor: 2n ** 53n - 2n })
    assert.equal(process.reservoir.nextIsSafe(), true)
    assert.deepEqual(await draw(process, 1, { safe: true }), [2n ** 53n - 2n])
    assert.deepEqual(await draw(process, 1, { safe: true }), [2n ** 53n - 1n])
    await assert.rejects(draw(process, 1, { safe: true }), { code: 'UNSAFE' })
    assert.equal(process.reservoir.nextIsSafe(), false)
    assert.deepEqual(await draw(process, 1), [2n ** 53n])
    const fresh = await startCounter({ floor: 2n ** 53n })
    await assert.rejects(draw(fresh, 1, { safe: true }), { code: 'UNSAFE' })
    assert.deepEqual(await draw(fresh, 1), [2n ** 53n])
  })

  test('returns the newest id, of a predecessor too', async () => {
    const process = await startCounter()
    assert.equal(process.reservoir.lastIssued(), undefined)
    await draw(process, 3)
    assert.equal(process.reservoir.lastIssued(), 3n)
    const crashed = await startCounter({}, process)
    assert.equal(crashed.reservoir.lastIssued(), 10n)
    await process.close()
    const next = await startCounter({}, process)
    assert.equal(next.reservoir.lastIssued(), 3n)
    assert.deepEqual(await draw(next, 1), [4n])
    assert.equal(next.reservoir.lastIssued(), 4n)
  })

  test('releases the buffered ids when it closes, and leaves no timer behind', async () => {
    const process = await startCounter()
    await draw(process, 3)
    await process.close()
    assert.equal(process.source.counter.released, 7)
    assert.equal(process.clock.timers, 0)
    assert.deepEqual(takeAll(process), [])
    await assert.rejects(draw(process, 1), { code: 'SHUTDOWN' })
    const next = await startCounter({}, process)
    assert.deepEqual(await draw(next, 1), [4n])
  })

  test('releases the range of a refill that ends while it closes, and issues no id of it', async () => {
    const process = await startCounter()
    await draw(process, 3)
    const held = process.engine.hold('reserve')
    const waiting = assert.rejects(draw(process, 20), { code: 'SHUTDOWN' })
    await held.arrived
    const closing = process.close()
    assert.deepEqual(takeAll(process), [])
    await waiting
    held.letGo()
    await closing
    assert.deepEqual(await draw(await startCounter({}, process), 1), [4n])
  })

  test('releases no range after others have reserved, and sends a release once', async () => {
    const process = await startCounter()
    await draw(process, 3)
    const other = await startCounter({}, process)
    await draw(other, 1)
    await process.close()
    assert.equal(process.source.counter.released, 0)
    other.engine.next('release', 'lose-reply')
    await other.close()
    await other.close()
    assert.equal(other.engine.count('release'), 1)
    assert.deepEqual(await draw(await startCounter({}, process), 1), [12n])
  })

  test('transfers no range of an incarnation that has ended', async () => {
    const process = await startCounter()
    await draw(process, 3)
    await draw(await startCounter({ incarnation: 2n }, process), 1)
    const refusal = draw(process, 20).catch(() => {})
    await process.reservoir.idle()
    assert.equal(process.reservoir.transfer(new FahaoError('SHUTDOWN', 'over')), undefined)
    await refusal
  })

  test('retries nothing after it has closed', async () => {
    const process = await startCounter()
    process.engine.always('any', 'unavailable')
    const waiting = assert.rejects(draw(process, 1), { code: 'SHUTDOWN' })
    await process.clock.pass(100)
    await process.close()
    await waiting
    const { length } = process.engine.calls
    await process.clock.pass(10_000)
    assert.equal(process.engine.calls.length, length)
    assert.equal(process.clock.timers, 0)
  })

  test('moves forward durably, and still releases the rest', async () => {
    const process = await startCounter()
    const move = (floor: bigint) => process.reservoir.moveTo(floor - 1n)
    await draw(process, 1)
    await move(5n)
    assert.equal(process.reservoir.lastIssued(), 4n)
    assert.deepEqual(takeAll(process, 1), [5n])
    await process.close()
    const next = await startCounter({}, process)
    await next.reservoir.moveTo(999n)
    assert.equal(next.reservoir.lastIssued(), 999n)
    assert.deepEqual(await draw(next, 1), [1000n])
  })

  test('moves only between refills, so that no refill adds ids below the move', async () => {
    const process = await startCounter()
    await draw(process, 10)
    const held = process.engine.hold('reserve')
    const waiting = draw(process, 1)
    await held.arrived
    const moving = process.reservoir.moveTo(14n)
    await settled()
    assert.equal(process.engine.count('reserve'), 2)
    const seal = process.engine.hold('reserve')
    held.letGo()
    assert.deepEqual(await waiting, [11n])
    await seal.arrived
    const behind = draw(process, 100)
    seal.letGo()
    await moving
    assert.equal((await behind)[0], 15n)
  })

  test('makes two moves one after the other, also when both have waited for the same refill', async () => {
    const process = await startCounter()
    await draw(process, 10)
    const held = process.engine.hold('reserve')
    const waiting = draw(process, 1)
    await held.arrived
    const seal = process.engine.hold('reserve')
    const moving = [process.reservoir.moveTo(30n), process.reservoir.moveTo(20n)]
    held.letGo()
    assert.deepEqual(await waiting, [11n])
    await seal.arrived
    await settled()
    assert.equal(process.engine.count('reserve'), 3)
    seal.letGo()
    await Promise.all(moving)
    assert.deepEqual(await draw(process, 1), [31n])
  })

  test('does not move after it has closed, and closes after it has moved', async () => {
    const process = await startCounter()
    await draw(process, 1)
    const held = process.engine.hold('reserve')
    const moving = process.reservoir.moveTo(4n)
    await held.arrived
    assert.deepEqual(takeAll(process, 1), [2n])
    const closing = process.close()
    assert.deepEqual(takeAll(process), [])
    await settled()
    assert.equal(process.engine.count('release'), 0)
    held.letGo()
    await moving
    await closing
    assert.equal(process.source.counter.released, 6)
    await assert.rejects(process.reservoir.moveTo(4n), { code: 'SHUTDOWN' })
  })

  test('continues after a move that failed', async () => {
    const process = await startCounter()
    process.engine.next('reserve', 'unavailable')
    await assert.rejects(process.reservoir.moveTo(4n))
    assert.deepEqual(await draw(process, 1), [1n])
  })

  test('releases no range to an engine that has forgotten the bound above it', async () => {
    const process = await startCounter()
    await draw(process, 1)
    process.store.counters.clear()
    await process.reservoir.moveTo(4n)
    await process.close()
    assert.equal(process.engine.count('release'), 0)
    assert.equal((await process.engine.counter('generators/test')).bound, 5n)
  })

  test('issues no id twice on an engine that forgets writes', async () => {
    const process = await startCounter()
    await draw(process, 10)
    process.store.counters.clear()
    assert.deepEqual(await draw(process, 1), [11n])
  })

  test('does not rest with a low mark that is too large for its row', async () => {
    const process = await startCounter()
    await draw(process, 1)
    await settled()
    process.source.buffer.lowMark = restingStepMax + 1
    assert.equal(process.reservoir.rest(nothingAtRest()), emptyRow)
    process.source.buffer.lowMark = restingStepMax
    assert.notEqual(process.reservoir.rest(nothingAtRest()), emptyRow)
  })

  test('causes no busy loop when a refill serves no caller', async () => {
    const process = await startCounter()
    const waiting = assert.rejects(process.reservoir.draw(2, { contiguous: true }), { code: 'DRY' })
    process.source.buffer.collect = () => undefined
    await process.clock.pass(2000)
    await waiting
    assert.ok(process.engine.count('reserve') <= 101)
  })
})
