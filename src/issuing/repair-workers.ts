/** What becomes of worker ids' records in a store that has forgotten writes. */
import { epochJump } from '../engine/advance.ts'
import type { Repair } from '../engine/engine.ts'
import { aheadLeads, othersKey, readWorker, unclaimed, workerPrefix } from './worker-records.ts'

/**
 * Longer than a process that still runs on what was forgotten can have time in hand: 1.25 of the default lead, and
 * some. Below this, a claim could begin inside of what such a process issues.
 */
export const forgottenUsMin = 15 * 60_000_000
/** And longer than that in leads, where they are longer than the default. */
const forgottenLeads = 1.5

/**
 * Ends every claim, since each may be one that another node had taken over, and moves all bounds to one moment above
 * all that can have been reserved. Nothing depends on the clock of the node that advances alone, or on its lead: the
 * latest clock and the longest lead of which records tell decide. `leadUs`: of the node that advances. The first claim of
 * all may be what was forgotten, so the record of the ids without one is made where it is absent.
 */
export function repairWorkers(nowUs: number, leadUs = 0): Repair {
  return (all) => {
    const workers = all
      .filter(({ key }) => key.startsWith(workerPrefix))
      .map((stored) => ({ key: stored.key, record: readWorker(stored) }))
    if (!workers.some(({ key }) => key === othersKey)) workers.push({ key: othersKey, record: unclaimed })
    const longestUs = workers.reduce((longest, { record }) => Math.max(longest, record.leadUs ?? 0), leadUs)
    const clocksUs = workers.map(({ record }) => record.boundUs - (record.leadUs ?? longestUs) * aheadLeads)
    const latestUs = clocksUs.reduce((a, b) => Math.max(a, b), nowUs)
    const boundUs = Math.ceil(latestUs + Math.max(forgottenUsMin, longestUs * forgottenLeads))
    const ended = workers.map(({ key, record }): [string, string] => {
      const mended = { ...record, epoch: record.epoch + epochJump, boundUs, exclusive: false }
      return [key, JSON.stringify(mended)]
    })
    return { records: new Map(ended), counters: new Map() }
  }
}
