import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { recordKey } from '../../../src/issuing/worker-records.ts'
import { repairWorkers } from '../../../src/recovery/repair-workers.ts'
import { draw } from '../catalogue/node.ts'
import { FakeClock } from '../fake-clock.ts'
import {
  asker,
  byteLayout,
  oneLayout,
  second,
  startEvent,
  startServer,
  startUs,
  tenLayout,
} from './server.ts'

const minute = 60 * second

describe('a worker lease', () => {
  test('is a worker id and the span of time from now on in which its holder may stamp ids', async () => {
    const server = await startEvent()
    const lease = await server.leases.lease('event', { ...asker, ttlMs: 5000 })
    assert.deepEqual([lease.fromUs, lease.untilUs, lease.nowUs], [startUs, startUs + 5 * second, startUs])
    assert.equal(lease.incarnation, 1n)
    assert.equal(lease.definition.kind, 'snowflake')
    const { owner, holder, boundUs, generator, user } = (await server.record(lease.worker))!
    assert.equal(lease.lease, `${lease.worker}-1-${owner}`)
    assert.match(owner, /^[0-9a-f]{32}$/)
    assert.deepEqual([holder, boundUs, generator, user], ['a test', lease.untilUs, 'event', 'default'])
  })

  test('leaves the lowest sixty-fourth of the ids, and at least one, to nodes', async () => {
    const server = await startServer()
    for (const [name, layout, least, most] of [
      ['event', byteLayout, 4, 255],
      ['narrow', oneLayout, 1, 1],
    ] as const) {
      await server.catalogue.create(name, { kind: 'snowflake', ...layout })
      const workers: number[] = []
      for (let each = least; each <= most; each++)
        workers.push((await server.leases.lease(name, asker)).worker)
      const expected = Array.from({ length: most - least + 1 }, (_, index) => least + index)
      // The id of the narrow layout is the nodes' in the wider one.
      assert.deepEqual(
        workers.sort((a, b) => a - b),
        expected,
      )
      await assert.rejects(server.leases.lease(name, asker), { code: 'EXHAUSTED' })
    }
    // A node takes the lowest.
    await draw(await server.catalogue.open('event'))
    assert.equal(server.worker.id, 0)
  })

  test('is refused with the number of ids that are held and rest, and when the first is free', async () => {
    const server = await startEvent(oneLayout)
    await server.leases.lease('event', { ...asker, ttlMs: 7000 })
    await server.clock.pass(1500)
    await assert.rejects(server.leases.lease('event', asker), (error) => {
      assert.ok(error instanceof FahaoError)
      assert.equal(error.code, 'EXHAUSTED')
      assert.equal(error.retryAfterMs, 5500)
      assert.match(error.message, /all 1 worker ids .* 1 are held and 0 rest; the first is free in 6 s/)
      return true
    })
    await server.clock.pass(5500)
    assert.equal((await server.leases.lease('event', asker)).worker, 1)
  })

  test('starts where the span of the holder before it ends, though the clock of the node stands behind', async () => {
    const store = new MemoryStore()
    const [ahead, behind] = [
      await startServer({ store, clock: new FakeClock(startUs + 3600 * second) }),
      await startServer({ store, clock: new FakeClock(startUs) }),
    ]
    await ahead.catalogue.create('event', { kind: 'snowflake', ...oneLayout })
    const before = await ahead.leases.lease('event', asker)
    await assert.rejects(behind.leases.lease('event', asker), { code: 'EXHAUSTED' })
    await ahead.clock.pass(120_000)
    const next = await ahead.leases.lease('event', asker)
    assert.ok(next.fromUs >= before.untilUs)
    assert.equal((await ahead.record(1))!.epoch, 2)
    await assert.rejects(behind.leases.renew('event', before.lease, { untilUs: before.untilUs }), {
      code: 'NOLEASE',
    })
  })

  test('is extended by any node that is told where its span ends', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const [first, second_] = [await startServer({ store, clock }), await startServer({ store, clock })]
    await first.catalogue.create('event', { kind: 'snowflake', ...byteLayout })
    const lease = await first.leases.lease('event', asker)
    await clock.pass(20_000)
    const renewed = await second_.leases.renew('event', lease.lease, { untilUs: lease.untilUs })
    assert.deepEqual(
      [renewed.worker, renewed.fromUs, renewed.untilUs, renewed.lease],
      [lease.worker, lease.fromUs, lease.untilUs + 20 * second, lease.lease],
    )
    assert.equal((await first.record(lease.worker))!.boundUs, renewed.untilUs)
  })

  test('is never shortened by a renewal', async () => {
    const server = await startEvent()
    const lease = await server.leases.lease('event', asker)
    const same = await server.leases.renew('event', lease.lease, { untilUs: lease.untilUs, ttlMs: 1000 })
    assert.equal(same.untilUs, lease.untilUs)
  })

  test('gives a copy of its holder no further time', async () => {
    const server = await startEvent()
    const { lease, untilUs, worker } = await server.leases.lease('event', asker)
    await server.clock.pass(1000)
    const renewed = await server.leases.renew('event', lease, { untilUs })
    await assert.rejects(server.leases.renew('event', lease, { untilUs }), { code: 'NOLEASE' })
    assert.equal((await server.record(worker))!.boundUs, renewed.untilUs, 'nothing is changed')
    await server.leases.renew('event', lease, { untilUs: renewed.untilUs })
  })

  test('gives the rest of its span back, once', async () => {
    const server = await startEvent(oneLayout)
    const { lease, untilUs, worker, fromUs } = await server.leases.lease('event', asker)
    await server.clock.pass(2000)
    assert.equal(await server.leases.giveBack(lease, { fromUs: fromUs + second, untilUs }), true)
    assert.equal((await server.record(worker))!.boundUs, fromUs + second)
    assert.equal(await server.leases.giveBack(lease, { fromUs, untilUs }), true, 'repeated')
    assert.equal((await server.record(worker))!.boundUs, fromUs + second)
    await assert.rejects(server.leases.renew('event', lease, { untilUs: fromUs + second }), {
      code: 'NOLEASE',
    })
    const next = await server.leases.lease('event', asker)
    assert.deepEqual([next.worker, next.fromUs], [worker, fromUs + 2 * second])
    assert.equal(await server.leases.giveBack(lease, { fromUs, untilUs }), false, 'of another holder by now')
    await server.leases.renew('event', next.lease, { untilUs: next.untilUs })
  })

  test('is not given back by a copy of its holder after another copy has renewed it', async () => {
    const server = await startEvent()
    const { lease, fromUs, untilUs, worker } = await server.leases.lease('event', asker)
    await server.clock.pass(1000)
    const renewed = await server.leases.renew('event', lease, { untilUs })
    const before = await server.record(worker)
    for (const wrongUs of [untilUs, renewed.untilUs - 1, renewed.untilUs + 1])
      assert.equal(await server.leases.giveBack(lease, { fromUs, untilUs: wrongUs }), false)
    assert.deepEqual(await server.record(worker), before, 'nothing is changed')
    const again = await server.leases.renew('event', lease, { untilUs: renewed.untilUs })
    assert.equal(await server.leases.giveBack(lease, { fromUs, untilUs: again.untilUs }), true)
    await assert.rejects(server.leases.renew('event', lease, { untilUs: again.untilUs }), { code: 'NOLEASE' })
  })

  test('keeps the time of a renewal that comes between the read and the write of a return', async () => {
    const server = await startEvent()
    const { lease, fromUs, untilUs, worker } = await server.leases.lease('event', asker)
    await server.clock.pass(1000)
    const held = server.engine.hold('write')
    const returned = server.leases.giveBack(lease, { fromUs, untilUs })
    await held.arrived
    const renewed = await server.leases.renew('event', lease, { untilUs })
    held.letGo()
    assert.equal(await returned, false)
    assert.equal((await server.record(worker))!.boundUs, renewed.untilUs)
  })

  test('is given back no further than to its own start, and no further than it was reserved', async () => {
    const server = await startEvent()
    const [low, high] = [await server.leases.lease('event', asker), await server.leases.lease('event', asker)]
    assert.equal(await server.leases.giveBack(low.lease, { fromUs: 0, untilUs: low.untilUs }), true)
    assert.equal((await server.record(low.worker))!.boundUs, low.fromUs)
    const { untilUs } = high
    assert.equal(await server.leases.giveBack(high.lease, { fromUs: untilUs + minute, untilUs }), true)
    assert.equal((await server.record(high.worker))!.boundUs, high.untilUs)
  })

  test('is known by its whole text only', async () => {
    const server = await startEvent()
    const { lease, untilUs, worker } = await server.leases.lease('event', asker)
    const [, epoch, secret] = lease.split('-')
    const forged = [
      `${worker}-${epoch}-${'0'.repeat(32)}`,
      `${worker}-2-${secret}`,
      `${worker + 1}-${epoch}-${secret}`,
      `${worker}-${epoch}-`,
      '',
      'others-1-00000000000000000000000000000000',
    ]
    for (const text of forged) {
      await assert.rejects(server.leases.renew('event', text, { untilUs }), { code: 'NOLEASE' }, text)
      assert.equal(await server.leases.giveBack(text, { fromUs: 0, untilUs }), false, text)
    }
    // The record of a node has no lease, whatever its owner is called.
    await draw(await server.catalogue.open('event'))
    const { boundUs } = (await server.record(0))!
    const none = `0-1-${'0'.repeat(32)}`
    assert.equal(await server.leases.giveBack(none, { fromUs: 0, untilUs: boundUs }), false)
  })

  test('ends with an advance; the next one starts above all time that may have been forgotten, at once', async () => {
    const server = await startEvent(oneLayout)
    const { lease, untilUs } = await server.leases.lease('event', asker)
    await server.engine.advance(0n, repairWorkers(server.clock.wall))
    await assert.rejects(server.leases.renew('event', lease, { untilUs }), { code: 'NOLEASE' })
    const { boundUs } = (await server.record(1))!
    assert.equal(await server.leases.giveBack(lease, { fromUs: 0, untilUs: boundUs }), false)
    await assert.rejects(server.leases.renew('event', lease, { untilUs: boundUs }), { code: 'NOLEASE' })
    const next = await server.leases.lease('event', asker)
    assert.equal(next.fromUs, boundUs)
    assert.ok(next.fromUs > untilUs && next.untilUs - next.fromUs === minute)
    await assert.rejects(server.leases.lease('event', asker), { code: 'EXHAUSTED' })
  })

  test('of an id without a record begins above an advance that comes between the list and its write', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const [server, other] = [await startServer({ store, clock }), await startServer({ store, clock })]
    await server.catalogue.create('event', { kind: 'snowflake', ...byteLayout })
    const held = server.engine.hold('write')
    const asked = server.leases.lease('event', asker)
    await held.arrived
    await other.engine.advance(0n, repairWorkers(clock.wall))
    held.letGo()
    const lease = await asked
    assert.ok(lease.fromUs >= startUs + 15 * minute)
    assert.ok((await server.record(lease.worker))!.boundUs === lease.untilUs)
  })

  test('refuses a span, and a name of a holder, beyond the limits', async () => {
    const server = await startEvent()
    for (const ttlMs of [999, 900_001, Number.NaN, -1])
      await assert.rejects(server.leases.lease('event', { ...asker, ttlMs }), { code: 'ERR' }, String(ttlMs))
    for (const holder of ['x'.repeat(129), 'a\nb', 'a\u202eb', 'a\u2028b', 'a\ud800'])
      await assert.rejects(server.leases.lease('event', { ...asker, holder }), { code: 'ERR' }, holder)
    assert.deepEqual(await server.listed(), [])
  })
})

describe('one lease for several generators', () => {
  test('is confirmed for each by a renewal', async () => {
    const server = await startEvent()
    await server.catalogue.create('other', { kind: 'snowflake' })
    const lease = await server.leases.lease('event', asker)
    const writes = server.engine.count('write')
    const other = await server.leases.renew('other', lease.lease, { untilUs: lease.untilUs })
    assert.deepEqual([other.worker, other.fromUs, other.untilUs], [lease.worker, lease.fromUs, lease.untilUs])
    assert.notEqual(other.definition.layout, lease.definition.layout)
    assert.equal(server.engine.count('write'), writes, 'the span suffices')
  })

  test('is refused where the layout has no room for the worker id, or the kind takes none', async () => {
    const server = await startEvent()
    await server.catalogue.create('narrow', { kind: 'snowflake', ...oneLayout })
    await server.catalogue.create('order', { kind: 'sequence' })
    const { lease, untilUs } = await server.leases.lease('event', asker)
    await assert.rejects(server.leases.renew('narrow', lease, { untilUs }), { code: 'WORKERID' })
    await assert.rejects(server.leases.renew('order', lease, { untilUs }), { code: 'WRONGTYPE' })
    await assert.rejects(server.leases.renew('none', lease, { untilUs }), { code: 'NOGENERATOR' })
  })

  test('is as it was after a renewal for a generator that cannot hold it', async () => {
    const server = await startEvent()
    await server.catalogue.create('narrow', { kind: 'snowflake', ...oneLayout })
    // Its time ends 30 s from now.
    const epoch = new Date(startUs / 1000 - 2 ** 40 + 30_000).toISOString()
    const full = `time:40,node:8,sequence:14;epoch=${epoch}`
    await server.catalogue.create('full', { kind: 'snowflake', layout: full })
    const { lease, untilUs, worker } = await server.leases.lease('event', { ...asker, ttlMs: 10_000 })
    const before = await server.record(worker)
    await server.clock.pass(1000)
    for (const [name, wanted] of [
      ['narrow', 'WORKERID'],
      ['full', 'EXHAUSTED'],
    ] as const) {
      await assert.rejects(server.leases.renew(name, lease, { untilUs }), { code: wanted })
      assert.deepEqual(await server.record(worker), before)
    }
    const renewed = await server.leases.renew('event', lease, { untilUs })
    assert.ok(renewed.untilUs > untilUs)
  })
})

describe('an alteration during a lease', () => {
  test('starts the next incarnation above the span, and a renewal goes on there', async () => {
    const server = await startEvent()
    const lease = await server.leases.lease('event', asker)
    await server.catalogue.alter('event', tenLayout)
    const { floor } = await server.catalogue.current('event')
    const renewed = await server.leases.renew('event', lease.lease, { untilUs: lease.untilUs })
    assert.equal(renewed.incarnation, 2n)
    assert.ok(renewed.fromUs >= lease.untilUs, 'no moment of the span is in both incarnations')
    assert.ok(floor > 0n && renewed.untilUs > renewed.fromUs)
  })

  test('that comes between the write of a lease and its answer is in the answer', async () => {
    for (const renewal of [false, true]) {
      const server = await startEvent()
      const before = renewal ? await server.leases.lease('event', asker) : undefined
      await server.clock.pass(1000)
      const held = server.engine.hold('write')
      const asked =
        before === undefined
          ? server.leases.lease('event', asker)
          : server.leases.renew('event', before.lease, { untilUs: before.untilUs })
      await held.arrived
      // The alteration does not see the bound that is being written.
      await server.catalogue.alter('event', tenLayout)
      held.letGo()
      const lease = await asked
      assert.equal(lease.incarnation, 2n)
      const { floor } = await server.catalogue.current('event')
      const floorUs = Date.UTC(2026, 0, 1) * 1000 + Number(floor) * 1000
      assert.ok(lease.fromUs >= floorUs && lease.untilUs > lease.fromUs)
    }
  })
})

test('the list of worker ids lets others run while it reads records of times that have passed', async () => {
  const server = await startServer()
  const past = { owner: 'o', holder: 'h', epoch: 1, boundUs: 1, exclusive: false }
  for (let id = 0; id < 900; id++) await server.engine.write(recordKey(id), JSON.stringify(past), undefined)
  let rounds = 0
  let next = setImmediate(function count() {
    rounds++
    next = setImmediate(count)
  })
  assert.deepEqual(await server.listed(), [])
  clearImmediate(next)
  assert.ok(rounds >= 3, `${rounds} rounds`)
})

describe('a lost reply of the store', () => {
  test('to a claim leaves the id to rest, and another one is claimed', async () => {
    const server = await startEvent()
    server.engine.next('write', 'lose-reply')
    const lease = await server.leases.lease('event', asker)
    const listed = await server.listed()
    assert.equal(listed.length, 2)
    assert.equal(listed.filter(({ worker }) => worker === lease.worker).length, 1)
    server.engine.next('write', 'lose-reply', 2)
    await assert.rejects(server.leases.lease('event', asker), { code: 'UNKNOWN' })
  })

  test('to a renewal is answered if the renewal was carried out, and is unknown otherwise', async () => {
    const server = await startEvent()
    const { lease, untilUs } = await server.leases.lease('event', asker)
    await server.clock.pass(1000)
    server.engine.next('write', 'lose-reply')
    const renewed = await server.leases.renew('event', lease, { untilUs })
    assert.equal(renewed.untilUs, untilUs + second)
    await server.clock.pass(1000)
    server.engine.next('write', 'late')
    const unknown = server.leases.renew('event', lease, { untilUs: renewed.untilUs })
    await assert.rejects(unknown, { code: 'UNKNOWN' })
    await server.leases.renew('event', lease, { untilUs: renewed.untilUs })
    await server.engine.deliver()
  })

  test('that arrives late, after the holder has been told UNKNOWN, ends the lease and repeats no time', async () => {
    const server = await startEvent()
    const { lease, untilUs, worker } = await server.leases.lease('event', asker)
    await server.clock.pass(1000)
    server.engine.next('write', 'late')
    await assert.rejects(server.leases.renew('event', lease, { untilUs }), { code: 'UNKNOWN' })
    await server.engine.deliver()
    await assert.rejects(server.leases.renew('event', lease, { untilUs }), { code: 'NOLEASE' })
    assert.equal((await server.record(worker))!.boundUs, untilUs + second)
  })

  test('to a return may be repeated', async () => {
    const server = await startEvent()
    const { lease, fromUs, untilUs } = await server.leases.lease('event', asker)
    server.engine.next('write', 'lose-request')
    await assert.rejects(server.leases.giveBack(lease, { fromUs, untilUs }), { code: 'UNKNOWN' })
    assert.equal(await server.leases.giveBack(lease, { fromUs, untilUs }), true)
  })
})

describe('many claims', () => {
  test('at once share one list, and get different ids', async () => {
    const server = await startEvent(byteLayout, { random: Math.random })
    const lists = server.engine.count('list')
    const leases = await Promise.all(Array.from({ length: 252 }, () => server.leases.lease('event', asker)))
    assert.equal(new Set(leases.map(({ worker }) => worker)).size, 252)
    assert.equal(server.engine.count('list') - lists, 1)
  })

  test('of two nodes get different ids, though both choose alike', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const servers = [await startServer({ store, clock }), await startServer({ store, clock })]
    await servers[0]!.catalogue.create('event', { kind: 'snowflake', ...byteLayout })
    const leases = await Promise.all(
      servers.flatMap(({ leases }) => Array.from({ length: 100 }, () => leases.lease('event', asker))),
    )
    assert.equal(new Set(leases.map(({ worker }) => worker)).size, 200)
  })
})
