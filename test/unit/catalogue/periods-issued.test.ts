/** Generators whose numbers begin again in each period, on stores of one process and of several. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { repairGenerators } from '../../../src/recovery/repair-generators.ts'
import { FakeClock } from '../fake-clock.ts'
import { DeafEngine, draw, type Node, SharedEngine, startNode, tryNext } from './node.ts'

const noonUs = Date.UTC(2026, 10, 26, 12) * 1000
const hourMs = 3_600_000
const daily = { kind: 'sequence', period: 'day', width: 4, step: 10 } as const

async function owner(options: Parameters<typeof startNode>[0] = {}): Promise<Node> {
  return startNode({ clock: new FakeClock(noonUs), ...options })
}

async function fleetOf(store: MemoryStore, clock: FakeClock): Promise<Node> {
  return startNode({ store, clock, reach: (reached) => new SharedEngine(reached) })
}

test('numbers begin again at midnight, behind the label of the day', async () => {
  const { catalogue, clock, stop } = await owner()
  const invoice = await catalogue.create('invoice', daily)
  assert.deepEqual(await draw(invoice, 3), [202611260001n, 202611260002n, 202611260003n])
  await clock.pass(12 * hourMs)
  assert.deepEqual(await draw(invoice, 2), [202611270001n, 202611270002n])
  assert.equal(tryNext(invoice), 202611270003n)
  await stop()
})

test('the last draws of a day reserve the first numbers of the next one, and one write begins it', async () => {
  const { catalogue, clock, engine, stop } = await owner()
  const invoice = await catalogue.create('invoice', daily)
  await draw(invoice)
  await clock.pass(12 * hourMs - 1000)
  assert.equal(tryNext(invoice), 202611260002n)
  await clock.pass(1000)
  const before = engine.calls.length
  assert.deepEqual(await draw(invoice), [202611270001n])
  assert.deepEqual(
    engine.calls.slice(before).flatMap(({ method, args }) => (method === 'reserve' ? [args[0]] : [])),
    ['generators/invoice'],
  )
  await stop()
})

test('a clock that was set back goes on in the period that had begun', async () => {
  const store = new MemoryStore()
  const first = await owner({ store, clock: new FakeClock(noonUs + 24 * hourMs * 1000) })
  assert.deepEqual(await draw(await first.catalogue.create('invoice', daily)), [202611270001n])
  await first.crash()
  const { catalogue, clock, stop } = await owner({ store })
  const invoice = await catalogue.open('invoice')
  assert.deepEqual(await draw(invoice), [202611270011n])
  await clock.pass(24 * hourMs)
  assert.deepEqual(await draw(invoice), [202611270012n])
  await clock.pass(12 * hourMs)
  assert.deepEqual(await draw(invoice), [202611280001n])
  await stop()
})

test('a clean stop gives back what is left of the present and of the next period', async () => {
  const store = new MemoryStore()
  const first = await owner({ store })
  const invoice = await first.catalogue.create('invoice', daily)
  await first.clock.pass(12 * hourMs - 1000)
  await draw(invoice)
  assert.equal(tryNext(invoice), 202611260002n)
  await first.stop()
  const { catalogue, clock, stop } = await owner({ store, clock: first.clock })
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611260003n])
  await clock.pass(1000)
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611270001n])
  await stop()
})

test('nodes whose clocks differ each finish their day, and repeat nothing', async () => {
  const store = new MemoryStore()
  const behind = await fleetOf(store, new FakeClock(noonUs))
  const ahead = await fleetOf(store, new FakeClock(noonUs + 12 * hourMs * 1000))
  const [one, other] = [
    await behind.catalogue.create('invoice', daily),
    await ahead.catalogue.open('invoice'),
  ]
  assert.deepEqual(await draw(one), [202611260001n])
  assert.deepEqual(await draw(other), [202611270001n])
  assert.deepEqual(await draw(one), [202611260002n])
  await behind.clock.pass(12 * hourMs)
  assert.deepEqual(await draw(one), [202611270002n])
  await Promise.all([behind.stop(), ahead.stop()])
})

test('a node goes on in the later period once its own counter is taken over', async () => {
  const store = new MemoryStore()
  const behind = await fleetOf(store, new FakeClock(noonUs))
  const ahead = await fleetOf(store, new FakeClock(noonUs + 48 * hourMs * 1000))
  const [one, other] = [
    await behind.catalogue.create('invoice', daily),
    await ahead.catalogue.open('invoice'),
  ]
  assert.deepEqual(await draw(one), [202611260001n])
  assert.deepEqual(await draw(other), [202611280001n])
  assert.deepEqual(await draw(one), [202611280002n])
  await Promise.all([behind.stop(), ahead.stop()])
})

test('the mark is written again when its answer is lost, and no id leaves before', async () => {
  const { catalogue, clock, engine, stop } = await owner()
  const invoice = await catalogue.create('invoice', daily)
  await draw(invoice)
  await clock.pass(12 * hourMs - 1000)
  tryNext(invoice)
  await clock.pass(1000)
  engine.next('reserve', 'lose-reply')
  const drawn = draw(invoice)
  assert.equal(tryNext(invoice), undefined)
  await clock.pass(100)
  assert.deepEqual(await drawn, [202611270001n])
  engine.always('any', 'unavailable')
  await clock.pass(24 * hourMs)
  const refused = assert.rejects(draw(invoice), /DRY|has not begun period 20261128 in the store/)
  await clock.pass(3000)
  await refused
  engine.heal()
  assert.deepEqual(await draw(invoice), [202611280001n])
  await stop()
})

test('a call that waits at midnight gets ids of its day or of the next one', async () => {
  const { catalogue, clock, engine, stop } = await owner()
  const invoice = await catalogue.create('invoice', { ...daily, issueTimeout: '1h' })
  await clock.pass(12 * hourMs - 1000)
  await draw(invoice)
  while (tryNext(invoice) !== undefined);
  const held = engine.hold('reserve')
  const waiting = draw(invoice, 20)
  await held.arrived
  await clock.pass(2000)
  const [next] = await draw(invoice)
  assert.equal(next, 202611270001n)
  held.letGo()
  assert.equal((await waiting)[0]! / 10_000n, 20261126n)
  await stop()
})

test('an earlier day is numbered while KEEP leaves it open', async () => {
  const { catalogue, clock, stop } = await owner()
  const invoice = await catalogue.create('invoice', { ...daily, keep: 2 })
  assert.deepEqual(await draw(invoice, 2), [202611260001n, 202611260002n])
  await clock.pass(24 * hourMs)
  const at = async (day: string, count = 1) =>
    (await invoice.draw(count, { at: day })).flatMap((run) =>
      Array.from({ length: run.count }, (_, index) => run.at(index)),
    )
  assert.deepEqual(await at('2026-11-26'), [202611260003n])
  assert.deepEqual(await at('2026-11-25', 2), [202611250001n, 202611250002n])
  assert.deepEqual(await at('2026-11-27'), [202611270001n])
  assert.deepEqual(await at('2026-11-26T13:00:00Z'), [202611260004n])
  await assert.rejects(at('2026-11-24'), /period 20261124 of 'invoice' is closed: with KEEP 2/)
  await assert.rejects(at('2026-11-28'), /has not begun; leave AT out/)
  await clock.pass(48 * hourMs)
  await assert.rejects(at('2026-11-26'), /is closed/)
  await stop()
})

test('a day whose numbers are used up says until when, and the next one begins', async () => {
  const { catalogue, clock, stop } = await owner()
  const short = await catalogue.create('short', { ...daily, width: 1 })
  assert.equal((await draw(short, 9)).at(-1), 202611269n)
  await assert.rejects(draw(short), {
    code: 'EXHAUSTED',
    message:
      /too few numbers of 1 digits left in period 20261126, which ends at 2026-11-27T00:00:00Z; give it more digits with ID.ALTER short WIDTH 3/,
  })
  await clock.pass(12 * hourMs)
  assert.deepEqual(await draw(short), [202611271n])
  await stop()
})

test('a generator that is dropped and created again goes on in its day', async () => {
  const { catalogue, stop } = await owner()
  await draw(await catalogue.create('invoice', daily), 3)
  await catalogue.drop('invoice')
  assert.deepEqual(await draw(await catalogue.create('invoice', daily)), [202611260004n])
  await stop()
})

test('a node that has not heard of another KEEP draws nothing by the one before', async () => {
  const store = new MemoryStore()
  const deaf = await startNode({
    store,
    clock: new FakeClock(noonUs),
    reach: (reached) => new DeafEngine(reached),
  })
  const other = await fleetOf(store, new FakeClock(noonUs))
  const there = await deaf.catalogue.create('invoice', daily)
  assert.deepEqual(await draw(there), [202611260001n])
  const here = await other.catalogue.alter('invoice', { keep: 3 })
  assert.deepEqual(await draw(there), [202611260002n])
  assert.deepEqual(await draw(here), [202611260003n])
  await Promise.all([deaf.stop(), other.stop()])
})

test('a generator goes on in the period of its ids where its zone comes later', async () => {
  const { catalogue, clock, stop } = await owner()
  await draw(await catalogue.create('invoice', { ...daily, zone: '+14:00' }))
  assert.deepEqual(await draw(await catalogue.alter('invoice', { zone: 'UTC' })), [202611270002n])
  await clock.pass(24 * hourMs)
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611270003n])
  await clock.pass(12 * hourMs)
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611280001n])
  await stop()
})

test('an hour that comes again when summer time ends goes on', async () => {
  const clock = new FakeClock(Date.parse('2026-10-25T00:30:00Z') * 1000)
  const { catalogue, stop } = await owner({ clock })
  const order = await catalogue.create('order', { ...daily, period: 'hour', zone: 'Europe/Berlin' })
  assert.deepEqual(await draw(order), [20261025020001n])
  await clock.pass(hourMs)
  assert.deepEqual(await draw(order), [20261025020002n])
  await clock.pass(hourMs)
  assert.deepEqual(await draw(order), [20261025030001n])
  await stop()
})

test('a segment numbers each period on each node, and leases no ranges', async () => {
  const store = new MemoryStore()
  const [one, two] = [
    await fleetOf(store, new FakeClock(noonUs)),
    await fleetOf(store, new FakeClock(noonUs)),
  ]
  const first = await one.catalogue.create('order', { ...daily, kind: 'segment' })
  assert.deepEqual(await draw(first), [202611260001n])
  assert.deepEqual(await draw(await two.catalogue.open('order')), [202611260011n])
  assert.equal(tryNext(first), 202611260002n)
  await assert.rejects(first.leaseRange(5), /begin again each day, and a range would be of one/)
  await Promise.all([one.stop(), two.stop()])
})

test('numbers without gaps are counted in each period', async () => {
  const store = new MemoryStore()
  const first = await owner({ store })
  const invoice = await first.catalogue.create('invoice', { ...daily, gaps: 'none' })
  assert.deepEqual(await draw(invoice, 2), [202611260001n, 202611260002n])
  await first.crash()
  const { catalogue, clock, stop } = await owner({ store })
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611260003n])
  await clock.pass(12 * hourMs)
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611270001n])
  await stop()
})

test('a larger WIDTH goes on with the numbers of the day', async () => {
  const { catalogue, stop } = await owner()
  await draw(await catalogue.create('invoice', daily), 3)
  const wider = await catalogue.alter('invoice', { width: 6, keep: 1 })
  assert.deepEqual(await draw(wider), [20261126000004n])
  await assert.rejects(catalogue.alter('invoice', { width: 4 }), /leaves none below max 999999999999/)
  await stop()
})

test('a plain counter becomes one with periods, and back', async () => {
  const { catalogue, stop } = await owner()
  assert.deepEqual(await draw(await catalogue.create('order', { kind: 'sequence' }), 2), [1n, 2n])
  assert.deepEqual(await draw(await catalogue.alter('order', { period: 'month', width: 4 })), [2026110001n])
  assert.deepEqual(await draw(await catalogue.alter('order', { period: 'none' })), [2026110002n])
  await stop()
})

test('other options change while the numbers go on', async () => {
  const { catalogue, stop } = await owner()
  const invoice = await catalogue.create('invoice', daily)
  await draw(invoice)
  await catalogue.alter('invoice', { step: 50 })
  assert.deepEqual(await draw(invoice), [202611260002n])
  await stop()
})

test('a move stays in the present period', async () => {
  const { catalogue, stop } = await owner()
  const invoice = await catalogue.create('invoice', daily)
  await draw(invoice)
  await catalogue.alter('invoice', { floor: 202611260050n })
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611260050n])
  await (await catalogue.open('invoice')).moveTo(202611260070n)
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611260071n])
  await assert.rejects(
    (await catalogue.open('invoice')).moveTo(202611270001n),
    /is in period 20261126, and moves from/,
  )
  await assert.rejects(
    (await catalogue.open('invoice')).moveTo(202611260010n),
    /has issued 202611260071 already/,
  )
  await stop()
})

test('an advance leaves a gap in every period that lost ids can be of, and no other period moves', async () => {
  const { catalogue, clock, engine, stop } = await owner()
  await clock.pass(12 * hourMs - 600_000)
  await draw(await catalogue.create('invoice', daily))
  await engine.advance(5000n, repairGenerators(clock.wall, 5000n))
  await catalogue.reopenAll()
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611265001n + 10n])
  await clock.pass(600_000)
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611275001n])
  await clock.pass(24 * hourMs)
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611280001n])
  await stop()
})

test('an id is checked against the bound of its own period', async () => {
  const { catalogue, clock, stop } = await owner()
  const invoice = await catalogue.create('invoice', { ...daily, keep: 1 })
  await draw(invoice)
  await clock.pass(24 * hourMs)
  await draw(invoice)
  const { never } = await catalogue.issuedBelow('invoice')
  assert.equal(never(202611260001n), undefined)
  assert.match(never(202611260011n)!, /at or above/)
  assert.equal(never(202611270010n), undefined)
  assert.match(never(202611270011n)!, /at or above/)
  assert.match(never(202611280001n)!, /at or above/)
  assert.match(never(99n)!, /of no day/)
  await stop()
})

/** Forgets the counters of a crashed node that are not in `kept`, and advances. */
async function advancedWithout(
  { store, clock, crash }: Node,
  kept: MemoryStore['counters'],
  gap: bigint,
): Promise<Node> {
  await crash()
  for (const name of [...store.counters.keys()]) store.counters.delete(name)
  for (const [name, counter] of kept) store.counters.set(name, counter)
  const after = await startNode({ store, clock })
  await after.engine.advance(gap, repairGenerators(clock.wall, gap))
  await after.catalogue.reopenAll()
  return after
}

test('an advance counts from the floor where the counters of an incarnation are unused', async () => {
  const node = await owner()
  const { catalogue, store } = node
  await catalogue.create('invoice', { ...daily, keep: 1 })
  await (await catalogue.open('invoice')).moveTo(202611265000n, { force: true })
  await catalogue.alter('invoice', { keep: 3 })
  const kept = new Map(store.counters)
  assert.deepEqual(await draw(await catalogue.open('invoice'), 3), [
    202611265001n,
    202611265002n,
    202611265003n,
  ])
  const after = await advancedWithout(node, kept, 100n)
  assert.deepEqual(await draw(await after.catalogue.open('invoice')), [202611265101n])
  await after.stop()
})

test('an advance counts in a period that is ahead of the clock', async () => {
  const clock = new FakeClock(noonUs + 24 * hourMs * 1000)
  const node = await owner({ clock })
  const invoice = await node.catalogue.create('invoice', { ...daily, keep: 1 })
  assert.deepEqual(await draw(invoice), [202611270001n])
  const kept = new Map([...node.store.counters].filter(([name]) => !name.startsWith('periods/')))
  await draw(invoice, 3)
  clock.wall = noonUs
  const after = await advancedWithout(node, kept, 100n)
  assert.deepEqual(await draw(await after.catalogue.open('invoice')), [202611270101n])
  await after.catalogue.alter('invoice', { keep: 2 })
  assert.ok((await draw(await after.catalogue.open('invoice')))[0]! > 202611270101n)
  await after.stop()
})

test('an advance leaves twelve earlier periods open at most, and writes no counters of others', async () => {
  const node = await owner()
  const { clock, catalogue, store } = node
  const invoice = await catalogue.create('invoice', { ...daily, keep: 60 })
  await draw(invoice)
  await invoice.draw(3, { at: '2026-11-14' })
  await invoice.draw(3, { at: '2026-11-13' })
  const after = await advancedWithout(node, new Map(), 100n)
  assert.equal(store.counters.size, 14)
  const again = await after.catalogue.open('invoice')
  assert.equal((await again.draw(1, { at: '2026-11-14' }))[0]!.at(0), 202611140101n)
  await assert.rejects(again.draw(1, { at: '2026-11-13' }), /period 20261113 of 'invoice' .* is closed/)
  await clock.pass(24 * hourMs)
  await assert.rejects(again.draw(1, { at: '2026-11-13' }), /is closed/)
  await after.stop()
})

test('an advance where the zone of a generator is unknown raises all, from the calendar that is ahead', async () => {
  const { catalogue, clock, engine, stop } = await owner()
  await draw(await catalogue.create('invoice', daily))
  await draw(await catalogue.create('order', { kind: 'sequence', step: 1000 }))
  const record = (await engine.read('generators/invoice'))!
  await engine.write(record.key, record.value.replace('"UTC"', '"Mars/Olympus"'), record.version)
  await engine.advance(100n, repairGenerators(clock.wall, 100n))
  const written = (await engine.read(record.key))!
  await engine.write(record.key, written.value.replace('"Mars/Olympus"', '"UTC"'), written.version)
  await catalogue.reopenAll()
  assert.deepEqual(await draw(await catalogue.open('invoice')), [202611270101n])
  assert.deepEqual(await draw(await catalogue.open('order')), [1101n])
  await stop()
})

test('numbers go on where KEEP and then WIDTH change, and none was drawn between', async () => {
  const { catalogue, stop } = await owner()
  await draw(await catalogue.create('invoice', daily), 4)
  await catalogue.alter('invoice', { keep: 3 })
  const wider = await catalogue.alter('invoice', { width: 6 })
  assert.deepEqual(await draw(wider), [20261126000005n])
  await stop()
})

test('a document of a day that is over gets none of the next one, although it was asked for in time', async () => {
  const { catalogue, clock, engine, stop } = await owner()
  const short = await catalogue.create('short', { ...daily, width: 1 })
  await draw(short, 9)
  await assert.rejects(draw(short), { code: 'EXHAUSTED' })
  const held = engine.hold('counter')
  const late = assert.rejects(short.draw(1, { at: '2026-11-26' }), /period 20261126 of 'short' is closed/)
  await held.arrived
  await clock.pass(12 * hourMs)
  held.letGo()
  await late
  await stop()
})

test('nothing is numbered while the clock shows another day than the timeline follows', async () => {
  const { catalogue, clock, stop } = await owner()
  const invoice = await catalogue.create('invoice', daily)
  await draw(invoice)
  clock.wall += 24 * hourMs * 1000
  assert.equal(tryNext(invoice), undefined)
  await assert.rejects(draw(invoice), { code: 'CLOCK', retryAfterMs: 5000 })
  await clock.pass(6000)
  assert.equal(tryNext(invoice), undefined)
  assert.deepEqual(await draw(invoice), [202611270001n])
  await stop()
})

test('a move that gives up most of a period needs FORCE, and no change leads into a far one', async () => {
  const { catalogue, stop } = await owner()
  const invoice = await catalogue.create('invoice', daily)
  await draw(invoice)
  await assert.rejects(invoice.moveTo(202611269999n), /gives up 9998 of its 9998 ids for good/)
  await assert.rejects(
    catalogue.alter('invoice', { keep: 3, floor: 203611260001n }),
    /leaves none in period 20261126/,
  )
  await invoice.moveTo(202611269998n, { force: true })
  assert.deepEqual(await draw(invoice), [202611269999n])
  await stop()
})
