import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ErrorCode } from '../../../src/base/errors.ts'
import { busiestMax, GeneratorSurvey } from '../../../src/metrics/generator-survey.ts'
import { History, keptMax } from '../../../src/metrics/history.ts'
import { FakeCatalogue, type FakeGenerator } from '../catalogue/fake-catalogue.ts'
import { FakeClock } from '../fake-clock.ts'

const second = 1000
const stepMs = 10_000

function start() {
  const clock = new FakeClock(Date.UTC(2026, 10, 1) * 1000)
  const catalogue = new FakeCatalogue()
  const errors = new Map<ErrorCode, number>()
  const turns = { take: async () => {} }
  const timeline = { nowUs: () => clock.wallUs() }
  const survey = new GeneratorSurvey(busiestMax, { catalogue, timeline, turns })
  const history = new History({ catalogue, survey, clock, timeline, errors: () => [errors, errors] })
  const add = (name: string, ratePerSecond: number): FakeGenerator => {
    const generator = catalogue.add(name, { kind: 'segment' })
    generator.figures = { ratePerSecond }
    return generator
  }
  const steps = (name?: string) => history.steps(history.step, name)
  return { clock, catalogue, errors, history, survey, add, steps }
}

describe('the last hour of a node', () => {
  test('has what was issued in each step, by all and by each that issues', async () => {
    const { clock, history, add, steps } = start()
    const [order, user] = [add('order', 10), add('user', 5)]
    await clock.pass(2 * second)
    order.next += 100n
    user.next += 10n
    await clock.pass(stepMs)
    order.next += 1n
    await clock.pass(stepMs)
    assert.deepEqual(
      [steps(), steps('order'), steps('user')],
      [
        [110, 1],
        [100, 1],
        [10, 0],
      ],
    )
    assert.equal(history.issued, 111)
    assert.deepEqual(history.busiest, ['order', 'user'])
    assert.equal(history.step, Math.floor(clock.wallUs() / 10_000_000) - 1)
  })

  test('has the errors of all protocols by code', async () => {
    const { clock, errors, history } = start()
    errors.set('DRY', 2)
    await clock.pass(stepMs)
    errors.set('DRY', 3)
    errors.set('NOPERM', 1)
    await clock.pass(stepMs)
    assert.deepEqual(history.errors, { DRY: 6, NOPERM: 2 })
    assert.deepEqual(history.errorSteps(history.step), { DRY: [4, 2], NOPERM: [2] })
  })

  test('keeps the busiest and what is asked for, and of the others those that were so last', async () => {
    const { clock, history, add } = start()
    for (let index = 0; index < keptMax + 300; index++) add(`g${index}`, 1 + index)
    add('idle', 0)
    const unfollow = history.follow(['idle', 'none'], () => {})
    await clock.pass(second)
    assert.equal(history.busiest.length, busiestMax)
    assert.equal(history.textOf('none'), undefined)
    assert.match(history.textOf('idle')!, /^"idle":{"issued":0,/)
    unfollow()
    const all = Array.from({ length: keptMax - busiestMax }, (_, index) => `g${index}`)
    history.follow(all, () => {})
    await clock.pass(second)
    assert.equal(history.textOf('idle'), undefined, 'there is no room for what is not asked for')
    assert.ok([...all, ...history.busiest].every((name) => history.textOf(name) !== undefined))
  })

  test('tells what is in need before the busiest, and when its ids end', async () => {
    const { clock, catalogue, history, add } = start()
    for (let index = 0; index < busiestMax; index++) add(`busy${index}`, 1000)
    const small = catalogue.add('small', { kind: 'segment', max: 1000 })
    small.next = 501n
    small.figures = { ratePerSecond: 0.5, callersPerSecond: 0.5, waiting: 2 }
    await clock.pass(second)
    assert.equal(history.busiest.length, busiestMax)
    assert.equal(history.busiest[0], 'small')
    const { small: figures } = JSON.parse(`{${history.textOf('small')}}`)
    assert.deepEqual(figures, {
      issued: 500,
      buffered: 1000,
      bufferedSeconds: null,
      refills: 1,
      waits: 0,
      kind: 'segment',
      waiting: 2,
      left: 500,
      endsSeconds: 500,
      perSecond: 0.5,
      callersPerSecond: 0.5,
    })
  })

  test('keeps the busiest and what others ask for, however many names a reader asks for', async () => {
    const { clock, history, add } = start()
    for (let index = 0; index < 2 * keptMax; index++) add(`g${index}`, 1)
    for (let index = 0; index < busiestMax; index++) add(`busy${index}`, 1000)
    add('idle', 0)
    history.follow(['idle'], () => {})
    await clock.pass(second)
    for (let from = 0; from < 2 * keptMax; from += 10)
      history.follow(
        Array.from({ length: 10 }, (_, index) => `g${from + index}`),
        () => {},
      )()
    assert.ok(['idle', ...history.busiest].every((name) => history.textOf(name) !== undefined))
  })

  test('goes on with the count of a generator that leaves memory and comes back', async () => {
    const { clock, catalogue, history, add } = start()
    add('order', 1).next += 500n
    await clock.pass(second)
    assert.equal(history.issuedBy('order'), 500)
    catalogue.generators.delete('order')
    await clock.pass(second)
    assert.equal(history.issuedBy('order'), 500)
    add('order', 1).next += 20n
    await clock.pass(second)
    assert.equal(history.issuedBy('order'), 520)
  })

  test('tells the kind of a generator that was dropped and created again as another one', async () => {
    const { clock, catalogue, history, add } = start()
    add('order', 1)
    await clock.pass(second)
    catalogue.generators.delete('order')
    catalogue.add('order', { kind: 'snowflake' })
    await clock.pass(second)
    assert.match(history.textOf('order')!, /"kind":"snowflake"/)
  })

  test('takes the total of a survey that a scrape has brought to its end', async () => {
    const { clock, catalogue, history, survey } = start()
    await clock.pass(second)
    catalogue.survey = function* () {
      for (let part = 0; part < 30; part++) yield
      return { ...catalogue.ended, issued: 7 }
    }
    await clock.pass(second)
    assert.equal(await survey.goOn(), true)
    catalogue.survey = function* () {
      for (;;) yield
    }
    await clock.pass(5 * second)
    assert.equal(history.issued, 7)
  })

  test('tells who follows once a second, until that ends', async () => {
    const { clock, history } = start()
    let told = 0
    const unfollow = history.follow([], () => {
      told++
    })
    await clock.pass(3 * second)
    unfollow()
    await clock.pass(3 * second)
    assert.equal(told, 3)
    history.close()
    assert.equal(clock.timers, 0)
  })

  test('looks at a bounded number of generators in a second', async () => {
    const { clock, catalogue, history } = start()
    let parts = 0
    catalogue.survey = function* () {
      for (let part = 0; part < 200; part++) {
        parts++
        yield
      }
      return { ...catalogue.ended, issued: 7 }
    }
    await clock.pass(second)
    const first = parts
    assert.ok(first <= 20, `${first}`)
    await clock.pass(4 * second)
    assert.equal(history.issued, 0)
    await clock.pass(30 * second)
    assert.equal(history.issued, 7)
  })
})
