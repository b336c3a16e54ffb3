import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { atOnce } from '../../../src/engine/advance-rules.ts'
import type { WorkerRecord } from '../../../src/issuing/worker-records.ts'
import { repairWorkers } from '../../../src/recovery/repair-workers.ts'

const minuteUs = 60_000_000
const nowUs = 1_800_000_000_000_000
const record = { owner: 'a', holder: 'host:1', epoch: 3, boundUs: nowUs, exclusive: true }

/** What becomes of these records in an advance. */
function repaired(values: Readonly<Record<string, object>>, leadUs?: number): Map<string, WorkerRecord> {
  const stored = Object.entries(values).map(([key, value]) => ({
    key,
    value: JSON.stringify(value),
    version: 1n,
  }))
  const { records } = atOnce(repairWorkers(nowUs, leadUs)(stored))
  return new Map([...records].map(([key, value]) => [key, JSON.parse(value)]))
}

describe('worker ids in a store that has forgotten writes', () => {
  test('are above any time that a process may still have reserved', () => {
    const boundUs = nowUs + 20 * minuteUs
    const after = { ...record, epoch: 3 + 2 ** 20, boundUs, exclusive: false }
    assert.deepEqual(repaired({ 'workers/0': record }, 10 * minuteUs).get('workers/0'), after)
    assert.equal(
      repaired({ 'workers/0': record }, 60 * minuteUs).get('workers/0')?.boundUs,
      nowUs + 90 * minuteUs,
    )
  })

  test('never move down', () => {
    const later = nowUs + 100 * minuteUs
    assert.ok(
      repaired({ 'workers/7': { ...record, boundUs: later } }, 10 * minuteUs).get('workers/7')!.boundUs >
        later,
    )
  })

  test('lie above the time of the node with the longest lead, and of the one whose clock is ahead', () => {
    const ids = {
      'workers/0': { ...record, boundUs: nowUs, leadUs: 60 * minuteUs },
      'workers/1': { ...record, boundUs: nowUs + (30 + 12.5) * minuteUs, leadUs: 10 * minuteUs },
      'workers/others': { ...record, boundUs: 0 },
    }
    const bounds = [...repaired(ids, 10 * minuteUs).values()].map(({ boundUs }) => boundUs)
    assert.deepEqual(bounds, Array(3).fill(nowUs + (30 + 90) * minuteUs))
  })

  test('move on by little where one advance follows another', () => {
    const once = repaired({ 'workers/0': record }, 10 * minuteUs)
    const twice = repaired(Object.fromEntries(once), 10 * minuteUs)
    assert.equal(twice.get('workers/0')!.boundUs, nowUs + 27.5 * minuteUs)
  })

  test('that have no record are bounded by a record that the advance adds', () => {
    const others = { owner: '', holder: 'none', epoch: 2 ** 20, boundUs: nowUs + 20 * minuteUs }
    const added = new Map([['workers/others', { ...others, exclusive: false }]])
    assert.deepEqual(repaired({}, 10 * minuteUs), added)
    // No record of another sort is changed.
    assert.deepEqual(repaired({ 'generators/order': { state: 'live' } }, 10 * minuteUs), added)
  })
})
