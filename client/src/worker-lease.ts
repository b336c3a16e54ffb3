/**
 * A worker id of this client, for its snowflake generators: a lease whose span is extended while ids are issued.
 *
 * Invariants
 *  1. One request about the lease at a time: a renewal, and the return, name the end of the span that the answer before gave.
 *  2. A span is for the generator of its request. An id of another generator may use time only after a request for that one.
 *  3. After `drop` no answer to an earlier request gives a span: the lease that it names may be a copy's too.
 *  4. A lease that the service does not know any more, or whose end differs, is given up for a new one.
 *  5. A span comes with what its generator has used of the time of this client (`UsedTime`): no source can issue from a span
 *     without it. What is returned begins above all that generators have used, and none issues from it afterwards.
 *  6. A lease of one generator is returned for another one when the layout of the generator has no room for its worker id.
 */
import { assert } from '../../src/base/assert.ts'
import type { Clock } from '../../src/base/clock.ts'
import { FahaoError, hasCode } from '../../src/base/errors.ts'
import type { UsedTime } from '../../src/buffers/used-time.ts'
import type { DrawnIds } from './drawn-ids.ts'
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
  readonly clock: NonNullable<Grant['clock']>
  /** What this process has used of time for the generator, under this lease or another one. */
  readonly used: UsedTime
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
  /** What this process has used of time for a generator: one object for each name. */
  readonly usedOf: (name: string) => UsedTime
  /** Whether one generator alone uses the lease. */
  readonly isOwn?: boolean
  /** What is reported with each request. */
  readonly drawn: DrawnIds
}

type Held = {
  readonly lease: string
  readonly untilUs: number
  /** The generator of the newest answer. */
  readonly name: string
  /** Where the span begins, in Unix µs. */
  readonly fromUs: number
  /** The used times of the generators that have got time of this lease. */
  readonly used: Set<UsedTime>
  readonly names: Set<string>
}

/** How long a close waits for the service. */
const returnTimeoutMs = 1000

/** One lease, renewed and replaced. */
export class WorkerLease {
  readonly #options: WorkerLeaseOptions
  #held: Held | undefined
  #drops = 0
  #last: Promise<unknown> = Promise.resolve()

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

  /** Returns what no generator has used. Never rejects. */
  async giveBack(): Promise<void> {
    await this.#last
    const held = this.#held
    if (held !== undefined) await this.#return(held)
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    const held = this.#held
    if (held === undefined) return
    assert(held.fromUs <= held.untilUs, 'a span does not end before it begins')
    assert(held.used.has(this.#options.usedOf(held.name)), 'the use of the span is known for its generator')
  }

  async #secure(name: string): Promise<Span> {
    const { nodes, clock, ttlMs, holder, drawn: drawnIds } = this.#options
    for (;;) {
      const held = this.#held
      const drops = this.#drops
      const sentUs = clock.monoUs()
      try {
        const grant = await drawnIds.report(name, (drawn) =>
          nodes.send(
            held === undefined
              ? leaseRequest(name, { count: 1, ttlMs, holder, drawn })
              : renewRequest(name, held.lease, held.untilUs, ttlMs, drawn),
          ),
        )
        drawnIds.permit(grant.drawnMax)
        if (drops === this.#drops) return this.#span(name, grant, sentUs)
      } catch (error) {
        const isOver = hasCode(error, 'NOLEASE')
        const hasNoRoom = hasCode(error, 'WORKERID') && this.#options.isOwn === true
        if (held === undefined || !(isOver || hasNoRoom)) throw error
        if (this.#held !== held) continue
        this.#held = undefined
        if (hasNoRoom) await this.#return(held)
      }
    }
  }

  async #return(held: Held): Promise<void> {
    if (this.#held === held) this.#held = undefined
    let unusedUs = held.fromUs
    for (const used of held.used) {
      used.end()
      unusedUs = Math.max(unusedUs, used.untilUs)
    }
    const { nodes, drawn: drawnIds } = this.#options
    const from = BigInt(Math.ceil(unusedUs))
    const give = (name: string) =>
      drawnIds
        .report(name, (drawn) =>
          nodes.send(returnRequest(name, held.lease, from, held.untilUs, drawn), {
            timeoutMs: returnTimeoutMs,
          }),
        )
        .catch(() => false)
    await give(held.name)
    // A return may be repeated: for the other generators it is the report of what they have drawn.
    for (const name of held.names) if (drawnIds.due(name) > 0) await give(name)
  }

  #span(name: string, grant: Grant, sentUs: number): Span {
    const { lease, worker, fromUs, untilUs, nowUs, clock } = grant
    if (
      lease === undefined ||
      worker === undefined ||
      fromUs === undefined ||
      untilUs === undefined ||
      !clock
    )
      throw new FahaoError('WRONGTYPE', `'${name}' leases no worker id; it was altered`)
    const held = this.#held?.lease === lease ? this.#held : undefined
    const used = this.#options.usedOf(name)
    this.#held = {
      lease,
      untilUs,
      name,
      fromUs: Math.min(fromUs, held?.fromUs ?? fromUs),
      used: (held?.used ?? new Set()).add(used),
      names: (held?.names ?? new Set()).add(name),
    }
    this.#options.observe(nowUs)
    return { claim: lease, worker, fromUs, untilUs, sentUs, grant, clock, used }
  }
}
