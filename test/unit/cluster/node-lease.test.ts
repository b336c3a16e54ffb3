import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { ClusterCore } from '../../../src/cluster/core.ts'
import { type NodeRecord, nodeKey, readNode } from '../../../src/cluster/records.ts'
import { Shell } from '../../../src/cluster/shell.ts'
import { timing } from '../../../src/cluster/timing.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock, settled } from '../fake-clock.ts'
import '../invariants.ts'

/** A core that does nothing but hold a lease of 3 s with a margin of 300 ms, renewed every second. */
function lease() {
  const clock = new FakeClock()
  const engine = new FaultyEngine(new MemoryEngine(new MemoryStore()))
  const told: string[] = []
  const now = { monoUs: clock.monoUs(), wallUs: clock.wallUs() }
  const core = new ClusterCore(timing({ leaseTtlMs: 3000 }), 0, { resp: 'a:1', version: '1' }, 'n1', now)
  const shell = new Shell(engine, clock, core, (event) => {
    if (event.type === 'lapsed') told.push(`lapsed: ${event.reason}`)
    else if (event.type === 'died') told.push(`died by ${event.by}`)
    else if (event.type !== 'trouble') told.push(event.type)
  })
  const held = core.state.lease
  const start = async () => {
    shell.step({ type: 'join', id: 'n1' })
    await settled()
  }
  const stored = async () => (await engine.read(nodeKey('n1')))!
  const record = async () => readNode(await stored())
  const declareDead = async () => {
    const { key, value, version } = await record()
    await engine.write(key, JSON.stringify({ ...value, deadBy: 'n2' } satisfies NodeRecord), version)
  }
  /** A watch or a list shows the own record, changed like this. */
  let shownVersion = 1000n
  const show = async (change: Partial<NodeRecord>) => {
    const { key, value } = await record()
    const changed = { key, value: JSON.stringify({ ...value, ...change }), version: ++shownVersion }
    shell.step({ type: 'changed', change: { key, record: changed } })
  }
  return {
    clock,
    engine,
    told,
    held,
    check: () => shell.check(),
    shell,
    start,
    stored,
    record,
    declareDead,
    show,
  }
}

async function started() {
  const all = lease()
  await all.start()
  return all
}

describe('a lease', () => {
  test('holds from its first record on, and as long as it is renewed', async () => {
    const { check, start, clock, told, record } = lease()
    assert.equal(check(), false)
    await start()
    assert.equal(check(), true)
    await clock.pass(60_000)
    assert.equal(check(), true)
    assert.deepEqual(told, ['joined'])
    assert.ok((await record()).value.heartbeat >= 60)
  })

  test('remembers the renewals of one ttl only, however long the engine is away', async (t) => {
    const { check, clock, engine } = await started()
    let largest = 0
    const set = Map.prototype.set
    t.mock.method(Map.prototype, 'set', function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
      if (typeof value === 'object' && value !== null && 'aheadUs' in value)
        largest = Math.max(largest, this.size)
      return set.call(this, key, value)
    })
    engine.always('any', 'unavailable')
    await clock.pass(600_000)
    assert.ok(largest > 0 && largest <= 30, `${largest} renewals at once`)
    engine.heal()
    await clock.pass(1000)
    assert.equal(check(), true)
  })

  test('ends ttl − margin after the moment before the last renewal was sent, however late its answer came', async () => {
    const { check, clock, engine } = await started()
    const write = engine.hold('write')
    await clock.pass(1000)
    await write.arrived
    await clock.pass(900)
    write.letGo()
    await settled()
    engine.always('any', 'unavailable')
    await clock.pass(1700)
    assert.equal(check(), true)
    await clock.pass(101)
    assert.equal(check(), false)
  })

  test('tells of its lapse within the check that finds it', async () => {
    const { check, clock, engine, told } = await started()
    engine.always('any', 'unavailable')
    // A process that was stopped: time has passed, and no timer has fired.
    clock.mono += 2_700_001
    clock.wall += 2_700_001
    assert.equal(check(), false)
    assert.deepEqual(told, ['joined', 'lapsed: it was not renewed in time'])
  })

  test('resumes when no node declared it dead in the meantime', async () => {
    const { check, clock, engine, told } = await started()
    engine.always('any', 'unavailable')
    await clock.pass(20_000)
    engine.heal()
    await clock.pass(200)
    assert.equal(check(), true)
    assert.equal(told.at(-1), 'resumed')
  })

  test('is over when it was declared dead, and never writes again', async () => {
    const { held, check, clock, told, record, declareDead } = await started()
    await declareDead()
    const { version } = await record()
    await clock.pass(10_000)
    assert.equal(held.isOver, true)
    assert.equal(check(), false)
    assert.equal(told.at(-1), 'died by n2')
    assert.equal((await record()).version, version)
  })

  test('is not over because the answer of a renewal was lost', async () => {
    const { check, clock, engine, told } = await started()
    engine.next('write', 'lose-reply', 3)
    engine.next('write', 'lose-request', 3)
    await clock.pass(10_000)
    assert.equal(check(), true)
    assert.deepEqual(told, ['joined'])
  })

  test('is not over because a renewal that was given up arrives later', async () => {
    const { check, clock, engine, told } = await started()
    engine.next('write', 'late')
    await clock.pass(1050)
    await engine.deliver()
    await clock.pass(5000)
    assert.equal(check(), true)
    assert.deepEqual(told, ['joined'])
  })

  test('joins also when the answer to its first record is lost', async () => {
    const { check, start, clock, engine } = lease()
    engine.next('write', 'lose-reply')
    await start()
    assert.equal(check(), true)
    await clock.pass(5000)
    assert.equal(check(), true)
  })

  test('is over when its first record was not found after an unknown outcome: it may still come', async () => {
    const { held, check, start, clock, engine, told } = lease()
    engine.next('write', 'late')
    await start()
    assert.equal(held.isOver, true)
    await engine.deliver()
    await clock.pass(5000)
    assert.equal(check(), false)
    assert.deepEqual(told, ['died by '])
  })

  test('waits with its first record for an engine that has forgotten, and is over if it had one', async () => {
    const fresh = lease()
    const { write } = fresh.engine
    fresh.engine.write = () => Promise.reject(new FahaoError('REGRESSED', 'it has forgotten'))
    await fresh.start()
    await fresh.clock.pass(1000)
    assert.equal(fresh.held.isOver, false)
    fresh.engine.write = write
    await fresh.clock.pass(200)
    assert.equal(fresh.check(), true)
    fresh.engine.write = () => Promise.reject(new FahaoError('REGRESSED', 'it has forgotten'))
    await fresh.clock.pass(1100)
    assert.equal(fresh.held.isOver, true)
  })

  test('is over when its record holds a heartbeat that it has not sent, or one from before the last', async () => {
    for (const heartbeat of [0, 2]) {
      const { held, clock, engine, told, record } = await started()
      await clock.pass(5000)
      const { key, value, version } = await record()
      assert.ok(value.heartbeat > 2)
      await engine.write(key, JSON.stringify({ ...value, heartbeat }), version)
      await clock.pass(1100)
      assert.equal(held.isOver, true)
      assert.equal(told.at(-1), 'died by ')
    }
  })

  test('counts nothing that was sent before the machine was suspended', async () => {
    const { check, clock, engine, told } = await started()
    const write = engine.hold('write')
    await clock.pass(1000)
    await write.arrived
    clock.wall += 60_000_000
    assert.equal(check(), false)
    assert.match(told.at(-1)!, /suspended/)
    const next = engine.hold('write')
    write.letGo()
    await settled()
    await next.arrived
    assert.equal(check(), false)
    next.letGo()
    await settled()
    assert.equal(check(), true)
  })

  test('goes on when the wall clock is set back', async () => {
    const { check, clock, told } = await started()
    clock.wall -= 3_600_000_000
    assert.equal(check(), true)
    await clock.pass(10_000)
    assert.deepEqual(told, ['joined'])
  })

  test('lapses when its memory may exist twice, and counts nothing that was sent before', async () => {
    const { check, clock, engine, told, shell } = await started()
    const write = engine.hold('write')
    await clock.pass(1000)
    await write.arrived
    shell.step({ type: 'suspect' })
    assert.equal(check(), false)
    const next = engine.hold('write')
    write.letGo()
    await next.arrived
    assert.equal(check(), false)
    next.letGo()
    await settled()
    assert.equal(check(), true)
    assert.deepEqual(told, ['joined', 'lapsed: the memory of this node may exist twice', 'resumed'])
  })

  test('is over where a copy of its memory has sent the heartbeat of the same number', async () => {
    const { check, clock, engine, told, record } = await started()
    const write = engine.hold('write')
    await clock.pass(1000)
    await write.arrived
    const { key, value, version } = await record()
    const others = { ...value, heartbeat: 2, sentUs: clock.monoUs() + 1 }
    await engine.write(key, JSON.stringify(others), version)
    write.letGo()
    await settled()
    assert.equal(check(), false)
    assert.deepEqual(told, ['joined', 'died by '])
  })

  test('is over at once when its record is seen as this process has not left it, and not for what is under way', async () => {
    const { check, clock, engine, told, show } = await started()
    await show({})
    const write = engine.hold('write')
    await clock.pass(1000)
    await write.arrived
    await show({ heartbeat: 2, sentUs: clock.monoUs() })
    assert.equal(check(), true)
    await show({ heartbeat: 0 })
    assert.equal(check(), false)
    assert.deepEqual(told, ['joined', 'died by '])
    write.letGo()
    await clock.pass(5000)
    assert.deepEqual(told, ['joined', 'died by '], 'once')
  })
})
