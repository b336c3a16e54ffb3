/**
 * The worker ids of this client, and what each generator has used of their time: one lease for all snowflakes whose layouts have
 * room for its worker id, and one for each of the others.
 *
 * Invariants
 *  1. What a generator has used is kept here by its name, for the life of the client: neither another lease, another definition
 *     nor a time without leases ends it. So time is used once, and ids increase from one lease to the next.
 *  2. A generator has at most one lease of its own, and only after the service has said that its layout has no room for another
 *     worker id: WORKERID can come with every answer, because layouts are altered.
 */
import { hasCode } from '../../src/base/errors.ts'
import { UsedTime } from '../../src/buffers/used-time.ts'
import type { Grant } from './requests.ts'
import { type Span, WorkerLease, type WorkerLeaseOptions } from './worker-lease.ts'

/** The leases of one client. */
export class WorkerLeases {
  readonly #options: WorkerLeaseOptions
  readonly #shared: WorkerLease
  readonly #own = new Map<string, WorkerLease>()
  readonly #used = new Map<string, UsedTime>()

  constructor(options: Omit<WorkerLeaseOptions, 'usedOf'>) {
    this.#options = { ...options, usedOf: (name) => this.#usedOf(name) }
    this.#shared = new WorkerLease(this.#options)
  }

  /** The length of the spans that are asked for. */
  get ttlMs(): number {
    return this.#options.ttlMs
  }

  /** Whether a lease is held that this generator has, or may share. */
  isHeldFor(name: string): boolean {
    return this.#shared.isHeld || this.#own.get(name)?.isHeld === true
  }

  /** Takes over what `ID.LEASE` has granted already, to a request sent at `sentUs`. Throws WRONGTYPE if it is no worker id. */
  adopt(name: string, grant: Grant, sentUs: number): Span {
    const lease = this.#shared.isHeld ? this.#ownOf(name) : this.#shared
    return lease.adopt(name, grant, sentUs)
  }

  /**
   * Extends the span of a generator, or leases another worker id for it: also where its layout has no room for the worker id that
   * it had. Rejects as the service does.
   */
  async secure(name: string): Promise<Span> {
    const own = this.#own.get(name)
    if (own?.isHeld) return own.secure(name)
    try {
      return await this.#shared.secure(name)
    } catch (error) {
      if (!hasCode(error, 'WORKERID')) throw error
      return this.#ownOf(name).secure(name)
    }
  }

  /** Gives all leases up without returning them: a copy of this memory may use them. */
  drop(): void {
    for (const lease of this.#all()) lease.drop()
  }

  /** Returns what no generator has used. Never rejects. */
  async giveBack(): Promise<void> {
    await Promise.all(this.#all().map((lease) => lease.giveBack()))
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    for (const lease of this.#all()) lease.assertInvariants()
  }

  #ownOf(name: string): WorkerLease {
    const own = this.#own.get(name) ?? new WorkerLease({ ...this.#options, isOwn: true })
    this.#own.set(name, own)
    return own
  }

  #all(): WorkerLease[] {
    return [this.#shared, ...this.#own.values()]
  }

  #usedOf(name: string): UsedTime {
    const used = this.#used.get(name) ?? new UsedTime()
    this.#used.set(name, used)
    return used
  }
}
