import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { slotOf } from '../../../src/cluster/slots.ts'
import { Dice } from '../dice.ts'
import { settled } from '../fake-clock.ts'
import { twoMembers } from './cluster-nodes.ts'
import { draw, type NodeOptions, SharedEngine, startNode, tryNext } from './node.ts'

const gaps = { kind: 'sequence', gaps: 'none' } as const

/** A node, and a generator without gaps: the owner's of its store, or of a fleet. */
async function opened(mode: 'local' | 'group commit', options: NodeOptions = {}) {
  const fleet: NodeOptions = mode === 'local' ? {} : { reach: (store) => new SharedEngine(store) }
  const node = await startNode({ ...fleet, ...options })
  const generator = await node.catalogue.create('invoice', gaps)
  return { ...node, generator, bound: () => node.store.counters.get(generatorKey('invoice'))?.bound ?? 1n }
}

/** Draws for callers of which some leave while the reserve is under way. */
async function drawnWhileLeaving({
  generator,
  engine,
}: Pick<Awaited<ReturnType<typeof opened>>, 'generator' | 'engine'>) {
  const held = engine.hold('reserve')
  const leaving = new AbortController()
  const stay = [generator.draw(1), generator.draw(2)]
  const leave = [generator.draw(3, { signal: leaving.signal }), generator.draw(1, { signal: leaving.signal })]
  const last = generator.draw(1)
  await held.arrived
  leaving.abort(new Error('gone'))
  held.letGo()
  for (const each of leave) await assert.rejects(each, /gone/)
  const runs = await Promise.all([...stay, last])
  return runs.flat().map((run) => run.first)
}

for (const mode of ['local', 'group commit'] as const) {
  describe(`gaps none, ${mode}`, () => {
    test('reserves exactly what is asked for, in one write for each batch, and buffers none', async () => {
      const { generator, engine, bound } = await opened(mode)
      assert.equal(generator.mode, mode)
      assert.equal(tryNext(generator), undefined)
      const batch = await Promise.all([draw(generator), draw(generator, 2), draw(generator)])
      assert.deepEqual(batch.flat(), [1n, 2n, 3n, 4n])
      assert.equal(engine.count('reserve'), 1)
      assert.equal(bound(), 5n)
    })

    test('gives back what callers that have left leave, so that the next caller gets it', async () => {
      const node = await opened(mode)
      assert.deepEqual(await drawnWhileLeaving(node), [1n, 2n, 4n])
      assert.deepEqual(await draw(node.generator), [5n])
      const { dropped, lost, released } = node.generator.stats()
      assert.deepEqual({ dropped, lost, released }, { dropped: 0, lost: 0, released: 4 })
    })

    test('counts what could not be given back as dropped', async () => {
      const node = await opened(mode)
      node.engine.next('release', 'unavailable')
      assert.deepEqual(await drawnWhileLeaving(node), [1n, 2n, 4n])
      assert.deepEqual(await draw(node.generator), [9n])
      assert.equal(node.generator.stats().dropped, 4)
    })

    test('goes on above what it has tried to give back without learning the outcome', async () => {
      for (const fault of ['lose-reply', 'lose-request', 'late'] as const) {
        const node = await opened(mode)
        node.engine.next('release', fault)
        await drawnWhileLeaving(node)
        assert.deepEqual(await draw(node.generator), [9n], fault)
        await node.engine.deliver()
        assert.deepEqual(await draw(node.generator), [10n], fault)
        assert.equal(node.generator.stats().dropped, 4)
      }
    })

    test('counts as lost what a reserve without a reply has opened, and nothing where it was not carried out', async () => {
      for (const [fault, lost, next] of [
        ['lose-reply', 3, 4n],
        ['lose-request', 0, 1n],
      ] as const) {
        const { generator, engine, clock } = await opened(mode)
        engine.next('reserve', fault)
        const waiting = draw(generator, 3)
        await clock.pass(20)
        assert.equal((await waiting)[0], next, fault)
        assert.equal(generator.stats().lost, lost, fault)
      }
    })

    test('counts as lost what a reserve opens that is carried out after the next one', async () => {
      const { generator, engine, clock } = await opened(mode)
      engine.next('reserve', 'late')
      const waiting = draw(generator, 3)
      await clock.pass(20)
      assert.deepEqual(await waiting, [1n, 2n, 3n])
      assert.equal(generator.stats().lost, 0)
      await engine.deliver()
      assert.deepEqual(await draw(generator), [7n])
      assert.equal(generator.stats().lost, 3)
    })

    test('wastes nothing in a clean stop, also with a reserve under way', async () => {
      const { generator, engine, catalogue, bound } = await opened(mode)
      await draw(generator, 5)
      const held = engine.hold('reserve')
      const waiting = assert.rejects(draw(generator, 7), { code: 'SHUTDOWN' })
      await held.arrived
      const closed = catalogue.close()
      await waiting
      held.letGo()
      await closed
      assert.equal(bound(), 6n)
      assert.equal(generator.stats().dropped, 0)
    })

    test('keeps an increment, and gives back whole ids alone', async () => {
      const node = await opened(mode)
      const generator = await node.catalogue.create('even', { ...gaps, increment: 10, offset: 3n })
      assert.deepEqual(await drawnWhileLeaving({ ...node, generator }), [3n, 13n, 33n])
      assert.deepEqual(await draw(generator), [43n])
      assert.equal(node.engine.count('release'), 1)
    })
  })
}

describe('gaps none, of the owner of the store', () => {
  test('skips nothing in a crash between batches', async () => {
    const { generator, store, crash } = await opened('local')
    await draw(generator, 3)
    await crash()
    const next = await startNode({ store })
    assert.deepEqual(await draw(await next.catalogue.open('invoice')), [4n])
  })

  test('is altered to and fro, and buffers only while gaps are allowed', async () => {
    const { catalogue, bound } = await opened('local')
    await catalogue.alter('invoice', { gaps: 'allowed' })
    const buffered = await catalogue.open('invoice')
    assert.deepEqual(await draw(buffered), [1n])
    assert.equal(tryNext(buffered), 2n)
    assert.ok(bound() > 3n)
    await catalogue.alter('invoice', { gaps: 'none' })
    const exact = await catalogue.open('invoice')
    assert.equal(bound(), 3n, 'what was buffered has gone back')
    assert.deepEqual(await draw(exact), [3n])
    assert.equal(exact.definition.gaps, 'none')
    assert.equal(buffered.definition.gaps, undefined)
  })

  test('refuses what skips numbers, and says what to leave out', async () => {
    const { catalogue } = await startNode()
    for (const [input, message] of [
      [{ kind: 'segment' }, /gaps none is of kind sequence/],
      [{ kind: 'snowflake' }, /made of the clock/],
      [{ kind: 'sequence', gene: 4 }, /gene skips numbers/],
      [{ kind: 'sequence', avoid: 'bad', format: 'x{id}' }, /avoid skips numbers/],
      [{ kind: 'sequence', increment: '1..9' }, /skips numbers at random/],
    ] as const)
      await assert.rejects(catalogue.create('x', { ...input, gaps: 'none' }), { code: 'ERR', message })
    const family = { kind: 'sequence', family: true, gaps: 'none' } as const
    await assert.rejects(catalogue.create('x:*', family), { code: 'ERR', message: /skip numbers/ })
    await catalogue.create('invoice', gaps)
    await assert.rejects(catalogue.alter('invoice', { kind: 'snowflake' }), {
      code: 'ERR',
      message: /alter gaps to allowed/,
    })
    await assert.rejects(catalogue.alter('invoice', { kind: 'segment' }), { code: 'ERR', message: /gaps/ })
  })

  test('skips nothing that is not counted, whatever fails and whichever callers leave', async () => {
    for (let seed = 1; seed <= 60; seed++) await attack(seed)
  })
})

/** Callers that come, leave and are refused, over a store that loses requests and replies. */
async function attack(seed: number): Promise<void> {
  const dice = new Dice(seed)
  const node = await opened('local')
  const { clock, engine, bound } = node
  const got: bigint[] = []
  const { generator } = node
  for (let round = 0; round < 30; round++) {
    if (dice.below(10) < 3)
      engine.next('reserve', dice.of(['lose-reply', 'lose-request', 'unavailable'] as const))
    if (dice.below(10) < 3)
      engine.next('release', dice.of(['lose-reply', 'lose-request', 'unavailable'] as const))
    const held = engine.hold('reserve')
    const callers = Array.from({ length: dice.below(6) + 1 }, () => {
      const leaving = new AbortController()
      const drawn = generator.draw(dice.below(4) + 1, { signal: leaving.signal }).then(
        (runs) =>
          got.push(...runs.flatMap((run) => Array.from({ length: run.count }, (_, at) => run.at(at)))),
        () => {},
      )
      return { leaving, drawn }
    })
    void held.arrived
    await settled()
    for (const { leaving } of callers) if (dice.below(10) < 3) leaving.abort(new Error('gone'))
    held.letGo()
    await clock.pass(3000)
    await Promise.all(callers.map(({ drawn }) => drawn))
  }
  engine.heal()
  await clock.pass(3000)
  got.push(...(await draw(generator)))
  assert.equal(new Set(got).size, got.length, `seed ${seed}: an id was issued twice`)
  const { dropped, lost } = generator.stats()
  const counted = BigInt(got.length + dropped + lost)
  assert.equal(bound() - 1n, counted, `seed ${seed}: ${bound() - 1n} numbers, ${counted} accounted for`)
}

describe('gaps none, of a leader', () => {
  async function led() {
    const members = await twoMembers('invoice')
    await members.leader.catalogue.create('invoice', { ...gaps, issueTimeout: 10_000 })
    const generator = await members.leader.catalogue.open('invoice')
    return { ...members, generator, bound: () => members.store.counters.get(generatorKey('invoice'))?.bound }
  }

  async function handOver({ leader, other, clock }: Awaited<ReturnType<typeof led>>): Promise<Generator> {
    await leader.cluster.move(0, other.cluster.nodeId)
    while (other.cluster.here(0) === undefined) await clock.pass(10)
    return other.catalogue.open('invoice')
  }

  test('is issued by its leader with the fence, and goes on with the next number after a hand-over', async () => {
    const members = await led()
    const { generator, leader, store } = members
    assert.deepEqual(await draw(generator, 3), [1n, 2n, 3n])
    assert.equal(generator.mode, 'leader')
    assert.equal(tryNext(generator), undefined)
    assert.equal(
      store.counters.get(generatorKey('invoice'))!.fence,
      leader.cluster.here(slotOf('invoice'))!.fence,
    )
    assert.deepEqual(await draw(await handOver(members)), [4n])
    await assert.rejects(draw(generator), { code: 'MOVED' })
    assert.equal(leader.catalogue.find('invoice')?.issuesHere, false)
  })

  test('gives back, before it hands over, what a reserve opens whose callers go to the successor', async () => {
    const members = await led()
    const { generator, leader } = members
    await draw(generator)
    const held = leader.engine.hold('reserve')
    const parked = assert.rejects(draw(generator, 5), { code: 'MOVED' })
    await held.arrived
    const there = handOver(members)
    while (leader.cluster.here(slotOf('invoice')) !== undefined) await settled()
    held.letGo()
    assert.deepEqual(await draw(await there), [2n])
    await parked
  })

  test('lets callers wait while the lease has lapsed, and gives back what a reserve opens meanwhile', async () => {
    const { generator, leader, clock, bound } = await led()
    await draw(generator)
    const held = leader.engine.hold('reserve')
    const parked = draw(generator, 2)
    await held.arrived
    leader.clusterEngine.always('write', 'unavailable')
    clock.mono += 2_800_000
    clock.wall += 2_800_000
    held.letGo()
    await settled()
    assert.equal(bound(), 2n)
    const later = draw(generator)
    await settled()
    assert.equal(leader.engine.count('reserve'), 2, 'nothing is reserved while the lease has lapsed')
    leader.clusterEngine.heal()
    await clock.pass(500)
    assert.deepEqual(await Promise.all([parked, later]), [[2n, 3n], [4n]])
  })

  test('has its callers wait for a leader at most as long as they may', async () => {
    const { generator, leader, other, clock } = await led()
    for (const { clusterEngine } of [leader, other]) clusterEngine.always('any', 'unavailable')
    await clock.pass(2800)
    const parked = assert.rejects(draw(generator), { code: 'CLUSTERDOWN' })
    await clock.pass(10_001)
    await parked
  })

  test('sends its callers to the successor when the leader was declared dead', async () => {
    const { generator, leader, other, clock } = await led()
    await draw(generator, 2)
    leader.clusterEngine.always('write', 'unavailable')
    await clock.pass(2800)
    const parked = assert.rejects(draw(generator), { code: 'MOVED' })
    await clock.pass(1900)
    await parked
    assert.deepEqual(await draw(await other.catalogue.open('invoice')), [3n])
  })
})
