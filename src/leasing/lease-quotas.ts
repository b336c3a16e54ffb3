/**
 * How many worker ids callers may hold: the limits LEASES of namespaces.
 *
 * Invariants
 *  1. A worker id is leased under a limit only if the records of the store, less than `freshUs` old, and the leases that this
 *     node has given since, are fewer than the limit. Leases of other nodes within `freshUs` can exceed it.
 *  2. A caller is refused only after a read of the records that began when its request had arrived.
 *  3. A worker id counts once, and from its lease until it is returned, or its time has passed.
 *  4. Without a namespace that limits, nothing is read.
 */
import { type Namespace, titleOf } from '../auth/namespace.ts'
import type { Quota, Quotas } from '../auth/quotas.ts'
import { FahaoError } from '../base/errors.ts'
import { globMatcher } from '../base/glob.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import { isPlainWorker, poolPrefix, readPlainWorker } from '../issuing/plain-worker-records.ts'
import { idOf, readWorker, recordKey, workerRecords } from '../issuing/worker-records.ts'

/** What limits take from their node. */
export type LeaseQuotasDeps = {
  readonly engine: Engine
  readonly timeline: Timeline
  readonly quotas: Pick<Quotas, 'all'>
}

/** A request for a worker id. */
export type LeaseRequested = {
  /** Of the generator, or of the pool. */
  readonly name: string
  readonly user: string
  /** In a pool: its owner gets the id again that it holds, which is no further one. */
  readonly owner?: string | undefined
}

/** A worker id that a caller holds. */
type Holding = LeaseRequested & {
  /** The key of its record. */
  readonly key: string
  /** Unix µs. */
  readonly untilUs: number
}

/** A lease that this node gives or has given: it may be missing in a read that began before it was settled. */
type Given = LeaseRequested & { key: string | undefined; settled: number; settledUs: number }

/** A read of all records: its place in the order of events, and when it began, in monotonic µs. */
type Reading = {
  readonly begun: number
  readonly begunUs: number
  readonly holdings: Promise<readonly Holding[]>
}

/** A read that has been answered. */
type Found = { readonly begun: number; readonly holdings: readonly Holding[] }

const freshUs = 1_000_000
/** No read is in use for longer. */
const keptUs = 60_000_000

/** The limits of one node. */
export class LeaseQuotas {
  readonly #deps: LeaseQuotasDeps
  readonly #given = new Set<Given>()
  #reading: Reading | undefined
  /** Counts arrivals, reads and settled leases: clocks do not tell the order of what happens within one tick. */
  #events = 0

  constructor(deps: LeaseQuotasDeps) {
    this.#deps = deps
  }

  /**
   * Leases a worker id, unless a namespace has as many leases as it may: QUOTA then. `lease` resolves to the lease; `keyOf`
   * names its record. Also rejects as `lease` does, and with UNAVAILABLE and ENGINE.
   */
  async admit<Lease>(
    request: LeaseRequested,
    lease: () => Promise<Lease>,
    keyOf: (lease: Lease) => string,
  ): Promise<Lease> {
    const limiting = this.#deps.quotas
      .all()
      .filter((quota) => quota.namespace.leases !== undefined && quota.counts(request.name, request.user))
    if (limiting.length === 0) return lease()
    const given = await this.#count(limiting, request)
    try {
      const leased = await lease()
      given.key = keyOf(leased)
      return leased
    } catch (error) {
      this.#given.delete(given)
      throw error
    } finally {
      given.settled = ++this.#events
      given.settledUs = this.#deps.timeline.monoUs()
    }
  }

  /** Counts a lease that is about to be given, in the very turn in which there was room for it. Rejects with QUOTA. */
  async #count(limiting: readonly Quota[], request: LeaseRequested): Promise<Given> {
    const arrived = ++this.#events
    if (this.#full(limiting, request, await this.#read()) !== undefined) {
      const full = this.#full(limiting, request, await this.#read(arrived))
      if (full !== undefined) {
        full.refused++
        throw refusal(full.namespace)
      }
    }
    const given: Given = { ...request, key: undefined, settled: Number.POSITIVE_INFINITY, settledUs: 0 }
    this.#given.add(given)
    return given
  }

  /** The first namespace that has all its leases, as this read and the leases since show it. */
  #full(limiting: readonly Quota[], request: LeaseRequested, { begun, holdings }: Found): Quota | undefined {
    const { timeline } = this.#deps
    const nowUs = timeline.nowUs()
    const keptSinceUs = timeline.monoUs() - keptUs
    const keys = new Set<string>()
    const held: LeaseRequested[] = []
    for (const each of holdings) {
      if (each.untilUs <= nowUs) continue
      keys.add(each.key)
      held.push(each)
    }
    for (const each of this.#given) {
      if (each.key !== undefined && each.settledUs < keptSinceUs) this.#given.delete(each)
      if (each.settled < begun || (each.key !== undefined && keys.has(each.key))) continue
      held.push(each)
    }
    const others = held.filter((each) => !isSame(each, request))
    return limiting.find((quota) => {
      const { match, user, leases } = quota.namespace
      const matches = globMatcher(match)
      const counted = others.filter((each) => (user ?? each.user) === each.user && matches(each.name))
      return counted.length >= leases!
    })
  }

  /** The newest read, if it is fresh and began after the event `since`, or a new one. */
  async #read(since = 0): Promise<Found> {
    const { engine, timeline } = this.#deps
    const nowUs = timeline.monoUs()
    let reading = this.#reading
    if (reading === undefined || reading.begun < since || nowUs - reading.begunUs >= freshUs) {
      reading = { begun: ++this.#events, begunUs: nowUs, holdings: holdingsOf(engine) }
      this.#reading = reading
    }
    const { begun, holdings } = reading
    try {
      return { begun, holdings: await holdings }
    } catch (error) {
      if (this.#reading === reading) this.#reading = undefined
      throw error
    }
  }
}

/** The worker ids that the records give to callers, also those whose time has passed. */
async function holdingsOf(engine: Engine): Promise<Holding[]> {
  const [workers, plain] = await Promise.all([workerRecords(engine), listAll(engine, poolPrefix)])
  return [...workers.flatMap(workerHolding), ...plain.filter(isPlainWorker).flatMap(plainHolding)]
}

function workerHolding(stored: StoredRecord): Holding[] {
  const { generator, user = '', returned, boundUs } = readWorker(stored)
  if (generator === undefined || returned) return []
  return [{ name: generator, user, key: recordKey(idOf(stored)), untilUs: boundUs }]
}

function plainHolding(stored: StoredRecord): Holding[] {
  const { lease, owner, user, untilUs } = readPlainWorker(stored)
  const name = stored.key.slice(poolPrefix.length, stored.key.lastIndexOf('/'))
  return lease === '' ? [] : [{ name, user, owner, key: stored.key, untilUs }]
}

/** Whether a request is for an id that its owner has. */
function isSame(held: LeaseRequested, { name, owner }: LeaseRequested): boolean {
  return owner !== undefined && held.owner === owner && held.name === name
}

function refusal(namespace: Namespace): FahaoError {
  const { leases } = namespace
  return new FahaoError(
    'QUOTA',
    `${titleOf(namespace)} has its ${leases} leased worker ids already; return one, wait until one has ended, or have its LEASES raised with ID.NAMESPACE SET`,
  )
}
