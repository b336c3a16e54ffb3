/**
 * This node's worker id. The right to it *is* its reserved time: one record per id, `{owner, epoch, boundUs}`,
 * shared by all snowflakes of the node and extended by conditional writes while ids are issued, and while a snowflake
 * that has issued ids is idle.
 *
 * Invariants
 *  1. Time below `boundUs` is used only after the record with this bound is durable (P2).
 *  2. Every claim starts at or above the bound of the record that it replaces, so that no two holders of an id
 *     ever share a moment, whatever their clocks show.
 *  3. A claim replaces the very version that was judged free: its bound had passed, or the version was watched
 *     unchanged for longer than a living holder leaves it.
 *  4. No time above a bound is used before an extension of it has been acknowledged, or read.
 *  5. No claim outlives an advance. The forgotten writes may have given an id to another node, so the holder on record
 *     cannot determine how far the id is still its own. An advance raises the epoch of every claim: the next write of each
 *     holder fails, and it claims again. An advance also raises every bound, and one bound for all ids, above all time
 *     that can have been reserved by then: every later claim begins above that (2), at once.
 *  6. After an unknown or refused write the record is read before anything is built on it (P8). The claim is over when the
 *     record names another owner or epoch, or a bound that this process has not written: a copy of its memory has.
 *  7. After `renounce`, no time that was reserved before is used: a copy of this memory may use it. The next claim has
 *     another owner, so that of two copies at most one continues under an id, from a moment above the bound. A claim that
 *     was under way is not used.
 *  8. What a generator has used of a claim is kept with the claim, by its name: no time of it is used twice, whichever source
 *     issues from it. A release lowers the bound to what all of them have used.
 */
import { assert } from '../base/assert.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import { UsedTime } from '../buffers/used-time.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import {
  aheadLeads,
  boundOfOthers,
  candidates,
  type FreeId,
  idOf,
  idTaken,
  isByHolder,
  noIdFree,
  readWorker,
  recordKey,
  restUs,
  spareUs,
  type WorkerRecord,
  workerRecords,
} from './worker-records.ts'

/** How a node gets its worker id. */
export type WorkerOptions = {
  readonly engine: Engine
  readonly timeline: Timeline
  /** A fixed id; undefined: one from the pool. */
  readonly fixedId: number | undefined
  /** For how long reserved time should last without the engine, in µs. */
  readonly leadUs: number
  /** This process's node id. A claim after `renounce` has another. */
  readonly owner: string
  /** `host:pid`. */
  readonly holder: string
  /** Receives claims and losses, for a log. */
  readonly onEvent: (message: string, level: 'info' | 'warn') => void
  /**
   * Called when the record of the claim has a bound that only a copy of this memory can have written. The claim has been
   * renounced by then, so that no more time is reserved under it.
   */
  readonly onCopy?: (reason: string) => void
}

const claimTries = 100

/** The id that this node holds. */
type HeldId = {
  readonly id: number
  readonly startUs: number
  version: bigint
  record: WorkerRecord
  /** Bounds that may have been written since the last answer. */
  tried: number[]
  /** Used times by generator. One that has passed may be absent, unless a source may still issue from it. */
  readonly used: Map<string, UsedTime>
  /** When passed times were last removed from `used`, in Unix µs, and the size of `used` when this is done again. */
  forgottenUs: number
  usedMax: number
}

/** Generators that a claim remembers before it forgets those whose time has passed. */
const usedMaxMin = 1000

/** Claims a worker id, and reserves time for it. */
export class WorkerId {
  /** The bound of all ids when this process looked for an id last, in Unix µs. */
  othersUs = 0
  readonly #options: WorkerOptions
  #held: HeldId | undefined
  #claim = 0
  #securing: Promise<void> = Promise.resolve()
  /** The outcome of the newest write is not known. */
  #unsettled = false
  #owner: string
  /** The claim that was renounced last. */
  #former: HeldId | undefined
  /** Ids that this process has lost, and until when it may have used them, in Unix µs. */
  readonly #lost = new Map<number, number>()
  /** A fixed id that another process holds: its record, since when it is unchanged, and whether its holder was seen alive. */
  #watched: { version: bigint; record: WorkerRecord; sinceUs: number; isAlive: boolean } | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#owner = options.owner
  }

  /** Grows with each claim; 0 before the first. */
  get claim(): number {
    return this.#claim
  }

  /** The worker id; −1 while there is none. */
  get id(): number {
    return this.#held?.id ?? -1
  }

  /** First moment of the claim, in Unix µs. */
  get startUs(): number {
    return this.#held?.startUs ?? 0
  }

  /** End of the reserved time, in Unix µs. */
  get boundUs(): number {
    return this.#held?.record.boundUs ?? 0
  }

  /** The time is extended when less than this is left, in µs. */
  get leadUs(): number {
    return this.#options.leadUs
  }

  /** What a generator has used of the time of the claim. Throws if there is none. */
  usedOf(generator: string): UsedTime {
    const held = this.#held
    assert(held !== undefined, 'time belongs to a claim')
    const known = held.used.get(generator)
    if (known !== undefined) return known
    if (held.used.size >= held.usedMax) this.#forgetPassed(held)
    const used = new UsedTime()
    held.used.set(generator, used)
    return used
  }

  /** How many generators it keeps the used time of. */
  get usedCount(): number {
    return this.#held?.used.size ?? 0
  }

  /** The timeline never goes back, so a source that is opened now issues above the time that has passed. */
  #forgetPassed(held: HeldId): void {
    const nowUs = this.#options.timeline.nowUs()
    for (const [generator, used] of held.used)
      if (!used.isInUse && used.untilUs <= nowUs) held.used.delete(generator)
    held.forgottenUs = nowUs
    held.usedMax = Math.max(usedMaxMin, 2 * held.used.size)
  }

  /**
   * Reserves time at least until `untilUs`, and for the lead. Calls run one after another. Rejects with WORKERID when
   * another process holds the id, EXHAUSTED when no id of the pool is free, UNAVAILABLE, UNKNOWN.
   */
  secure(untilUs: number): Promise<void> {
    return this.#inTurn(() => this.#secure(untilUs))
  }

  /**
   * Reads whether this node still holds its worker id, in a store that may have forgotten the claim. Resolves to false
   * when it has lost the id: the time reserved under it must not be used any more.
   */
  async confirm(): Promise<boolean> {
    const { claim } = this
    await this.#inTurn(async () => {
      if (this.#held === undefined) return
      this.#unsettled = true
      await this.#settle()
    })
    return this.#held !== undefined || claim === 0
  }

  /**
   * Gives the claim up, before it returns, because a copy of this memory may hold it too. The time that it has reserved
   * becomes a gap. The next claim is made under `owner`, which no process has used before.
   */
  renounce(owner: string): void {
    this.#owner = owner
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    this.#former = held
    this.#lost.set(held.id, held.record.boundUs)
  }

  /** Releases the unused time, so that the next start can claim the id at once. Never rejects. */
  async release(): Promise<void> {
    await this.#securing.catch(() => {})
    const held = this.#held
    this.#held = undefined
    if (held === undefined || this.#unsettled) return
    let boundUs = Math.max(held.startUs, held.forgottenUs)
    for (const { untilUs } of held.used.values()) boundUs = Math.max(boundUs, untilUs)
    if (boundUs >= held.record.boundUs) return
    const value = JSON.stringify({ ...held.record, boundUs })
    await this.#options.engine.write(recordKey(held.id), value, held.version).catch(() => undefined)
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    if (this.#held === undefined) return
    const { id, startUs, record, used } = this.#held
    assert(record.boundUs >= startUs, 'a claim does not end before it begins')
    assert(record.owner === this.#owner, 'a claim is of this process')
    const othersUs = this.#lost.get(id) ?? 0
    assert(startUs >= othersUs, 'a claim begins above the time of an earlier one of the same id')
    for (const [generator, { untilUs }] of used)
      assert(untilUs <= record.boundUs, `'${generator}' used only time that is reserved`)
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const next = this.#securing.then(task, task)
    this.#securing = next
    return next
  }

  async #secure(untilUs: number): Promise<void> {
    for (let tries = 0; tries < claimTries; tries++) {
      if (this.#unsettled) await this.#settle()
      const held = this.#held
      if (held === undefined) return this.#acquire(untilUs)
      const nowUs = this.#options.timeline.nowUs()
      if (held.record.boundUs >= Math.max(untilUs, nowUs + this.#options.leadUs)) return
      await this.#extend(held, this.#target(untilUs))
    }
    throw new FahaoError(
      'CONFLICT',
      `the record of the worker id changed ${claimTries} times in a row; retry`,
    )
  }

  /** The new bound when it has to cover `untilUs`. */
  #target(untilUs: number): number {
    const { timeline, leadUs } = this.#options
    return Math.ceil(Math.max(untilUs + spareUs, timeline.nowUs() + leadUs * aheadLeads))
  }

  /** Raises the bound. After a refusal the record has to be read: it shows the present holder. */
  async #extend(held: HeldId, boundUs: number): Promise<void> {
    const record = { ...held.record, boundUs }
    held.tried.push(boundUs)
    const stored = await this.#write(held.id, record, held.version)
    if (stored === undefined) {
      this.#unsettled = true
      return
    }
    held.version = stored.version
    held.record = record
    held.tried = []
  }

  async #write(
    id: number,
    record: WorkerRecord,
    expected: bigint | undefined,
  ): Promise<StoredRecord | undefined> {
    try {
      return await this.#options.engine.write(recordKey(id), JSON.stringify(record), expected)
    } catch (error) {
      if (hasCode(error, 'UNKNOWN')) this.#unsettled = true
      throw error
    }
  }

  /**
   * Reads the record after an extension with an unknown outcome, which may also be carried out after an earlier read.
   * A claim with an unknown outcome needs no read: it leaves an unused id.
   */
  async #settle(): Promise<void> {
    const held = this.#held
    const stored = held && (await this.#options.engine.read(recordKey(held.id)))
    this.#unsettled = false
    if (held === undefined) return
    const record = stored && readWorker(stored)
    if (record?.owner === held.record.owner && record.epoch === held.record.epoch) {
      if (record.boundUs !== held.record.boundUs && !held.tried.includes(record.boundUs)) {
        this.renounce(this.#owner)
        return this.#options.onCopy?.(`another process extends the claim of worker id ${held.id}`)
      }
      held.version = stored!.version
      held.record = record
    } else {
      this.#lose(held, record)
    }
  }

  #lose(held: HeldId, record: WorkerRecord | undefined): void {
    this.#held = undefined
    this.#lost.set(held.id, held.record.boundUs)
    const holder = record === undefined ? 'its record was removed' : `it is now held by ${record.holder}`
    this.#options.onEvent(
      record?.owner === this.#owner
        ? `the claim of worker id ${held.id} ended with an advance; it is claimed again`
        : `worker id ${held.id} is no longer this node's; ${holder}`,
      'warn',
    )
  }

  async #acquire(untilUs: number): Promise<void> {
    const { fixedId } = this.#options
    const { state } = await this.#options.engine.ownership()
    const exclusive = state === 'owner'
    for (let tries = 0; tries < claimTries; tries++) {
      this.othersUs = await boundOfOthers(this.#options.engine)
      const free =
        fixedId === undefined
          ? await this.#freeInPool(this.othersUs)
          : await this.#fixedWhenFree(fixedId, exclusive, this.othersUs)
      if (await this.#claimId(free, exclusive, untilUs)) return
    }
    throw new FahaoError(
      'CONFLICT',
      `other nodes were faster to claim a worker id ${claimTries} times in a row; retry`,
    )
  }

  async #claimId({ id, stored, fromUs }: FreeId, exclusive: boolean, untilUs: number): Promise<boolean> {
    const { holder, timeline, leadUs } = this.#options
    const owner = this.#owner
    const epoch = (stored === undefined ? 0 : readWorker(stored).epoch) + 1
    const startUs = Math.max(timeline.nowUs(), fromUs, this.#lost.get(id) ?? 0)
    const boundUs = this.#target(Math.max(untilUs, startUs))
    const record = { owner, holder, epoch, boundUs, exclusive, leadUs }
    const written = await this.#write(id, record, stored?.version)
    if (written === undefined) return false
    // An advance between read and write found no record of the id: the id may be used only from a later moment on.
    if (stored === undefined && (await boundOfOthers(this.#options.engine)) > fromUs) return false
    if (owner !== this.#owner) return false
    const used = { used: new Map(), forgottenUs: 0, usedMax: usedMaxMin }
    this.#held = { id, startUs, version: written.version, record, tried: [], ...used }
    this.#claim++
    this.#watched = undefined
    this.#options.onEvent(`claimed worker id ${id}`, 'info')
    return true
  }

  /**
   * The lowest id without a holder: without a record, or with a bound that has passed. For a while after an advance
   * there may be none: then the id that this process had before, or one without a record, ahead of the clock.
   */
  async #freeInPool(othersUs: number): Promise<FreeId> {
    const records = new Map<number, StoredRecord>()
    for (const stored of await workerRecords(this.#options.engine)) records.set(idOf(stored), stored)
    const nowUs = this.#options.timeline.nowUs()
    let mine: FreeId | undefined
    let untouched: FreeId | undefined
    for (const id of candidates([...records.keys(), ...this.#lost.keys()])) {
      const stored = records.get(id)
      const record = stored && readWorker(stored)
      const fromUs = Math.max(record?.boundUs ?? 0, othersUs)
      const free = { id, stored, fromUs }
      if (Math.max(fromUs, this.#lost.get(id) ?? 0) <= nowUs) return free
      if (this.#isOwn(id, stored) && this.#lost.has(id)) mine ??= free
      if (record === undefined && othersUs > nowUs) untouched ??= free
    }
    const ahead = mine ?? untouched
    if (ahead !== undefined) return ahead
    throw noIdFree(this.#options.leadUs)
  }

  /** Whether the record is of a claim of this process, or of the one that it has renounced, as it knew it last. */
  #isOwn(id: number, stored: StoredRecord | undefined): boolean {
    const isFormer = this.#former?.id === id && this.#former.version === stored?.version
    return isFormer || (stored !== undefined && readWorker(stored).owner === this.#owner)
  }

  /** A fixed id once it is free; until then rejects with WORKERID, which names the holder. */
  async #fixedWhenFree(id: number, exclusive: boolean, othersUs: number): Promise<FreeId> {
    const stored = await this.#options.engine.read(recordKey(id))
    const record = stored && readWorker(stored)
    const free = { id, stored, fromUs: Math.max(record?.boundUs ?? 0, othersUs) }
    const { timeline, leadUs } = this.#options
    if (stored === undefined || record === undefined || record.boundUs <= timeline.nowUs()) return free
    // A claim of this process whose reply was lost: the time that it covers is skipped.
    if (this.#isOwn(id, stored)) return free
    // The holder of the id owned the store, and now this process does: the holder has ended.
    if (exclusive && record.exclusive) return free
    const monoUs = timeline.monoUs()
    const watched = this.#watched
    if (watched === undefined || watched.version !== stored.version) {
      const isAlive = watched !== undefined && (watched.isAlive || isByHolder(watched.record, record))
      this.#watched = { version: stored.version, record, sinceUs: monoUs, isAlive }
    } else if (monoUs - watched.sinceUs > restUs(record, leadUs)) {
      return free
    }
    throw idTaken(id, record, this.#watched!.isAlive, restUs(record, leadUs))
  }
}
