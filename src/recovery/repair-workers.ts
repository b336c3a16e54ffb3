/** Repairs the records of worker ids in a store that has lost writes. */
import { eachInParts, epochJump } from '../engine/advance-rules.ts'
import type { Repair } from '../engine/engine.ts'
import { skippedUs } from '../issuing/ahead-limit.ts'
import {
  aheadLeads,
  othersKey,
  readWorker,
  unclaimed,
  type WorkerRecord,
  workerPrefix,
} from '../issuing/worker-records.ts'

/**
 * Longer than the time that a process which still uses lost records can have reserved: 1.25 of the default lead, and
 * some. A shorter one would let a new claim begin within the time in which that process issues.
 */
export const lostUsMin = 15 * 60_000_000

/**
 * Ends every claim, because another node may have taken any of them over in a lost write, and moves all bounds to one
 * moment above all time that can have been reserved. That moment depends on the latest clock and the longest lead in the
 * records, not only on those of the node that advances, which are `nowUs` and `leadUs`. Even the first claim of all may
 * have been lost, so the record `workers/others`, of the ids without a record of their own, is added if it is absent.
 */
export function repairWorkers(nowUs: number, leadUs = 0): Repair {
  return function* (all) {
    const workers: { readonly key: string; readonly record: WorkerRecord }[] = []
    yield* eachInParts(all, (stored) => {
      if (stored.key.startsWith(workerPrefix)) workers.push({ key: stored.key, record: readWorker(stored) })
    })
    if (!workers.some(({ key }) => key === othersKey)) workers.push({ key: othersKey, record: unclaimed })
    const longestUs = workers.reduce((longest, { record }) => Math.max(longest, record.leadUs ?? 0), leadUs)
    const clocksUs = workers.map(({ record }) => record.boundUs - (record.leadUs ?? longestUs) * aheadLeads)
    const latestUs = clocksUs.reduce((a, b) => Math.max(a, b), nowUs)
    const boundUs = Math.ceil(latestUs + skippedUs(longestUs))
    const ended = new Map<string, string>()
    yield* eachInParts(workers, ({ key, record }) => {
      const repaired = { ...record, epoch: record.epoch + epochJump, boundUs, exclusive: false }
      ended.set(key, JSON.stringify(repaired))
    })
    return { records: ended, counters: new Map() }
  }
}
