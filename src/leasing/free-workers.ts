/**
 * The worker ids that are free for callers, as one read of all records shows them. Many claims at once share one read.
 *
 * Invariants
 *  1. An id is free if the bound in its record has passed, or if it has no record. While the bound of all ids that an advance
 *     has set lies ahead of the clock, an id is also free if no claim was made of it since: its time begins at that bound.
 *  2. The lowest ids of a layout are left to nodes, which take the lowest that is free.
 *  3. A read offers each id once. An id that is no longer free is found out by the write that claims it, which names the
 *     version that was read: an old read costs a try, and never a moment that two holders share.
 *  4. EXHAUSTED is answered only after a read that began while the claim waited, or a moment before.
 */
import { assert } from '../base/assert.ts'
import type { Random } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { callersShare } from '../ids/limits.ts'
import {
  type FreeId,
  idOf,
  othersKey,
  readWorker,
  type WorkerRecord,
  workerRecords,
} from '../issuing/worker-records.ts'

/** What finding free ids takes from its node. */
export type FreeWorkersDeps = {
  readonly engine: Engine
  readonly timeline: Timeline
  readonly random: Random
}

/** A read is used for this long. */
const listMaxAgeUs = 1_000_000
/** How many ids, from the lowest, are offered at a time, in random order: several nodes rarely take one id at once. */
const windowSize = 256

/** Whether a worker id was not claimed, and its holder has not renewed it, since the advance that set `othersUs`. */
export function restsSinceAdvance({ boundUs }: WorkerRecord, othersUs: number, nowUs: number): boolean {
  return othersUs > nowUs && boundUs <= othersUs
}

/** A read, and since when in monotonic µs. */
type Reading = { readonly read: Promise<FreeList>; readonly sinceUs: number }

/** Free ids, from one read to the next. */
export class FreeWorkers {
  readonly #deps: FreeWorkersDeps
  #list: Reading | undefined
  readonly #origins = new WeakMap<FreeId, Reading>()

  constructor(deps: FreeWorkersDeps) {
    this.#deps = deps
  }

  /** An id for a layout with `nodeBits` node bits. Rejects with EXHAUSTED, UNAVAILABLE, ENGINE. */
  async take(nodeBits: number): Promise<FreeId> {
    const first = this.#newest()
    const offered = await this.#offer(first, nodeBits)
    if (offered !== undefined) return offered
    this.#drop(first)
    const last = this.#newest()
    const free = await this.#offer(last, nodeBits)
    if (free !== undefined) return free
    throw (await last.read).exhausted(nodeBits)
  }

  /** The id turned out not to be free: what was read with it may have changed too. */
  refused(free: FreeId): void {
    this.#drop(this.#origins.get(free))
  }

  async #offer(from: Reading, nodeBits: number): Promise<FreeId | undefined> {
    const free = (await from.read).take(nodeBits)
    if (free !== undefined) this.#origins.set(free, from)
    return free
  }

  #drop(list: Reading | undefined): void {
    if (this.#list === list) this.#list = undefined
  }

  #newest(): Reading {
    const nowUs = this.#deps.timeline.monoUs()
    if (this.#list !== undefined && nowUs - this.#list.sinceUs < listMaxAgeUs) return this.#list
    const list = { read: readFree(this.#deps), sinceUs: nowUs }
    this.#list = list
    list.read.catch(() => this.#drop(list))
    return list
  }
}

async function readFree({ engine, timeline, random }: FreeWorkersDeps): Promise<FreeList> {
  const records = await workerRecords(engine)
  return new FreeList(records, timeline.nowUs(), random)
}

/** The free ids of one read. */
export class FreeList {
  readonly #records = new Map<number, { readonly stored: StoredRecord; readonly record: WorkerRecord }>()
  readonly #nowUs: number
  readonly #random: Random
  readonly #othersUs: number
  readonly #taken = new Set<number>()
  /** By the number of node bits: the ids to offer next, and where the next ones begin. */
  readonly #windows = new Map<number, { next: number; readonly ids: FreeId[] }>()

  constructor(records: readonly StoredRecord[], nowUs: number, random: Random) {
    let othersUs = 0
    for (const stored of records) {
      const record = readWorker(stored)
      if (stored.key === othersKey) othersUs = record.boundUs
      else this.#records.set(idOf(stored), { stored, record })
    }
    this.#othersUs = othersUs
    this.#nowUs = nowUs
    this.#random = random
  }

  take(nodeBits: number): FreeId | undefined {
    const { first, end } = callersShare(nodeBits)
    const window = this.#windows.get(nodeBits) ?? { next: first, ids: [] }
    this.#windows.set(nodeBits, window)
    for (;;) {
      while (window.ids.length < windowSize && window.next < end) {
        const free = this.#freeAt(window.next++)
        if (free !== undefined) window.ids.push(free)
      }
      if (window.ids.length === 0) return undefined
      const at = Math.floor(this.#random() * window.ids.length)
      const [free] = window.ids.splice(at, 1)
      if (this.#taken.has(free!.id)) continue
      this.#taken.add(free!.id)
      return free
    }
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    for (const [nodeBits, { next, ids }] of this.#windows) {
      const { first, end } = callersShare(nodeBits)
      assert(next >= first && next <= end && ids.length <= windowSize, 'a window is of the ids of callers')
      for (const { id, stored, fromUs } of ids) {
        const record = stored && readWorker(stored)
        assert(id >= first && id < next, 'the lowest ids are left to nodes')
        assert(fromUs >= Math.max(record?.boundUs ?? 0, this.#othersUs), 'a claim begins above every bound')
        assert(fromUs <= this.#nowUs || (record?.boundUs ?? 0) <= this.#othersUs, 'an offered id is free')
      }
      assert(new Set(ids.map(({ id }) => id)).size === ids.length, 'a window has an id once')
    }
  }

  #freeAt(id: number): FreeId | undefined {
    const known = this.#records.get(id)
    const fromUs = Math.max(known?.record.boundUs ?? 0, this.#othersUs)
    if (fromUs <= this.#nowUs) return { id, stored: known?.stored, fromUs }
    if (known !== undefined && !restsSinceAdvance(known.record, this.#othersUs, this.#nowUs)) return undefined
    return { id, stored: known?.stored, fromUs }
  }

  /** Says how many ids are taken, and when the first is free again. */
  exhausted(nodeBits: number): FahaoError {
    const { first, end } = callersShare(nodeBits)
    let resting = 0
    let freeUs = Number.POSITIVE_INFINITY
    for (const [id, { record }] of this.#records) {
      if (id < first || id >= end || record.boundUs <= this.#nowUs) continue
      if (record.returned) resting++
      freeUs = Math.min(freeUs, record.boundUs)
    }
    const all = end - first
    const waitUs = freeUs === Number.POSITIVE_INFINITY ? 0 : freeUs - this.#nowUs
    const retryAfterMs = Math.max(1000, Math.ceil(waitUs / 1000))
    return new FahaoError(
      'EXHAUSTED',
      `all ${all} worker ids that ${nodeBits} node bits leave to callers are taken: ${all - resting} are held and ${resting} rest; the first is free in ${Math.ceil(retryAfterMs / 1000)} s, unless its holder renews it; retry then, or use a layout with more node bits`,
      { retryAfterMs },
    )
  }
}
