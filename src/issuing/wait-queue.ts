/**
 * The queue of callers that wait for ids of one generator, in the order of their arrival.
 *
 * Invariants
 *  1. First come, first served: no caller is served before an earlier one that still waits.
 *  2. A caller gets all its ids in one step, or none: one that gave up or timed out got none.
 *  3. The queue is bounded in length, and each caller waits for a bounded time.
 *  4. Memory is bounded by the callers that wait now, not by all that have waited.
 *  5. The process stays alive while a caller waits: a program that uses the library would end without its answer.
 */
import { assert } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'
import type { Run } from '../ids/run.ts'
import type { DrawOptions } from './issuer.ts'

/** The ids that a caller asks for. */
export type DrawRequest = {
  readonly count: number
  readonly contiguous: boolean
  readonly safe: boolean
}

/** One waiting caller. */
export type Waiter = DrawRequest & {
  /** How many callers had joined before. */
  readonly place: number
  readonly deadlineUs: number
  readonly resolve: (runs: Run[]) => void
  readonly reject: (error: unknown) => void
  /** Ends the observation of the caller's signal. */
  readonly forget: () => void
  gone: boolean
}

/** Entries of callers that have left are removed when they outnumber the others by this. */
const slack = 64

/** The queue of one generator. */
export class WaitQueue {
  readonly #clock: Clock
  readonly #lengthMax: number
  readonly #onTimeout: () => Error
  readonly #onLeave: () => void
  /** How many callers wait. Read on every take, so a plain field. */
  length = 0
  /** How many callers have ever joined. */
  joined = 0
  #waiters: Waiter[] = []
  #head = 0
  #timer: Timer | undefined
  #demand = 0
  #dryUs = 0
  #drySinceUs = 0

  /**
   * @param onTimeout makes the error for a caller that has waited too long.
   * @param onLeave a caller has left without ids: the buffered ids may satisfy the callers behind it.
   */
  constructor(clock: Clock, lengthMax: number, onTimeout: () => Error, onLeave: () => void) {
    this.#clock = clock
    this.#lengthMax = lengthMax
    this.#onTimeout = onTimeout
    this.#onLeave = onLeave
  }

  /** How many entries are kept in memory. */
  get places(): number {
    return this.#waiters.length
  }

  /** How many ids the callers wait for. */
  get demand(): number {
    return this.#demand
  }

  /** For how long callers have been waiting, all in all, in seconds. */
  get drySeconds(): number {
    const openUs = this.length > 0 ? this.#clock.monoUs() - this.#drySinceUs : 0
    return (this.#dryUs + openUs) / 1_000_000
  }

  /**
   * Queues a caller for at most `timeoutMs`. Rejects with BUSY, ABORTED, what `onWait` throws, or the error of
   * `onTimeout`.
   */
  join(
    request: DrawRequest,
    timeoutMs: number,
    { signal, onWait }: Partial<Pick<DrawOptions, 'signal' | 'onWait'>> = {},
  ): Promise<Run[]> {
    if (this.length >= this.#lengthMax) {
      return Promise.reject(
        new FahaoError(
          'BUSY',
          `${this.length} requests are waiting for this generator already; retry with a pause`,
        ),
      )
    }
    return new Promise((resolve, reject) => {
      onWait?.()
      const nowUs = this.#clock.monoUs()
      const forget = onAbort(signal, () => {
        this.#reject(waiter, aborted())
        this.#onLeave()
      })
      const waiter: Waiter = {
        ...request,
        place: this.joined++,
        deadlineUs: nowUs + timeoutMs * 1000,
        resolve,
        reject,
        forget,
        gone: false,
      }
      if (this.length === 0) this.#drySinceUs = nowUs
      this.#waiters.push(waiter)
      this.length++
      this.#demand += request.count
      this.#watchHead()
    })
  }

  /** The first caller in the queue. */
  first(): Waiter | undefined {
    while (this.#head < this.#waiters.length) {
      const waiter = this.#waiters[this.#head]!
      if (!waiter.gone) return waiter
      this.#head++
    }
    return undefined
  }

  /** Removes the first caller, which gets its ids or an error. */
  settleFirst(outcome: Run[] | Error): void {
    const waiter = this.first()
    if (waiter === undefined) return
    if (outcome instanceof Error) return this.#reject(waiter, outcome)
    this.#remove(waiter)
    waiter.resolve(outcome)
  }

  /** Rejects every waiter for which `reason(waiter)` returns an error, oldest first. */
  rejectEach(reason: (waiter: Waiter) => Error | undefined): void {
    for (const waiter of [...this.#waiters]) {
      const error = waiter.gone ? undefined : reason(waiter)
      if (error !== undefined) this.#reject(waiter, error)
    }
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    const waiting = this.#waiters.filter(({ gone }) => !gone)
    assert(
      waiting.length === this.length && this.length <= this.#lengthMax,
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
      this.#waiters.slice(0, this.#head).every(({ gone }) => gone),
      'no caller that waits is passed over',
    )
    assert(this.#waiters.length <= 2 * this.length + slack + 1, 'memory is bounded by those that wait')
    assert(this.length === 0 || this.#timer !== undefined, 'each caller waits for a bounded time')
  }

  #reject(waiter: Waiter, error: unknown): void {
    if (waiter.gone) return
    this.#remove(waiter)
    waiter.reject(error)
  }

  #remove(waiter: Waiter): void {
    waiter.gone = true
    waiter.forget()
    this.length--
    this.#demand -= waiter.count
    if (this.length === 0) {
      this.#dryUs += this.#clock.monoUs() - this.#drySinceUs
      this.#timer?.cancel()
      this.#timer = undefined
    } else if (this.#waiters.length <= 2 * this.length + slack) {
      return
    }
    this.#waiters = this.#waiters.filter(({ gone }) => !gone)
    this.#head = 0
  }

  /** One timer, for the first caller: the others came later and wait as long. It keeps the process alive. */
  #watchHead(): void {
    const waiter = this.first()
    if (waiter === undefined || this.#timer !== undefined) return
    const delayMs = Math.max(0, Math.ceil((waiter.deadlineUs - this.#clock.monoUs()) / 1000))
    const refuseLate = () => {
      this.#timer = undefined
      const nowUs = this.#clock.monoUs()
      for (let head = this.first(); head !== undefined && head.deadlineUs <= nowUs; head = this.first()) {
        this.#reject(head, this.#onTimeout())
      }
      this.#onLeave()
      this.#watchHead()
    }
    this.#timer = this.#clock.timer(delayMs, refuseLate, true)
  }
}

/** Error for a caller that has given up. */
export function aborted(): FahaoError {
  return new FahaoError('ABORTED', 'the caller stopped waiting; no id was used up')
}
