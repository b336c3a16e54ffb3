/**
 * The queue of callers that wait for ids of one generator, in the order of their arrival.
 *
 * Invariants
 *  1. First come, first served: no caller is served before an earlier one that still waits.
 *  2. A caller gets all its ids in one step, or none: one that gave up or timed out got none.
 *  3. The queue is bounded by `lengthMax`, and each caller waits for a bounded time.
 *  4. Memory is bounded by the callers that wait now, not by all that have waited.
 *  5. The process stays alive while a caller waits: a program that uses the library would end without its answer.
 */
import { assert } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'
import type { Run } from '../ids/run.ts'

/** The ids that a caller asks for. */
export type DrawRequest = {
  readonly count: number
  /** Whether each id is to be one larger than the one before. */
  readonly contiguous: boolean
  /** Whether it takes ids up to 2^53−1 only. */
  readonly safe: boolean
  /** Of which name of a family; undefined outside of families. */
  readonly of?: string | undefined
  /** The least value that each id has. Default 0. */
  readonly floor?: bigint
  /** The record that is to have its ids. */
  readonly once?: { readonly key: string; value(runs: readonly Run[]): string } | undefined
}

/** One waiting caller. */
export type Waiter = DrawRequest & {
  /** How many callers had joined before. */
  readonly place: number
}

type Entry = Waiter & {
  readonly deadlineUs: number
  readonly resolve: (runs: Run[]) => void
  readonly reject: (reason: unknown) => void
  /** Ends the observation of the caller's signal. */
  readonly forget: () => void
  isGone: boolean
}

/** The limits of a queue, and what it tells. */
export type WaitQueueOptions = {
  readonly clock: Clock
  /** How long a caller waits at most. */
  readonly timeoutMs: number
  /** How many callers may wait. */
  readonly lengthMax: number
  /** Makes the error for a caller that has waited too long. */
  readonly onTimeout: () => Error
  /** A caller has left without ids: the buffered ids may satisfy the callers behind it. */
  readonly onLeave: () => void
}

/** Entries of callers that have left are removed when they outnumber the others by this. */
const slack = 64

/** The queue of one generator. */
export class WaitQueue {
  readonly #options: WaitQueueOptions
  /** How many callers wait. Read on every take, so a plain field. */
  length = 0
  /** How many callers have ever joined. */
  joined = 0
  #entries: Entry[] = []
  #head = 0
  #timer: Timer | undefined
  #demand = 0
  #dryUs = 0
  #drySinceUs = 0

  constructor(options: WaitQueueOptions) {
    this.#options = options
  }

  /** How many entries are kept in memory. */
  get places(): number {
    return this.#entries.length
  }

  /** How many ids the callers wait for. */
  get demand(): number {
    return this.#demand
  }

  /** How many ids the callers of that name of a family wait for which wait for most. */
  get demandOfOne(): number {
    const demands = new Map<string | undefined, number>()
    let most = 0
    for (const { isGone, of, count } of this.#entries) {
      if (isGone) continue
      const demand = (demands.get(of) ?? 0) + count
      demands.set(of, demand)
      if (demand > most) most = demand
    }
    return most
  }

  /** The least value that serves every caller. */
  get floor(): bigint {
    let most = 0n
    for (const { isGone, floor = 0n } of this.#entries) if (!isGone && floor > most) most = floor
    return most
  }

  /** For how long callers have been waiting, all in all, in seconds. */
  get drySeconds(): number {
    const openUs = this.length > 0 ? this.#options.clock.monoUs() - this.#drySinceUs : 0
    return (this.#dryUs + openUs) / 1_000_000
  }

  /** The first caller in the queue. */
  get first(): Waiter | undefined {
    return this.#first()
  }

  /** The callers in the queue, in order. */
  *waiting(): Generator<Waiter> {
    for (const entry of this.#entries) if (!entry.isGone) yield entry
  }

  /** Queues a caller. Rejects with BUSY, the reason of `signal`, what `onWait` throws, or the error of `onTimeout`. */
  join(request: DrawRequest, signal?: AbortSignal, onWait?: () => void): Promise<Run[]> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const { clock, timeoutMs, lengthMax, onLeave } = this.#options
    if (this.length >= lengthMax) {
      return Promise.reject(
        new FahaoError(
          'BUSY',
          `${this.length} requests are waiting for this generator already; retry with a pause`,
        ),
      )
    }
    return new Promise((resolve, reject) => {
      onWait?.()
      const nowUs = clock.monoUs()
      const forget = onAbort(signal, (reason) => {
        this.#refuse(entry, reason)
        onLeave()
      })
      const entry: Entry = {
        ...request,
        place: this.joined++,
        deadlineUs: nowUs + timeoutMs * 1000,
        resolve,
        reject,
        forget,
        isGone: false,
      }
      if (this.length === 0) this.#drySinceUs = nowUs
      this.#entries.push(entry)
      this.length++
      this.#demand += request.count
      this.#watchHead()
    })
  }

  /** Serves callers in order, up to the first for which `outcome` returns undefined. */
  serve(outcome: (waiter: Waiter) => Run[] | Error | undefined): void {
    for (let first = this.#first(); first !== undefined; first = this.#first()) {
      const settled = outcome(first)
      if (settled === undefined) return
      this.#settle(first, settled)
    }
  }

  /** Rejects every caller for which `reason` returns an error, oldest first. */
  refuse(reason: (waiter: Waiter) => Error | undefined): void {
    for (const entry of [...this.#entries]) {
      const error = entry.isGone ? undefined : reason(entry)
      if (error !== undefined) this.#settle(entry, error)
    }
  }

  /** Rejects every caller that asks for more than `left` ids together with those of its name of a family before it. */
  refuseBeyond(left: number, reason: () => Error): void {
    if (this.demandOfOne <= left) return
    const demands = new Map<string | undefined, number>()
    this.refuse(({ count, of }) => {
      const demand = (demands.get(of) ?? 0) + count
      if (demand > left) return reason()
      demands.set(of, demand)
      return undefined
    })
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    const waiting = this.#entries.filter(({ isGone }) => !isGone)
    assert(
      waiting.length === this.length && this.length <= this.#options.lengthMax,
      'the length is of those that wait',
    )
    assert(
      waiting.reduce((sum, { count }) => sum + count, 0) === this.#demand,
      'the demand is of those that wait',
    )
    assert(
      waiting.every(({ place }, at) => at === 0 || place > waiting[at - 1]!.place),
      'callers stand in the order of their arrival',
    )
    assert(
      this.#entries.slice(0, this.#head).every(({ isGone }) => isGone),
      'no caller that waits is passed over',
    )
    assert(this.#entries.length <= 2 * this.length + slack + 1, 'memory is bounded by those that wait')
    assert((this.#timer !== undefined) === this.length > 0, 'a timer runs while a caller waits')
  }

  #first(): Entry | undefined {
    while (this.#entries[this.#head]?.isGone) this.#head++
    return this.#entries[this.#head]
  }

  #settle(entry: Entry, outcome: Run[] | Error): void {
    if (outcome instanceof Error) return this.#refuse(entry, outcome)
    if (entry.isGone) return
    this.#remove(entry)
    entry.resolve(outcome)
  }

  #refuse(entry: Entry, reason: unknown): void {
    if (entry.isGone) return
    this.#remove(entry)
    entry.reject(reason)
  }

  #remove(entry: Entry): void {
    entry.isGone = true
    entry.forget()
    this.length--
    this.#demand -= entry.count
    if (this.length === 0) {
      this.#dryUs += this.#options.clock.monoUs() - this.#drySinceUs
      this.#timer?.cancel()
      this.#timer = undefined
    } else if (this.#entries.length <= 2 * this.length + slack) {
      return
    }
    this.#entries = this.#entries.filter(({ isGone }) => !isGone)
    this.#head = 0
  }

  /** One timer, for the first caller: the others came later and wait as long. It keeps the process alive. */
  #watchHead(): void {
    const first = this.#first()
    if (first === undefined || this.#timer !== undefined) return
    const { clock, onTimeout, onLeave } = this.#options
    const delayMs = Math.max(0, Math.ceil((first.deadlineUs - clock.monoUs()) / 1000))
    const refuseLate = () => {
      this.#timer = undefined
      const nowUs = clock.monoUs()
      for (let head = this.#first(); head !== undefined && head.deadlineUs <= nowUs; head = this.#first()) {
        this.#settle(head, onTimeout())
        onLeave()
      }
      this.#watchHead()
    }
    this.#timer = clock.timer(delayMs, refuseLate, true)
  }
}
