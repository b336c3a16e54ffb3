import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mendWorkers } from '../../../src/issuing/mend-workers.ts'

const minuteUs = 60_000_000
const nowUs = 1_800_000_000_000_000
const record = { owner: 'a', holder: 'host:1', epoch: 3, boundUs: nowUs, exclusive: true }

function mended(
  key: string,
  value: object,
  leadUs?: number,
): { boundUs: number; exclusive: boolean } | undefined {
  const stored = { key, value: JSON.stringify(value), version: 1n }
  const text = mendWorkers(nowUs, leadUs)([stored]).records.get(key)
  return text === undefined ? undefined : JSON.parse(text)
}

describe('worker ids in a store that has forgotten writes', () => {
  it('lie above any time that a process may still have in hand', () => {
    assert.deepEqual(mended('workers/0', record), {
      ...record,
      boundUs: nowUs + 15 * minuteUs,
      exclusive: false,
    })
    assert.equal(mended('workers/0', record, 60 * minuteUs)?.boundUs, nowUs + 90 * minuteUs)
  })

  it('never move down', () => {
    const later = nowUs + 100 * minuteUs
    assert.equal(mended('workers/7', { ...record, boundUs: later })?.boundUs, later)
  })

  it('are the only records that are changed', () => {
    assert.equal(mended('generators/order', { state: 'live' }), undefined)
  })
})
