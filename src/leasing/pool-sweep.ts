/**
 * Removes the records of plain worker ids that say nothing any more: pools come into being by a claim, so there would be
 * ever more of them.
 *
 * Invariants
 *  1. A record is removed only if it has the version that was judged, so a claim or a renewal since keeps it.
 *  2. A record goes only `keptUs` after its lease and its rest have ended, after its id may be claimed again, and after the
 *     newest time that a holder has reported. One that is kept for its owner (STABLE) stays.
 *  3. One sweep at a time, at most one in `pauseUs`, and none while no record is added: what does not grow stays.
 */
import { hasCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { RecordStore, StoredRecord } from '../engine/engine.ts'
import { everyPage } from '../engine/pages.ts'
import { isPlainWorker, poolPrefix, readPlainWorker } from '../issuing/plain-worker-records.ts'

const keptUs = 86_400_000_000
const pauseUs = 3_600_000_000
const pageSize = 1000

/** The sweeps of one node. */
export class PoolSweep {
  readonly #engine: RecordStore
  readonly #timeline: Timeline
  /** On the monotonic clock, in µs: no sweep begins before. */
  #nextUs: number

  constructor(engine: RecordStore, timeline: Timeline) {
    this.#engine = engine
    this.#timeline = timeline
    this.#nextUs = timeline.monoUs() + pauseUs
  }

  /** Notes that a record was added. Starts a sweep if one is due; a sweep that fails is left to the next one. */
  added(): void {
    if (this.#timeline.monoUs() < this.#nextUs) return
    this.#nextUs = Number.POSITIVE_INFINITY
    void this.#sweep()
      .catch(() => {})
      .then(() => {
        this.#nextUs = this.#timeline.monoUs() + pauseUs
      })
  }

  async #sweep(): Promise<void> {
    const pages = everyPage<StoredRecord>(pageSize, (last) =>
      this.#engine.list(poolPrefix, { after: last?.key, limit: pageSize }),
    )
    for await (const page of pages)
      for (const stored of page) {
        if (!isPlainWorker(stored) || this.#timeline.nowUs() <= endOf(stored) + keptUs) continue
        await this.#engine.remove(stored.key, stored.version)
      }
  }
}

/** From when on a record says nothing, in Unix µs; Infinity: never, or it cannot be read. */
function endOf(stored: StoredRecord): number {
  try {
    const { stable, untilUs, restUs, closedUs = 0, lastSeenMs } = readPlainWorker(stored)
    return stable ? Number.POSITIVE_INFINITY : Math.max(untilUs + restUs, closedUs, lastSeenMs * 1000)
  } catch (error) {
    if (hasCode(error, 'ENGINE')) return Number.POSITIVE_INFINITY
    throw error
  }
}
