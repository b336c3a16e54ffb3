/** The sizes of refills, for loops that take ids as fast as they come, and for rates that rise, stay and fall. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Demand } from '../../../client/src/demand.ts'

type Use = {
  /** Ids per second that callers take while there are any. */
  readonly perSecond: number
  /** For how long; Infinity: until `count`. */
  readonly seconds: number
}

/** A refill, with what it was asked for. */
type Refill = { readonly atSeconds: number; readonly size: number; readonly buffered: number }

/** A generator whose ids are used as told, each refill of which takes `replySeconds`. */
class Simulation {
  readonly refills: Refill[] = []
  issued = 0
  buffered = 1000
  nowSeconds = 0
  /** Ids that were leased in all. */
  leased = 1000
  readonly #horizonSeconds: number
  readonly #replySeconds: number
  readonly #demand: Demand

  constructor(horizonSeconds: number, replySeconds: number) {
    this.#horizonSeconds = horizonSeconds
    this.#replySeconds = replySeconds
    this.#demand = new Demand(horizonSeconds * 1000, 0)
  }

  run({ perSecond, seconds }: Use, countMax = Number.POSITIVE_INFINITY): void {
    const end = this.nowSeconds + seconds
    while (this.nowSeconds < end && this.issued < countMax) {
      // A refill is due at the low mark, and before the deadline of what is buffered.
      const untilLow = Math.max(0, this.buffered - this.#demand.lowMark + 1) / perSecond
      this.#pass(Math.min(untilLow, this.#horizonSeconds, end - this.nowSeconds), perSecond)
      if (this.nowSeconds >= end) return
      this.#refill(perSecond)
    }
  }

  #refill(perSecond: number): void {
    const { buffered, issued, nowSeconds } = this
    const size = this.#demand.size({ buffered, waiting: 0, least: 0, issued, monoUs: nowSeconds * 1_000_000 })
    this.refills.push({ atSeconds: nowSeconds, size, buffered })
    this.#pass(this.#replySeconds, perSecond)
    this.buffered += size
    this.leased += size
  }

  #pass(seconds: number, perSecond: number): void {
    const used = Math.min(this.buffered, perSecond * seconds)
    this.buffered -= used
    this.issued += used
    this.nowSeconds += seconds
  }
}

const replySeconds = fc.double({ min: 0.0001, max: 0.02, noNaN: true })
/** A number of any magnitude between two. */
const between = (min: number, max: number) =>
  fc.double({ min: Math.log(min), max: Math.log(max), noNaN: true }).map(Math.exp)

describe('refills', () => {
  test('of a loop that takes ids as fast as they come are at most ten for the first 100,000', () => {
    fc.assert(
      fc.property(between(100_000, 100_000_000), replySeconds, (perSecond, reply) => {
        const simulation = new Simulation(60, reply)
        simulation.run({ perSecond, seconds: Number.POSITIVE_INFINITY }, 100_000)
        assert.ok(simulation.refills.length <= 10, JSON.stringify(simulation.refills))
      }),
    )
  })

  test('of a burst that is too short to be a rate lease at most four times what it used', () => {
    fc.assert(
      fc.property(between(1000, 1_000_000_000), replySeconds, (perSecond, reply) => {
        const simulation = new Simulation(60, reply)
        while (simulation.nowSeconds < 0.03) {
          simulation.run({ perSecond, seconds: 0.001 })
          assert.ok(
            simulation.leased <= 2000 + 4 * simulation.issued,
            `${simulation.leased} leased, ${simulation.issued} used`,
          )
        }
      }),
    )
  })

  test('at a steady rate keep a horizon buffered, and come once a horizon', () => {
    fc.assert(
      fc.property(between(2000, 10_000_000), between(1, 100), (perSecond, horizon) => {
        const simulation = new Simulation(horizon, 0.001)
        simulation.run({ perSecond, seconds: 60 + 3 * horizon })
        simulation.refills.length = 0
        simulation.run({ perSecond, seconds: 10 * horizon })
        assert.ok(simulation.refills.length <= 11, JSON.stringify(simulation.refills))
        for (const { buffered } of simulation.refills)
          assert.ok(buffered >= 0.9 * perSecond * horizon, `${buffered} left`)
        assert.ok(simulation.buffered <= 2.2 * perSecond * horizon)
      }),
    )
  })

  test('shrink to the new rate when a rate falls', () => {
    fc.assert(
      fc.property(between(1000, 10_000_000), between(10, 10_000), (perSecond, fall) => {
        const simulation = new Simulation(60, 0.001)
        simulation.run({ perSecond, seconds: 120 })
        const before = simulation.refills.at(-1)!.size
        assert.ok(before > 30 * perSecond)
        const slower = { perSecond: perSecond / fall, seconds: 1800 }
        simulation.run(slower)
        const { size } = simulation.refills.at(-1)!
        assert.ok(size <= Math.max(1000, 1.2 * 120 * slower.perSecond), `${before}, then ${size}`)
      }),
    )
  })

  test('return to the least after a burst that is over', () => {
    const simulation = new Simulation(60, 0.001)
    simulation.run({ perSecond: 100_000_000, seconds: 1 }, 100_000)
    assert.ok(simulation.refills.at(-1)!.size >= 32_000)
    simulation.run({ perSecond: 0.01, seconds: 600 })
    assert.equal(simulation.refills.at(-1)!.size, 4)
  })
})

describe('a refill', () => {
  const need = { buffered: 0, waiting: 0, least: 0, issued: 0, monoUs: 0 }

  test('has the ids that callers wait for, and the size doubles because they had to wait', () => {
    const demand = new Demand(60_000, 0)
    assert.equal(demand.size({ ...need, waiting: 50_000 }), 50_000)
    assert.equal(demand.size({ ...need, waiting: 1 }), 4000)
  })

  test('is not larger because another one is due at once, without use in between', () => {
    const demand = new Demand(60_000, 0)
    assert.equal(demand.size({ ...need, issued: 5000, monoUs: 1000 }), 2000)
    assert.equal(demand.size({ ...need, issued: 5000, monoUs: 2000 }), 1000)
  })

  test('doubles in a burst after a long calm too', () => {
    const demand = new Demand(60_000, 0)
    const calm = { ...need, buffered: 500, issued: 500, monoUs: 600_000_000 }
    assert.equal(demand.size(calm), 1000)
    assert.equal(demand.size({ ...calm, issued: 1500, monoUs: 600_001_000 }), 2000)
  })

  test('of a generator that is used little is small, and soon large again in a burst', () => {
    const demand = new Demand(60_000, 0)
    const sizes: number[] = []
    let issued = 0
    let seconds = 0
    const refill = (waiting: number) =>
      sizes.push(demand.size({ ...need, waiting, issued, monoUs: seconds * 1_000_000 }))
    for (let calls = 1; calls <= 5; calls++) {
      seconds += 130
      refill(1)
      issued++
    }
    for (let refills = 1; refills <= 4; refills++) {
      seconds += 0.001
      issued += sizes.at(-1)!
      refill(1)
    }
    assert.deepEqual(sizes, [125, 16, 4, 4, 4, 32, 256, 1000, 2000])
  })

  test('that failed does not make the next one larger', () => {
    const demand = new Demand(60_000, 0)
    for (let failures = 0; failures < 50; failures++) {
      assert.equal(demand.size({ ...need, waiting: 1, issued: 1000, monoUs: 1000 }), 2000)
      demand.failed()
    }
  })

  test('is at most eight times the one before, however high the rate', () => {
    const demand = new Demand(60_000, 0)
    assert.equal(demand.size({ ...need, issued: 10_000_000, monoUs: 60_000_000 }), 8000)
    assert.equal(demand.size({ ...need, issued: 20_000_000, monoUs: 120_000_000 }), 64_000)
  })

  test('is due at half a step, or at a horizon of the rate if that is more', () => {
    const demand = new Demand(60_000, 0)
    assert.equal(demand.lowMark, 500)
    demand.observe(100_000, 1_000_000_000)
    assert.ok(Math.abs(demand.lowMark - 6000) < 1)
    assert.ok(Math.abs(demand.perSecond - 100) < 0.01)
  })
})
