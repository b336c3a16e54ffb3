import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LiveFigures, sumOf, type Tick } from '../../console/src/live-figures.ts'

const startMs = 1_800_000_000_000
const history = {
  type: 'history',
  stepSeconds: 10,
  endMs: startMs,
  issued: [null, 100, 200],
  errors: { DRY: [0, 0, 1] },
  generators: { order: [null, 40, 50] },
} as const

function tick(seconds: number, issued: number, ofOrder: number, dry = 0): Tick {
  const order = { issued: ofOrder, buffered: 1000, bufferedSeconds: 60, refills: 1, waits: 0 }
  const atMs = startMs + seconds * 1000
  return {
    type: 'tick',
    atMs,
    node: 'n',
    state: 'ready',
    issued,
    errors: { DRY: dry },
    generators: { order },
  }
}

describe('figures of a live stream', () => {
  test('counts the differences of totals into steps that follow the history', () => {
    const figures = new LiveFigures(history)
    for (const each of [tick(1, 1000, 10), tick(2, 1030, 15), tick(9, 1100, 20, 2), tick(11, 1500, 30)])
      figures.add(each)
    assert.deepEqual(figures.issued, [null, 100, 200, 100, 400])
    assert.deepEqual(figures.generators.get('order'), [null, 40, 50, 10, 10])
    assert.deepEqual(figures.errors.get('DRY'), [0, 0, 1, 2, null])
    assert.equal(figures.endsMs.at(-1), startMs + 20_000)
  })

  test('shows rates of whole steps only, and says nothing where nothing is known', () => {
    const figures = new LiveFigures(history)
    figures.add(tick(1, 1000, 10))
    figures.add(tick(2, 1030, 15))
    assert.deepEqual(figures.rates(figures.issued), [null, 10, 20])
    assert.equal(figures.times.length, 3)
    assert.equal(figures.times.at(-1), startMs / 1000)
  })

  test('takes a smaller total for a restart, and counts nothing', () => {
    const figures = new LiveFigures(history)
    for (const each of [tick(1, 1000, 10), tick(2, 1040, 15), tick(3, 5, 1), tick(4, 9, 2)]) figures.add(each)
    assert.equal(figures.issued.at(-1), 44)
    assert.equal(figures.generators.get('order')!.at(-1), 6)
  })

  test('takes rates of now over the newest seconds, of all and of a generator', () => {
    const figures = new LiveFigures(history)
    assert.equal(figures.rate(), undefined)
    for (const [second, issued] of [1000, 1000, 1010, 1040, 1070].entries())
      figures.add(tick(second, issued, issued / 10))
    assert.equal(figures.rate(), 70 / 3)
    assert.equal(figures.rate('order'), 7 / 3)
    assert.equal(figures.rate('absent'), undefined)
  })

  test('begins a row for a code or a name that the history did not have', () => {
    const figures = new LiveFigures({ ...history, errors: {}, generators: {} })
    figures.add(tick(1, 1, 1, 0))
    figures.add(tick(2, 2, 2, 3))
    assert.deepEqual(figures.errors.get('DRY'), [null, null, null, 3])
    assert.deepEqual(figures.generators.get('order'), [null, null, null, 1])
  })

  test('keeps an hour at most, with all rows of one length', () => {
    const figures = new LiveFigures(history)
    for (let second = 1; second < 5000; second += 5) figures.add(tick(second, second, second))
    const rows = [figures.issued, ...figures.errors.values(), ...figures.generators.values()]
    assert.deepEqual([...new Set([figures.endsMs.length, ...rows.map(({ length }) => length)])], [360])
    figures.add(tick(50_000, 50_000, 50_000))
    assert.equal(figures.endsMs.at(-1), startMs + 50_000_000)
    assert.equal(sumOf(figures.issued, 1), 50_000 - 4996)
  })
})
