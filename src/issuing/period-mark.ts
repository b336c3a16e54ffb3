/**
 * The mark of a generator with periods, as one process knows it: no id has left any process of a period above it.
 *
 * Invariants
 *  1. `known` is at most what the store has: it grows by a write that was acknowledged, or by a read.
 *  2. A write without a reply is repeated, for as long as a caller may wait: it changes nothing if it was carried out before.
 *  3. Calls of one period share the write.
 */

import { FahaoError, hasCode } from '../base/errors.ts'
import type { Periods } from '../ids/period.ts'
import type { Incarnation } from './incarnation.ts'
import { dry } from './issuer.ts'
import { firstValue, positionOf } from './period-counters.ts'
import { waitingHelps } from './refills.ts'
import { ReservedCounter, type ReservedCounterOptions } from './reserved-counter.ts'
import type { ReservoirOptions } from './reservoir-options.ts'

/** What marks take from their process. */
export type PeriodMarkOptions = Pick<
  ReservoirOptions,
  'clock' | 'issueTimeoutMs' | 'waitersMax' | 'onStale'
> &
  ReservedCounterOptions

type Period = { readonly ordinal: number; readonly label: bigint }

const [pauseMinMs, pauseMaxMs] = [20, 1000]

/** Reads and raises the mark of one generator. */
export class PeriodMark {
  /** The mark stands here or above. */
  known: number
  readonly #incarnation: Incarnation
  readonly #periods: Periods
  readonly #options: PeriodMarkOptions
  readonly #counter: ReservedCounter
  #writing: { readonly ordinal: number; readonly written: Promise<void> } | undefined
  #waiting = 0

  /** @param bound of the generator's own counter. With a fence the mark is written again: that refuses the leaders before. */
  constructor(incarnation: Incarnation, periods: Periods, bound: bigint, options: PeriodMarkOptions) {
    this.#incarnation = incarnation
    this.#periods = periods
    this.#options = options
    this.#counter = new ReservedCounter(incarnation, bound, options)
    this.known = incarnation.fence === undefined ? positionOf(periods, bound).ordinal : -1
  }

  /** Resolves when the mark stands at a period or above. `over`: why nothing is to be written any more. */
  async reach(period: Period, over: () => Error | undefined): Promise<void> {
    const { waitersMax } = this.#options
    if (this.#waiting >= waitersMax)
      throw new FahaoError('BUSY', `${this.#waiting} requests wait for a period to begin; retry with a pause`)
    this.#waiting++
    try {
      if (this.#writing?.ordinal !== period.ordinal)
        this.#writing = { ordinal: period.ordinal, written: this.#write(period, over) }
      await this.#writing.written
    } finally {
      this.#waiting--
    }
  }

  /** Reads the mark. Rejects with UNAVAILABLE. */
  async read(): Promise<number> {
    const { bound } = await this.#options.engine.counter(this.#incarnation.counter)
    const { ordinal } = positionOf(this.#periods, bound)
    if (this.known >= 0 && ordinal > this.known) this.known = ordinal
    return ordinal
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#writing?.written.catch(() => {})
  }

  async #write({ ordinal, label }: Period, over: () => Error | undefined): Promise<void> {
    const { clock, issueTimeoutMs, onStale } = this.#options
    const { name } = this.#incarnation
    const untilUs = clock.monoUs() + issueTimeoutMs * 1000
    try {
      for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(pauseMaxMs, pauseMs * 2)) {
        const reason = over()
        if (reason !== undefined) throw reason
        try {
          await this.#counter.raise(firstValue(this.#periods, ordinal))
          // Another node may have marked a later one.
          this.known = Math.max(ordinal, positionOf(this.#periods, this.#counter.bound).ordinal)
          return
        } catch (error) {
          if (hasCode(error, 'STALE')) onStale?.(name)
          if (!waitingHelps(error)) throw error
          if (clock.monoUs() + pauseMs * 1000 > untilUs)
            throw dry(`generator '${name}' has not begun period ${label} in the store`, error)
        }
        await new Promise<void>((resolve) => clock.timer(pauseMs, resolve, true))
      }
    } finally {
      if (this.#writing?.ordinal === ordinal) this.#writing = undefined
    }
  }
}
