/** Alterations of what is fixed, while other nodes go on and writes are held, lost or late. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import type { Kind } from '../../../src/issuing/issuer.ts'
import { FakeClock, settled } from '../fake-clock.ts'
import { DeafEngine, draw, LateEngine, type Node, startNode, tryNext } from './node.ts'
import { allOf } from './part-of.ts'

/** As `twitter`, with other fields below the same time: ids of one moment overlap. */
const narrow = 'time:41,node:8,sequence:14;unit=ms;epoch=2010-11-04T01:42:54.657Z'

async function twoNodes() {
  const store = new MemoryStore()
  const clock = new FakeClock()
  const one = await startNode({ store, clock })
  const two = await startNode({ store, clock, reach: (reached) => new DeafEngine(reached) })
  return { store, clock, one, two }
}

/** Begins an alteration on a node that crashes between the two writes. */
async function diesBetweenWrites(
  { catalogue, engine, crash }: Node,
  name: string,
  kind: Kind,
): Promise<void> {
  const first = engine.hold('write')
  const altering = catalogue.alter(name, { kind })
  await first.arrived
  engine.next('write', 'lose-request')
  first.letGo()
  await assert.rejects(altering, { code: 'UNKNOWN' })
  await crash()
}

/** A store whose watches poll: a change is heard of within a second. */
class PolledEngine extends LateEngine {
  override readonly watchDelayMs = 1000
}

test('a creation begins a new incarnation at once also on a node that has not received the end of the last', async () => {
  const { one, two } = await twoNodes()
  await one.catalogue.create('g', { kind: 'segment', step: 10 })
  const old = await two.catalogue.open('g')
  const [before] = await draw(old, 1)
  const [newest] = (await draw(await one.catalogue.open('g'), 1)).toReversed()
  await one.catalogue.drop('g')
  const created = await two.catalogue.create('g', { kind: 'segment', step: 20 })
  assert.equal(created.incarnation, 3n)
  assert.equal(tryNext(old), undefined)
  const [after] = await draw(created, 1)
  assert.ok(after! > before! && after! > newest!)
})

describe('an alteration', () => {
  for (const way of ['altered', 'dropped and created'] as const) {
    for (const [from, to] of [
      ['segment', 'sequence'],
      ['snowflake', 'sequence'],
    ] as const) {
      test(`to strict order is done once every node has stopped issuing: ${from}, ${way} as ${to}`, async () => {
        const [store, clock] = [new MemoryStore(), new FakeClock()]
        const reached = new PolledEngine(store)
        const one = await startNode({
          store,
          clock,
          reach: (other) => new PolledEngine(other),
          generators: { g: { kind: from } },
        })
        const two = await startNode({ store, clock, reach: () => reached })
        const old = await two.catalogue.open('g')
        const ids = await draw(old)
        reached.late = true
        const become = async () => {
          if (way === 'altered') return one.catalogue.alter('g', { kind: to })
          await one.catalogue.drop('g')
          return one.catalogue.create('g', { kind: to })
        }
        let done = false
        const becoming = become().finally(() => {
          done = true
        })
        await clock.pass(900)
        // It has not received the change yet, and has buffered ids.
        ids.push(tryNext(old)!)
        assert.equal(done, false)
        reached.report()
        await clock.pass(200)
        const strict = await becoming
        assert.equal(tryNext(old), undefined)
        ids.push(...(await draw(strict)), ...(await draw(await two.catalogue.open('g'))))
        assert.deepEqual(
          ids,
          ids.toSorted((a, b) => Number(a - b)),
        )
      })
    }
  }

  test('to strict order stops a node that receives it also while that node creates the same name', async () => {
    const [store, clock] = [new MemoryStore(), new FakeClock()]
    const reached = new PolledEngine(store)
    const one = await startNode({
      store,
      clock,
      reach: (other) => new PolledEngine(other),
      generators: { g: { kind: 'segment' } },
    })
    const two = await startNode({ store, clock, reach: () => reached })
    const old = await two.catalogue.open('g')
    await draw(old)
    reached.late = true
    const altering = one.catalogue.alter('g', { kind: 'sequence' })
    await clock.pass(300)
    let created = false
    const creating = two.catalogue
      .define('g', { kind: 'segment' })
      .catch(() => {})
      .finally(() => {
        created = true
      })
    await clock.pass(600)
    reached.report()
    await settled()
    assert.deepEqual([created, tryNext(old)], [false, undefined])
    await clock.pass(2000)
    await Promise.all([altering, creating])
  })

  test('of a layout starts above what a node has that claims its first time in that moment', async () => {
    const { clock, one, two } = await twoNodes()
    await one.catalogue.create('event', { kind: 'snowflake' })
    const old = await two.catalogue.open('event')
    const first = one.engine.hold('write')
    const altering = one.catalogue.alter('event', { layout: narrow })
    await first.arrived
    const before = await draw(old, 5)
    const second = one.engine.hold('write')
    first.letGo()
    await second.arrived
    second.letGo()
    const altered = await altering
    const after = await draw(altered, 5)
    await clock.pass(5000)
    // It has not heard of anything, and uses up the time that it has.
    before.push(...(await draw(old, 5)))
    after.push(...(await draw(altered, 5)))
    const highest = before.reduce((a, b) => (a > b ? a : b))
    assert.ok(
      after.every((id) => id > highest),
      `${after} after ${highest}`,
    )
  })

  test('keeps a node from using more time of the old layout from its first write on', async () => {
    const { one, two } = await twoNodes()
    await one.catalogue.create('event', { kind: 'snowflake' })
    await two.catalogue.open('event')
    const first = one.engine.hold('write')
    const altering = one.catalogue.alter('event', { layout: narrow })
    await first.arrived
    const second = one.engine.hold('write')
    first.letGo()
    await second.arrived
    // Its own claim goes through, the look at the record does not; so it completes the alteration itself.
    const ids = await draw(await two.catalogue.open('event'), 3)
    assert.equal(two.catalogue.find('event')?.definition.layout, narrow)
    second.letGo()
    const altered = await altering
    assert.equal(altered.incarnation, 2n)
    assert.equal(altered.definition.layout, narrow)
    ids.push(...(await draw(altered, 3)))
    assert.equal(new Set(ids).size, 6)
  })

  for (const kind of ['snowflake', 'sequence'] as const) {
    test(`whose second write is lost is completed by the next node: ${kind}`, async () => {
      const { store, clock, one } = await twoNodes()
      const generator = await one.catalogue.create('event', { kind })
      const before = await draw(generator, 5)
      await diesBetweenWrites(one, 'event', 'segment')
      const two = await startNode({ store, clock })
      assert.deepEqual(
        (await allOf(two.catalogue)).map(({ name, definition }) => [name, definition.kind]),
        [['event', 'segment']],
      )
      const after = await two.catalogue.open('event')
      assert.deepEqual([after.incarnation, after.kind], [2n, 'segment'])
      const highest = before.reduce((a, b) => (a > b ? a : b))
      assert.ok((await draw(after, 5)).every((id) => id > highest))
    })
  }

  for (const [where, begunDay, completedDay] of [
    ['behind', 4, 1],
    ['ahead', 1, 4],
  ] as const) {
    test(`to a kind of the clock is completed also by a node whose clock is days ${where}`, async () => {
      const store = new MemoryStore()
      const one = await startNode({ store, clock: new FakeClock(Date.UTC(2026, 5, begunDay) * 1000) })
      const before = await draw(await one.catalogue.create('event', { kind: 'snowflake' }), 5)
      await diesBetweenWrites(one, 'event', 'timestamp')
      const two = await startNode({ store, clock: new FakeClock(Date.UTC(2026, 5, completedDay) * 1000) })
      const after = await two.catalogue.open('event')
      assert.deepEqual([after.incarnation, after.kind], [2n, 'timestamp'])
      const highest = before.reduce((a, b) => (a > b ? a : b))
      assert.ok((await draw(after, 5)).every((id) => id > highest))
    })
  }

  test('that finds no room any more leaves the definition as it was', async () => {
    const { one, two } = await twoNodes()
    await one.catalogue.create('user', { kind: 'segment', step: 10 })
    const other = await two.catalogue.open('user')
    const first = one.engine.hold('write')
    const altering = one.catalogue.alter('user', { increment: 2, offset: 0n, max: 100n })
    await first.arrived
    const before = await draw(other, 200)
    first.letGo()
    await assert.rejects(altering, { code: 'ERR', message: /in this very moment leave no room/ })
    const still = await one.catalogue.open('user')
    assert.deepEqual([still.definition.increment, still.incarnation], [1, 2n])
    const ids = [...before, ...(await draw(still, 50)), ...(await draw(other, 50))]
    assert.equal(new Set(ids).size, 300)
  })

  test('keeps waiting calls waiting, on every node', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const one = await startNode({ store, clock, generators: { user: { kind: 'segment', step: 10 } } })
    const two = await startNode({ store, clock })
    const held = two.engine.hold('reserve')
    const waiting = draw(await two.catalogue.open('user'), 5)
    await held.arrived
    const altered = await one.catalogue.alter('user', { increment: 10, offset: 0n })
    await settled()
    held.letGo()
    const ids = [...(await waiting), ...(await draw(altered, 5))]
    assert.ok(ids.every((id) => id % 10n === 0n))
    assert.equal(new Set(ids).size, 10)
  })
})
