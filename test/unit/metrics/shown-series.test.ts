/** The series of generators: which are shown, and that whatever happens their counts only rise and miss nothing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Access, everything } from '../../../src/auth/access.ts'
import type { Turns } from '../../../src/base/turns.ts'
import type { GeneratorInUse } from '../../../src/catalogue/catalogue.ts'
import { EndedGenerators } from '../../../src/catalogue/ended-figures.ts'
import { type IssuerStats, idleStats } from '../../../src/issuing/issuer.ts'
import { generatorMetrics } from '../../../src/metrics/generator-series.ts'
import { otherGenerators, ShownSeries } from '../../../src/metrics/shown-series.ts'
import { Dice } from '../dice.ts'

const turns = { take: () => Promise.resolve() } as unknown as Turns
const minuteUs = 60_000_000
const issuedMetric = generatorMetrics.find(({ name }) => name === 'fahao_issued_ids_total')!

/** Generators in memory, and how a scrape shows them. */
class World {
  readonly open = new Map<string, IssuerStats>()
  readonly ended = new EndedGenerators()
  readonly series: ShownSeries
  nowUs = 0
  issued = 0

  constructor(seriesMax: number) {
    this.series = new ShownSeries(seriesMax)
  }

  set(name: string, figures: Partial<IssuerStats>): void {
    const before = this.open.get(name) ?? idleStats
    this.issued += Math.max(0, (figures.issued ?? before.issued) - before.issued)
    this.open.set(name, { ...before, ...figures })
  }

  async close(name: string): Promise<void> {
    const stats = this.open.get(name)
    if (stats === undefined) return
    await this.ended.add({ stats: () => stats }, async () => {})
    this.open.delete(name)
  }

  async look(access: Access = everything): Promise<void> {
    const { nowUs, ended } = this
    const generators = [...this.open].map(([name, stats]) => ({
      name,
      definition: { kind: 'sequence', increment: 1, max: 1_000_000_000_000n },
      stats: () => stats,
      lastIssued: () => BigInt(stats.issued),
    }))
    const options = { nowUs, turns, ended: ended.figures }
    await this.series.look(generators as unknown as GeneratorInUse[], access, options)
    this.series.assertInvariants()
  }

  counts(): Record<string, number> {
    return Object.fromEntries(
      this.series.valuesOf(issuedMetric).map(({ generator, value }) => [generator, value]),
    )
  }
}

describe('the series of generators', () => {
  test('count what was counted of generators that have left memory among all others', async () => {
    const world = new World(10)
    world.set('a', { issued: 7, reserved: 10, released: 3 })
    await world.close('a')
    await world.look()
    const shown = generatorMetrics.flatMap((metric) =>
      world.series.valuesOf(metric).map(({ generator, value }) => [metric.name, generator, value]),
    )
    assert.deepEqual(shown, [
      ['fahao_issued_ids_total', otherGenerators, 7],
      ['fahao_reserved_values_total', otherGenerators, 10],
      ['fahao_released_values_total', otherGenerators, 3],
    ])
  })

  test('stay for an hour after another one is used more, and count on from what they had', async () => {
    const world = new World(1)
    world.set('a', { issued: 10 })
    world.set('b', { issued: 5 })
    await world.look()
    world.set('b', { issued: 100 })
    world.nowUs = 59 * minuteUs
    await world.look()
    assert.deepEqual(world.counts(), { a: 10, [otherGenerators]: 100 })
    world.nowUs = 60 * minuteUs
    await world.look()
    world.set('b', { issued: 130 })
    await world.look()
    // What b has issued before is a count of all others.
    assert.deepEqual(world.counts(), { b: 30, [otherGenerators]: 100 })
    world.set('a', { issued: 1000 })
    world.nowUs = 121 * minuteUs
    await world.look()
    world.set('a', { issued: 1003 })
    await world.look()
    assert.deepEqual(world.counts(), { a: 13, [otherGenerators]: 1090 })
  })

  test('stay although the generator leaves memory, and count on when it is opened again', async () => {
    const world = new World(1)
    world.set('a', { issued: 10 })
    await world.look()
    await world.close('a')
    world.nowUs = 30 * minuteUs
    await world.look()
    assert.deepEqual(world.counts(), { a: 10 })
    assert.deepEqual(world.series.samples, [])
    world.set('a', { issued: 4 })
    await world.look()
    assert.deepEqual(world.counts(), { a: 14 })
  })

  const needs: [need: string, figures: Partial<IssuerStats>][] = [
    ['ends soon', { ratePerSecond: 1e9 }],
    ['has callers that wait', { waiting: 1 }],
    ['fails', { refillsFailing: 1 }],
  ]
  for (const [need, figures] of needs)
    test(`show a generator that ${need} beside the most used ones`, async () => {
      const world = new World(2)
      for (let at = 0; at < 500; at++) world.set(`n${at}`, { issued: 100 + at })
      world.set('needy', { issued: 1, ...figures })
      await world.look()
      assert.deepEqual(Object.keys(world.counts()), ['needy', 'n499', 'n498', otherGenerators])
    })

  test('do not fall while a generator is closed, which is neither open nor counted for a moment', async () => {
    const world = new World(0)
    for (const name of ['a', 'b']) world.set(name, { issued: 5 })
    await world.look()
    const stats = world.open.get('a')!
    world.open.delete('a')
    await world.look()
    assert.deepEqual(world.counts(), { [otherGenerators]: 10 })
    world.open.set('a', stats)
    await world.close('a')
    world.set('b', { issued: 6 })
    await world.look()
    assert.deepEqual(world.counts(), { [otherGenerators]: 11 })
  })

  test('end at once when the reader may not name the generator any more', async () => {
    const world = new World(5)
    for (const name of ['a:1', 'b:1']) world.set(name, { issued: 5 })
    await world.look(new Access('reader', new Set(), ['*']))
    world.set('b:1', { issued: 7 })
    await world.look(new Access('reader', new Set(), ['a:*']))
    assert.deepEqual(world.counts(), { 'a:1': 5, [otherGenerators]: 2 })
  })

  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8])
    test(`only rise, and together miss nothing, whatever is issued, opened and closed (seed ${seed})`, async () => {
      const dice = new Dice(seed)
      const world = new World(4)
      const newest = new Map<string, number>()
      for (let step = 0; step < 400; step++) {
        // Fewer names than are remembered.
        const name = `n${dice.below(16)}`
        const { issued } = world.open.get(name) ?? idleStats
        const act = dice.below(10)
        if (act === 0) await world.close(name)
        else if (act < 8)
          world.set(name, { issued: issued + dice.below(1000), waiting: Number(dice.below(20) === 0) })
        else {
          world.nowUs += dice.below(40) * minuteUs
          await world.look()
          for (const [series, value] of Object.entries(world.counts())) {
            assert.ok(value >= (newest.get(series) ?? 0), `${series} fell to ${value}`)
            newest.set(series, value)
          }
          const sum = [...newest.values()].reduce((before, value) => before + value, 0)
          assert.equal(sum, world.issued)
        }
      }
    })
})
