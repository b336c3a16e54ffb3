/**
 * Claims of plain worker ids. Claims that wait share one list of their pool, as requests share a group commit.
 *
 * Invariants
 *  1. A claim replaces the very version of the record that was judged free, or claims an id without a record only if it
 *     still has none. So one owner at most gets an id, of all that claim on all nodes.
 *  2. A list serves only claims that arrived before it was begun. So a claim that is repeated after a lost reply finds the
 *     record of the first one, and its owner keeps the id.
 *  3. One round runs at a time for a pool on this node, with each owner once.
 *  4. An id without a record is used only if `pools/others` permits it before and after the write: an advance between the
 *     two finds no record to close.
 *  5. After an unknown or refused write the claim takes part in the next round, which reads the records again.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { RecordStore } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import {
  othersUntilUs,
  type PlainWorkerRecord,
  plainWorkerKey,
  poolOthersKey,
  poolPrefix,
} from '../issuing/plain-worker-records.ts'
import { PoolSweep } from './pool-sweep.ts'
import { type PlainWorker, PoolView } from './pool-view.ts'
import type { WorkerIdQuotas } from './worker-id-quotas.ts'

/** A claim, checked. */
export type PlainClaim = {
  /** The name of the caller; it gets the id back that it had. */
  readonly owner: string
  /** Ids are below this number. */
  readonly size: number
  readonly ttlMs: number
  readonly restMs: number
  /** Keeps the id for this owner after the lease. */
  readonly stable: boolean
  readonly user: string
  /** The caller's newest time, in Unix ms; undefined: not reported. */
  readonly seenMs?: number | undefined
}

/** A claim that was carried out. */
export type ClaimedWorker = {
  readonly id: number
  readonly record: PlainWorkerRecord
  /** What the holder before has reported. */
  readonly lastSeenMs: number
}

/** What claims need of their node. */
export type PoolDeps = {
  readonly engine: RecordStore
  readonly timeline: Timeline
  /** Random bytes that are fit for secrets. */
  readonly secret: (length: number) => Uint8Array
  /** How many worker ids callers may hold. */
  readonly quotas: WorkerIdQuotas
}

type Pending = {
  readonly claim: PlainClaim
  readonly resolve: (claimed: ClaimedWorker) => void
  readonly reject: (error: unknown) => void
  tries: number
}

/** An id that a round has chosen for a claim. */
type Choice = { readonly pending: Pending; readonly worker: PlainWorker }

const claimTries = 100
const roundMax = 1000
const waitingMax = 10_000
const secretBytes = 12

/** The claims of one node. */
export class PoolClaims {
  readonly #deps: PoolDeps
  /** The claims that wait for a round, by pool. A pool is in it while rounds run. */
  readonly #waiting = new Map<string, Pending[]>()
  readonly #sweep: PoolSweep
  #count = 0

  constructor(deps: PoolDeps) {
    this.#deps = deps
    this.#sweep = new PoolSweep(deps.engine, deps.timeline)
  }

  /** Claims an id. Errors: EXHAUSTED, CONFLICT, BUSY, UNAVAILABLE, UNKNOWN. */
  claim(pool: string, claim: PlainClaim): Promise<ClaimedWorker> {
    if (this.#count >= waitingMax) {
      return Promise.reject(
        new FahaoError('BUSY', `${waitingMax} claims of worker ids wait on this node; retry`),
      )
    }
    this.#count++
    return new Promise<ClaimedWorker>((resolve, reject) => {
      const pending = { claim, resolve, reject, tries: 0 }
      const waiting = this.#waiting.get(pool)
      if (waiting !== undefined) {
        waiting.push(pending)
        return
      }
      this.#waiting.set(pool, [pending])
      void this.#rounds(pool)
    }).finally(() => this.#count--)
  }

  /** The pool as it is stored now. */
  async view(pool: string): Promise<PoolView> {
    const { engine, timeline } = this.#deps
    const [records, othersUs] = await Promise.all([
      listAll(engine, `${poolPrefix}${pool}/`),
      this.#othersUs(),
    ])
    return PoolView.of(pool, records, { nowUs: timeline.nowUs(), othersUs })
  }

  async #rounds(pool: string): Promise<void> {
    for (;;) {
      const waiting = this.#waiting.get(pool)!
      if (waiting.length === 0) break
      const batch = takeBatch(waiting)
      try {
        waiting.unshift(...(await this.#round(pool, batch)))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#waiting.delete(pool)
  }

  /** Carries out what it can; returns the claims that have to take part in the next round. */
  async #round(pool: string, batch: readonly Pending[]): Promise<Pending[]> {
    const othersUs = await this.#othersUs()
    const view = await this.view(pool)
    const choices = chooseAll(pool, view, batch)
    const written = await Promise.all(choices.map((choice) => this.#write(pool, choice)))
    const isAdvanced =
      choices.some(({ worker }) => worker.stored === undefined) && (await this.#advancedSince(othersUs))
    return choices.flatMap(({ pending, worker }, index) => {
      const outcome = written[index]
      if (outcome instanceof Error) {
        pending.reject(outcome)
        return []
      }
      if (outcome !== undefined && !(isAdvanced && worker.stored === undefined)) {
        const lastSeenMs = worker.record?.lastSeenMs ?? -1
        pending.resolve({ id: worker.id, record: outcome, lastSeenMs })
        return []
      }
      if (++pending.tries < claimTries) return [pending]
      const reason = `other claims were faster ${claimTries} times in a row in pool '${pool}'; retry`
      pending.reject(new FahaoError('CONFLICT', reason))
      return []
    })
  }

  /** Whether ids without a record rest for longer than `othersUs`. If that cannot be read, they are not used. */
  #advancedSince(othersUs: number): Promise<boolean> {
    return this.#othersUs().then(
      (nowUs) => nowUs > othersUs,
      () => true,
    )
  }

  /** The record as written; undefined: another write came first, or the outcome is unknown. An error is the claim's. */
  async #write(pool: string, { pending, worker }: Choice): Promise<PlainWorkerRecord | Error | undefined> {
    const { engine, timeline, secret } = this.#deps
    const { owner, user, ttlMs, restMs, stable, seenMs = -1 } = pending.claim
    const { id, stored, record } = worker
    const epoch = (record?.epoch ?? 0) + 1
    const nowUs = timeline.nowUs()
    const claimed: PlainWorkerRecord = {
      owner,
      lease: `${id}-${epoch}-${Buffer.from(secret(secretBytes)).toString('hex')}`,
      epoch,
      user,
      sinceUs: nowUs,
      untilUs: nowUs + ttlMs * 1000,
      restUs: restMs * 1000,
      ttlUs: ttlMs * 1000,
      stable,
      lastSeenMs: Math.max(record?.lastSeenMs ?? -1, seenMs),
    }
    try {
      const written = await engine.write(plainWorkerKey(pool, id), JSON.stringify(claimed), stored?.version)
      if (stored === undefined) this.#sweep.added()
      return written && claimed
    } catch (error) {
      // The next round finds out whether the write was carried out.
      if (hasCode(error, 'UNKNOWN') && pending.tries < claimTries / 10) return undefined
      return error as Error
    }
  }

  async #othersUs(): Promise<number> {
    return othersUntilUs(await this.#deps.engine.read(poolOthersKey))
  }
}

/** Takes claims out of those that wait, each owner once. */
function takeBatch(waiting: Pending[]): Pending[] {
  const owners = new Set<string>()
  const batch: Pending[] = []
  const later: Pending[] = []
  for (const pending of waiting.splice(0)) {
    const { owner } = pending.claim
    if (batch.length < roundMax && !owners.has(owner)) batch.push(pending)
    else later.push(pending)
    owners.add(owner)
  }
  waiting.push(...later)
  return batch
}

/** An id for each claim. Rejects those for which there is none. */
function chooseAll(pool: string, view: PoolView, batch: readonly Pending[]): Choice[] {
  const owned = batch.map(({ claim }) => view.chooseOwned(claim.owner, claim.size))
  return batch.flatMap((pending, index) => {
    const { size } = pending.claim
    const worker = owned[index] ?? view.chooseFree(size)
    if (worker !== undefined) return [{ pending, worker }]
    pending.reject(view.exhausted(pool, size))
    return []
  })
}
