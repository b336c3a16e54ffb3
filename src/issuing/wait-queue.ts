/**
 * Callers that wait for ids, in the order in which they came.
 *
 * Invariants
 *  1. First come, first served: nobody is served while somebody before him waits.
 *  2. A caller gets all its ids in one step, or none: one that gave up, or whose time ran out, got none.
 *  3. The line is bounded in length and each place in it in time.
 *  4. Memory is bounded by who waits now, not by who has waited.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Run } from '../ids/run.ts'

/** What a caller wants. */
export type DrawRequest = {
  readonly count: number
  readonly contiguous: boolean
  readonly safe: boolean
}

/** One caller. */
export type Waiter = DrawRequest & {
  /** How many had joined before. */
  readonly place: number
  readonly deadlineUs: number
  readonly resolve: (runs: Run[]) => void
  readonly reject: (error: unknown) => void
  gone: boolean
}

/** Places of callers that have gone are swept out when they outnumber the others by this. */
const slack = 64

/** Where callers wait. See the invariants at the top of the file. */
export class WaitQueue {
  readonly #clock: Clock
  readonly #lengthMax: number
  readonly #onTimeout: () => Error
  readonly #onLeave: () => void
  /** How many wait. Read on every take, so a plain field. */
  length = 0
  /** How many have ever joined. */
  joined = 0
  #waiters: Waiter[] = []
  #head = 0
  #timer: Timer | undefined
  #demand = 0
  #dryUs = 0
  #drySinceUs = 0

  /**
   * @param onTimeout what to tell a caller whose time ran out.
   * @param onLeave somebody went away without ids: those behind may be content with what is in hand.
   */
  constructor(clock: Clock, lengthMax: number, onTimeout: () => Error, onLeave: () => void) {
    this.#clock = clock
    this.#lengthMax = lengthMax
    this.#onTimeout = onTimeout
    this.#onLeave = onLeave
  }

  /** How many places are kept in memory. */
  get places(): number {
    return this.#waiters.length
  }

  /** How many ids they wait for. */
  get demand(): number {
    return this.#demand
  }

  /** For how long somebody has been waiting, all in all, in seconds. */
  get drySeconds(): number {
    const openUs = this.length > 0 ? this.#clock.monoUs() - this.#drySinceUs : 0
    return (this.#dryUs + openUs) / 1_000_000
  }

  /** Queues a caller for at most `timeoutMs`. Rejects with BUSY, ABORTED, or what `onTimeout` says. */
  join(wish: DrawRequest, timeoutMs: number, signal?: AbortSignal): Promise<Run[]> {
    if (this.length >= this.#lengthMax) {
      return Promise.reject(
        new FahaoError(
          'BUSY',
          `${this.length} requests are waiting for this generator already; retry with a pause`,
        ),
      )
    }
    return new Promise((resolve, reject) => {
      const nowUs = this.#clock.monoUs()
      const waiter: Waiter = {
        ...wish,
        place: this.joined++,
        deadlineUs: nowUs + timeoutMs * 1000,
        resolve: (runs) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(runs)
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort)
          reject(error)
        },
        gone: false,
      }
      const onAbort = () => {
        this.#leave(waiter, aborted())
        this.#onLeave()
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      if (this.length === 0) this.#drySinceUs = nowUs
      this.#waiters.push(waiter)
      this.length++
      this.#demand += wish.count
      this.#watchHead()
    })
  }

  /** The first in line. */
  first(): Waiter | undefined {
    while (this.#head < this.#waiters.length) {
      const waiter = this.#waiters[this.#head]!
      if (!waiter.gone) return waiter
      this.#head++
    }
    return undefined
  }

  /** Sends the first in line home with its ids, or with what kept it from them. */
  settleFirst(outcome: Run[] | Error): void {
    const waiter = this.first()
    if (waiter === undefined) return
    if (outcome instanceof Error) return this.#leave(waiter, outcome)
    this.#remove(waiter)
    waiter.resolve(outcome)
  }

  /** Sends everyone home, in order, of whom `reason` says why. */
  sift(reason: (waiter: Waiter) => Error | undefined): void {
    for (const waiter of [...this.#waiters]) {
      const error = waiter.gone ? undefined : reason(waiter)
      if (error !== undefined) this.#leave(waiter, error)
    }
  }

  #leave(waiter: Waiter, error: unknown): void {
    if (waiter.gone) return
    this.#remove(waiter)
    waiter.reject(error)
  }

  #remove(waiter: Waiter): void {
    waiter.gone = true
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

  /** One timer, for the first: the others came later and wait as long. */
  #watchHead(): void {
    const waiter = this.first()
    if (waiter === undefined || this.#timer !== undefined) return
    const delayMs = Math.max(0, Math.ceil((waiter.deadlineUs - this.#clock.monoUs()) / 1000))
    this.#timer = this.#clock.timer(delayMs, () => {
      this.#timer = undefined
      const nowUs = this.#clock.monoUs()
      for (let head = this.first(); head !== undefined && head.deadlineUs <= nowUs; head = this.first()) {
        this.#leave(head, this.#onTimeout())
      }
      this.#onLeave()
      this.#watchHead()
    })
  }
}

/** What a caller is told that has given up. */
export function aborted(): FahaoError {
  return new FahaoError('ABORTED', 'the caller stopped waiting; no id was used up')
}
