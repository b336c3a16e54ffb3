/**
 * What sources with a buffer share: callers that wait, and refills in the background.
 *
 * Invariants
 *  1. One refill at a time, so that what the service grants arrives in its order.
 *  2. A refill starts when `isLow`, which is before the buffer is empty, and while callers wait for more than it has.
 *  3. A failed refill rejects callers only if no retry can change its reason, and only those for which the buffer does not
 *     suffice; after LIMIT only those that wait for as many ids as the first of them or more. The others wait for their own
 *     timeout, and the refill is repeated. The buffer stays, except where the generator is gone or is another one.
 *  4. A pause that a quota has caused is not ended by callers: however many come, they cause one request in that time.
 *  5. Before ids leave the buffer in a callback of the event loop, copies of this memory have been looked for.
 */
import { assert } from '../../src/base/assert.ts'
import type { Clock, Timer } from '../../src/base/clock.ts'
import type { CopyDetector } from '../../src/base/copy-detector.ts'
import { describe, FahaoError, hasCode } from '../../src/base/errors.ts'
import type { FastRun } from '../../src/buffers/fast-runs.ts'
import { type DrawRequest, WaitQueue } from '../../src/buffers/wait-queue.ts'
import type { Run } from '../../src/ids/run.ts'
import type { ClientEvent } from './events.ts'
import type { GeneratorStats } from './generator.ts'
import type { DrawOptions, IdSource } from './id-source.ts'
import { isOfSize } from './size-cap.ts'

/** What every source with a buffer is given. */
export type BufferedSourceOptions = {
  readonly name: string
  readonly clock: Clock
  readonly copies: CopyDetector
  readonly timeoutMs: number
  readonly horizonMs: number
  readonly onEvent: (event: ClientEvent) => void
  /** Called when the service says that the generator has another kind. */
  readonly onAltered: () => void
  /** Called with the ids that were taken since the last call, before the service is asked for more and at the end. */
  readonly onDrawn: (ids: number) => void
}

/** The pause after a refill that failed with all its retries; after refusals of a quota in a row it doubles. */
const pauseMs = 500
const pauseMaxMs = 2000

/** Issues from a buffer. */
export abstract class BufferedSource implements IdSource {
  abstract readonly fastRun: FastRun
  protected readonly options: BufferedSourceOptions
  protected closed: Error | undefined
  readonly #queue: WaitQueue
  #refilling = false
  #pause: Timer | undefined
  /** Whether callers do not end the pause. */
  #isFirm = false
  /** Refusals of a quota in a row. */
  #refusals = 0
  #lastError: FahaoError | undefined
  #requests = 0
  /** How many of the ids that were taken have been counted. */
  #drawn = 0
  #failures = 0

  constructor(options: BufferedSourceOptions) {
    this.options = options
    this.#queue = new WaitQueue({
      clock: options.clock,
      timeoutMs: options.timeoutMs,
      lengthMax: Number.POSITIVE_INFINITY,
      onTimeout: () => this.#dry(),
      onLeave: () => this.#serve(),
    })
  }

  /** Ids that could be taken at this moment. */
  protected abstract available(): number
  /** Ids that were taken. */
  protected abstract issued(): number
  /** For how long they last without the service, in ms. */
  protected abstract lastsMs(): number
  /** Takes up to `count` buffered ids into `run`. */
  protected abstract takeNow(count: number, run: Run): number
  /** The requested ids, the error that forbids them, or undefined while too few are buffered. */
  protected abstract collect(request: DrawRequest): Run[] | Error | undefined
  /** Whether a refill is due. */
  protected abstract isLow(): boolean
  /**
   * Asks the service for more; `waiting`: the ids that callers wait for, `first`: the first of them. Rejects as the service
   * does.
   */
  protected abstract refill(waiting: number, first: DrawRequest | undefined): Promise<void>
  /** How long the next refill waits after one that has succeeded. */
  protected pauseAfterMs(): number {
    return 0
  }
  /** After how many ms the buffer has more without a refill; undefined: never. */
  protected abstract moreAfterMs(): number | undefined
  /** Drops the buffer: a copy of this memory may issue the same ids. */
  abstract drop(): void
  /** Returns what is left to the service. */
  protected abstract giveBack(): Promise<void>
  abstract nextIsSafe(): boolean

  assertInvariants(): void {
    this.#queue.assertInvariants()
    assert(this.closed === undefined || this.#queue.length === 0, 'no caller waits after the end')
  }

  take(count: number, run: Run): number {
    if (this.closed !== undefined) return 0
    this.options.copies.check()
    const taken = this.takeNow(count, run)
    this.refillIfLow()
    return taken
  }

  draw(count: number, { safe = false, contiguous = false, signal }: DrawOptions): Promise<Run[]> {
    if (this.closed !== undefined) return Promise.reject(this.closed)
    const ids = this.#queue.join({ count, safe, contiguous }, signal)
    this.#serve()
    if (this.#queue.length > 0 && !this.#isFirm) this.#endPause()
    this.refillIfLow()
    return ids
  }

  stats(): GeneratorStats {
    return {
      issued: this.issued(),
      buffered: this.closed === undefined ? this.available() : 0,
      lastsMs: this.closed === undefined ? this.lastsMs() : 0,
      requests: this.#requests,
      failures: this.#failures,
      waits: this.#queue.joined,
      waiting: this.#queue.length,
    }
  }

  async close(reason: Error): Promise<void> {
    if (this.closed !== undefined) return
    this.closed = reason
    this.#endPause()
    this.#queue.refuse(() => reason)
    this.#countDrawn()
    await this.giveBack()
  }

  /** Starts a refill if one is due and none is under way. */
  protected refillIfLow(): void {
    if (this.#refilling || this.closed !== undefined || this.#pause !== undefined) return
    if (!this.#isDue()) return
    this.#refilling = true
    void this.#refill().then(() => {
      this.#refilling = false
      this.#serve()
      // Ids may have been taken while the last reply was read.
      this.refillIfLow()
    })
  }

  #countDrawn(): void {
    const issued = this.issued()
    this.options.onDrawn(issued - this.#drawn)
    this.#drawn = issued
  }

  #isDue(): boolean {
    return this.isLow() || (this.#queue.length > 0 && this.moreAfterMs() === undefined)
  }

  /**
   * Serves callers in order. With `refusal`, those that need `refused` ids or more are rejected where the buffer does not
   * suffice.
   */
  #serve(refusal?: FahaoError, refused = 0): void {
    if (this.closed !== undefined || this.#queue.length === 0) return
    this.options.copies.check()
    this.#queue.serve((waiter) => this.collect(waiter) ?? (waiter.count >= refused ? refusal : undefined))
    const laterMs = this.moreAfterMs()
    if (this.#queue.length > 0 && laterMs !== undefined && this.#pause === undefined) this.#wait(laterMs)
  }

  #wait(ms: number, isFirm = false): void {
    this.#isFirm = isFirm
    this.#pause = this.options.clock.timer(ms, () => {
      this.#endPause()
      this.#serve()
      this.refillIfLow()
    })
  }

  #endPause(): void {
    this.#pause?.cancel()
    this.#pause = undefined
    this.#isFirm = false
  }

  /** One refill. Never rejects. */
  async #refill(): Promise<void> {
    const { name, onEvent } = this.options
    const { demand, first } = this.#queue
    this.#countDrawn()
    try {
      await this.refill(demand, first)
      this.#requests++
      this.#refusals = 0
      if (this.closed === undefined && this.pauseAfterMs() > 0) {
        this.#endPause()
        this.#wait(this.pauseAfterMs(), true)
      }
      if (this.#lastError === undefined) return
      this.#lastError = undefined
      onEvent({ type: 'refill-recovered', generator: name })
    } catch (cause) {
      this.#failed(
        cause instanceof FahaoError ? cause : new FahaoError('UNKNOWN', describe(cause), { cause }),
        first?.count ?? 0,
      )
    }
  }

  /** @param first the ids that the first caller needed. */
  #failed(error: FahaoError, first: number): void {
    this.#failures++
    this.#lastError = error
    if (this.closed !== undefined) return
    const { name, onEvent, onAltered } = this.options
    const isAltered = hasCode(error, 'WRONGTYPE')
    if (isAltered || hasCode(error, 'NOGENERATOR')) this.drop()
    if (isAltered) onAltered()
    onEvent({ type: 'refill-failed', generator: name, error, lastsMs: this.lastsMs() })
    this.#endPause()
    const isOfQuota = isOfSize(error)
    const isFirm = isOfQuota && this.moreAfterMs() === undefined
    const ms = isOfQuota ? Math.min(pauseMs * 2 ** this.#refusals++, pauseMaxMs) : pauseMs
    if (error.retryable) return this.#wait(ms, isFirm)
    this.#serve(error, isOfQuota ? first : 0)
    if (this.#queue.length > 0) return this.#wait(ms, isFirm)
    this.#isFirm = isFirm
    // The next caller asks again; without one nothing is asked.
    this.#pause = this.options.clock.timer(ms, () => {
      this.#endPause()
      if (this.#queue.length > 0) this.refillIfLow()
    })
  }

  /** The error of a caller that has waited for `timeoutMs`. */
  #dry(): FahaoError {
    const { name, timeoutMs } = this.options
    if (hasCode(this.#lastError, 'QUOTA')) return this.#lastError
    const why = this.#lastError === undefined ? 'no node has answered' : describe(this.#lastError)
    return new FahaoError(
      'UNAVAILABLE',
      `no id of '${name}' is left here, and the service has sent none for ${timeoutMs} ms (${why}); retry once it is back`,
    )
  }
}
