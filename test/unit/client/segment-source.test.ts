/** How much a source of a segment has leased when the service goes away. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Definition, definitionOf } from '../../../client/src/definition.ts'
import type { Grant } from '../../../client/src/requests.ts'
import { SegmentSource } from '../../../client/src/segment-source.ts'
import { CopyDetector } from '../../../src/base/copy-detector.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { Run } from '../../../src/ids/run.ts'
import { FakeClock } from '../fake-clock.ts'
import { deferred } from './fake-service.ts'

const horizonMs = 60_000

/** A service that leases ranges until it is away, and a source that takes ids of it. */
class Leasing {
  readonly clock = new FakeClock()
  readonly source: SegmentSource
  isAway = false
  #next = 1n
  readonly #run = new Run()

  constructor() {
    const answer = this.#grant(1000)
    this.source = new SegmentSource(
      {
        name: 'user',
        clock: this.clock,
        copies: new CopyDetector({ clock: this.clock, onCopy: () => {} }),
        timeoutMs: 10_000,
        horizonMs,
        onEvent: () => {},
        onAltered: () => {},
        definition: this.#definition,
        lease: async (count) => {
          if (this.isAway) throw new FahaoError('UNAVAILABLE', 'away')
          return this.#grant(count)
        },
        returnLease: async () => true,
        onChange: () => assert.fail('the definition is the same'),
      },
      answer,
    )
  }

  /** Takes ids at a rate for so many seconds; returns how many were missing. */
  async takeFor(seconds: number, perSecond: number): Promise<number> {
    let missing = 0
    let due = 0
    for (let tenth = 0; tenth < seconds * 10; tenth++) {
      for (due += perSecond / 10; due >= 1; ) {
        const taken = this.source.take(Math.floor(due), this.#run)
        if (taken === 0) {
          missing += Math.floor(due)
          due %= 1
        } else due -= taken
      }
      await this.clock.pass(100)
    }
    return missing
  }

  get #definition(): Definition {
    return definitionOf(this.#grant(0).grant)
  }

  #grant(count: number) {
    const range = { start: this.#next, end: this.#next + BigInt(count) }
    this.#next = range.end
    const grant: Grant = {
      kind: 'segment',
      incarnation: '1',
      definition: {},
      nowUs: this.clock.wall,
      lease: `lease-${range.start}`,
      ranges: [range],
      ttlMs: 2 * horizonMs,
      key: undefined,
      worker: undefined,
      fromUs: undefined,
      untilUs: undefined,
    }
    return { grant, sentUs: this.clock.mono }
  }
}

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
  const done = deferred<number>()
  void leasing.source
    .draw(5000, {})
    .then((runs) => done.resolve(runs.reduce((sum, { count }) => sum + count, 0)))
  assert.equal(await done.promise, 5000)
})
