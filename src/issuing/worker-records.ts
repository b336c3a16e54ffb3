/** The records of worker ids, as they stand in the engine. */
import { assert } from '../base/assert.ts'
import { describe, FahaoError } from '../base/errors.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import { workerIdsMax } from '../ids/limits.ts'

/** Where worker ids are recorded. */
export const workerPrefix = 'workers/'
/** Where an advance records the bound of all ids, with a record or without. No record: the store was never advanced. */
export const othersKey = `${workerPrefix}others`

/** A worker id's record. */
export type WorkerRecord = {
  /** Node id of the holder, new at each start of a process. */
  readonly owner: string
  /** For people: `host:pid` of the holder. */
  readonly holder: string
  /** How often the id has been claimed. */
  readonly epoch: number
  /** Time below this, in Unix µs, may have been used. */
  readonly boundUs: number
  /** The holder was the only process on this store. */
  readonly exclusive: boolean
  /** For how long the holder reserves ahead, in µs. Records of older versions do not say. */
  readonly leadUs?: number
  /** The first moment of a caller's lease, in Unix µs. Records of nodes lack this member and those below. */
  readonly startUs?: number
  /** The generator that a caller's lease was asked for. */
  readonly generator?: string
  /** Further generators, of namespaces that limit leases, for which a caller's lease was confirmed. */
  readonly countedFor?: readonly string[]
  /** The user that asked for a caller's lease. */
  readonly user?: string
  /** A start of a caller's lease that was ahead of the clock, and the clock then, in Unix µs. */
  readonly ahead?: { readonly fromUs: number; readonly sinceUs: number } | undefined
  /** A random text of the newest write to a caller's lease: the process that has written finds its own write by it. */
  readonly write?: string
  /** A caller's lease was given back. */
  readonly returned?: boolean
}

/** An id that may be claimed, its record, and the first moment that no holder has used, in Unix µs. */
export type FreeId = {
  readonly id: number
  readonly stored: StoredRecord | undefined
  readonly fromUs: number
}

/** The record of an id that no node has claimed. */
export const unclaimed: WorkerRecord = {
  owner: '',
  holder: 'none',
  epoch: 0,
  boundUs: 0,
  exclusive: false,
}

/** A holder reserves time up to this many times its lead ahead of its clock. */
export const aheadLeads = 1.25

/** At least this much time is claimed beyond the requested time, in µs, so that a saturated node writes rarely. */
export const spareUs = 1_000_000

/** How often sources look, while they issue nothing, whether their time would last for the lead, in µs. */
export function idleUs(leadUs: number): number {
  return Math.min(60_000_000, leadUs / 5)
}

/** For how long reserved time has to last, so that after the next look of an idle source it still lasts for the lead. In µs. */
export function freshUs(leadUs: number): number {
  return Math.min(leadUs + idleUs(leadUs), leadUs * aheadLeads - spareUs)
}

/**
 * A fixed id is free when its record has stood unchanged for this part of its holder's lead, and for `restMinUs`: a living
 * holder that issues extends it after a quarter of the lead, and one that is idle after two looks.
 */
const restPart = 1 / 2
const restMinUs = 12_500_000

/** The record of a worker id. */
export function recordKey(id: number): string {
  return `${workerPrefix}${id}`
}

/** The worker id of a record; NaN where the record is of all ids without one. */
export function idOf({ key }: StoredRecord): number {
  return Number(key.slice(workerPrefix.length))
}

/** The records of all worker ids that were ever claimed. */
export function workerRecords(engine: Engine): Promise<StoredRecord[]> {
  return listAll(engine, workerPrefix)
}

/**
 * The ids that may be the lowest free one, ascending: the known ids, with a record or used by this process, and the lowest
 * of the rest. A higher id of the rest is never a better choice, so a claim does not test each id of the pool.
 */
export function candidates(known: Iterable<number>): number[] {
  const ids = new Set(known)
  let lowest = 0
  while (ids.has(lowest)) lowest++
  return [...ids.add(lowest)].filter((id) => id < workerIdsMax).sort((a, b) => a - b)
}

/**
 * The bound for all ids, in Unix µs: below it any id may have been used, whatever its record says, because a claim
 * that was written during an advance has a lower bound. 0 unless the store was advanced.
 */
export async function boundOfOthers(engine: Engine): Promise<number> {
  const stored = await engine.read(othersKey)
  return stored === undefined ? 0 : readWorker(stored).boundUs
}

/** The error where every id of the pool is held; `leadUs`: for how long a holder reserves. */
export function noIdFree(leadUs: number): FahaoError {
  const wait = seconds(leadUs)
  return new FahaoError(
    'EXHAUSTED',
    `all ${workerIdsMax} worker ids are held; wait for ${wait} or stop nodes`,
  )
}

/** The error where another process holds a fixed id. `alive`: it was seen to extend its claim; `restUs`: see the function below. */
export function idTaken(id: number, { holder }: WorkerRecord, alive: boolean, restUs: number): FahaoError {
  const inUse = `worker id ${id} is in use by ${holder}; give each node an id of its own, or use --worker-id pool`
  const freeAfter = seconds(restUs)
  const resting = `worker id ${id} was held by ${holder}; it is free when its record has not changed for ${freeAfter}; retry`
  return new FahaoError('WORKERID', alive ? inUse : resting)
}

function seconds(us: number): string {
  return `${Math.ceil(us / 1_000_000)} s`
}

/** Reads the record of a worker id. Throws ENGINE if it cannot. */
export function readWorker(stored: StoredRecord): WorkerRecord {
  try {
    const record = JSON.parse(stored.value) as WorkerRecord
    if (!Number.isSafeInteger(record.boundUs)) throw new TypeError('boundUs is no whole number')
    return record
  } catch (error) {
    throw new FahaoError(
      'ENGINE',
      `the record ${stored.key} cannot be read (${describe(error)}); restore or remove it`,
    )
  }
}

/** Throws where a record of a store breaks what its writers keep. For tests. */
export function assertInvariants(records: readonly StoredRecord[]): void {
  for (const stored of records) {
    const { boundUs, startUs, epoch, generator, ahead, returned } = readWorker(stored)
    if (stored.key === othersKey) continue
    assert(epoch >= 1, `${stored.key} was claimed`)
    assert(boundUs >= (startUs ?? 0), `${stored.key} does not end before it begins`)
    assert((startUs === undefined) === (generator === undefined), `${stored.key} is of a node or of a caller`)
    assert(returned === undefined || startUs !== undefined, `${stored.key} was returned by a caller`)
    assert(ahead === undefined || ahead.fromUs > ahead.sinceUs, `${stored.key} began ahead of the clock`)
  }
}

/** The longest lead of a node in these records, in µs; 0 if none says. */
export function longestNodeLead(records: readonly WorkerRecord[]): number {
  const leads = records.map(({ startUs, leadUs = 0 }) => (startUs === undefined ? leadUs : 0))
  return leads.reduce((a, b) => Math.max(a, b), 0)
}

/** Whether the holder has extended its claim: the change was neither an advance nor a return of time. */
export function isByHolder(before: WorkerRecord, after: WorkerRecord): boolean {
  if (before.owner !== after.owner) return true
  return before.epoch === after.epoch && after.boundUs > before.boundUs
}

/** For how long the record of a fixed id stands unchanged before the id is free, in µs. @param leadUs unless it says its own. */
export function restUs({ leadUs: own }: WorkerRecord, leadUs: number): number {
  return Math.max(restMinUs, (own ?? leadUs) * restPart)
}
