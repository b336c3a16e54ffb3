/** Reservoirs under load: surges, a slow engine, an engine that fails for a time. The tests move the clock. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Run } from '../../../src/ids/run.ts'
import { Limiter } from '../../../src/issuing/engine-permits.ts'
import { settled } from '../fake-clock.ts'
import { type Process, startCounter } from './counter-process.ts'

const tickMs = 10
/** As definitions have them by default. */
const defaults = { step: 1000, stepMax: 10_000_000_000, waitersMax: 100_000 }

/** What clients got: buffered ids, ids that they waited for, errors. */
type Met = { atOnce: number; waited: number; failed: number; waitMsMax: number }

/** Lets `seconds` pass at `rate` ids per second; clients do not wait for replies before they send more. */
async function load({ clock, reservoir }: Process, rate: number, seconds: number): Promise<Met> {
  const met = { atOnce: 0, waited: 0, failed: 0, waitMsMax: 0 }
  const run = new Run()
  const draw = async () => {
    const sinceUs = clock.monoUs()
    try {
      await reservoir.draw(1)
      met.waited++
    } catch {
      met.failed++
    }
    met.waitMsMax = Math.max(met.waitMsMax, (clock.monoUs() - sinceUs) / 1000)
  }
  let sent = 0
  for (let passedMs = tickMs; passedMs <= seconds * 1000; passedMs += tickMs) {
    for (const due = (rate * passedMs) / 1000; sent < due; ) {
      const taken = reservoir.take(Math.min(Math.ceil(due) - sent, 100), run)
      if (taken === 0) void draw()
      met.atOnce += taken
      sent += taken || 1
    }
    await clock.pass(tickMs)
    reservoir.assertInvariants()
  }
  return met
}

/** Steps, and what each promises: how soon and for how long it hides an outage, and how long callers wait in a surge. */
const steps = [
  { name: 'a fixed step', step: 1000, filledAfterS: 60, lastsS: 70, waitMsMax: 50 },
  { name: 'an adaptive step', step: 0, filledAfterS: 30, lastsS: 55, waitMsMax: 100 },
] as const

for (const { name, step, filledAfterS, lastsS, waitMsMax } of steps)
  describe(`a reservoir under load, with ${name}`, () => {
    const options = { ...defaults, step }

    for (const rate of [8, 300, 433, 5000, 1_000_000]) {
      test(`issues for ${lastsS} s without its engine after ${filledAfterS} s at ${rate} ids a second`, async () => {
        const process = await startCounter(options)
        await load(process, rate, filledAfterS)
        process.engine.always('any', 'unavailable')
        const { waited, failed } = await load(process, rate, lastsS)
        assert.deepEqual({ waited, failed }, { waited: 0, failed: 0 })
      })
    }

    for (const [usual, surge] of [
      [0.01, 100_000],
      [10, 1000],
      [1000, 100_000],
      [1000, 1_000_000],
    ] as const) {
      test(`makes callers wait milliseconds in a surge from ${usual} to ${surge} ids a second, and has adapted within seconds`, async () => {
        const process = await startCounter(options)
        process.engine.slow('any', 5, process.clock)
        await load(process, usual, 300)
        const first = await load(process, surge, 3)
        assert.equal(first.failed, 0)
        assert.ok(first.waitMsMax <= waitMsMax, `${first.waitMsMax} ms`)
        const { waited, failed } = await load(process, surge, 10)
        assert.deepEqual({ waited, failed }, { waited: 0, failed: 0 })
      })
    }

    test('makes no engine calls while idle, and sets no endless timers', async () => {
      const process = await startCounter(options)
      await load(process, 5000, 60)
      await process.clock.pass(60_000)
      const calls = process.engine.calls.length
      await process.clock.pass(24 * 3_600_000)
      assert.equal(process.engine.calls.length, calls)
      assert.equal(process.clock.timers, 0)
    })
  })

describe('a reservoir under load', () => {
  test('fails no caller when its engine stops for 5 s, 0.3 s after the first of 1,000 ids a second', async () => {
    const process = await startCounter(defaults)
    await load(process, 1000, 0.3)
    process.engine.always('any', 'unavailable')
    const { failed } = await load(process, 1000, 5)
    assert.equal(failed, 0)
  })

  test('reserves for a burst no more than a few tens of times what the burst used', async () => {
    const process = await startCounter(defaults)
    await load(process, 100_000, 2.5)
    await process.clock.pass(60_000)
    assert.ok(process.reservoir.stats().reserved < 40 * 250_000)
  })

  test('has buffered the horizon 20 s after a surge, however much was buffered before it', async () => {
    const process = await startCounter(defaults)
    await load(process, 100, 120)
    await load(process, 1000, 20)
    process.engine.always('any', 'unavailable')
    assert.ok(process.reservoir.stats().inHand > 600 * 700)
  })

  test('hides an engine that takes half a second for each call, while ids are buffered', async () => {
    const process = await startCounter({ ...defaults, horizonSeconds: 30 })
    await load(process, 5000, 30)
    process.engine.slow('any', 500, process.clock)
    const { refills } = process.reservoir.stats()
    const { waited, failed } = await load(process, 5000, 120)
    assert.deepEqual({ waited, failed }, { waited: 0, failed: 0 })
    assert.ok(process.reservoir.stats().refills > refills)
  })

  test('reserves at most once per step of ids', async () => {
    const process = await startCounter({ ...defaults, horizonSeconds: 0 })
    await load(process, 5000, 60)
    const { issued } = process.reservoir.stats()
    assert.ok(process.engine.count('reserve') <= issued / 1000 + 1)
  })

  test('is filled by a few refills in a surge, with an adaptive step', async () => {
    const process = await startCounter({ ...defaults, step: 0 })
    process.engine.slow('any', 5, process.clock)
    await load(process, 100_000, 30)
    assert.ok(process.engine.count('reserve') <= 40, `${process.engine.count('reserve')} refills`)
  })

  test('refills by itself once the engine is back, with or without waiting callers', async () => {
    const process = await startCounter({ ...defaults, horizonSeconds: 1 })
    await load(process, 1000, 30)
    process.engine.always('any', 'unavailable')
    const away = await load(process, 1000, 30)
    assert.ok(away.failed > 0)
    process.engine.heal()
    const back = await load(process, 1000, 10)
    assert.ok(back.atOnce + back.waited >= 9_900)
    const late = await load(process, 1000, 5)
    assert.deepEqual({ waited: late.waited, failed: late.failed }, { waited: 0, failed: 0 })
  })
})

describe('many reservoirs', () => {
  /** A thousand generators that have run low while the engine is away; each issues an id a second. */
  async function runLowTogether() {
    const limiter = new Limiter()
    const first = await startCounter({ limiter, step: 1000, horizonSeconds: 0 })
    const all = [first]
    while (all.length < 1000) all.push(await startCounter({ limiter, step: 1000, horizonSeconds: 0 }, first))
    const run = new Run()
    for (const { reservoir, engine } of all) {
      await reservoir.draw(1)
      engine.always('reserve', 'unavailable')
      reservoir.take(499, run)
    }
    const go = async (seconds: number) => {
      for (let passed = 0; passed < seconds; passed++) {
        for (const { reservoir } of all) assert.equal(reservoir.take(1, run), 1)
        await first.clock.pass(1000)
      }
    }
    return { all, go }
  }

  const calls = (all: readonly Process[]) => all.reduce((sum, { engine }) => sum + engine.count('reserve'), 0)

  test('call an unavailable engine seldom, as long as no caller waits', async () => {
    const { all, go } = await runLowTogether()
    await go(20)
    const before = calls(all)
    await go(30)
    const perSecond = (calls(all) - before) / 30
    assert.ok(perSecond > 100 && perSecond < 350, `${perSecond} calls per second`)
  })

  test('have all refilled within seconds once the engine is back', async () => {
    const { all, go } = await runLowTogether()
    await go(20)
    for (const { engine } of all) engine.heal()
    await go(6)
    assert.equal(all.filter(({ reservoir }) => reservoir.stats().inHand < 1000).length, 0)
  })

  test('wait for the limiter, and a refill that a caller waits for goes first', async () => {
    const limiter = new Limiter()
    const first = await startCounter({ limiter })
    const all = [first]
    while (all.length < 100) all.push(await startCounter({ limiter }, first))
    for (const { reservoir } of all) await reservoir.draw(1)
    const held = all.map(({ engine }) => engine.hold('reserve'))
    const run = new Run()
    for (const { reservoir } of all) for (let each = 0; each < 6; each++) reservoir.take(1, run)
    await settled()
    const asking = () => all.filter(({ engine }) => engine.count('reserve') === 2)
    assert.deepEqual([asking().length, limiter.waiting], [64, 36])
    const last = all.at(-1)!
    const wanted = last.reservoir.draw(10)
    held[0]!.letGo()
    await settled()
    assert.deepEqual([asking().at(-1), asking().length], [last, 65])
    for (const each of held) each.letGo()
    assert.equal((await wanted).length > 0, true)
  })
})
