/** Repairs the records of plain worker ids in a store that has lost writes. */
import { eachInParts, epochJump } from '../engine/advance-rules.ts'
import type { Repair } from '../engine/engine.ts'
import {
  isPlainWorker,
  othersUntilUs,
  type PlainWorkerRecord,
  poolOthersKey,
  poolTtlMs,
  readPlainWorker,
} from '../issuing/plain-worker-records.ts'

/** A lease that nothing on record tells of can be as long as the default, with its rest. */
const lostUsMin = 2 * poolTtlMs * 1000
/** The longest lease that an advance waits for: waiting for a lease of a year would close its pool for a year. */
const lostUsMax = 3_600_000_000

/**
 * Lets every id rest for as long as the longest lease on record and its rest: any id may have been given to another
 * holder in a lost write. A lease that has not ended stays: its holder had it before the loss, and a lost write took it
 * away only if the holder had returned it. So holders renew, and no id is claimed before the rest is over. Ids without
 * a record rest by the record `pools/others`.
 */
export function repairPools(nowUs: number): Repair {
  return function* (all) {
    const workers: { readonly key: string; readonly record: PlainWorkerRecord }[] = []
    yield* eachInParts(all, (stored) => {
      if (isPlainWorker(stored)) workers.push({ key: stored.key, record: readPlainWorker(stored) })
    })
    const longestUs = workers.reduce(
      (longest, { record }) => Math.max(longest, Math.min(lostUsMax, record.ttlUs + record.restUs)),
      lostUsMin,
    )
    const closedUs = nowUs + longestUs
    const repaired = new Map<string, string>()
    yield* eachInParts(workers, ({ key, record }) => {
      const isLive = record.lease !== '' && record.untilUs > nowUs
      // The last renewal may be lost too.
      const held = isLive ? { untilUs: Math.max(record.untilUs, nowUs + record.ttlUs) } : { lease: '' }
      repaired.set(key, JSON.stringify({ ...record, ...held, epoch: record.epoch + epochJump, closedUs }))
    })
    const others = all.find(({ key }) => key === poolOthersKey)
    const untilUs = Math.max(othersUntilUs(others), closedUs)
    repaired.set(poolOthersKey, JSON.stringify({ untilUs }))
    return { records: repaired, counters: new Map() }
  }
}
