/** Floors that an operator names: for every node at once, and for the sites of a generator. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FakeClock } from '../fake-clock.ts'
import { draw, LateEngine, type Node, SharedEngine, startNode, tryNext } from './node.ts'

/** A store whose watches poll: a change is heard of within a second. */
class PolledEngine extends LateEngine {
  override readonly watchDelayMs = 1000
}

async function fleet() {
  const [store, clock] = [new MemoryStore(), new FakeClock()]
  const late = new PolledEngine(store)
  const one = await startNode({ store, clock, reach: (other) => new PolledEngine(other) })
  const two = await startNode({ store, clock, reach: () => late })
  return { store, clock, one, two, late }
}

async function use({ catalogue }: Node, count: number): Promise<bigint[]> {
  return draw(await catalogue.open('g'), count)
}

describe('FLOOR with NOW', () => {
  test('leaves no id below it on any node that reaches the store, however late that receives the change', async () => {
    const { clock, one, two, late } = await fleet()
    await one.catalogue.create('g', { kind: 'segment' })
    const before = [...(await use(one, 3)), ...(await use(two, 3))]
    late.late = true
    let done = false
    const moving = one.catalogue.alter('g', { floor: 5001n, now: true }).finally(() => {
      done = true
    })
    await clock.pass(900)
    assert.equal(done, false)
    // It has not received the change yet.
    before.push(tryNext(await two.catalogue.open('g'))!)
    late.report()
    await clock.pass(200)
    const moved = await moving
    const after = [...(await draw(moved, 2000)), ...(await use(two, 2000))]
    assert.ok(after.every((id) => id >= 5001n))
    assert.ok(before.every((id) => id < 5001n))
    assert.equal(new Set([...before, ...after]).size, 4007)
    assert.deepEqual([after[0], moved.incarnation], [5001n, 2n])
  })

  test('drops what nodes have buffered, which without NOW they still issue', async () => {
    for (const now of [false, true]) {
      const { clock, one, two } = await fleet()
      await one.catalogue.create('g', { kind: 'segment' })
      await use(two, 1)
      const moving = one.catalogue.alter('g', { floor: 5001n, now })
      await clock.pass(2000)
      await moving
      assert.equal(
        (await use(two, 10)).every((id) => id < 5001n),
        !now,
      )
    }
  })

  test('ends ranges of callers with their incarnation: the next one lies above', async () => {
    const { clock, one, two } = await fleet()
    const generator = await one.catalogue.create('g', { kind: 'segment', increment: 3 })
    const before = await generator.leaseRange(100)
    const moving = two.catalogue.alter('g', { floor: 5001n, now: true })
    await clock.pass(2000)
    const after = await (await moving).leaseRange(100)
    assert.deepEqual([before.incarnation, after.incarnation], [1n, 2n])
    assert.ok(before.end <= after.start && after.start >= 5001n)
    assert.equal(after.definition.offset, before.definition.offset)
  })

  test('lies above what is buffered also where the floor does not', async () => {
    const { clock, one, two } = await fleet()
    await one.catalogue.create('g', { kind: 'segment' })
    const before = [...(await use(one, 3)), ...(await use(two, 3))]
    const moving = one.catalogue.alter('g', { floor: 500n, now: true })
    await clock.pass(2000)
    await moving
    const after = [...(await use(one, 600)), ...(await use(two, 600))]
    assert.ok(after.every((id) => id > 1003n))
    assert.equal(new Set([...before, ...after]).size, 1206)
  })

  test('keeps the permutation of scrambled ids', async () => {
    const node = await startNode()
    const generator = await node.catalogue.create('g', { kind: 'segment', scramble: true, max: 9999 })
    const { key } = await generator.leaseRange(1)
    const before = await use(node, 50)
    const moved = await node.catalogue.alter('g', { floor: 4000n, now: true })
    assert.equal((await moved.leaseRange(1)).key, key)
    const after = await use(node, 5000)
    assert.equal(new Set([...before, ...after]).size, 5050)
  })

  test('moves a sequence as without it', async () => {
    const node = await startNode({
      reach: (store) => new SharedEngine(store),
      generators: { g: { kind: 'sequence' } },
    })
    await use(node, 3)
    const { incarnation } = await node.catalogue.alter('g', { floor: 50n, now: true })
    assert.deepEqual([incarnation, await use(node, 1)], [1n, [50n]])
  })

  test('is completed by another node with its floor', async () => {
    const { store, clock, one } = await fleet()
    await one.catalogue.create('g', { kind: 'segment' })
    await use(one, 3)
    const first = one.engine.hold('write')
    const moving = one.catalogue.alter('g', { floor: 5001n, now: true })
    const isBegun = await Promise.race([first.arrived.then(() => true), moving.then(() => false)])
    assert.ok(isBegun, 'the next incarnation begins with a write')
    one.engine.next('write', 'lose-request')
    first.letGo()
    const lost = assert.rejects(moving, { code: 'UNKNOWN' })
    await clock.pass(2000)
    await lost
    await one.crash()
    const two = await startNode({ store, clock })
    const opening = two.catalogue.open('g')
    await clock.pass(2000)
    assert.deepEqual([(await opening).incarnation, await use(two, 1)], [2n, [5001n]])
  })

  test('is refused where it means nothing', async () => {
    const node = await startNode({ generators: { g: { kind: 'segment' }, event: { kind: 'snowflake' } } })
    await use(node, 1)
    const refusals = [
      ['g', { now: true }, 'ERR', /name the FLOOR too/],
      ['g', { now: true, floor: 2n ** 62n }, 'ERR', /repeat it with FORCE/],
      ['event', { now: true, floor: 5n }, 'WRONGTYPE', /follows the clock/],
    ] as const
    for (const [name, changes, code, message] of refusals)
      await assert.rejects(node.catalogue.alter(name, changes), { code, message })
    const forced = await node.catalogue.alter('g', { now: true, floor: 2n ** 62n, force: true })
    assert.deepEqual(await draw(forced), [2n ** 62n])
  })
})

describe('a generator with an OFFSET, which is one of several sites', () => {
  async function site(offset: number, increment: number, used: number): Promise<Node> {
    const node = await startNode({ generators: { g: { kind: 'segment', increment, offset, step: 10 } } })
    await use(node, used)
    return node
  }

  test('takes another increment or offset only with a floor above its own ids', async () => {
    const node = await site(1, 2, 500)
    const move = /name a FLOOR above the ids of every site, here \d+ or above/
    for (const changes of [
      { increment: 3 },
      { increment: 3, offset: 2 },
      { offset: 0 },
      { increment: 1, offset: 0 },
      { increment: 3, floor: 400n },
    ])
      await assert.rejects(node.catalogue.alter('g', changes), { code: 'ERR', message: move })
    const moved = await node.catalogue.alter('g', { increment: 3, floor: 100_000n })
    assert.deepEqual([moved.definition.offset, await draw(moved)], [1n, [100_000n]])
    // Other options are free.
    await node.catalogue.alter('g', { step: 20 })
    await assert.rejects(node.catalogue.alter('g', { increment: 4 }), { code: 'ERR', message: move })
  })

  test('repeats no id of the others when a site is added with one floor for all', async () => {
    const sites = [await site(0, 2, 40), await site(1, 2, 4000)]
    const seen: bigint[] = []
    for (const each of sites) seen.push(...(await use(each, 700)))
    for (const [offset, each] of sites.entries()) {
      await each.catalogue.alter('g', { increment: 3, offset, floor: 100_000n })
      // The others go on meanwhile.
      for (const any of sites) seen.push(...(await use(any, 300)))
    }
    const third = await startNode({
      generators: { g: { kind: 'segment', increment: 3, offset: 2, start: 100_000 } },
    })
    for (const each of [...sites, third]) seen.push(...(await use(each, 1000)))
    assert.equal(new Set(seen).size, seen.length)
  })

  test('gets its floor also from a node that completes the change of another', async () => {
    const [store, clock] = [new MemoryStore(), new FakeClock()]
    const one = await startNode({
      store,
      clock,
      generators: { g: { kind: 'segment', increment: 2, offset: 1 } },
    })
    const first = one.engine.hold('write')
    const altering = one.catalogue.alter('g', { increment: 3, floor: 1000n })
    await first.arrived
    one.engine.next('write', 'lose-request')
    first.letGo()
    await assert.rejects(altering, { code: 'UNKNOWN' })
    await one.crash()
    const two = await startNode({ store, clock })
    assert.deepEqual(await use(two, 2), [1000n, 1003n])
    await assert.rejects(two.catalogue.alter('g', { increment: 4 }), { code: 'ERR' })
  })
})
