import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Timeline } from '../../../src/base/timeline.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { WorkerId } from '../../../src/issuing/worker-id.ts'
import {
  assertInvariants,
  readWorker,
  workerPrefix,
  workerRecords,
} from '../../../src/issuing/worker-records.ts'
import { repairWorkers } from '../../../src/recovery/repair-workers.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock } from '../fake-clock.ts'

const second = 1_000_000
const lead = 600 * second

let processes = 0

/** A node that wants a worker id of a store. */
function start({
  fixedId,
  leadUs = lead,
  store = new MemoryStore(),
  clock = new FakeClock(),
}: {
  fixedId?: number
  leadUs?: number
  store?: MemoryStore
  clock?: FakeClock
} = {}) {
  const engine = new FaultyEngine(new MemoryEngine(store))
  const timeline = new Timeline(clock)
  const events: string[] = []
  const owner = `node-${++processes}`
  const worker = new WorkerId({
    engine,
    timeline,
    fixedId,
    leadUs,
    owner,
    holder: `host:${processes}`,
    onEvent: (message) => events.push(message),
  })
  const secure = () => worker.secure(timeline.nowUs() + 1000).finally(() => worker.assertInvariants())
  const record = async (id: number) => {
    worker.assertInvariants()
    assertInvariants(await workerRecords(engine))
    const stored = await engine.read(`${workerPrefix}${id}`)
    return stored && readWorker(stored)
  }
  return { store, clock, engine, timeline, worker, events, owner, secure, record }
}

/** Lets a store forget what it has learned since this was called, as a failover to a lagging replica does. */
function forgetLater({ records }: MemoryStore): () => void {
  const before = new Map(records)
  return () => {
    records.clear()
    for (const [key, record] of before) records.set(key, record)
  }
}

describe('a worker id whose claim the store may have forgotten', () => {
  test('stays this node’s while its record is unchanged', async () => {
    const node = start()
    await node.secure()
    assert.equal(await node.worker.confirm(), true)
    assert.deepEqual([node.worker.id, node.worker.claim], [0, 1])
  })

  test('is claimed again after an advance, above all time that another node can have reserved of it', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const [owner, taker] = [start({ store, clock }), start({ store, clock })]
    await owner.secure()
    // Idle until the id is free for others.
    await clock.pass(13 * 60_000)
    const forget = forgetLater(store)
    await taker.secure()
    assert.equal(taker.worker.id, 0)
    forget()
    await owner.engine.advance(0n, repairWorkers(clock.wall, lead))
    await owner.secure()
    assert.deepEqual([owner.worker.id, owner.worker.claim], [0, 2])
    assert.ok(owner.worker.startUs >= taker.worker.boundUs)
    assert.match(owner.events.join(), /the claim of worker id 0 ended with an advance/)
    // Its buffered time lies below; then it claims another id.
    assert.equal(await taker.worker.confirm(), false)
    await taker.secure()
    assert.equal(taker.worker.id, 1)
  })

  test('is lost by a holder that has not seen the advance, when it extends the claim', async () => {
    const node = start()
    await node.secure()
    const { boundUs } = node.worker
    await node.engine.advance(0n, repairWorkers(node.clock.wall))
    await node.worker.secure(boundUs + second)
    assert.equal(node.worker.claim, 2)
    assert.ok(node.worker.startUs >= node.clock.wall + 20 * 60 * second)
  })

  test('is lost where its record is gone, and not claimed again while its time may have been used', async () => {
    const node = start()
    const forget = forgetLater(node.store)
    await node.secure()
    forget()
    assert.equal(await node.worker.confirm(), false)
    assert.equal(node.worker.id, -1)
    await node.secure()
    assert.equal(node.worker.id, 1)
  })

  for (const fixedId of [undefined, 5])
    test(`begins above what may have been forgotten also when the advance comes between its look and its write, ${fixedId === undefined ? 'in the pool' : 'with a fixed id'}`, async () => {
      const store = new MemoryStore()
      const clock = new FakeClock()
      const fixed = fixedId === undefined ? {} : { fixedId }
      const [other, forgotten, node] = [
        start({ store, clock }),
        start({ store, clock, ...fixed }),
        start({ store, clock, ...fixed, leadUs: 10 * second }),
      ]
      const forget = forgetLater(store)
      await forgotten.secure()
      forget()
      const write = node.engine.hold('write')
      const secured = node.secure()
      await write.arrived
      await clock.pass(second / 1000)
      await other.engine.advance(0n, repairWorkers(clock.wall))
      write.letGo()
      await secured
      assert.ok(node.worker.startUs >= forgotten.worker.boundUs)
    })

  test('needs no read where there was no claim', async () => {
    const node = start()
    assert.equal(await node.worker.confirm(), true)
    assert.equal(node.engine.calls.length, 0)
  })

  test('begins above what may have been forgotten where it has no record, in the pool and fixed', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const [kept, forgotten, fixed] = [
      start({ store, clock }),
      start({ store, clock }),
      start({ store, clock, fixedId: 7 }),
    ]
    await kept.secure()
    const forget = forgetLater(store)
    await forgotten.secure()
    await fixed.secure()
    forget()
    await kept.engine.advance(0n, repairWorkers(clock.wall))
    const [later, again] = [start({ store, clock }), start({ store, clock, fixedId: 7 })]
    await later.secure()
    assert.equal(later.worker.id, 1)
    assert.ok(later.worker.startUs >= forgotten.worker.boundUs)
    await again.secure()
    assert.ok(again.worker.startUs >= fixed.worker.boundUs)
    // Once that is past, they are claimed at the present time again.
    await clock.pass(21 * 60_000)
    const late = start({ store, clock })
    await late.secure()
    assert.equal(late.worker.startUs, clock.wall)
  })

  test('begins above it also where the first claim of all was forgotten, in the pool and fixed', async () => {
    for (const fixedId of [undefined, 0]) {
      const store = new MemoryStore()
      const clock = new FakeClock()
      const forget = forgetLater(store)
      const first = start({ store, clock })
      await first.secure()
      forget()
      const next = start({ store, clock, ...(fixedId !== undefined && { fixedId }) })
      await next.engine.advance(0n, repairWorkers(clock.wall, lead))
      await next.secure()
      assert.equal(next.worker.id, first.worker.id)
      assert.ok(next.worker.startUs >= first.worker.boundUs)
    }
  })

  test('begins above the time of a node with a longer lead, or a clock ahead, than the one that advances', async () => {
    for (const [leadMinutes, aheadMinutes] of [
      [60, 0],
      [10, 40],
    ] as const) {
      const store = new MemoryStore()
      const clock = new FakeClock()
      const other = new FakeClock(clock.wall + aheadMinutes * 60 * second)
      const cut = start({ store, clock: other, leadUs: leadMinutes * 60 * second })
      await cut.secure()
      const forget = forgetLater(store)
      await Promise.all([clock.pass(8 * 60_000), other.pass(8 * 60_000)])
      await cut.worker.secure(cut.timeline.nowUs() + 10 * 60 * second)
      forget()
      const near = start({ store, clock })
      await near.engine.advance(0n, repairWorkers(clock.wall, lead))
      const wanted = {
        store,
        clock: new FakeClock(clock.wall + 90 * 60 * second),
        fixedId: 0,
        leadUs: 10 * second,
      }
      const later = start(wanted)
      await later.secure().catch(() => later.clock.pass(13_000).then(later.secure))
      assert.ok(later.worker.startUs >= cut.worker.boundUs, `${leadMinutes} ${aheadMinutes}`)
    }
  })
})

describe('a worker id from the pool', () => {
  test('is the lowest that is free, and its time is durable before it is used', async () => {
    const first = start()
    const second = start({ ...first })
    assert.equal(first.worker.id, -1)
    await first.secure()
    await second.secure()
    assert.deepEqual([first.worker.id, second.worker.id], [0, 1])
    assert.equal((await first.record(0))?.boundUs, first.worker.boundUs)
    assert.ok(first.worker.boundUs >= first.clock.wall + lead)
    assert.equal(first.worker.startUs, first.clock.wall)
  })

  test('is extended when less than the lead is ahead, and not before', async () => {
    const node = start()
    await node.secure()
    const { boundUs } = node.worker
    await node.clock.pass(140_000)
    await node.secure()
    assert.equal(node.worker.boundUs, boundUs)
    assert.equal(node.engine.count('write'), 1)
    await node.clock.pass(20_000)
    await node.secure()
    assert.ok(node.worker.boundUs >= node.clock.wall + lead)
    assert.equal((await node.record(0))?.boundUs, node.worker.boundUs)
    assert.equal(node.worker.claim, 1)
  })

  test('reserves as far as is asked for', async () => {
    const node = start()
    const untilUs = node.clock.wall + 5000 * second
    await node.worker.secure(untilUs)
    assert.ok(node.worker.boundUs >= untilUs)
    await node.worker.secure(untilUs + 1000 * second)
    assert.ok(node.worker.boundUs >= untilUs + 1000 * second)
  })

  test('is free again when its bound has passed, and starts above it whatever the clock shows', async () => {
    const crashed = start()
    await crashed.secure()
    const { boundUs } = crashed.worker
    const early = start({ store: crashed.store })
    await early.secure()
    assert.equal(early.worker.id, 1)
    const ahead = new FakeClock(crashed.clock.wall + 365 * 86_400 * second)
    const late = start({ store: crashed.store, clock: ahead })
    await late.secure()
    assert.equal(late.worker.id, 0)
    assert.ok(late.worker.startUs >= boundUs)
    assert.equal((await late.record(0))?.epoch, 2)
  })

  test('is lost, loudly, to a node whose clock is far ahead; another one takes its place', async () => {
    const victim = start()
    await victim.secure()
    const { boundUs } = victim.worker
    const thief = start({ store: victim.store, clock: new FakeClock(victim.clock.wall + 3600 * second) })
    await thief.secure()
    assert.equal(thief.worker.id, 0)
    await victim.clock.pass(300_000)
    await victim.secure()
    assert.equal(victim.worker.id, 1)
    assert.equal(victim.worker.claim, 2)
    assert.match(victim.events.join(), new RegExp(`worker id 0 is no longer this node.s; .* ${'host'}:`))
    assert.ok(thief.worker.startUs >= boundUs)
  })

  test('goes to one of two nodes that claim it at the same moment', async () => {
    const first = start()
    const second = start({ store: first.store })
    const third = start({ store: first.store })
    await Promise.all([first.secure(), second.secure(), third.secure()])
    assert.deepEqual([first, second, third].map(({ worker }) => worker.id).toSorted(), [0, 1, 2])
  })

  test('knows what every generator has used of its time, and of many forgets those whose time has passed', async () => {
    const node = start()
    await node.secure()
    const { worker, clock } = node
    worker.usedOf('ahead').use(clock.wall + 20 * second)
    worker.usedOf('busy').takeOver({})
    for (let name = 0; name < 5000; name++) {
      const used = worker.usedOf(`name-${name}`)
      used.use(clock.wall + second)
      await clock.pass(2)
    }
    assert.ok(worker.usedCount < 2000, `${worker.usedCount} are remembered`)
    assert.equal(worker.usedOf('busy').isInUse, true)
    assert.ok(worker.usedOf('ahead').untilUs > clock.wall)
    assert.equal(worker.usedOf('name-0').untilUs, 0)
    const newest = worker.usedOf('ahead').untilUs
    await worker.release()
    assert.equal((await node.record(0))?.boundUs, newest)
  })

  test('is released down to the time that was used', async () => {
    const node = start()
    await node.secure()
    const usedUs = node.clock.wall + 5 * second
    node.worker.usedOf('event').use(usedUs)
    node.worker.usedOf('other').use(usedUs - 1)
    assert.equal(node.worker.usedOf('event').untilUs, usedUs)
    await node.worker.release()
    assert.equal(node.worker.id, -1)
    assert.equal((await node.record(0))?.boundUs, usedUs)
    await node.clock.pass(5000)
    const next = start({ ...node })
    await next.secure()
    assert.equal(next.worker.id, 0)
    await node.worker.release()
  })

  test('is found among the ids with a record, without a test of the whole pool, also after an advance', async (t) => {
    const { store, clock } = start()
    const [first, next] = [start({ store, clock }), start({ store, clock })]
    await first.engine.advance(0n, repairWorkers(clock.wall))
    await first.secure()
    const lookUps = t.mock.method(Map.prototype, 'get')
    await next.secure()
    const count = lookUps.mock.callCount()
    lookUps.mock.restore()
    assert.equal(next.worker.id, 1)
    assert.ok(count < 1000, `${count} look-ups`)
  })

  test('rejects with EXHAUSTED when no id is free', async () => {
    const node = start()
    const value = JSON.stringify({
      owner: 'x',
      holder: 'x:1',
      epoch: 1,
      boundUs: node.clock.wall + lead,
      exclusive: false,
    })
    for (let id = 0; id < 65_536; id++)
      node.store.records.set(`${workerPrefix}${id}`, { key: `${workerPrefix}${id}`, value, version: 1n })
    await assert.rejects(node.secure(), { code: 'EXHAUSTED' })
    assert.equal((await workerRecords(node.engine)).length, 65_536)
  })
})

describe('a fixed worker id', () => {
  test('is rejected while its holder is alive, with the name of the holder', async () => {
    const holder = start({ fixedId: 7, leadUs: 10 * second })
    const other = start({ ...holder, fixedId: 7, leadUs: 10 * second })
    await holder.secure()
    await assert.rejects(
      other.secure(),
      /was held by host:\d+; it is free when its record has not changed for 13 s; retry/,
    )
    for (let each = 0; each < 10; each++) {
      await holder.clock.pass(5000)
      await holder.secure()
      await assert.rejects(other.secure(), { code: 'WORKERID' })
    }
    await assert.rejects(other.secure(), /is in use by host:/)
  })

  test('does not take an advance, which rewrites the record, for a sign of life of its holder', async () => {
    const crashed = start({ fixedId: 7, leadUs: 10 * second })
    const other = start({ ...crashed, fixedId: 7, leadUs: 10 * second })
    await crashed.secure()
    for (let each = 0; each < 3; each++) {
      await assert.rejects(
        other.secure(),
        /was held by host:\d+; it is free when its record has not changed for 13 s/,
      )
      await other.engine.advance(0n, repairWorkers(crashed.clock.wall, 10 * second))
    }
  })

  test('of a long lead is taken over after half of the lead, and starts above all that its holder has reserved', async () => {
    const crashed = start({ fixedId: 7, leadUs: 120 * second })
    await crashed.secure()
    const { boundUs } = crashed.worker
    const next = start({ ...crashed, fixedId: 7, leadUs: 120 * second })
    await assert.rejects(next.secure(), { code: 'WORKERID' })
    await crashed.clock.pass(59_900)
    await assert.rejects(next.secure(), { code: 'WORKERID' })
    await crashed.clock.pass(200)
    await next.secure()
    assert.equal(next.worker.startUs, boundUs)
    assert.ok(boundUs > crashed.clock.wall + 60 * second)
  })

  test('is taken over once its record has been unchanged for longer than a live holder leaves it', async () => {
    const crashed = start({ fixedId: 7, leadUs: 10 * second })
    await crashed.secure()
    const { boundUs } = crashed.worker
    const slow = new FakeClock(crashed.clock.wall - 3600 * second)
    const next = start({ store: crashed.store, clock: slow, fixedId: 7, leadUs: 10 * second })
    await assert.rejects(next.secure(), { code: 'WORKERID' })
    await slow.pass(12_400)
    await assert.rejects(next.secure(), { code: 'WORKERID' })
    await slow.pass(200)
    await next.secure()
    assert.equal(next.worker.id, 7)
    assert.ok(next.worker.startUs >= boundUs)
    await crashed.clock.pass(9000)
    await assert.rejects(crashed.secure(), { code: 'WORKERID' })
    assert.equal(crashed.worker.id, -1)
  })

  test('is free at once after a clean stop, and after a crash of the store’s only owner', async () => {
    const first = start({ fixedId: 7 })
    await first.secure()
    await first.worker.release()
    const second = start({ ...first, fixedId: 7 })
    await second.secure()
    assert.equal(second.worker.id, 7)
    const shared = new MemoryStore()
    const crashed = start({ store: shared, fixedId: 7 })
    await crashed.secure()
    await crashed.engine.close()
    const owner = start({ store: shared, fixedId: 7 })
    await owner.secure()
    assert.ok(owner.worker.startUs >= crashed.worker.boundUs)
  })
})

describe('a worker id whose writes get no reply', () => {
  for (const fault of ['lose-reply', 'lose-request', 'late'] as const) {
    test(`continues from the record after an extension (${fault})`, async () => {
      const node = start()
      await node.secure()
      const { boundUs } = node.worker
      await node.clock.pass(300_000)
      node.engine.next('write', fault)
      await assert.rejects(node.secure(), { code: 'UNKNOWN' })
      assert.equal(node.worker.boundUs, boundUs)
      node.engine.next('read', 'unavailable')
      await assert.rejects(node.secure(), { code: 'UNAVAILABLE' })
      assert.equal(node.worker.boundUs, boundUs)
      const [read, late] = [node.engine.hold('write'), node.engine.deliver]
      const securing = node.secure()
      if (fault === 'lose-reply') read.letGo()
      else {
        await read.arrived
        await late.call(node.engine)
        read.letGo()
      }
      await securing
      assert.equal(node.worker.claim, 1)
      assert.equal(node.worker.id, 0)
      assert.equal((await node.record(0))?.boundUs, node.worker.boundUs)
      assert.ok(node.worker.boundUs >= node.clock.wall + lead)
    })

    test(`skips the time that a claim may cover (${fault})`, async () => {
      const node = start({ fixedId: 3, leadUs: 10 * second })
      node.engine.next('write', fault)
      await assert.rejects(node.secure(), { code: 'UNKNOWN' })
      assert.equal(node.worker.id, -1)
      await node.secure()
      const covered = fault === 'lose-reply' ? node.clock.wall + 10 * second : node.clock.wall
      assert.ok(node.worker.startUs >= covered)
      await node.engine.deliver()
      assert.equal((await node.record(3))?.boundUs, node.worker.boundUs)
    })
  }

  test('is not released while the state of the record is unknown', async () => {
    const node = start()
    await node.secure()
    await node.clock.pass(300_000)
    node.engine.next('write', 'lose-reply')
    await assert.rejects(node.secure())
    const writes = node.engine.count('write')
    await node.worker.release()
    assert.equal(node.engine.count('write'), writes)
  })

  test('names the record that cannot be read', async () => {
    const node = start()
    node.store.records.set('workers/0', { key: 'workers/0', value: '{"owner":1}', version: 1n })
    await assert.rejects(node.secure(), { code: 'ENGINE', message: /workers\/0 cannot be read/ })
  })
})
