/**
 * Ids of a `segment` from ranges that are fetched ahead.
 *
 * Invariants
 *  1. One refill at a time, so that ranges arrive in the order of the counter.
 *  2. A refill is asked for before the chain is empty: when less is left than lasts the horizon, and while callers wait.
 *  3. What a range has left is dropped at its deadline, which counts from before its request was sent.
 *  4. A failed refill rejects waiting callers only with what no retry can change; the others wait for their own timeout,
 *     and the refill is repeated.
 */
import type { Clock, Timer } from '../../src/base/clock.ts'
import { describe, FahaoError } from '../../src/base/errors.ts'
import type { FastRun } from '../../src/ids/fast-run.ts'
import type { Run } from '../../src/ids/run.ts'
import { Demand } from './demand.ts'
import type { ClientEvent } from './events.ts'
import type { GeneratorStats } from './generator.ts'
import type { DrawOptions, IdSource } from './id-source.ts'
import { unsafe } from './request-source.ts'
import type { Range } from './requests.ts'
import { SegmentChain } from './segment-chain.ts'
import { WaitQueue } from './wait-queue.ts'

/** The parts of a segment source. */
export type SegmentSourceOptions = {
  readonly name: string
  readonly clock: Clock
  readonly timeoutMs: number
  readonly horizonMs: number
  /** Reserves so many ids, with all its retries. */
  readonly reserve: (count: number) => Promise<Range[]>
  readonly onEvent: (event: ClientEvent) => void
}

/** The pause after a refill that failed with all its retries. */
const pauseMs = 500

/** Issues ranges. */
export class SegmentSource implements IdSource {
  readonly fastRun: FastRun
  readonly #options: SegmentSourceOptions
  readonly #chain = new SegmentChain()
  readonly #demand: Demand
  readonly #queue: WaitQueue
  #refilling = false
  #pause: Timer | undefined
  #lastError: FahaoError | undefined
  #closed: Error | undefined
  #requests = 0
  #failures = 0

  constructor(options: SegmentSourceOptions) {
    const { clock, timeoutMs, horizonMs } = options
    this.#options = options
    this.fastRun = this.#chain.fastRun
    this.#demand = new Demand(horizonMs, clock.monoUs())
    this.#queue = new WaitQueue(clock, timeoutMs, () => this.#dry())
  }

  take(count: number, run: Run): number {
    if (this.#closed !== undefined) return 0
    this.#chain.expire(this.#options.clock.monoUs())
    const taken = this.#chain.take(count, run)
    this.#refillIfLow()
    return taken
  }

  nextIsSafe(): boolean {
    return this.#chain.areSafe(1)
  }

  draw(count: number, { safe = false, signal }: DrawOptions): Promise<Run[]> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    const ids = this.#queue.wait({ count, safe }, signal)
    this.#serve()
    if (this.#queue.length > 0) this.#endPause()
    this.#refillIfLow()
    return ids
  }

  stats(): GeneratorStats {
    const { clock } = this.#options
    const nowUs = clock.monoUs()
    this.#chain.expire(nowUs)
    this.#demand.observe(this.#chain.issued, nowUs)
    const { available, deadlineUs = nowUs } = this.#chain
    const atRateMs = (available / this.#demand.perSecond) * 1000
    return {
      issued: this.#chain.issued,
      buffered: available,
      lastsMs: available === 0 ? 0 : Math.min(atRateMs, (deadlineUs - nowUs) / 1000),
      requests: this.#requests,
      failures: this.#failures,
      waits: this.#queue.waits,
      waiting: this.#queue.length,
    }
  }

  async close(reason: Error): Promise<void> {
    this.#closed = reason
    this.#endPause()
    this.#chain.clear()
    this.#queue.refuse(reason)
  }

  /** Fetches the first range. Rejects when the service refuses. */
  async open(): Promise<void> {
    await this.#refill()
  }

  #serve(): void {
    this.#chain.expire(this.#options.clock.monoUs())
    this.#queue.serve(({ count, safe }) => {
      if (this.#chain.available < count) return undefined
      if (safe && !this.#chain.areSafe(count)) throw unsafe()
      return this.#chain.collect(count)
    })
  }

  #refillIfLow(): void {
    if (this.#refilling || this.#closed !== undefined || !this.#isLow()) return
    // After a failure the next refill follows a pause; a caller that has just come does not wait for its end.
    if (this.#pause !== undefined) return
    this.#refilling = true
    void this.#run().then(() => {
      this.#refilling = false
      // Ids may have been taken while the last reply was read.
      this.#refillIfLow()
    })
  }

  #isLow(): boolean {
    return this.#queue.length > 0 || this.#chain.available < this.#demand.lowMark
  }

  #endPause(): void {
    this.#pause?.cancel()
    this.#pause = undefined
  }

  /** One refill. Never rejects. */
  async #run(): Promise<void> {
    try {
      await this.#refill()
      this.#serve()
    } catch (error) {
      this.#failed(error)
    }
  }

  async #refill(): Promise<void> {
    const { clock, reserve, horizonMs } = this.#options
    const sentUs = clock.monoUs()
    this.#demand.observe(this.#chain.issued, sentUs)
    const { available } = this.#chain
    const count = this.#demand.size(available, Math.max(0, this.#queue.demand - available))
    const ranges = await reserve(count)
    this.#requests++
    if (this.#closed !== undefined) return
    for (const range of ranges) this.#chain.add(range, sentUs + 2 * horizonMs * 1000)
    if (this.#lastError === undefined) return
    this.#lastError = undefined
    this.#options.onEvent({ type: 'refill-recovered', generator: this.#options.name })
  }

  #failed(cause: unknown): void {
    const error = cause instanceof FahaoError ? cause : new FahaoError('UNKNOWN', describe(cause), { cause })
    this.#failures++
    this.#lastError = error
    if (this.#closed !== undefined) return
    const { clock, name, onEvent } = this.#options
    onEvent({ type: 'refill-failed', generator: name, error, lastsMs: this.stats().lastsMs })
    if (!error.retryable) this.#queue.refuse(error)
    this.#pause = clock.timer(pauseMs, () => {
      this.#pause = undefined
      this.#refillIfLow()
    })
  }

  /** The error of a caller that has waited for `timeoutMs`. */
  #dry(): FahaoError {
    const { name, timeoutMs } = this.#options
    const why = this.#lastError === undefined ? 'no node has answered' : describe(this.#lastError)
    return new FahaoError(
      'UNAVAILABLE',
      `no id of '${name}' is left here, and the service has sent none for ${timeoutMs} ms (${why}); retry once it is back`,
    )
  }
}
