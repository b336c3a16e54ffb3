import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FailureDetector } from '../../../src/cluster/failure-detector.ts'
import { type Known, type NodeRecord, nodeKey } from '../../../src/cluster/records.ts'
import { timing } from '../../../src/cluster/timing.ts'

/** The detector of n2, which observes one node, n1, with a lease of 3 s. */
function observing() {
  const detector = new FailureDetector(timing({ leaseTtlMs: 3000 }))
  const time = { nowUs: 0 }
  const at = (version: bigint, deadBy?: string, heartbeat = 1): Known<NodeRecord>[] => {
    const value = {
      id: 'n1',
      heartbeat,
      joinedMs: 0,
      draining: false,
      version: '1',
      ...(deadBy && { deadBy }),
    }
    return [{ key: nodeKey('n1'), version, value }]
  }
  /** Observes these records every half second for `ms`. */
  const observe = (nodes: Known<NodeRecord>[], ms: number) => {
    for (const endUs = time.nowUs + ms * 1000; time.nowUs < endUs; ) {
      time.nowUs += 500_000
      detector.observe(nodes, time.nowUs)
    }
  }
  const overdue = (nodes: Known<NodeRecord>[]) =>
    [...detector.overdue(nodes, 'n2')].map(({ value }) => value.id)
  return { detector, time, at, observe, overdue }
}

describe('a failure detector', () => {
  test('finds a node overdue that has been seen unchanged for a lease and a margin, not before', () => {
    const { detector, at, observe, overdue } = observing()
    detector.observe(at(1n), 0)
    observe(at(1n), 3000)
    assert.deepEqual(overdue(at(1n)), [])
    assert.equal(detector.nextMs(at(1n), 'n2'), 300)
    observe(at(1n), 500)
    assert.deepEqual(overdue(at(1n)), ['n1'])
    assert.equal(detector.silentMs('n1'), 3500)
  })

  test('does not find a node overdue under a version that it has not observed', () => {
    const { detector, at, observe, overdue } = observing()
    detector.observe(at(1n), 0)
    observe(at(1n), 3500)
    assert.deepEqual(overdue(at(2n)), [])
  })

  test('begins anew with each renewal', () => {
    const { detector, at, observe, overdue } = observing()
    detector.observe(at(1n), 0)
    observe(at(1n), 3000)
    observe(at(2n), 3500)
    assert.deepEqual(overdue(at(2n)), [])
    assert.equal(detector.silentMs('n1'), 3000)
  })

  test('takes nothing but a higher heartbeat for a renewal: others write the record too', () => {
    const { detector, at } = observing()
    for (const [version, heartbeat] of [
      [1n, 5],
      [2n, 6],
      [3n, 6],
      [4n, 0],
    ] as const)
      detector.observe(at(version, undefined, heartbeat), Number(version))
    assert.equal(detector.renewals('n1'), 1)
  })

  test('counts no time in which it saw nothing, but for the length of a renewal', () => {
    const { detector, at, overdue } = observing()
    detector.observe(at(1n), 0)
    detector.observe(at(1n), 3_600_000_000)
    assert.equal(detector.silentMs('n1'), 1000)
    assert.deepEqual(overdue(at(1n)), [])
  })

  test('finds the record of a dead node overdue for removal much later', () => {
    const { detector, at, observe, overdue } = observing()
    detector.observe(at(2n, 'n2'), 0)
    observe(at(2n, 'n2'), 59_000)
    assert.deepEqual(overdue(at(2n, 'n2')), [])
    observe(at(2n, 'n2'), 2000)
    assert.deepEqual(overdue(at(2n, 'n2')), ['n1'])
  })

  test('never finds its own node overdue', () => {
    const { detector, at, observe } = observing()
    detector.observe(at(1n), 0)
    observe(at(1n), 10_000)
    assert.deepEqual([...detector.overdue(at(1n), 'n1')], [])
  })
})
