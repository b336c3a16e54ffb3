/** `step: adaptive`: what a crash skips, and how many refills it takes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Run } from '../../../src/ids/run.ts'
import { RecentUse } from '../../../src/issuing/recent-use.ts'
import { type Process, startCounter } from './counter-process.ts'

const horizonSeconds = 600
/** What a counter is expected to use in a horizon at least. */
const leastUse = 8
const adaptive = { step: 0, stepMax: 10_000_000_000, horizonSeconds, waitersMax: 100_000 }
const run = new Run()

/** What the engine has opened and no client has got: what a crash skips now. */
async function skipped({ engine, reservoir }: Process): Promise<number> {
  const { bound } = await engine.counter('generators/test')
  return Number(bound) - 1 - reservoir.stats().issued
}

/** Takes ids as a client does, and lets what this sets off end. */
async function take({ reservoir, clock }: Process, ids = 1): Promise<void> {
  if (reservoir.take(ids, run) === 0) await reservoir.draw(ids)
  await clock.pass(0)
}

describe('a generator with an adaptive step', () => {
  for (const [everyMs, ids] of [
    [1, 3000],
    [100, 10_000],
    [1000, 4000],
    [7000, 1000],
    [60_000, 200],
    [600_000, 20],
    [3_600_000, 20],
  ] as const) {
    test(`skips at most what a horizon needs, used every ${everyMs} ms`, async () => {
      const process = await startCounter(adaptive)
      for (let issued = 1; issued <= ids; issued++) {
        await take(process)
        assert.ok((await skipped(process)) <= Math.max(leastUse, (horizonSeconds * 1000) / everyMs))
        await process.clock.pass(everyMs)
      }
      const { refills, waits } = process.reservoir.stats()
      const horizons = (ids * everyMs) / 1000 / horizonSeconds
      assert.ok(refills <= 2 + Math.log(ids) / Math.log(1.5) + 2 * horizons, `${refills} refills`)
      assert.equal(waits, 1)
    })
  }

  test('skips at most eight ids of a name that was used once, or once in several horizons, and waits once', async () => {
    const process = await startCounter(adaptive)
    for (let use = 0; use < 20; use++) {
      await take(process)
      assert.ok((await skipped(process)) <= leastUse)
      await process.clock.pass(2 * horizonSeconds * 1000)
    }
    assert.equal(process.reservoir.stats().waits, 1)
    assert.ok(process.reservoir.stats().refills <= 5)
  })

  for (const [horizon, ids] of [
    [0, 0],
    [4, 0],
    [20, 4],
    [40, 8],
    [3600, 8],
  ] as const) {
    test(`reserves ${ids} ids beyond the first one, with a horizon of ${horizon} s`, async () => {
      const process = await startCounter({ ...adaptive, horizonSeconds: horizon })
      await take(process)
      assert.equal(await skipped(process), ids)
    })
  }

  test('reserves for a batch of a new name little more than that batch', async () => {
    const process = await startCounter(adaptive)
    await take(process, 100)
    assert.equal(await skipped(process), leastUse)
    await take(process, 100)
    assert.ok((await skipped(process)) <= 16 * 200)
  })

  test('serves with one refill what callers ask for in one turn', async () => {
    const process = await startCounter(adaptive)
    await Promise.all(Array.from({ length: 128 }, () => process.reservoir.draw(1)))
    assert.ok(process.engine.count('reserve') <= 2)
  })

  test('reserves no more than a step at most, nor a hundredth of what is left, nor less than callers wait for', async () => {
    const any = fc.record({
      stepMax: fc.integer({ min: 1, max: 5000 }),
      max: fc.integer({ min: 50_000, max: 200_000 }),
      draws: fc.array(fc.record({ ids: fc.integer({ min: 1, max: 300 }), pauseMs: fc.nat(20_000) }), {
        maxLength: 40,
      }),
    })
    await fc.assert(
      fc.asyncProperty(any, async ({ stepMax, max, draws }) => {
        const process = await startCounter({ ...adaptive, stepMax, max: BigInt(max) })
        let before = 1n
        for (const { ids, pauseMs } of draws) {
          await take(process, ids)
          const { bound } = await process.engine.counter('generators/test')
          const allowed = Math.min(stepMax, Math.max(1, (max - Number(before)) / 100))
          // Below the draw there is one refill for it, and behind it one for what is expected.
          assert.ok(Number(bound - before) <= ids + 2 * Math.ceil(allowed))
          before = bound
          await process.clock.pass(pauseMs)
        }
      }),
      { numRuns: 50 },
    )
  })
})

describe('the use of the last horizon', () => {
  const horizonUs = 600_000_000

  test('is at most 16 times what was ever issued, whatever the pattern', () => {
    const steps = fc.array(
      fc.record({ ids: fc.nat(1000), passedUs: fc.nat(2 * horizonUs), waited: fc.boolean() }),
    )
    fc.assert(
      fc.property(steps, (all) => {
        const use = new RecentUse(horizonUs, 0)
        let [issued, nowUs] = [0, 0]
        for (const { ids, passedUs, waited } of all) {
          issued += ids
          nowUs += passedUs
          const size = use.perHorizon(issued, waited, nowUs)
          assert.ok(Number.isSafeInteger(size) && size >= 0 && size <= 16 * issued)
        }
      }),
    )
  })

  test('is at most what was issued in the last two horizons, once there were two', () => {
    const steps = fc.array(
      fc.record({ ids: fc.nat(1000), passedUs: fc.integer({ min: 1, max: horizonUs / 4 }) }),
    )
    fc.assert(
      fc.property(steps, (all) => {
        const use = new RecentUse(horizonUs, 0)
        const counts: [us: number, issued: number][] = [[0, 0]]
        let [issued, nowUs] = [0, 0]
        for (const { ids, passedUs } of all) {
          issued += ids
          nowUs += passedUs
          counts.push([nowUs, issued])
          const size = use.perHorizon(issued, true, nowUs)
          // What was issued between two looks counts as spread evenly, so a look more may count.
          const sinceUs = nowUs - 2.25 * horizonUs
          if (sinceUs < 0) continue
          const old = counts.findLast(([us]) => us <= sinceUs)!
          assert.ok(size <= issued - old[1])
        }
      }),
    )
  })

  test('is exact at any steady rate, and none after two horizons without an id', () => {
    const steady = fc.record({
      everyUs: fc.integer({ min: 1000, max: horizonUs }),
      ids: fc.integer({ min: 1, max: 3000 }),
    })
    fc.assert(
      fc.property(steady, ({ everyUs, ids }) => {
        const use = new RecentUse(horizonUs, 0)
        for (let issued = 1; issued <= ids; issued++) {
          const size = use.perHorizon(issued, false, (issued - 1) * everyUs)
          assert.ok(size <= horizonUs / everyUs)
        }
        const lastUs = (ids - 1) * everyUs
        assert.equal(use.perHorizon(ids, true, lastUs + 2 * horizonUs), 0)
      }),
    )
  })

  test('is small again two horizons after a hot name has begun to be used once a minute', () => {
    const use = new RecentUse(horizonUs, 0)
    let [issued, nowUs] = [0, 0]
    const issue = (ids: number, passedUs: number) => {
      issued += ids
      nowUs += passedUs
      return use.perHorizon(issued, false, nowUs)
    }
    for (let second = 0; second < 1500; second++) issue(1000, 1_000_000)
    assert.ok(issue(1000, 1_000_000) > 500_000)
    for (let minute = 1; minute <= 60; minute++) {
      const size = issue(1, 60_000_000)
      assert.ok(minute <= 20 || size <= 10, `${size} after ${minute} minutes`)
    }
  })

  test('is none with a horizon of 0', () => {
    const use = new RecentUse(0, 0)
    assert.equal(use.perHorizon(100, true, 0), 0)
    assert.equal(use.perHorizon(200, true, 1000), 0)
  })
})
