/**
 * The looks at one reservoir. Traffic may have grown since its buffer was sized, so its rate is read soon after the first ids,
 * then less and less often.
 *
 * Invariants
 *  1. While no ids are issued, those that expire are replaced before they have expired, if any were issued before.
 *  2. There is no look after `stop`.
 */
import type { IdSource } from './id-source.ts'
import type { Observed, Observer } from './observer.ts'

/** Intervals of looks while ids are issued, in ms. */
const [observeMinMs, observeMaxMs] = [100, 10_000] as const

/** What a look asks of the reservoir. */
export type ObservedJob = {
  /** Ids per second now. */
  rate(): number
  /** Starts a refill if one is due. */
  refillIfLow(): void
}

/** Looks at one reservoir. */
export class Observation implements Observed {
  readonly #observer: Observer
  readonly #source: IdSource
  readonly #job: ObservedJob
  #isObserved = false
  /** Whether it looks only to replace ids that expire. */
  #looks = false
  #observeMs: number = observeMinMs
  /** How many ids had been issued at the last look. */
  #observed = 0

  constructor(observer: Observer, source: IdSource, job: ObservedJob) {
    this.#observer = observer
    this.#source = source
    this.#job = job
  }

  /** Looks from now on, unless it does. */
  start(): void {
    if (this.#isObserved) return
    const delayMs = this.#nextMs()
    if (delayMs !== undefined) this.#observer.observe(this, delayMs)
  }

  /** Looks no more. */
  stop(): void {
    if (this.#isObserved) this.#observer.forget(this)
  }

  observe(): number | undefined {
    const { expiry, buffer } = this.#source
    if (this.#looks && expiry !== undefined) {
      if (buffer.issued > 0) expiry.look()
    } else {
      this.#observeMs = Math.min(observeMaxMs, this.#observeMs * 2)
      this.#source.observe?.(this.#job.rate())
    }
    this.#job.refillIfLow()
    return this.#nextMs()
  }

  #nextMs(): number | undefined {
    const { issued } = this.#source.buffer
    this.#looks = issued === this.#observed && (this.#looks || this.#observeMs === observeMaxMs)
    if (this.#looks) this.#observeMs = observeMinMs
    this.#observed = issued
    const delayMs = this.#looks ? this.#source.expiry?.lookMs : this.#observeMs
    this.#isObserved = delayMs !== undefined
    return delayMs
  }
}
