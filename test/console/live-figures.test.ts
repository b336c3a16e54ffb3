import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type History, LiveFigures, sumOf, type Tick } from '../../console/src/live-figures.ts'
import type { NodeEvent } from '../../src/metrics/node-events.ts'

const startMs = 1_800_000_000_000
const history = {
  type: 'history',
  node: 'n',
  stepSeconds: 10,
  endMs: startMs,
  issued: [null, 100, 200],
  errors: { DRY: [0, 0, 1] },
  generators: { order: [null, 40, 50] },
} as const

/** Figures that begin with a history. */
function begun(...histories: History[]): LiveFigures {
  const figures = new LiveFigures()
  for (const each of histories) figures.take(each)
  return figures
}

function tick(seconds: number, issued: number, ofOrder: number, dry = 0): Tick {
  const order = {
    kind: 'sequence',
    issued: ofOrder,
    buffered: 1000,
    bufferedSeconds: 60,
    refills: 1,
    waits: 0,
    left: 5000,
    endsSeconds: 600,
  }
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
    const figures = begun(history)
    for (const each of [tick(1, 1000, 10), tick(2, 1030, 15), tick(9, 1100, 20, 2), tick(11, 1500, 30)])
      figures.take(each)
    assert.deepEqual(figures.issued, [null, 100, 200, 100, 400])
    assert.deepEqual(figures.generators.get('order'), [null, 40, 50, 10, 10])
    assert.deepEqual(figures.errors.get('DRY'), [0, 0, 1, 2, null])
    assert.equal(figures.endsMs.at(-1), startMs + 20_000)
  })

  test('shows rates of whole steps only, and says nothing where nothing is known', () => {
    const figures = begun(history)
    figures.take(tick(1, 1000, 10))
    figures.take(tick(2, 1030, 15))
    assert.deepEqual(figures.rates(figures.issued), [null, 10, 20])
    assert.equal(figures.times.length, 3)
    assert.equal(figures.times.at(-1), startMs / 1000)
  })

  test('takes a smaller total for a restart, and counts nothing', () => {
    const figures = begun(history)
    for (const each of [tick(1, 1000, 10), tick(2, 1040, 15), tick(3, 5, 1), tick(4, 9, 2)])
      figures.take(each)
    assert.equal(figures.issued.at(-1), 44)
    assert.equal(figures.generators.get('order')!.at(-1), 6)
  })

  test('takes rates of now over the newest seconds, of all and of a generator', () => {
    const figures = begun(history)
    assert.equal(figures.rate(), undefined)
    for (const [second, issued] of [1000, 1000, 1010, 1040, 1070].entries())
      figures.take(tick(second, issued, issued / 10))
    assert.equal(figures.rate(), 70 / 3)
    assert.equal(figures.rate('order'), 7 / 3)
    assert.equal(figures.rate('absent'), undefined)
  })

  test('begins a row for a code or a name that the history did not have', () => {
    const figures = begun({ ...history, errors: {}, generators: {} })
    figures.take(tick(1, 1, 1, 0))
    figures.take(tick(2, 2, 2, 3))
    assert.deepEqual(figures.errors.get('DRY'), [null, null, null, 3])
    assert.deepEqual(figures.generators.get('order'), [null, null, null, 1])
  })

  test('keeps an hour at most, with all rows of one length', () => {
    const figures = begun(history)
    for (let second = 1; second < 5000; second += 5) figures.take(tick(second, second, second))
    const rows = [figures.issued, ...figures.errors.values(), ...figures.generators.values()]
    assert.deepEqual([...new Set([figures.endsMs.length, ...rows.map(({ length }) => length)])], [360])
    figures.take(tick(50_000, 50_000, 50_000))
    assert.equal(figures.endsMs.at(-1), startMs + 50_000_000)
    assert.equal(figures.endsMs.length, 360)
    assert.equal(sumOf(figures.issued, 1), 50_000 - 4996)
  })

  test('adds up what all nodes tell, by the ends of their steps', () => {
    const other = {
      ...history,
      node: 'm',
      endMs: startMs + 10_000,
      issued: [7, 8],
      generators: { order: [1, 2], user: [3] },
    }
    const figures = begun(history, other)
    assert.deepEqual(figures.issued, [null, 100, 207, 8])
    assert.deepEqual(figures.generators.get('order'), [null, 40, 51, 2])
    assert.deepEqual(figures.generators.get('user'), [null, null, null, 3])
    assert.equal(figures.endsMs.at(-1), startMs + 10_000)
    for (const [second, issued] of [10, 20, 30].entries())
      for (const node of ['n', 'm']) figures.take({ ...tick(second + 1, issued, issued), node })
    assert.equal(figures.rate(), 20)
    assert.equal(figures.now.get('order')!.buffered, 2000)
    assert.equal(figures.now.get('order')!.bufferedSeconds, 60)
    assert.equal(sumOf(figures.issued), 315 + 40)
  })

  test('ends a counter as soon as all nodes together use it up, and a clock when its bits end', () => {
    const figures = begun(history, { ...history, node: 'm' })
    const { order } = tick(1, 1, 1).generators
    const told = { ...tick(1, 1, 1), generators: { order: order!, event: { ...order!, left: null } } }
    for (const node of ['n', 'm']) figures.take({ ...told, node })
    assert.equal(figures.now.get('order')!.endsSeconds, 300)
    assert.equal(figures.now.get('event')!.endsSeconds, 600)
    figures.take({ ...told, node: 'm', generators: { order: { ...order!, endsSeconds: null } } })
    assert.equal(figures.now.get('order')!.endsSeconds, 600)
  })

  test('names a node that is away, keeps what it has issued, and leaves it out of now', () => {
    const figures = begun(history, { ...history, node: 'm' })
    for (const second of [1, 2])
      for (const node of ['n', 'm']) figures.take({ ...tick(second, second * 10, 0), node })
    figures.take({ type: 'away', node: 'm', atMs: startMs + 3000, reason: 'it does not answer' })
    assert.equal(figures.rate(), 10)
    assert.equal(sumOf(figures.issued), 620)
    const away = () => figures.nodes.flatMap(({ id, away: line }) => (line === undefined ? [] : [id]))
    assert.deepEqual(away(), ['m'])
    figures.take(tick(20, 30, 0))
    assert.deepEqual([away(), figures.nodes.length], [[], 1], 'it is no part of the cluster any more')
    figures.take({ ...history, node: 'm', issued: [1] })
    assert.equal(figures.nodes.length, 2)
  })

  test('has a change of a leader once, however many nodes have seen it, and what each node was', () => {
    const lead = (node: string, atMs: number) =>
      ({ kind: 'lead', node, atMs, shard: 3, epoch: 8, from: 'x', to: 'y', how: 'failover' }) as const
    const ill = {
      kind: 'health',
      node: 'm',
      atMs: startMs - 5000,
      state: 'down',
      reason: 'no store',
    } as const
    const events: NodeEvent[] = [lead('n', startMs - 1000)]
    const figures = begun(
      { ...history, events },
      { ...history, node: 'm', events: [ill, lead('m', startMs)] },
    )
    figures.take({ ...tick(1, 1, 1), events })
    assert.deepEqual(
      figures.events.map(({ kind, atMs }) => [kind, atMs - startMs]),
      [
        ['lead', -1000],
        ['health', -5000],
      ],
    )
  })

  test('counts a process once that joins its cluster again under another id', () => {
    const again = { ...history, node: 'm', process: 'one' }
    const figures = begun({ ...history, process: 'one' })
    figures.take(tick(1, 1000, 10))
    figures.take(again)
    assert.deepEqual(figures.issued, history.issued)
    assert.deepEqual([...figures.now.keys()], [])
    assert.deepEqual(
      figures.nodes.map(({ id }) => id),
      ['m'],
    )
  })
})
