/**
 * The version of the records of a store, which is a record of its own. Records of an earlier version are converted, once, when
 * a node starts. (An engine does the same for the form in which it keeps them, as `sqlite/schema.ts` and `sql/open.ts` do.)
 *
 * Invariants
 *  1. A record is converted by a conditional write: one of several nodes does it, and a later change stays. One exception
 *     is harmless: a pin that is taken off while another node converts it can come back.
 *  2. The version is written after all records: a node that ends before leaves the rest to the next.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { clusterPrefix, ownFormat, presentForm } from '../cluster/records.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'

/** Where the version is. */
export const versionKey = 'format'
/** The version of the records that this program writes: the highest that is in the store. */
export const recordsVersion = ownFormat.writes

/**
 * Converts the records of an earlier version. Rejects with ENGINE for a later one. Where nothing can be written now, because the
 * store has lost writes or an advance is not finished, the records are read as they are, and converted at the next start.
 */
export async function convertRecords(engine: Engine, onEvent: (event: LogEvent) => void): Promise<void> {
  const stored = await engine.read(versionKey)
  const version = stored === undefined ? 1 : Number(stored.value)
  const [, newest] = ownFormat.reads
  if (version > newest) {
    const made = `were written by a newer Fahao (their version is ${version}, this one knows 1 to ${newest})`
    throw new FahaoError('ENGINE', `the records of this store ${made}; upgrade this one`)
  }
  if (version >= recordsVersion) return
  try {
    let converted = 0
    for (const record of await engine.list(clusterPrefix)) if (await convert(engine, record)) converted++
    await engine.write(versionKey, String(recordsVersion), stored?.version)
    const message = `converted ${converted} records of this store to version ${recordsVersion}`
    if (converted > 0) onEvent({ level: 'info', message })
  } catch (error) {
    if (!waits.some((code) => hasCode(error, code))) throw error
  }
}

/** The errors of a store in which nothing can be written now. */
const waits = ['REGRESSED', 'UNAVAILABLE', 'UNKNOWN'] as const

async function convert(engine: Engine, record: StoredRecord): Promise<boolean> {
  const next = presentForm(record)
  if (next === undefined) return false
  const { key, version } = record
  if (next.key === key) return (await engine.write(key, next.value, version)) !== undefined
  // Written first: a node that ends in between leaves the removal to the next. A pin of today stays as it is.
  await engine.write(next.key, next.value, undefined)
  return engine.remove(key, version)
}
