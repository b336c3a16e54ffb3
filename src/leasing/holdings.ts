/** The worker ids that callers hold, as the records of the store say. */
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import { isPlainWorker, poolPrefix, readPlainWorker } from '../issuing/plain-worker-records.ts'
import { idOf, readWorker, recordKey, workerRecords } from '../issuing/worker-records.ts'

/** A worker id that a caller holds. */
export type Holding = {
  /** The key of its record. */
  readonly key: string
  /** The names of the generators that it is counted for, or of its pool. */
  readonly names: readonly string[]
  /** The user that it was leased to. */
  readonly user: string
  /** In a pool: the name that the holder has given itself. */
  readonly owner?: string
  /** Unix µs; Infinity: it is kept for its owner (STABLE). */
  readonly untilUs: number
}

/** The worker ids that the records give to callers, also those whose time has passed. Errors: UNAVAILABLE, ENGINE. */
export async function holdingsOf(engine: Engine): Promise<Holding[]> {
  const [workers, plain] = await Promise.all([workerRecords(engine), listAll(engine, poolPrefix)])
  return [...workers.flatMap(workerHolding), ...plainHoldings(plain.filter(isPlainWorker))]
}

function workerHolding(stored: StoredRecord): Holding[] {
  const { generator, countedFor = [], user = '', returned, boundUs } = readWorker(stored)
  if (generator === undefined || returned) return []
  return [{ key: recordKey(idOf(stored)), names: [generator, ...countedFor], user, untilUs: boundUs }]
}

/** An id is kept for its owner only by the newest record of the owner in a pool (pool-view.ts). */
function plainHoldings(records: readonly StoredRecord[]): Holding[] {
  const newest = new Map<string, number>()
  const read = records.map((stored) => {
    const record = readPlainWorker(stored)
    const pool = stored.key.slice(poolPrefix.length, stored.key.lastIndexOf('/'))
    const owned = `${pool} ${record.owner}`
    newest.set(owned, Math.max(newest.get(owned) ?? 0, record.sinceUs))
    return { key: stored.key, pool, owned, record }
  })
  return read.flatMap(({ key, pool, owned, record }) => {
    const { owner, user, lease, untilUs, sinceUs } = record
    const isKept = record.stable && sinceUs >= newest.get(owned)!
    if (lease === '' && !isKept) return []
    return [{ key, names: [pool], user, owner, untilUs: isKept ? Number.POSITIVE_INFINITY : untilUs }]
  })
}
