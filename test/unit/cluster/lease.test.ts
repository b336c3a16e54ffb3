import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { Lease } from '../../../src/cluster/lease.ts'
import { type NodeRecord, nodeKey, readNode } from '../../../src/cluster/records.ts'
import { timing } from '../../../src/cluster/timing.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock, settled } from '../fake-clock.ts'

/** A lease of 3 s with a margin of 300 ms, renewed every second. */
function lease() {
  const clock = new FakeClock()
  const engine = new FaultyEngine(new MemoryEngine(new MemoryStore()))
  const told: string[] = []
  const held = new Lease({
    engine,
    clock,
    timing: timing({ leaseTtlMs: 3000 }),
    id: 'n1',
    describe: () => ({ joinedMs: 0, draining: false, version: '1' }),
    learn: () => {},
    onLapse: (reason) => told.push(`lapsed: ${reason}`),
    onResume: () => told.push('resumed'),
    onDeath: (by) => told.push(`died by ${by}`),
    onTrouble: () => {},
  })
  const record = async () => readNode((await engine.read(nodeKey('n1')))!)
  const declareDead = async () => {
    const { key, value, version } = await record()
    await engine.write(key, JSON.stringify({ ...value, deadBy: 'n2' } satisfies NodeRecord), version)
  }
  return { clock, engine, told, held, record, declareDead }
}

async function started() {
  const all = lease()
  const joined = all.held.start()
  await settled()
  await joined
  return all
}

describe('a lease', () => {
  it('holds from its first record on, and as long as it is renewed', async () => {
    const { held, clock, told, record } = lease()
    assert.equal(held.check(), false)
    const joined = held.start()
    await settled()
    await joined
    assert.equal(held.check(), true)
    await clock.pass(60_000)
    assert.equal(held.check(), true)
    assert.deepEqual(told, ['resumed'])
    assert.ok((await record()).value.beat >= 60)
  })

  it('remembers the renewals of one ttl only, however long the engine is away', async (t) => {
    const { held, clock, engine } = await started()
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
    assert.equal(held.check(), true)
  })

  it('ends ttl − margin after the moment before the last renewal was sent, however late its answer came', async () => {
    const { held, clock, engine } = await started()
    const write = engine.hold('write')
    await clock.pass(1000)
    await write.arrived
    await clock.pass(900)
    write.letGo()
    await settled()
    engine.always('any', 'unavailable')
    await clock.pass(1700)
    assert.equal(held.check(), true)
    await clock.pass(101)
    assert.equal(held.check(), false)
  })

  it('tells of its lapse within the check that finds it', async () => {
    const { held, clock, engine, told } = await started()
    engine.always('any', 'unavailable')
    // A process that was stopped: time has passed, and no timer has fired.
    clock.mono += 2_700_001
    clock.wall += 2_700_001
    assert.equal(held.check(), false)
    assert.deepEqual(told, ['resumed', 'lapsed: it was not renewed in time'])
  })

  it('tells of its lapse also when nobody checks', async () => {
    const { clock, engine, told } = await started()
    engine.always('any', 'unavailable')
    await clock.pass(2800)
    assert.equal(told.length, 2)
  })

  it('resumes when nobody declared it dead in the meantime', async () => {
    const { held, clock, engine, told } = await started()
    engine.always('any', 'unavailable')
    await clock.pass(20_000)
    engine.heal()
    await clock.pass(200)
    assert.equal(held.check(), true)
    assert.equal(told.at(-1), 'resumed')
  })

  it('is over when it was declared dead, and never writes again', async () => {
    const { held, clock, told, declareDead, record } = await started()
    await declareDead()
    const { version } = await record()
    await clock.pass(10_000)
    assert.equal(held.over, true)
    assert.equal(held.check(), false)
    assert.equal(told.at(-1), 'died by n2')
    assert.equal((await record()).version, version)
  })

  it('is not over because the answer of a renewal was lost', async () => {
    const { held, clock, engine, told } = await started()
    engine.next('write', 'lose-reply', 3)
    engine.next('write', 'lose-request', 3)
    await clock.pass(10_000)
    assert.equal(held.check(), true)
    assert.deepEqual(told, ['resumed'])
  })

  it('is not over because a renewal that was given up arrives later', async () => {
    const { held, clock, engine, told } = await started()
    engine.next('write', 'late')
    await clock.pass(1050)
    await engine.deliver()
    await clock.pass(5000)
    assert.equal(held.check(), true)
    assert.deepEqual(told, ['resumed'])
  })

  it('joins also when the answer to its first record is lost', async () => {
    const { held, clock, engine } = lease()
    engine.next('write', 'lose-reply')
    const joined = held.start()
    await settled()
    await joined
    assert.equal(held.check(), true)
    await clock.pass(5000)
    assert.equal(held.check(), true)
  })

  it('is over when its first record was not found after an unknown outcome: it may still come', async () => {
    const { held, clock, engine, told } = lease()
    engine.next('write', 'late')
    void held.start()
    await settled()
    assert.equal(held.over, true)
    await engine.deliver()
    await clock.pass(5000)
    assert.equal(held.check(), false)
    assert.deepEqual(told, ['died by undefined'])
  })

  it('waits with its first record for an engine that has forgotten, and is over if it had one', async () => {
    const fresh = lease()
    const { write } = fresh.engine
    fresh.engine.write = () => Promise.reject(new FahaoError('REGRESSED', 'it has forgotten'))
    void fresh.held.start()
    await fresh.clock.pass(1000)
    assert.equal(fresh.held.over, false)
    fresh.engine.write = write
    await fresh.clock.pass(200)
    assert.equal(fresh.held.check(), true)
    fresh.engine.write = () => Promise.reject(new FahaoError('REGRESSED', 'it has forgotten'))
    await fresh.clock.pass(1100)
    assert.equal(fresh.held.over, true)
  })

  it('is over when its record holds a beat that it has not sent, or one from before the last', async () => {
    for (const beat of [0, 2]) {
      const { held, clock, engine, told, record } = await started()
      await clock.pass(5000)
      const { key, value, version } = await record()
      assert.ok(value.beat > 2)
      await engine.write(key, JSON.stringify({ ...value, beat }), version)
      await clock.pass(1100)
      assert.equal(held.over, true)
      assert.equal(told.at(-1), 'died by undefined')
    }
  })

  it('counts nothing that was sent before the machine was suspended', async () => {
    const { held, clock, engine, told } = await started()
    const write = engine.hold('write')
    await clock.pass(1000)
    await write.arrived
    clock.wall += 60_000_000
    assert.equal(held.check(), false)
    assert.match(told.at(-1)!, /suspended/)
    const next = engine.hold('write')
    write.letGo()
    await settled()
    await next.arrived
    assert.equal(held.check(), false)
    next.letGo()
    await settled()
    assert.equal(held.check(), true)
  })

  it('goes on when the wall clock is set back', async () => {
    const { held, clock, told } = await started()
    clock.wall -= 3_600_000_000
    assert.equal(held.check(), true)
    await clock.pass(10_000)
    assert.deepEqual(told, ['resumed'])
  })

  it('takes its record away when it leaves', async () => {
    const { held, engine, clock } = await started()
    engine.next('remove', 'lose-reply')
    const left = held.leave()
    await clock.pass(10)
    await left
    assert.equal(await engine.read(nodeKey('n1')), undefined)
    assert.equal(held.check(), false)
  })

  it('is over at once when its record is seen as nobody here has left it, and not for what is under way', async () => {
    const { held, clock, engine, told, record } = await started()
    held.notice((await record()).value)
    const write = engine.hold('write')
    await clock.pass(1000)
    await write.arrived
    const { value } = await record()
    held.notice({ ...value, beat: value.beat + 1 })
    assert.equal(held.check(), true)
    held.notice({ ...value, beat: 0 })
    assert.equal(held.check(), false)
    assert.deepEqual(told, ['resumed', 'died by undefined'])
    write.letGo()
    await settled()
    assert.deepEqual(told, ['resumed', 'died by undefined'], 'once')
  })
})
