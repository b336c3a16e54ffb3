import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FailureDetector } from '../../../src/cluster/failure-detector.ts'
import { type NodeRecord, nodeKey, readNode } from '../../../src/cluster/records.ts'
import { timing } from '../../../src/cluster/timing.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FakeClock } from '../fake-clock.ts'

/** Watches one node, n1, with a lease of 3 s and a margin of 300 ms. */
async function watching() {
  const clock = new FakeClock()
  const engine = new MemoryEngine(new MemoryStore())
  const declared: number[] = []
  const observer = new FailureDetector({
    engine,
    clock,
    timing: timing({ leaseTtlMs: 3000 }),
    self: () => 'n2',
    learn: () => {},
    onDeclaredDead: (_node, silentMs) => declared.push(silentMs),
    onTrouble: () => {},
  })
  const stored = async () => readNode((await engine.read(nodeKey('n1')))!)
  let version: bigint | undefined
  const renew = async () => {
    const record: NodeRecord = { id: 'n1', beat: 1, joinedMs: 0, draining: false, version: '1' }
    version = (await engine.write(nodeKey('n1'), JSON.stringify(record), version))!.version
  }
  /** Looks every half second for so long; resolves to what was seen last. */
  const look = async (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 500) {
      clock.mono += 500_000
      observer.observe([await stored()])
    }
    return [await stored()]
  }
  await renew()
  observer.observe([await stored()])
  return { clock, observer, declared, stored, renew, look }
}

describe('an observer', () => {
  it('declares dead who has been seen unchanged for a lease and a margin, not before', async () => {
    const { observer, declared, stored, look } = await watching()
    await observer.judge(await look(3000))
    assert.equal((await stored()).value.deadBy, undefined)
    assert.equal(observer.nextMs([await stored()]), 300)
    await observer.judge(await look(500))
    assert.equal((await stored()).value.deadBy, 'n2')
    assert.deepEqual(declared, [3500])
  })

  it('does not declare dead who has renewed after the last look', async () => {
    const { observer, declared, stored, renew, look } = await watching()
    const seen = await look(3500)
    await renew()
    await observer.judge(seen)
    assert.equal((await stored()).value.deadBy, undefined)
    assert.deepEqual(declared, [])
  })

  it('begins anew with each renewal', async () => {
    const { observer, stored, renew, look } = await watching()
    await look(3000)
    await renew()
    await observer.judge(await look(3500))
    assert.equal((await stored()).value.deadBy, undefined)
    assert.equal(observer.silentMs('n1'), 3000)
  })

  it('counts no time in which it saw nothing, but for the length of a renewal', async () => {
    const { clock, observer, stored } = await watching()
    clock.mono += 3_600_000_000
    observer.observe([await stored()])
    assert.equal(observer.silentMs('n1'), 1000)
    await observer.judge([await stored()])
    assert.equal((await stored()).value.deadBy, undefined)
  })

  it('removes a record that says dead, much later', async () => {
    const { observer, stored, look } = await watching()
    await observer.judge(await look(3500))
    await observer.judge(await look(59_000))
    assert.equal((await stored()).value.deadBy, 'n2')
    const seen = await look(2000)
    await observer.judge(seen)
    await assert.rejects(stored())
  })
})
