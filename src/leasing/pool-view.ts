/** A pool of plain worker ids as one list has shown it: which ids are held, resting or free. */

import { FahaoError } from '../base/errors.ts'
import type { StoredRecord } from '../engine/engine.ts'
import { nextTurn } from '../engine/next-turn.ts'
import { type PlainWorkerRecord, plainIdOf, readPlainWorker } from '../issuing/plain-worker-records.ts'

/** An id with its record; without one, the id was never claimed. */
export type PlainWorker = {
  readonly id: number
  readonly stored: StoredRecord | undefined
  readonly record: PlainWorkerRecord | undefined
}

/**
 * `held`: under a lease; `resting`: the lease or an advance is too recent; `kept`: only its owner may claim it; `free`:
 * any owner may.
 */
export type PlainWorkerState = 'held' | 'resting' | 'kept' | 'free'

/** Which worker ids of a list: those above `after`, at most `limit`. */
export type WorkersPage = { readonly after?: number | undefined; readonly limit?: number | undefined }

/** Records that are read in one turn of the event loop. */
const turnSize = 250

/** One pool at one moment. */
export class PoolView {
  readonly #nowUs: number
  readonly #othersUs: number
  readonly #workers = new Map<number, PlainWorker>()
  /** The newest record of each owner. Two nodes that are asked at once can give one owner two ids. */
  readonly #owned = new Map<string, PlainWorker>()
  readonly #chosen = new Set<number>()
  /** By size: the error when no id below it is free. */
  readonly #exhausted = new Map<number, FahaoError>()
  /** No id below it can be chosen by an owner that has none. */
  #cursor = 0

  private constructor(nowUs: number, othersUs: number) {
    this.#nowUs = nowUs
    this.#othersUs = othersUs
  }

  /**
   * Reads the records of a pool, and lets others run meanwhile: there may be 65,536.
   * @param nowUs Unix µs of this node's timeline.
   * @param othersUs until when ids without a record rest.
   */
  static async of(
    pool: string,
    records: readonly StoredRecord[],
    { nowUs, othersUs }: { readonly nowUs: number; readonly othersUs: number },
  ): Promise<PoolView> {
    const view = new PoolView(nowUs, othersUs)
    for (const [index, stored] of records.entries()) {
      if (index % turnSize === turnSize - 1) await nextTurn()
      view.#add(pool, stored)
    }
    return view
  }

  /** The id that this owner has, or had last if no other owner has taken it since; each id once. */
  chooseOwned(owner: string, size: number): PlainWorker | undefined {
    const worker = this.#owned.get(owner)
    if (worker === undefined || worker.id >= size || this.#chosen.has(worker.id)) return undefined
    if (this.#closedUs(worker.record!) > this.#nowUs) return undefined
    this.#chosen.add(worker.id)
    return worker
  }

  /** The lowest free id below `size`; each id once. */
  chooseFree(size: number): PlainWorker | undefined {
    for (; this.#cursor < size; this.#cursor++) {
      const id = this.#cursor
      if (this.#chosen.has(id) || this.#freeUs(id) > this.#nowUs) continue
      this.#chosen.add(id)
      return this.#workers.get(id) ?? { id, stored: undefined, record: undefined }
    }
    return undefined
  }

  /** The owner's present record, claimable or not. */
  ownedBy(owner: string): PlainWorker | undefined {
    return this.#owned.get(owner)
  }

  /** The ids above `after` with a record, in ascending order, at most `limit`. */
  workers({ after = -1, limit = Number.POSITIVE_INFINITY }: WorkersPage = {}): {
    readonly id: number
    readonly record: PlainWorkerRecord
    readonly state: PlainWorkerState
  }[] {
    const ids = [...this.#workers.keys()].filter((id) => id > after).sort((a, b) => a - b)
    return ids.slice(0, limit).map((id) => {
      const record = this.#workers.get(id)!.record!
      return { id, record, state: this.#stateOf(id, record) }
    })
  }

  /** The error where no id below `size` is free. */
  exhausted(pool: string, size: number): FahaoError {
    const known = this.#exhausted.get(size)
    if (known !== undefined) return known
    const states = this.workers().flatMap(({ id, state }) => (id < size ? [state] : []))
    const counted = (state: PlainWorkerState) => states.filter((each) => each === state).length
    const kept = counted('kept') === 0 ? '' : `, ${counted('kept')} kept for their owners`
    let firstUs = Number.POSITIVE_INFINITY
    for (let id = 0; id < size; id++) firstUs = Math.min(firstUs, this.#freeUs(id))
    const waitMs = Math.ceil((firstUs - this.#nowUs) / 1000)
    const next = Number.isFinite(waitMs)
      ? `the first becomes free in ${Math.ceil(waitMs / 1000)} s if it is not renewed; wait, return one,`
      : 'none becomes free by itself; return one,'
    const error = new FahaoError(
      'EXHAUSTED',
      `no worker id of pool '${pool}' is free below ${size}: ${counted('held')} held, ${counted('resting')} resting${kept}; ${next} or claim with a larger SIZE`,
      Number.isFinite(waitMs) ? { retryAfterMs: waitMs } : {},
    )
    this.#exhausted.set(size, error)
    return error
  }

  /** When any owner may claim the id, in Unix µs; Infinity: never. */
  #freeUs(id: number): number {
    const record = this.#workers.get(id)?.record
    if (record === undefined) return this.#othersUs
    if (record.stable && this.#owned.get(record.owner)!.id === id) return Number.POSITIVE_INFINITY
    return Math.max(record.untilUs + record.restUs, this.#closedUs(record))
  }

  /**
   * Before this moment no owner may claim the id. A first claim that was written during an advance is not repaired by it:
   * its record is older than the rest of the ids without a record.
   */
  #closedUs({ closedUs = 0, epoch, sinceUs }: PlainWorkerRecord): number {
    return epoch === 1 && sinceUs < this.#othersUs ? Math.max(closedUs, this.#othersUs) : closedUs
  }

  #add(pool: string, stored: StoredRecord): void {
    const id = plainIdOf(pool, stored.key)
    if (id === undefined) return
    const record = readPlainWorker(stored)
    const worker = { id, stored, record }
    this.#workers.set(id, worker)
    const other = this.#owned.get(record.owner)?.record
    if (other === undefined || other.sinceUs <= record.sinceUs) this.#owned.set(record.owner, worker)
  }

  #stateOf(id: number, { lease, untilUs }: PlainWorkerRecord): PlainWorkerState {
    if (lease !== '' && untilUs > this.#nowUs) return 'held'
    const freeUs = this.#freeUs(id)
    if (freeUs === Number.POSITIVE_INFINITY) return 'kept'
    return freeUs > this.#nowUs ? 'resting' : 'free'
  }
}
