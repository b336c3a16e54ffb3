import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NodeFigures } from '../../../src/cli/node-figures.ts'
import { topLines } from '../../../src/cli/verbs/top.ts'

type Generators = Readonly<Record<string, { issued: number; lasts?: number; left?: number; ends?: number }>>

/** What is told of the nodes that a test has: the first one is asked. */
class Nodes extends NodeFigures {
  constructor(url = 'http://n0') {
    super({ url })
  }

  history(node: string, process = node): this {
    const line = { type: 'history', node, process, stepSeconds: 10, issued: [], errors: {}, generators: {} }
    this.take(JSON.stringify(line))
    return this
  }

  tick(node: string, atMs: number, generators: Generators, more: object = {}): this {
    const figures = Object.entries(generators).map(
      ([name, { issued, lasts = null, left = null, ends = null }]) => [
        name,
        {
          kind: 'segment',
          issued,
          perSecond: 7,
          callersPerSecond: 1,
          buffered: 1000,
          bufferedSeconds: lasts,
          waiting: 2,
          left,
          endsSeconds: ends,
        },
      ],
    )
    const own = { errors: {}, version: '1', cpuSeconds: atMs / 10_000, memoryBytes: 2 ** 20, state: 'ok' }
    const issued = Object.values(generators).reduce((sum, each) => sum + each.issued, 0)
    const line = {
      type: 'tick',
      node,
      atMs,
      issued,
      ...own,
      ...more,
      generators: Object.fromEntries(figures),
    }
    this.take(JSON.stringify(line))
    return this
  }

  away(node: string, reason: string): this {
    this.take(JSON.stringify({ type: 'away', node, atMs: 1, reason }))
    return this
  }
}

describe('the figures of nodes', () => {
  test('have rates from two ticks, added up over nodes, busiest generators first', () => {
    const nodes = new Nodes().history('a').history('b')
    nodes
      .tick('a', 0, { order: { issued: 100 }, user: { issued: 0 } })
      .tick('b', 500, { order: { issued: 50 } })
    nodes.tick('a', 2000, { order: { issued: 120, lasts: 60 }, user: { issued: 200, ends: 500 } })
    nodes.tick('b', 2500, { order: { issued: 56, lasts: 30, ends: 900 } })
    const { perSecond, generators, endsFirst, bufferedSeconds, nodes: rows } = nodes.figures()
    assert.equal(perSecond, 113)
    assert.deepEqual(
      generators.map((each) => [
        each.name,
        each.perSecond,
        each.buffered,
        each.bufferedSeconds,
        each.waiting,
      ]),
      [
        ['user', 100, 1000, null, 2],
        ['order', 13, 2000, 30, 4],
      ],
    )
    assert.deepEqual(
      generators.map(({ endsSeconds }) => endsSeconds),
      [500, 900],
    )
    assert.deepEqual([endsFirst, bufferedSeconds], ['user', 30])
    assert.deepEqual(
      rows.map(({ cpu }) => cpu),
      [0.1, 0.1],
    )
  })

  test('have the end of a generator by the rates of all nodes', () => {
    const nodes = new Nodes().history('a').history('b')
    for (const [atMs, issued] of [
      [0, 0],
      [1000, 9],
    ] as const)
      for (const node of ['a', 'b']) nodes.tick(node, atMs, { order: { issued, left: 2000, ends: 200 } })
    assert.equal(nodes.figures().generators[0]!.endsSeconds, 100)
  })

  test('have the rates that nodes tell where there is nothing to compare with', () => {
    const nodes = new Nodes().history('a')
    nodes.tick('a', 0, { order: { issued: 9060 } }, { errors: { DRY: 20 } })
    assert.deepEqual([nodes.figures().perSecond, nodes.figures().errors], [7, {}])
    nodes.tick('a', 1000, { order: { issued: 9061 }, constructor: { issued: 5 } }, { errors: { DRY: 20 } })
    assert.deepEqual(
      nodes.figures().generators.map(({ name, perSecond }) => [name, perSecond]),
      [
        ['constructor', 7],
        ['order', 1],
      ],
    )
  })

  test('have errors by code, and none from before', () => {
    const nodes = new Nodes().history('a')
    nodes.tick('a', 0, {}, { errors: { DRY: 5 } }).tick('a', 1000, {}, { errors: { DRY: 9, BUSY: 1 } })
    assert.deepEqual(nodes.figures().errors, { DRY: 4, BUSY: 1 })
    nodes.tick('a', 2000, {}, { errors: { DRY: 9, BUSY: 1 } })
    assert.deepEqual(nodes.figures().errors, {})
  })

  test('never have rates below 0 when totals begin again', () => {
    const nodes = new Nodes().history('a')
    nodes.tick('a', 0, { order: { issued: 100 } }).tick('a', 1000, { order: { issued: 3 } })
    assert.equal(nodes.figures().perSecond, 0)
  })

  test('keep a node that is away, with the reason, until it tells something again', () => {
    const nodes = new Nodes().history('a').history('b')
    nodes
      .tick('a', 0, {})
      .tick('b', 0, { order: { issued: 1 } })
      .away('b', 'it has not answered')
    nodes.away('c', 'it cannot be reached')
    assert.deepEqual(
      nodes.figures().nodes.map(({ node, state, reason }) => [node, state, reason]),
      [
        ['http://n0', 'ok', null],
        ['b', 'away', 'it has not answered'],
        ['c', 'away', 'it cannot be reached'],
      ],
    )
    assert.deepEqual(nodes.figures().generators, [])
    assert.match(topLines(nodes.figures()).join('\n'), /^b +away .*it has not answered$/m)
    nodes.history('b').tick('b', 9000, {})
    assert.equal(nodes.figures().nodes[1]!.state, 'ok')
  })

  test('say of which node nothing is known without the one that is asked, and go on with it after its restart', async () => {
    const nodes = new Nodes('http://127.0.0.1:1/').history('a').history('b').tick('a', 0, {}).tick('b', 0, {})
    nodes.lose('no server answers')
    const reasons = () => nodes.figures().nodes.map(({ node, reason }) => [node, reason])
    assert.deepEqual(reasons(), [
      ['http://127.0.0.1:1', 'no server answers'],
      ['b', 'no word of it without http://127.0.0.1:1'],
    ])
    await assert.rejects(nodes.follow(new AbortController().signal, () => {}))
    nodes.history('a2').tick('a2', 0, {})
    assert.deepEqual(reasons(), [
      ['http://127.0.0.1:1', null],
      ['b', 'no word of it without http://127.0.0.1:1'],
    ])
  })
})

test('the table says what ends first, how long ids last, and which errors there are', () => {
  const text = (before: number, now: number) => {
    const nodes = new Nodes().history('a').tick('a', 0, { order: { issued: 0 } }, { errors: { DRY: before } })
    nodes.tick(
      'a',
      1000,
      { order: { issued: 12_345, lasts: 540, ends: 40 * 86_400 } },
      { errors: { DRY: now } },
    )
    return topLines(nodes.figures()).join('\n')
  }
  assert.match(text(0, 3), /12,345 ids per second on one node/)
  assert.match(text(0, 3), /would have no ids in 9m/)
  assert.match(text(0, 3), /order ends first, in 40d/)
  assert.match(text(0, 3), /errors per second: DRY 3\.0/)
  assert.match(text(3, 3), /errors per second: none/)
  assert.match(text(3, 3), /order +segment +12,345 +1\.0 +1,000 +9m +2 +40d/)
})

test('a process that joins its cluster again under another id is counted once', () => {
  const nodes = new Nodes().history('a', 'one').tick('a', 1000, { order: { issued: 10 } })
  nodes.history('b', 'one').tick('b', 2000, { order: { issued: 20 } })
  const figures = nodes.figures()
  assert.equal(figures.nodes.length, 1)
  assert.equal(figures.generators[0]!.buffered, 1000)
})
