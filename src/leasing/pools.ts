/**
 * Pools of plain worker ids, for generators in other processes that know no span of time: a number, and how long it may
 * be used. They are records of the store, so any node answers.
 *
 * Invariants
 *  1. An id goes to another owner only after its lease has ended and its rest has passed, by the timeline of the node that
 *     answers. So two owners use an id at one moment only if the clocks of nodes differ by more than the rest, or a holder
 *     goes on after its lease for longer than the rest.
 *  2. Each claim makes a new lease, and only the newest lease of an id can be renewed or returned.
 *  3. A renewal never moves the end of a lease back.
 *  4. After an unknown write the record is read before anything is answered (P8).
 */
import { timingSafeEqual } from 'node:crypto'
import { FahaoError, hasCode } from '../base/errors.ts'
import { refuseLookAlike } from '../base/look-alike.ts'
import { checkName } from '../catalogue/name-rules.ts'
import {
  type PlainWorkerRecord,
  plainWorkerKey,
  poolTtlMs,
  readPlainWorker,
} from '../issuing/plain-worker-records.ts'
import { checkHolderName } from './holder-name.ts'
import { PoolClaims, type PoolDeps } from './pool-claims.ts'
import type { PlainWorkerState, WorkersPage } from './pool-view.ts'

/** What a caller may ask for. */
export type ClaimOptions = {
  /** 1–256 bytes without control and format characters. */
  readonly owner: string
  /** Ids are below this number. Default `poolLimits.sizeDefault`. */
  readonly size?: number | undefined
  /** Default `poolTtlMs`. */
  readonly ttlMs?: number | undefined
  /** For how long the id rests after the lease. Default: as long as the lease. */
  readonly restMs?: number | undefined
  /** Keeps the id for this owner after the lease. Default false. */
  readonly stable?: boolean | undefined
  /** The caller's newest time, in Unix ms. */
  readonly seenMs?: number | undefined
}

/** A lease of a plain worker id, as a caller gets it. */
export type PlainLease = {
  readonly worker: number
  readonly lease: string
  /** How long the holder may use the id, from when it sent the request. */
  readonly ttlMs: number
  readonly restMs: number
  /** The newest time that a holder before has reported, in Unix ms of its clock; −1 if none did. */
  readonly lastSeenMs: number
  readonly nowUs: number
}

/** An id of a pool that was claimed at least once. Times in Unix µs, −1 where there is none. */
export type ListedPlainWorker = Pick<
  PlainWorkerRecord,
  'owner' | 'user' | 'sinceUs' | 'untilUs' | 'stable' | 'lastSeenMs'
> & { readonly worker: number; readonly state: PlainWorkerState }

/** Carries out the write that replaces the record of this key, or rejects. */
type Admit = (key: string, held: PlainWorkerRecord, write: () => Promise<boolean>) => Promise<boolean>

/** The limits of a claim. */
export const poolLimits = Object.freeze({
  sizeDefault: 1024,
  sizeMax: 65_536,
  ttlMinMs: 1000,
  /** 366 days. */
  ttlMaxMs: 366 * 86_400_000,
  /** A holder reports no time that is further ahead. */
  seenAheadMaxMs: 86_400_000,
})

const ownerNames = { bytesMin: 1, bytesMax: 256 }
const changeTries = 100
const hintsMax = 10_000

/** Plain worker ids. */
export class Pools {
  readonly #deps: PoolDeps
  readonly #claims: PoolClaims
  /** The ids of owners, as this node has seen them last: where to look first. */
  readonly #hints = new Map<string, number>()

  constructor(deps: PoolDeps) {
    this.#deps = deps
    this.#claims = new PoolClaims(deps)
  }

  /**
   * Claims the lowest free id of a pool; an owner that has one gets that, under a new lease. ERR, EXHAUSTED if no id is
   * free, QUOTA, CONFLICT, BUSY, UNAVAILABLE, UNKNOWN: the same owner asks again, and gets the id that this claim may have taken.
   */
  async claim(pool: string, user: string, options: ClaimOptions): Promise<PlainLease> {
    checkPool(pool)
    const { owner, size = poolLimits.sizeDefault, ttlMs = poolTtlMs, restMs = ttlMs } = options
    checkHolderName('OWNER', owner, ownerNames)
    checkNumber('the size', size, 1, poolLimits.sizeMax)
    checkNumber('the TTL in ms', ttlMs, poolLimits.ttlMinMs, poolLimits.ttlMaxMs)
    checkNumber('the rest in ms', restMs, 0, poolLimits.ttlMaxMs)
    const { stable = false, seenMs } = options
    this.#checkSeen(seenMs)
    await this.#refuseLookAlike(pool)
    const wanted = { owner, size, ttlMs, restMs, stable, user, seenMs }
    const claim = () => this.#claims.claim(pool, wanted)
    const request = { name: pool, user, owner, size }
    const claimed = await this.#deps.quotas.admit(request, claim, ({ id }) => plainWorkerKey(pool, id))
    this.#learn(pool, owner, claimed.id)
    return this.#leaseOf(claimed.id, claimed.record, claimed.lastSeenMs)
  }

  /**
   * Extends a lease to now and `ttlMs`, by default as long as before. ERR, NOLEASE if the id has another lease or none, QUOTA if
   * the lease has ended and a namespace has all its leases, CONFLICT, UNAVAILABLE, UNKNOWN.
   */
  async renew(
    pool: string,
    lease: string,
    { ttlMs, seenMs = -1 }: Pick<ClaimOptions, 'ttlMs' | 'seenMs'> = {},
  ): Promise<PlainLease> {
    checkPool(pool)
    if (ttlMs !== undefined) checkNumber('the TTL in ms', ttlMs, poolLimits.ttlMinMs, poolLimits.ttlMaxMs)
    this.#checkSeen(seenMs)
    const { timeline, quotas } = this.#deps
    const extended = (held: PlainWorkerRecord) => {
      const ttlUs = ttlMs === undefined ? held.ttlUs : ttlMs * 1000
      const untilUs = Math.max(held.untilUs, timeline.nowUs() + ttlUs)
      return { ...held, ttlUs, untilUs, lastSeenMs: Math.max(held.lastSeenMs, seenMs) }
    }
    const { id, record } = await this.#change(
      pool,
      lease,
      extended,
      (key, { user, untilUs, stable }, write) => {
        const isCounted = stable || untilUs > timeline.nowUs()
        return isCounted ? write() : quotas.admit({ name: pool, user, key }, write)
      },
    )
    return this.#leaseOf(id, record, record.lastSeenMs)
  }

  /** Ends a lease. Resolves to false, and changes nothing, if the id has another lease or none. Errors: ERR, UNAVAILABLE, UNKNOWN. */
  async giveBack(pool: string, lease: string, seenMs = -1): Promise<boolean> {
    checkPool(pool)
    this.#checkSeen(seenMs)
    const { timeline } = this.#deps
    try {
      await this.#change(pool, lease, (held) => ({
        ...held,
        lease: '',
        untilUs: Math.min(held.untilUs, timeline.nowUs()),
        lastSeenMs: Math.max(held.lastSeenMs, seenMs),
      }))
      return true
    } catch (error) {
      if (hasCode(error, 'NOLEASE')) return false
      throw error
    }
  }

  /** The ids that were claimed, in ascending order, without their leases. One that has been free for a day may be missing. */
  async list(pool: string, page?: WorkersPage): Promise<ListedPlainWorker[]> {
    checkPool(pool)
    const view = await this.#claims.view(pool)
    return view.workers(page).map(({ id, record, state }) => {
      const { owner, user, sinceUs, untilUs, stable, lastSeenMs } = record
      return { worker: id, state, owner, user, sinceUs, untilUs, stable, lastSeenMs }
    })
  }

  /** The present lease of an owner; undefined if it has none. For callers that know no leases. */
  async leaseOf(pool: string, owner: string): Promise<string | undefined> {
    const hint = this.#hints.get(hintKey(pool, owner))
    if (hint !== undefined) {
      const record = await this.#read(pool, hint)
      if (record?.record.owner === owner && record.record.lease !== '') return record.record.lease
    }
    checkPool(pool)
    const found = (await this.#claims.view(pool)).ownedBy(owner)
    if (found?.record === undefined || found.record.lease === '') return undefined
    this.#learn(pool, owner, found.id)
    return found.record.lease
  }

  /** Whether an owner has had an id, as far as its record or this node remembers. */
  async hasHeld(pool: string, owner: string): Promise<boolean> {
    if (this.#hints.has(hintKey(pool, owner))) return true
    checkPool(pool)
    return (await this.#claims.view(pool)).ownedBy(owner) !== undefined
  }

  /** A first claim creates a pool. */
  async #refuseLookAlike(pool: string): Promise<void> {
    try {
      refuseLookAlike(pool, 'pool')
    } catch (error) {
      if ((await this.list(pool, { limit: 1 })).length === 0) throw error
    }
  }

  /** Later holders of the id wait for the newest time that was reported, and no return takes it back. */
  #checkSeen(seenMs = -1): void {
    if (seenMs <= this.#deps.timeline.nowUs() / 1000 + poolLimits.seenAheadMaxMs) return
    throw new FahaoError(
      'ERR',
      'SEEN is more than a day ahead of the clock of the service: it is Unix time in ms; set the clock of the holder, and issue no ids until then',
    )
  }

  /** Replaces the record that has this lease. Rejects with NOLEASE if there is none. */
  async #change(
    pool: string,
    lease: string,
    next: (held: PlainWorkerRecord) => PlainWorkerRecord,
    admit: Admit = (_key, _held, write) => write(),
  ): Promise<{ id: number; record: PlainWorkerRecord }> {
    const id = idOfLease(lease)
    for (let tries = 0; id !== undefined && tries < changeTries; tries++) {
      const held = await this.#read(pool, id)
      if (held === undefined || !isSame(held.record.lease, lease)) break
      const record = next(held.record)
      const write = () => this.#write(pool, id, record, held.version)
      if (await admit(plainWorkerKey(pool, id), held.record, write)) return { id, record }
      if (tries === changeTries - 1)
        throw new FahaoError(
          'CONFLICT',
          `the record of worker id ${id} of pool '${pool}' kept changing; retry`,
        )
    }
    throw new FahaoError(
      'NOLEASE',
      `pool '${pool}' has no such lease: it was returned, its owner or another one claimed the id, or the store was advanced; stop using the id, and claim one anew`,
    )
  }

  async #write(pool: string, id: number, record: PlainWorkerRecord, version: bigint): Promise<boolean> {
    const value = JSON.stringify(record)
    try {
      return (await this.#deps.engine.write(plainWorkerKey(pool, id), value, version)) !== undefined
    } catch (error) {
      if (!hasCode(error, 'UNKNOWN')) throw error
      const stored = await this.#deps.engine.read(plainWorkerKey(pool, id))
      if (stored?.value === value) return true
      throw error
    }
  }

  async #read(pool: string, id: number): Promise<{ record: PlainWorkerRecord; version: bigint } | undefined> {
    const stored = await this.#deps.engine.read(plainWorkerKey(pool, id))
    return stored && { record: readPlainWorker(stored), version: stored.version }
  }

  /** A clock that stands behind that of the node that wrote the record tells no more than the TTL. */
  #leaseOf(worker: number, record: PlainWorkerRecord, lastSeenMs: number): PlainLease {
    const { lease, ttlUs, untilUs, restUs } = record
    const nowUs = this.#deps.timeline.nowUs()
    const ttlMs = Math.max(0, Math.floor(Math.min(untilUs - nowUs, ttlUs) / 1000))
    return { worker, lease, ttlMs, restMs: restUs / 1000, lastSeenMs, nowUs }
  }

  #learn(pool: string, owner: string, id: number): void {
    const key = hintKey(pool, owner)
    this.#hints.delete(key)
    this.#hints.set(key, id)
    if (this.#hints.size > hintsMax) this.#hints.delete(this.#hints.keys().next().value!)
  }
}

function hintKey(pool: string, owner: string): string {
  return `${pool} ${owner}`
}

function checkPool(pool: string): void {
  checkName(pool, 'the name of a pool')
}

function checkNumber(what: string, value: number, minimum: number, maximum: number): void {
  if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return
  throw new FahaoError('ERR', `${what} must be a whole number from ${minimum} to ${maximum}`)
}

/** A lease is `ID-EPOCH-SECRET`. */
function idOfLease(lease: string): number | undefined {
  const [, id] = /^(\d{1,5})-\d{1,16}-[0-9a-f]{24}$/.exec(lease) ?? []
  return id === undefined ? undefined : Number(id)
}

function isSame(lease: string, given: string): boolean {
  const [left, right] = [Buffer.from(lease), Buffer.from(given)]
  return left.length === right.length && timingSafeEqual(left, right)
}
