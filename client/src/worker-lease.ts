/**
 * The worker id of this client, for all its snowflake generators: a lease whose span is extended while ids are issued.
 *
 * Invariants
 *  1. One request about the lease at a time: a renewal, and the return, name the end of the span that the answer before gave.
 *  2. A span is for the generator of its request. An id of another generator may use time only after a request for that one.
 *  3. After `drop` no answer to an earlier request gives a span: the lease that it names may be a copy's too.
 *  4. A lease that the service does not know any more, or whose end differs, is given up for a new one.
 */
import type { Clock } from '../../src/base/clock.ts'
import { FahaoError, hasCode } from '../../src/base/errors.ts'
import type { Nodes } from './nodes.ts'
import { type Grant, leaseRequest, renewRequest, returnRequest } from './requests.ts'

/** The time that one generator may use. */
export type Span = {
  /** Differs between two leases. */
  readonly claim: string
  readonly worker: number
  /** Unix µs: `[fromUs, untilUs)`. */
  readonly fromUs: number
  readonly untilUs: number
  /** When its request was sent, on the monotonic clock in µs: what the service said is as old as that. */
  readonly sentUs: number
  readonly grant: Grant
}

/** The parts of a worker lease. */
export type WorkerLeaseOptions = {
  readonly nodes: Nodes
  readonly clock: Clock
  /** The length of the span that is asked for. */
  readonly ttlMs: number
  readonly holder: string | undefined
  /** Called with the time of the service, in Unix µs. */
  readonly observe: (nowUs: number) => void
}

type Held = { readonly lease: string; readonly untilUs: number; readonly name: string }

/** How long a close waits for the service. */
const returnTimeoutMs = 1000

/** One lease, renewed and replaced. */
export class WorkerLease {
  readonly #options: WorkerLeaseOptions
  #held: Held | undefined
  #drops = 0
  #last: Promise<unknown> = Promise.resolve()
  /** The newest time, in Unix µs, that a generator has used or may still use. */
  #usedUs = 0

  constructor(options: WorkerLeaseOptions) {
    this.#options = options
  }

  /** The length of the span that is asked for. */
  get ttlMs(): number {
    return this.#options.ttlMs
  }

  /** Whether a lease is held, so that a further generator needs none of its own. */
  get isHeld(): boolean {
    return this.#held !== undefined
  }

  /** Leases a worker id with what `ID.LEASE` has granted already, to a request sent at `sentUs`. */
  adopt(name: string, grant: Grant, sentUs: number): Span {
    this.#held = undefined
    return this.#span(name, grant, sentUs)
  }

  /** Extends the span, or leases another worker id. Rejects as the service does. */
  secure(name: string): Promise<Span> {
    const span = this.#last.then(() => this.#secure(name))
    this.#last = span.catch(() => {})
    return span
  }

  /** Gives up the lease without returning it: a copy of this memory may use it. */
  drop(): void {
    this.#drops++
    this.#held = undefined
  }

  /** Notes that a generator has used time up to `us`, in Unix µs, when it stops. */
  used(us: number): void {
    this.#usedUs = Math.max(this.#usedUs, us)
  }

  /** Returns what no generator has used. Never rejects. */
  async giveBack(): Promise<void> {
    await this.#last
    const held = this.#held
    this.#held = undefined
    if (held === undefined) return
    const request = returnRequest(held.name, held.lease, BigInt(Math.ceil(this.#usedUs)), held.untilUs)
    await this.#options.nodes.send(request, { timeoutMs: returnTimeoutMs }).catch(() => {})
  }

  async #secure(name: string): Promise<Span> {
    const { nodes, clock, ttlMs, holder } = this.#options
    for (;;) {
      const held = this.#held
      const drops = this.#drops
      const sentUs = clock.monoUs()
      try {
        const grant = await nodes.send(
          held === undefined
            ? leaseRequest(name, { count: 1, ttlMs, holder })
            : renewRequest(name, held.lease, held.untilUs, ttlMs),
        )
        if (drops === this.#drops) return this.#span(name, grant, sentUs)
      } catch (error) {
        if (held === undefined || !hasCode(error, 'NOLEASE')) throw error
        if (this.#held === held) this.#held = undefined
      }
    }
  }

  #span(name: string, grant: Grant, sentUs: number): Span {
    const { lease, worker, fromUs, untilUs, nowUs } = grant
    if (lease === undefined || worker === undefined || fromUs === undefined || untilUs === undefined)
      throw new FahaoError('WRONGTYPE', `'${name}' leases no worker id; it was altered`)
    if (lease !== this.#held?.lease) this.#usedUs = fromUs
    this.#held = { lease, untilUs, name }
    this.#options.observe(nowUs)
    return { claim: lease, worker, fromUs, untilUs, sentUs, grant }
  }
}
