/** The records of plain worker ids, as they stand in the engine: `pools/POOL/ID`. */
import { describe, FahaoError } from '../base/errors.ts'
import type { StoredRecord } from '../engine/engine.ts'

/** Where plain worker ids are recorded. */
export const poolPrefix = 'pools/'
/** Where an advance records until when ids without a record rest. No record: the store was never advanced. */
export const poolOthersKey = `${poolPrefix}others`
/** For how long a lease lasts by default, in ms. */
export const poolTtlMs = 60_000

/** The record of a plain worker id. Times are Unix µs of the timeline of the node that wrote them. */
export type PlainWorkerRecord = {
  /** The name that the holder has given itself. It gets the id again as long as no other holder has taken it. */
  readonly owner: string
  /** The text of the lease; empty once the lease was returned or ended. */
  readonly lease: string
  /** How often the id has been claimed. */
  readonly epoch: number
  /** The user that claimed it. */
  readonly user: string
  /** When this holder claimed it. */
  readonly sinceUs: number
  /** The lease ends here. */
  readonly untilUs: number
  /** For how long the id rests after that, in µs. */
  readonly restUs: number
  /** The length of the lease, in µs. */
  readonly ttlUs: number
  /** Only this owner may claim the id, also after the lease. */
  readonly stable: boolean
  /** The newest time that a holder has reported, in Unix ms of its clock; −1 if none did. */
  readonly lastSeenMs: number
  /** Set by an advance: before this moment no owner may claim the id. */
  readonly closedUs?: number
}

/** The key of the record of an id of a pool. */
export function plainWorkerKey(pool: string, id: number): string {
  return `${poolPrefix}${pool}/${id}`
}

/** The id of a record of this pool, by its key; undefined for any other record, such as one of the pool `POOL/other`. */
export function plainIdOf(pool: string, key: string): number | undefined {
  const text = key.slice(poolPrefix.length + pool.length + 1)
  return /^(?:0|[1-9]\d{0,9})$/.test(text) ? Number(text) : undefined
}

/** Whether this is the record of an id of any pool. */
export function isPlainWorker({ key }: StoredRecord): boolean {
  return key.startsWith(poolPrefix) && key !== poolOthersKey
}

/** Reads the record of an id. Throws ENGINE if it cannot. */
export function readPlainWorker(stored: StoredRecord): PlainWorkerRecord {
  return readUntil(stored) as PlainWorkerRecord
}

/** Until when ids without a record rest, in Unix µs. 0 unless the store was advanced. */
export function othersUntilUs(stored: StoredRecord | undefined): number {
  return stored === undefined ? 0 : readUntil(stored).untilUs
}

function readUntil(stored: StoredRecord): { readonly untilUs: number } {
  try {
    const record = JSON.parse(stored.value) as { untilUs: number }
    if (!Number.isSafeInteger(record.untilUs)) throw new TypeError('untilUs is no whole number')
    return record
  } catch (error) {
    throw new FahaoError(
      'ENGINE',
      `the record ${stored.key} cannot be read (${describe(error)}); restore or remove it`,
    )
  }
}
