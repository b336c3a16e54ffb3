/**
 * How many worker ids callers may hold: the limits LEASES of namespaces.
 *
 * Invariants
 *  1. A worker id is leased under a limit only if the records of the store, less than `freshUs` old, and the leases
 *     that this node has given since, are fewer than the limit. Leases of other nodes within `freshUs` can exceed it.
 *  2. A caller is refused only after a read of the records that began when its request had arrived.
 *  3. A worker id counts once in a namespace, from its lease until it is returned, or `graceUs` after its time has
 *     passed; one that is kept for its owner (STABLE) counts until it is kept no longer.
 *  4. The limit applies to a renewal too, if the time of the lease has passed, or if the worker id does not yet count
 *     in a namespace of the generator. So late renewals, and those for other generators, do not exceed the limit.
 *  5. If no limit applies to a request, no records are read.
 *  6. No worker id is leased or renewed for a generator whose ids a namespace counts (RATE, DAILY), unless the same
 *     namespace has LEASES: the service does not see the ids that its holder stamps.
 */

import { assert } from '../base/assert.ts'
import type { FahaoError } from '../base/errors.ts'
import { globMatcher } from '../base/glob.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Engine } from '../engine/engine.ts'
import { plainIdOf } from '../issuing/plain-worker-records.ts'
import type { WorkerRecord } from '../issuing/worker-records.ts'
import { type Namespace, namespaceError } from '../quotas/namespace.ts'
import type { Quota, Quotas } from '../quotas/quotas.ts'
import { type Holding, holdingsOf } from './holdings.ts'

/** What limits take from their node. */
export type WorkerIdQuotasDeps = {
  readonly engine: Engine
  readonly timeline: Timeline
  readonly quotas: Pick<Quotas, 'all'>
}

/** A request for a worker id, or for more time of one. */
export type WorkerIdRequest = {
  /** The name of the generator, or of the pool. */
  readonly name: string
  readonly user: string
  /** In a pool: its owner gets the id again that it holds below `size`, which is no further one. */
  readonly owner?: string
  readonly size?: number
  /** The key of the record of a worker id that is held already, or was. */
  readonly key?: string | undefined
}

/** A lease that this node gives or has given: it may be missing in a read that began before it was settled. */
type Given = Omit<WorkerIdRequest, 'key'> & { key: string | undefined; settled: number; settledUs: number }

/** A worker id that counts. */
type Counted = Pick<Holding, 'names' | 'user' | 'owner'> & {
  readonly key: string | undefined
  readonly size?: number | undefined
}

/** A read of all records: its place in the order of events, and when it began, in monotonic µs. */
type Reading = {
  readonly begun: number
  readonly begunUs: number
  readonly holdings: Promise<readonly Holding[]>
}

/** A read that has been answered. */
type Found = { readonly begun: number; readonly holdings: readonly Holding[] }

const freshUs = 1_000_000
/** A renewal that another node has judged to be in time is no further worker id, although the clocks of nodes differ. */
const graceUs = 1_000_000
/** No read is in use for longer. */
const keptUs = 60_000_000

/** The limits of one node. */
export class WorkerIdQuotas {
  readonly #deps: WorkerIdQuotasDeps
  readonly #given = new Set<Given>()
  #reading: Reading | undefined
  /** Counts arrivals, reads and settled leases: clocks do not tell the order of what happens within one tick. */
  #events = 0

  constructor(deps: WorkerIdQuotasDeps) {
    this.#deps = deps
  }

  /** The namespace that forbids this user worker leases for this generator; undefined: none does. */
  forbidding(name: string, user: string): Namespace | undefined {
    return this.#deps.quotas
      .all()
      .find((quota) => leasesOf(quota.namespace) === 0 && quota.counts(name, user))?.namespace
  }

  /** Throws WRONGTYPE where a namespace permits no worker lease. */
  checkLeasable(name: string, user = ''): void {
    const namespace = this.forbidding(name, user)
    if (namespace === undefined) return
    const what = `has no LEASES for '${name}', so no worker id is leased for it; ask for each id: ID.NEXT ${name}`
    throw namespaceError('WRONGTYPE', namespace, what)
  }

  /**
   * Leases a worker id, or extends a lease, unless a namespace has as many leases as it may: QUOTA then. `lease` resolves to
   * the lease; `keyOf` names its record. LIMIT if a namespace permits none. Also rejects as `lease` does, and with
   * UNAVAILABLE and ENGINE.
   */
  async admit<Lease>(
    request: WorkerIdRequest,
    lease: () => Promise<Lease>,
    keyOf: (lease: Lease) => string | undefined = () => request.key,
  ): Promise<Lease> {
    const limiting = this.#limiting(request)
    if (limiting.length === 0) return lease()
    const forbidding = limiting.find(({ namespace }) => namespace.leases === 0)
    if (forbidding !== undefined) {
      forbidding.refused++
      throw noneAllowed(forbidding.namespace)
    }
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

  /**
   * What a renewal for `name` changes in the record of a worker lease, so that it counts where it is used: `admit` has to
   * permit that. Undefined: nothing, because the worker id counts already.
   */
  renewedFor(
    name: string,
    { generator = '', countedFor = [], user = '', boundUs }: WorkerRecord,
  ): Pick<WorkerRecord, 'generator' | 'countedFor'> | undefined {
    if (boundUs <= this.#deps.timeline.nowUs()) return { generator: name, countedFor: [] }
    const names = [generator, ...countedFor]
    const isCounted = (quota: Quota) => names.some((each) => quota.counts(each, user))
    return this.#limiting({ name, user }).every(isCounted)
      ? undefined
      : { generator, countedFor: [...countedFor, name] }
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    for (const { settled, settledUs } of this.#given) {
      assert(
        settled === Number.POSITIVE_INFINITY || settled <= this.#events,
        'what is settled came before now',
      )
      assert(
        (settled === Number.POSITIVE_INFINITY) === (settledUs === Number.POSITIVE_INFINITY),
        'it has its time',
      )
    }
  }

  #limiting({ name, user }: WorkerIdRequest): Quota[] {
    return this.#deps.quotas
      .all()
      .filter((quota) => quota.namespace.leases !== undefined && quota.counts(name, user))
  }

  /** Counts a lease that is about to be given, in the very turn in which there was room for it. Rejects with QUOTA. */
  async #count(limiting: readonly Quota[], request: WorkerIdRequest): Promise<Given> {
    const arrived = ++this.#events
    if (this.#full(limiting, request, await this.#read()) !== undefined) {
      const full = this.#full(limiting, request, await this.#read(arrived))
      if (full !== undefined) {
        full.refused++
        throw refusal(full.namespace)
      }
    }
    const given: Given = {
      ...request,
      key: request.key,
      settled: Number.POSITIVE_INFINITY,
      settledUs: Number.POSITIVE_INFINITY,
    }
    this.#given.add(given)
    return given
  }

  /** The first namespace that has all its leases, as this read and the leases since show it. */
  #full(limiting: readonly Quota[], request: WorkerIdRequest, { begun, holdings }: Found): Quota | undefined {
    const { timeline } = this.#deps
    const endedUs = timeline.nowUs() - graceUs
    const keptSinceUs = timeline.monoUs() - keptUs
    const counted = new Map<string | Given, Counted>()
    for (const each of holdings) if (each.untilUs > endedUs) counted.set(each.key, each)
    for (const each of this.#given) {
      if (each.key !== undefined && each.settledUs < keptSinceUs) this.#given.delete(each)
      if (each.settled < begun) continue
      const { key = each } = each
      const names = [...(counted.get(key)?.names ?? []), each.name]
      counted.set(key, { ...each, names })
    }
    const others = [...counted.values()].filter((each) => !isSame(each, request))
    return limiting.find(({ namespace }) => {
      const { match, user, leases } = namespace
      const matches = globMatcher(match)
      const ofIt = others.filter((each) => (user ?? each.user) === each.user && each.names.some(matches))
      return ofIt.length >= leases!
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

/** Whether a request is for an id that is held, by its owner or by its lease. */
function isSame(held: Counted, { name, owner, size = 0, key }: WorkerIdRequest): boolean {
  if (key !== undefined) return held.key === key
  if (owner === undefined || held.owner !== owner || !held.names.includes(name)) return false
  // A claim under way for another size may get another id.
  return held.key === undefined ? held.size === size : plainIdOf(name, held.key)! < size
}

/** How many worker ids of generators callers may hold; undefined: any number. */
function leasesOf({ leases, idsPerSecond, idsPerDay }: Namespace): number | undefined {
  return leases ?? (idsPerSecond === undefined && idsPerDay === undefined ? undefined : 0)
}

function noneAllowed(namespace: Namespace): FahaoError {
  const what =
    'permits no leased worker ids (LEASES 0); ask for ids of a generator, or have its LEASES raised with ID.NAMESPACE SET'
  return namespaceError('LIMIT', namespace, what)
}

function refusal(namespace: Namespace): FahaoError {
  const { leases } = namespace
  const what = `has its ${leases} leased worker ids already; return one, wait until one has ended, or have its LEASES raised with ID.NAMESPACE SET`
  return namespaceError('QUOTA', namespace, what)
}
