/** The short form of the campaign of leases, and the proof that its check finds a repeat. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { temporaryFolder } from '../launch/places.ts'
import { leaseCampaign } from './campaign.ts'
import { crowdCampaign } from './crowd.ts'
import { checkRuns, RunLog, readRuns } from './run-log.ts'

describe('the check of logged runs', () => {
  test('counts ids, and finds no repeat where runs only touch', (t) => {
    const path = join(temporaryFolder(t), 'a.log')
    const log = new RunLog(path)
    for (const id of [5n, 6n, 7n, 20n, 8n]) log.add(id)
    log.close()
    const checked = checkRuns([['a', readRuns(path)]])
    assert.deepEqual(checked, { ids: 5n, runs: 3, overlaps: [] })
  })

  test('finds one repeated id in another log, also behind a longer run', () => {
    const long = { first: 10n, count: 100n }
    const { overlaps } = checkRuns([
      ['a', [long]],
      ['b', [{ first: 20n, count: 1n }]],
      ['c', [{ first: 109n, count: 5n }]],
    ])
    assert.deepEqual(overlaps, [
      { first: 20n, ids: 1n, logs: ['a', 'b'] },
      { first: 109n, ids: 1n, logs: ['a', 'c'] },
    ])
  })
})

describe('processes that issue ids by themselves', () => {
  test('repeat no id when they are killed, stopped for longer than their leases, and moved in time', async (t) => {
    const { checked, faults } = await leaseCampaign(
      t,
      {
        ids: 1_000_000,
        processes: 4,
        ttlMs: 2000,
        stoppedMs: 3000,
        pauseMs: 400,
        batch: 2000,
        restMs: 15,
        faultsMin: 3,
      },
      () => {},
    )
    for (const [name, { ids, runs, overlaps }] of checked) {
      t.diagnostic(`${name}: ${ids} ids in ${runs} runs, ${JSON.stringify(faults)}`)
      assert.deepEqual(overlaps.slice(0, 3), [], name)
      assert.ok(ids > 0n, name)
    }
  })
})

describe('a crowd of clients, each with a worker id', () => {
  test('shares no moment of id time, and is told when no worker id is left', async (t) => {
    const { checked, waitsMs, exhausted } = await crowdCampaign(t, {
      layout: 'time:41,node:6,sequence:12;epoch=2020-01-01T00:00:00Z',
      room: 63,
      processes: 5,
      clientsEach: 11,
      rounds: 3,
      ttlMs: 2000,
    })
    t.diagnostic(`${checked.ids} ids; clients had theirs after ${Math.max(...waitsMs)} ms at most`)
    assert.deepEqual(checked.overlaps.slice(0, 3), [])
    assert.equal(waitsMs.length, 5 + 3)
    assert.equal(exhausted.code, 'EXHAUSTED')
    assert.match(exhausted.text, /held|rest/)
  })
})
