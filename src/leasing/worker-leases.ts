/**
 * Worker leases: a worker id for a process outside, with the half-open span of time in which it may stamp ids. The right to a
 * worker id is its reserved time, for callers as for nodes, so both stand in the same records: `workers/ID`. A lease is no
 * state of a node. Any node renews it, and a node may end at any moment.
 *
 * Invariants
 *  1. A span is answered only after the record with its end as the bound is durable (P2).
 *  2. A claim starts at or above the bound of the record that it replaces, and replaces the very version that was judged
 *     free, so that no two holders of an id ever share a moment, whatever their clocks show.
 *  3. A renewal replaces the record of its own claim, and only if the bound is the end of the span that the holder has from
 *     its last answer. Of several processes with one lease, copies of one memory, at most one gets any further time.
 *  4. A renewal never lowers the bound. A return lowers it no further than to the start of the claim, and only if it is the
 *     end of the span that the holder has from its last answer: no copy that has renewed loses its time.
 *  5. Time is answered for a generator only if, after that time was durable, the record of the generator was read: the floor
 *     of an incarnation that this read did not see lies above the bound (incarnation-change.ts).
 *  6. After an unknown write nothing is built on it (P8): a claim leaves its id and tries another; a renewal is answered only
 *     if the record, read afterwards, is the one that it wrote.
 *  7. No lease outlives an advance, which raises the epoch of every claim, and no bound lies where an advance may not reach
 *     (issuing/ahead-limit.ts).
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Catalogue, CurrentGenerator } from '../catalogue/catalogue.ts'
import { geneBitsOf, layoutOf } from '../catalogue/definition.ts'
import { type Layout, timeEndUs } from '../ids/layout.ts'
import { boundLimitUs } from '../issuing/ahead-limit.ts'
import {
  boundOfOthers,
  type FreeId,
  readWorker,
  recordKey,
  type WorkerRecord,
} from '../issuing/worker-records.ts'
import { FreeWorkers, type FreeWorkersDeps } from './free-workers.ts'
import { checkHolderName } from './holder-name.ts'
import { type ListedWorker, listedWorkers } from './listed-workers.ts'
import type { WorkerIdQuotas } from './worker-id-quotas.ts'
import {
  contended,
  farAhead,
  fullTime,
  longUnits,
  noLease,
  noRoom,
  noWorkerId,
  ofGenes,
  renewedElsewhere,
} from './worker-lease-refusals.ts'
import { type Ahead, aheadFrom, boundFor, wholeUnits, workerLeaseLimits } from './worker-lease-span.ts'
import type {
  WorkerLease,
  WorkerLeaseRenewal,
  WorkerLeaseRequest,
  WorkerLeaseReturn,
} from './worker-lease-terms.ts'
import { isWorkerLeaseOf, workerLeaseSecretBytes, workerLeaseText, workerOf } from './worker-lease-text.ts'

/** What worker leases take from their node. */
export type WorkerLeasesDeps = FreeWorkersDeps & {
  readonly catalogue: Pick<Catalogue, 'current'>
  /** Random bytes that are fit for secrets. */
  readonly secret: (length: number) => Uint8Array
  /** The lead of the nodes, in µs, which limits how far ahead a span ends (issuing/ahead-limit.ts). Default 0. */
  readonly leadUs?: number
  /** How many worker ids callers may hold. */
  readonly quotas: WorkerIdQuotas
}

/** A claim, and the version of its record. */
type Claim = { readonly id: number; readonly record: WorkerRecord; readonly version: bigint }

const claimTries = 100
const changeTries = 20
/** The writes with an unknown outcome at which a claim is given up. Each leaves an id that rests. */
const unknownMax = 2
/** How often a generator may be altered between a claim and its confirmation. */
const alterationsMax = 3
const holderNames = { bytesMin: 0, bytesMax: 128 }

/** Worker ids for callers. */
export class WorkerLeases {
  readonly #deps: WorkerLeasesDeps
  readonly #free: FreeWorkers

  constructor(deps: WorkerLeasesDeps) {
    this.#deps = deps
    this.#free = new FreeWorkers(deps)
  }

  /** Whether this user may issue ids of this `snowflake` in its own process: no namespace forbids it, and no long unit of time. */
  mayLease(
    { name, definition }: Pick<CurrentGenerator, 'definition'> & { readonly name: string },
    user: string,
  ): boolean {
    return !hasLongUnits(definition) && this.#deps.quotas.forbidding(name, user) === undefined
  }

  /**
   * Leases a worker id for a `snowflake`. Rejects with EXHAUSTED (none is free, or the time field is full), WRONGTYPE
   * (also if `mayLease` is false), CLOCK, NOGENERATOR, ERR, QUOTA, UNAVAILABLE, UNKNOWN, REGRESSED.
   */
  async lease(name: string, request: WorkerLeaseRequest): Promise<WorkerLease> {
    this.#deps.quotas.checkLeasable(name, request.user)
    checkHolderName('HOLDER', request.holder, holderNames)
    const ttlUs = ttlUsOf(request.ttlMs)
    const lease = () => this.#lease(name, request, ttlUs)
    const wanted = { name, user: request.user }
    return this.#deps.quotas.admit(wanted, lease, ({ worker }) => recordKey(worker))
  }

  /**
   * Extends a lease, or confirms it for another snowflake. Rejects with NOLEASE if the lease has ended or its span ends at
   * another moment, WORKERID if the layout of the generator has no room for the worker id, and as `lease`.
   */
  async renew(name: string, lease: string, { untilUs, ttlMs }: WorkerLeaseRenewal): Promise<WorkerLease> {
    const ttlUs = ttlUsOf(ttlMs)
    let expectedUs = untilUs
    for (let tries = 0; tries < changeTries; tries++) {
      const held = await this.#held(lease)
      if (held === undefined || held.record.returned) throw noLease()
      if (held.record.boundUs !== expectedUs) throw renewedElsewhere()
      this.#deps.quotas.checkLeasable(name, held.record.user)
      // If the bound suffices, this read is the one of invariant 5.
      const before = await this.#snowflake(name)
      const nowUs = this.#deps.timeline.nowUs()
      const { startUs = 0, ahead: known } = held.record
      const { boundUs, ahead } = await this.#spanOf(before, nowUs, startUs, ttlUs, known)
      const isLonger = boundUs > expectedUs
      checkFits(name, held.id, before, Math.max(boundUs, expectedUs))
      const counted = this.#deps.quotas.renewedFor(name, held.record)
      if (!isLonger && counted === undefined) return this.#answer(name, held, before)
      const longer = isLonger ? { boundUs, ahead, leadUs: ttlUs } : {}
      const change = () => this.#change(held, { ...held.record, ...counted, ...longer })
      const request = { name, user: held.record.user ?? '', key: recordKey(held.id) }
      const extended = await (counted ? this.#deps.quotas.admit(request, change) : change())
      if (extended === undefined) continue
      const given = await this.#confirmed(name, extended)
      if (given.fromUs < given.untilUs) return given
      expectedUs = given.untilUs
    }
    throw contended()
  }

  /**
   * Gives a lease back. Its holder has stamped no id at or after `fromUs` and stamps none any more. Resolves to whether it
   * was given back; if not, because it has ended or its span ends at another moment, nothing is changed, and the id rests
   * until its span has passed. May be repeated. Rejects with UNAVAILABLE, UNKNOWN, REGRESSED.
   */
  async giveBack(lease: string, { fromUs, untilUs }: WorkerLeaseReturn): Promise<boolean> {
    for (let tries = 0; tries < changeTries; tries++) {
      const held = await this.#held(lease)
      if (held === undefined) return false
      if (held.record.returned) return true
      if (held.record.boundUs !== untilUs) return false
      if ((await this.#return(held, fromUs)) !== undefined) return true
    }
    throw contended()
  }

  /** The worker ids above `after` that are held or rest, those of nodes too, in ascending order. Errors: UNAVAILABLE, ENGINE. */
  list(after?: number): AsyncGenerator<ListedWorker> {
    return listedWorkers(this.#deps.engine, this.#deps.timeline, after)
  }

  async #lease(name: string, request: WorkerLeaseRequest, ttlUs: number): Promise<WorkerLease> {
    for (let tries = 0; ; tries++) {
      const before = await this.#snowflake(name)
      const claim = await this.#claim(name, before, ttlUs, request)
      try {
        const given = await this.#confirmed(name, claim)
        if (given.fromUs < given.untilUs) return given
        // An alteration has just put all time of this span below the floor.
        return await this.renew(name, given.lease, { untilUs: given.untilUs, ttlMs: request.ttlMs })
      } catch (error) {
        await this.#return(claim, claim.record.startUs!).catch(() => {})
        if (!hasCode(error, 'WORKERID') || tries === alterationsMax) throw error
      }
    }
  }

  async #claim(
    name: string,
    generator: CurrentGenerator,
    ttlUs: number,
    { holder, user }: WorkerLeaseRequest,
  ): Promise<Claim> {
    const { nodeBits } = layoutOf(generator.definition)
    for (let tries = 0, unknown = 0; tries < claimTries; tries++) {
      const free = await this.#free.take(nodeBits)
      const nowUs = this.#deps.timeline.nowUs()
      const startUs = Math.max(nowUs, free.fromUs)
      const { boundUs, ahead } = await this.#spanOf(generator, nowUs, startUs, ttlUs)
      const record: WorkerRecord = {
        owner: this.#newSecret(),
        holder,
        epoch: (free.stored === undefined ? 0 : readWorker(free.stored).epoch) + 1,
        boundUs,
        exclusive: false,
        leadUs: ttlUs,
        startUs,
        ahead,
        generator: name,
        user,
      }
      try {
        const claim = await this.#write(free, record)
        if (claim !== undefined) return claim
        this.#free.refused(free)
      } catch (error) {
        if (!hasCode(error, 'UNKNOWN') || ++unknown === unknownMax) throw error
      }
    }
    throw contended()
  }

  /** The end of a span. Throws CLOCK if an advance might begin below it (issuing/ahead-limit.ts). */
  async #spanOf(
    { definition, floor }: CurrentGenerator,
    nowUs: number,
    startUs: number,
    ttlUs: number,
    known?: Ahead,
  ): Promise<{ boundUs: number; ahead: Ahead | undefined }> {
    const { engine, leadUs = 0 } = this.#deps
    const layout = layoutOf(definition)
    const fromUs = Math.max(startUs, floorUs(layout, floor))
    const ahead = aheadFrom(nowUs, fromUs, known)
    const boundUs = boundFor(layout, nowUs, fromUs, ttlUs, ahead)
    if (boundUs <= boundLimitUs({ nowUs, othersUs: 0, leadUs })) return { boundUs, ahead }
    const limitUs = boundLimitUs({ nowUs, othersUs: await boundOfOthers(engine), leadUs })
    if (boundUs <= limitUs) return { boundUs, ahead }
    // What has grown is cut; the span above its start is not.
    const leastUs = boundFor(layout, nowUs, fromUs, ttlUs, aheadFrom(nowUs, fromUs))
    if (leastUs > limitUs) throw farAhead(leastUs - limitUs)
    return { boundUs: Math.max(leastUs, wholeUnits(layout, limitUs)), ahead }
  }

  /** Claims a free id. Undefined: another process was faster, or the store was advanced meanwhile. */
  async #write(free: FreeId, record: WorkerRecord): Promise<Claim | undefined> {
    const { engine } = this.#deps
    const written = await engine.write(recordKey(free.id), JSON.stringify(record), free.stored?.version)
    if (written === undefined) return undefined
    // An advance between read and write found no record of the id: the id may be used only from a later moment on.
    if (free.stored === undefined && (await boundOfOthers(engine)) > free.fromUs) return undefined
    return { id: free.id, record, version: written.version }
  }

  /** Replaces the record of a claim. Undefined: it has changed meanwhile. */
  async #change({ id, version }: Claim, changed: WorkerRecord): Promise<Claim | undefined> {
    const { engine } = this.#deps
    const record = { ...changed, write: this.#newSecret() }
    const value = JSON.stringify(record)
    const written = await engine.write(recordKey(id), value, version).catch(async (error) => {
      if (!hasCode(error, 'UNKNOWN')) throw error
      const after = await engine.read(recordKey(id)).catch(() => undefined)
      if (after === undefined || after.version === version) throw error
      return after.value === value ? after : undefined
    })
    return written && { id, record, version: written.version }
  }

  #return(claim: Claim, fromUs: number): Promise<Claim | undefined> {
    const { record } = claim
    const boundUs = Math.min(record.boundUs, Math.max(Math.ceil(fromUs), record.startUs!))
    return this.#change(claim, { ...record, boundUs, returned: true })
  }

  /** The claim of a lease as its record stands; undefined: the lease has ended. */
  async #held(lease: string): Promise<Claim | undefined> {
    const id = workerOf(lease)
    const stored = id === undefined ? undefined : await this.#deps.engine.read(recordKey(id))
    if (stored === undefined) return undefined
    const record = readWorker(stored)
    return isWorkerLeaseOf(lease, record) ? { id: id!, record, version: stored.version } : undefined
  }

  /** Answers with the time of a claim, which is durable. */
  async #confirmed(name: string, claim: Claim): Promise<WorkerLease> {
    return this.#answer(name, claim, await this.#snowflake(name))
  }

  #answer(name: string, { id, record }: Claim, generator: CurrentGenerator): WorkerLease {
    const { definition, incarnation, floor, formKey } = generator
    const { boundUs: untilUs, startUs = 0 } = record
    checkFits(name, id, generator, untilUs)
    return {
      lease: workerLeaseText(id, record),
      worker: id,
      fromUs: Math.max(startUs, floorUs(layoutOf(definition), floor)),
      untilUs,
      nowUs: this.#deps.timeline.nowUs(),
      definition,
      incarnation,
      formKey,
    }
  }

  async #snowflake(name: string): Promise<CurrentGenerator> {
    const generator = await this.#deps.catalogue.current(name)
    const { definition } = generator
    if (definition.kind !== 'snowflake') throw noWorkerId(name, definition.kind)
    if (hasLongUnits(definition)) throw longUnits(name)
    if (geneBitsOf(definition) > 0) throw ofGenes(name)
    return generator
  }

  #newSecret(): string {
    return Buffer.from(this.#deps.secret(workerLeaseSecretBytes)).toString('hex')
  }
}

/** Throws WORKERID or EXHAUSTED if the ids of a generator cannot hold a worker id, or time up to `untilUs`. */
function checkFits(name: string, worker: number, { definition }: CurrentGenerator, untilUs: number): void {
  const layout = layoutOf(definition)
  if (worker >= 2 ** layout.nodeBits) throw noRoom(name, worker, layout.nodeBits)
  if (untilUs > Number(timeEndUs(layout))) throw fullTime(name)
}

function hasLongUnits(definition: CurrentGenerator['definition']): boolean {
  return layoutOf(definition).unitUs > workerLeaseLimits.unitMaxUs
}

function floorUs({ epochUs, unitUs }: Layout, floor: bigint): number {
  return floor === 0n ? 0 : epochUs + Number(floor) * unitUs
}

function ttlUsOf(ttlMs: number = workerLeaseLimits.ttlDefaultMs): number {
  const { ttlMinMs, ttlMaxMs } = workerLeaseLimits
  if (ttlMs >= ttlMinMs && ttlMs <= ttlMaxMs) return ttlMs * 1000
  throw new FahaoError('ERR', `TTL must be from ${ttlMinMs} to ${ttlMaxMs} ms`)
}
