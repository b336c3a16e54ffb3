/** The series of generators: which are shown, and that whatever happens their counts only rise and miss nothing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Turns } from '../../../src/base/turns.ts'
import type { GeneratorInUse, Sample } from '../../../src/catalogue/catalogue.ts'
import { EndedGenerators } from '../../../src/catalogue/ended-figures.ts'
import { sampleOf } from '../../../src/catalogue/survey.ts'
import { type IssuerStats, idleStats } from '../../../src/issuing/issuer.ts'
import { byNeed, generatorMetrics } from '../../../src/metrics/generator-series.ts'
import { GeneratorSurvey, otherGenerators } from '../../../src/metrics/generator-survey.ts'
import { Dice } from '../dice.ts'

const minuteUs = 60_000_000
const issuedAt = generatorMetrics.findIndex(({ name }) => name === 'fahao_issued_ids_total')

/** Generators in memory, and how a scrape shows them. */
class World {
  readonly open = new Map<string, IssuerStats>()
  readonly ended = new EndedGenerators()
  readonly survey: GeneratorSurvey
  /** How many generators are seen in a part of a survey, and what happens between two. */
  together = Number.POSITIVE_INFINITY
  between = async () => {}
  nowUs = 0
  issued = 0

  constructor(seriesMax: number) {
    const { open, ended } = this
    const world = this
    const shown = (name: string) => {
      const stats = open.get(name)
      return stats && generatorOf(name, stats)
    }
    function* survey(see: (sample: Sample) => void) {
      const left = { ...ended.figures }
      let looked = 0
      for (const [name, stats] of open) {
        see(sampleOf(generatorOf(name, stats), world.nowUs))
        if (++looked % world.together === 0) yield
      }
      return left
    }
    const turns = { take: () => world.between() } as Turns
    const timeline = { nowUs: () => world.nowUs }
    this.survey = new GeneratorSurvey(seriesMax, { catalogue: { survey, shown }, timeline, turns })
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

  /** A whole survey, and what a scrape shows after it. */
  async look(): Promise<Record<string, number>> {
    while (!(await this.survey.goOn()));
    this.survey.assertInvariants()
    return this.counts()
  }

  counts(mayTell?: (name: string) => boolean): Record<string, number> {
    return Object.fromEntries(
      this.survey.series(mayTell).flatMap(({ name, values }) => {
        const value = values[issuedAt]
        return value === undefined ? [] : [[name, value]]
      }),
    )
  }
}

function generatorOf(name: string, stats: IssuerStats): GeneratorInUse {
  const definition = { kind: 'sequence', increment: 1, start: 1n, max: 1_000_000_000_000n }
  const lastIssued = () => BigInt(stats.issued)
  return {
    name,
    kind: 'sequence',
    mode: 'local',
    definition,
    stats: () => stats,
    lastIssued,
  } as GeneratorInUse
}

describe('the series of generators', () => {
  test('count what was counted of generators that have left memory among all others', async () => {
    const world = new World(10)
    world.set('a', { issued: 7, reserved: 10, released: 3 })
    await world.close('a')
    await world.look()
    const shown = generatorMetrics.flatMap((metric, at) =>
      world.survey.series().flatMap(({ name, values }) => {
        const value = values[at]
        return value === undefined ? [] : [[metric.name, name, value]]
      }),
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
    assert.equal(world.survey.series()[0]!.sample, undefined)
    world.set('a', { issued: 4 })
    await world.look()
    assert.deepEqual(world.counts(), { a: 14 })
    await world.close('a')
    world.set('a', { issued: 2 })
    assert.deepEqual(world.counts(), { a: 16 })
  })

  test('end an hour after the generator has left memory, though it was in need', async () => {
    const world = new World(1)
    world.set('a', { issued: 10, waiting: 1 })
    await world.look()
    await world.close('a')
    world.nowUs = 61 * minuteUs
    assert.deepEqual(await world.look(), {})
  })

  test('leave what no reader was told of to all others', async () => {
    const world = new World(1)
    world.set('a', { issued: 10 })
    while (!(await world.survey.goOn()));
    world.set('b', { issued: 20, ratePerSecond: 1 })
    world.nowUs = 61 * minuteUs
    assert.deepEqual(await world.look(), { b: 20, [otherGenerators]: 10 })
  })

  test('have what all others have counted also while a shown one counts during the survey', async () => {
    const world = new World(1)
    world.set('a', { issued: 10, ratePerSecond: 1 })
    world.set('x', { issued: 1 })
    assert.deepEqual(await world.look(), { a: 10, [otherGenerators]: 1 })
    world.set('x', { issued: 6 })
    world.together = 1
    world.between = async () => {
      world.set('a', { issued: world.open.get('a')!.issued + 1000 })
      world.counts()
    }
    assert.equal((await world.look())[otherGenerators], 6)
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

  test('are fewer for a reader that may not name every generator, and the same for all others', async () => {
    const world = new World(2)
    for (const [name, issued] of Object.entries({ 'a:1': 5, 'b:1': 7, 'a:2': 1 })) world.set(name, { issued })
    await world.look()
    world.set('a:1', { issued: 6 })
    const ofA = (name: string) => name.startsWith('a:')
    for (let readers = 0; readers < 100; readers++) assert.deepEqual(world.counts(ofA), { 'a:1': 6 })
    assert.deepEqual(world.counts(), { 'b:1': 7, 'a:1': 6, [otherGenerators]: 1 })
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

  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8])
    test(`only rise, and never exceed what was issued, whatever happens during a survey (seed ${seed})`, async () => {
      const dice = new Dice(seed)
      const world = new World(4)
      const newest = new Map<string, number>()
      const read = () => {
        for (const [series, value] of Object.entries(world.counts())) {
          assert.ok(value >= (newest.get(series) ?? 0), `${series} fell to ${value}`)
          newest.set(series, value)
        }
        return [...newest.values()].reduce((before, value) => before + value, 0)
      }
      const change = async () => {
        const name = `n${dice.below(16)}`
        const { issued } = world.open.get(name) ?? idleStats
        const act = dice.below(12)
        if (act < 2) await world.close(name)
        else if (act < 10) world.set(name, { issued: issued + dice.below(1000) })
        else if (act === 10) world.nowUs += dice.below(20) * minuteUs
        else world.counts((each) => each < 'n3')
        if (dice.below(4) === 0) assert.ok(read() <= world.issued)
      }
      for (let surveys = 0; surveys < 60; surveys++) {
        world.together = 1 + dice.below(5)
        world.between = async () => {
          for (let changes = dice.below(4); changes > 0; changes--) await change()
        }
        await world.look()
        assert.ok(read() <= world.issued)
        world.between = async () => {}
        await world.look()
        assert.equal(read(), world.issued)
      }
    })
})

test('who ends next comes first of those in need, and what has ended follows; callers of a group commit always wait', () => {
  const sample = (name: string, endsSeconds: number | undefined, more: Partial<Sample> = {}): Sample => ({
    ...sampleOf(generatorOf(name, idleStats), 0),
    endsSeconds,
    ...more,
  })
  const waiting = { stats: { ...idleStats, waiting: 1 } }
  const all = [
    sample('quiet', undefined),
    sample('group', undefined, { ...waiting, mode: 'group commit' }),
    sample('waits', undefined, { ...waiting, mode: 'local' }),
    sample('ended', 0),
    sample('later', 300 * 86_400),
    sample('next', 60),
  ]
  const order = all.sort(byNeed).map(({ name }) => name)
  assert.deepEqual(order.slice(0, 4), ['next', 'later', 'ended', 'waits'])
})
