import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import type { KeyedRequest } from '../../../src/catalogue/once.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Dice } from '../dice.ts'
import { settled } from '../fake-clock.ts'
import { twoMembers } from './cluster-nodes.ts'
import { draw, type NodeOptions, SharedEngine, startNode } from './node.ts'

const fleet: NodeOptions = { reach: (store) => new SharedEngine(store) }
/** Where ids are buffered, and where they are reserved for each batch, alone and beside other nodes. */
const places: readonly (readonly [title: string, options: NodeOptions, input: GeneratorInput])[] = [
  ['a sequence that buffers', {}, { kind: 'sequence' }],
  ['a sequence without gaps', {}, { kind: 'sequence', gaps: 'none' }],
  ['a sequence of a fleet', fleet, { kind: 'sequence' }],
  ['a sequence of a fleet without gaps', fleet, { kind: 'sequence', gaps: 'none' }],
  ['a sequence of a fleet with random steps', fleet, { kind: 'sequence', increment: '1..9' }],
  ['a segment', fleet, { kind: 'segment' }],
  ['a scrambled segment', fleet, { kind: 'segment', scramble: true }],
  ['a snowflake', fleet, { kind: 'snowflake' }],
]

/** The texts of the ids of one request with a key. */
async function once(
  generator: Generator,
  key: string,
  count = 1,
  options: Partial<KeyedRequest> = {},
): Promise<string[]> {
  const { runs, text } = await generator.drawOnce(count, { user: 'ann', ...options, key })
  const ids = runs.flatMap((run) => Array.from({ length: run.count }, (_, at) => run.at(at)))
  return ids.map((id) => text?.text(id) ?? String(id))
}

for (const [title, options, input] of places) {
  describe(`the key of a request, ${title}`, () => {
    async function opened() {
      const node = await startNode(options)
      return { ...node, generator: await node.catalogue.create('g', input) }
    }

    test('gives a second request the ids of the first, here and on another node, and uses none up', async () => {
      const { generator, store, clock } = await opened()
      const first = await once(generator, 'k', 3)
      assert.equal(new Set(first).size, 3)
      const { issued } = generator.stats()
      assert.deepEqual(await once(generator, 'k', 3), first)
      assert.equal(generator.stats().issued, issued)
      const other = await startNode({ ...fleet, store, clock })
      assert.deepEqual(
        await once(await other.catalogue.open('g'), 'k', 3).catch((error) => error.code),
        first,
      )
      assert.notDeepEqual(await once(generator, 'l', 3), first)
    })

    test('is of one user, and of one request', async () => {
      const { generator } = await opened()
      const first = await once(generator, 'k')
      assert.notDeepEqual(await once(generator, 'k', 1, { user: 'bob' }), first)
      await assert.rejects(once(generator, 'k', 2), {
        code: 'KEYUSED',
        message:
          'the key stands for a request of COUNT 1, and this one is of COUNT 2; give it a key of its own',
      })
      assert.deepEqual(await once(generator, 'k'), first)
    })

    test('gives requests that run together one answer', async () => {
      const { generator, store, clock } = await opened()
      const nodes = options.reach === undefined ? [] : [await startNode({ ...fleet, store, clock })]
      const others = await Promise.all(nodes.map(({ catalogue }) => catalogue.open('g')))
      const requests = Promise.all(
        [generator, ...others, generator, ...others].map((each) => once(each, 'k', 2)),
      )
      await clock.pass(100)
      const answers = await requests
      assert.equal(new Set(answers.map(String)).size, 1, String(answers))
    })

    test('settles writes whose replies are lost, and gives the repeated request the same ids', async () => {
      for (const method of ['commit', 'write', 'reserve'] as const) {
        for (const fault of ['lose-reply', 'lose-request', 'late'] as const) {
          const { generator, engine, clock } = await opened()
          await draw(generator)
          engine.next(method, fault)
          const requests = [once(generator, 'k', 2), once(generator, 'k', 2)]
          await clock.pass(100)
          const [first, second] = await Promise.all(requests)
          assert.deepEqual(second, first, `${method} ${fault}`)
          await engine.deliver()
          assert.deepEqual(await once(generator, 'k', 2), first, `${method} ${fault}`)
          const next = await once(generator, 'l', 2)
          assert.equal(new Set([...first!, ...next]).size, 4, `${method} ${fault}`)
        }
      }
    })

    test('keeps its ids when the generator is altered, and when it is dropped and created again', async () => {
      const { generator, catalogue } = await opened()
      const first = await once(generator, 'k')
      const altered = await catalogue.alter('g', { format: 'x{id}' })
      assert.deepEqual(await once(altered, 'k'), first)
      if (input.scramble) return
      await catalogue.drop('g')
      assert.deepEqual(await once(await catalogue.create('g', input), 'k'), first)
    })
  })
}

describe('the key of a request', () => {
  test('is 1 to 255 bytes of any Unicode, and a request with one has at most 1,000 ids', async () => {
    const { catalogue } = await startNode()
    const g = await catalogue.create('g', { kind: 'segment', within: 'shuffled' })
    for (const key of ['', 'k'.repeat(256), 'é'.repeat(128), '\ud800'])
      await assert.rejects(once(g, key), { code: 'ERR', message: /1 to 255 bytes/ })
    const seen = new Set<string>()
    for (const key of [
      'k',
      'K',
      ' k',
      'k ',
      '\u0000',
      '../../x',
      'é',
      'e\u0301',
      "'; --",
      'k'.repeat(255),
      'ann k',
    ])
      seen.add((await once(g, key))[0]!)
    assert.equal(seen.size, 11)
    assert.notDeepEqual(await once(g, 'b c', 1, { user: 'a' }), await once(g, 'c', 1, { user: 'a b' }))
    const thousand = await once(g, 'all', 1000)
    assert.deepEqual(await once(g, 'all', 1000), thousand)
    await assert.rejects(once(g, 'more', 1001), { code: 'LIMIT' })
  })

  test('repeats texts with the date and the node of the first answer', async () => {
    const store = new MemoryStore()
    const one = await startNode({ ...fleet, store, nodeIndex: { value: 3, width: 1 } })
    const g = await one.catalogue.create('g', {
      kind: 'segment',
      format: '{date:yyyyMMddHHmmss}-{node}-{id:6}',
    })
    const first = await once(g, 'k', 2)
    assert.match(first[0]!, /^\d{14}-3-\d{6}$/)
    await one.clock.pass(90_000)
    const two = await startNode({ ...fleet, store, clock: one.clock, nodeIndex: { value: 7, width: 1 } })
    assert.deepEqual(await once(await two.catalogue.open('g'), 'k', 2), first)
    const wide = await one.catalogue.create('w', { kind: 'snowflake', format: 'uuidv7' })
    const uuid = await once(wide, 'k')
    assert.deepEqual(await once(await two.catalogue.open('w'), 'k'), uuid)
  })

  test('names gene and moment of the first request where a second one has others', async () => {
    const { catalogue } = await startNode()
    const g = await catalogue.create('g', { kind: 'sequence', gene: 4 })
    const first = await once(g, 'k', 1, { gene: 3 })
    assert.equal(BigInt(first[0]!) % 16n, 3n)
    assert.deepEqual(await once(g, 'k', 1, { gene: 3 }), first)
    await assert.rejects(once(g, 'k', 1, { gene: 5 }), {
      code: 'KEYUSED',
      message: /COUNT 1 GENE 3, and this one is of COUNT 1 GENE 5/,
    })
    const keys = Array.from({ length: 100 }, (_, at) => `customer:${at}`)
    await once(g, 'l', 100, { by: keys })
    await assert.rejects(once(g, 'l', 100, { by: keys.toReversed() }), { code: 'KEYUSED' })
  })

  test('names the number that ids were asked above', async () => {
    const { catalogue } = await startNode()
    for (const gaps of ['allowed', 'none'] as const) {
      const g = await catalogue.create(`above:${gaps}`, { kind: 'sequence', gaps })
      assert.deepEqual(await once(g, 'k', 2, { above: 10 }), ['11', '12'])
      assert.deepEqual(await once(g, 'k', 2, { above: 10n }), ['11', '12'])
      const message = /COUNT 2 ABOVE 10, and this one is of COUNT 2 ABOVE 1000/
      await assert.rejects(once(g, 'k', 2, { above: 1000 }), { code: 'KEYUSED', message })
      assert.deepEqual(await once(g, 'l'), ['13'])
    }
  })

  test('is refused as a number where the ids of the first request are past 2^53', async () => {
    const { catalogue } = await startNode()
    const g = await catalogue.create('g', { kind: 'sequence', start: 2n ** 53n, gaps: 'none' })
    await once(g, 'k')
    await assert.rejects(once(g, 'k', 1, { safe: true }), { code: 'UNSAFE' })
  })

  test('writes records and reserve of a batch in one commit, with callers without keys, and skips nothing', async () => {
    const { catalogue, engine, store } = await startNode()
    const g = await catalogue.create('g', { kind: 'sequence', gaps: 'none' })
    const held = engine.hold('commit')
    const before = once(g, 'before')
    await held.arrived
    const keyed = [once(g, 'a', 2), once(g, 'b')]
    await settled()
    const others = [draw(g), draw(g, 3)]
    held.letGo()
    assert.deepEqual(await Promise.all([before, ...keyed]), [['1'], ['2', '3'], ['4']])
    assert.deepEqual(await Promise.all(others), [[5n], [6n, 7n, 8n]])
    assert.equal(engine.count('commit'), 2)
    assert.equal(engine.count('reserve'), 0)
    assert.equal(store.counters.get(generatorKey('g'))!.bound, 9n)
    const many = await Promise.all(Array.from({ length: 100 }, (_, at) => once(g, `many:${at}`)))
    assert.deepEqual(
      many
        .flat()
        .map(Number)
        .sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, at) => 9 + at),
    )
    assert.equal(engine.count('commit'), 4, 'a commit has 60 records at most')
  })

  test('keeps the ids of a caller that leaves while its batch is written', async () => {
    const { catalogue, engine } = await startNode()
    const g = await catalogue.create('g', { kind: 'sequence', gaps: 'none' })
    const held = engine.hold('commit')
    const leaving = new AbortController()
    const gone = once(g, 'k', 2, { signal: leaving.signal })
    const stays = once(g, 'l')
    await held.arrived
    leaving.abort(new Error('gone'))
    held.letGo()
    await assert.rejects(gone, /gone/)
    assert.deepEqual(await stays, ['3'])
    assert.deepEqual(await once(g, 'k', 2), ['1', '2'])
    assert.deepEqual(await once(g, 'm'), ['4'])
    const { issued, dropped, lost } = g.stats()
    assert.deepEqual({ issued, dropped, lost }, { issued: 4, dropped: 0, lost: 0 })
  })

  test('is settled over a hand-over, and while the lease has lapsed', async () => {
    const { leader, other, clock } = await twoMembers('invoice')
    await leader.catalogue.create('invoice', { kind: 'sequence', gaps: 'none', issueTimeout: 10_000 })
    const g = await leader.catalogue.open('invoice')
    const held = leader.engine.hold('commit')
    const lapsed = once(g, 'k', 2)
    await held.arrived
    leader.clusterEngine.always('write', 'unavailable')
    clock.mono += 2_800_000
    clock.wall += 2_800_000
    held.letGo()
    await settled()
    leader.clusterEngine.heal()
    await clock.pass(500)
    assert.deepEqual(await lapsed, ['1', '2'])
    await leader.cluster.move(0, other.cluster.nodeId)
    while (other.cluster.here(0) === undefined) await clock.pass(10)
    const there = await other.catalogue.open('invoice')
    assert.deepEqual(await once(there, 'k', 2), ['1', '2'])
    assert.deepEqual(await once(there, 'l'), ['3'])
  })

  test('gives each request one answer, whatever fails, from three nodes of a fleet', async () => {
    for (let seed = 1; seed <= 40; seed++) await attack(seed)
  })
})

/** Requests that are each sent to several nodes, over stores that lose requests and replies, until each is answered. */
async function attack(seed: number): Promise<void> {
  const dice = new Dice(seed)
  const store = new MemoryStore()
  const first = await startNode({ ...fleet, store })
  const { clock } = first
  const kind = dice.of([
    { kind: 'sequence', gaps: 'none' },
    { kind: 'sequence' },
    { kind: 'segment' },
  ] as const)
  await first.catalogue.create('g', kind)
  const nodes = [
    first,
    await startNode({ ...fleet, store, clock }),
    await startNode({ ...fleet, store, clock }),
  ]
  const answers = new Map<string, Set<string>>()
  for (let round = 0; round < 8; round++) {
    for (const { engine } of nodes) {
      const method = dice.of(['commit', 'write', 'reserve', 'read'] as const)
      if (dice.below(3) > 0)
        engine.next(method, dice.of(['lose-reply', 'lose-request', 'late', 'unavailable'] as const))
    }
    const requests = Array.from({ length: 6 }, async () => {
      const key = `${round}:${dice.below(3)}`
      const node = dice.of(nodes)
      const asking = node.catalogue.open('g').then((generator) => once(generator, key, 2))
      const given = await asking.catch(() => undefined)
      if (given !== undefined) answers.set(key, (answers.get(key) ?? new Set()).add(String(given)))
    })
    await clock.pass(3000)
    await Promise.all(requests)
    for (const { engine } of nodes) {
      engine.heal()
      await engine.deliver()
    }
  }
  for (const [key, given] of answers) {
    given.add(String(await once(await first.catalogue.open('g'), key, 2)))
    assert.equal(given.size, 1, `seed ${seed}: ${key} has the answers ${[...given].join(' and ')}`)
  }
  const ids = [...answers.values()].flatMap((given) => [...given].join().split(','))
  assert.equal(new Set(ids).size, ids.length, `seed ${seed}: an id is in two answers`)
}
