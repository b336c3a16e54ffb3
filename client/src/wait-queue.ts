/**
 * Callers that wait for ids of one generator.
 *
 * Invariants
 *  1. Callers are served in the order in which they came; a caller that gives up leaves its place and gets no ids.
 *     Then `onLeft` looks at those behind it.
 *  2. Every caller is settled once: with ids, with its own timeout, its signal, or the queue's refusal.
 *  3. The process stays alive while a caller waits.
 *  4. To leave takes the same time however many callers wait: those that have left keep their place until they are more than the others.
 */
import { assert } from '../../src/base/assert.ts'
import { type Clock, stayAlive, type Timer } from '../../src/base/clock.ts'
import type { FahaoError } from '../../src/base/errors.ts'
import { onAbort } from '../../src/base/on-abort.ts'
import type { Run } from '../../src/ids/run.ts'
import { aborted } from './within.ts'

/** A caller. */
export type Waiter = {
  readonly count: number
  /** Whether it takes ids up to 2^53−1 only. */
  readonly safe: boolean
  /** Whether its ids follow one another. */
  readonly contiguous?: boolean
}

type Entry = Waiter & {
  readonly resolve: (runs: Run[]) => void
  readonly reject: (error: Error) => void
  isGone: boolean
}

/** Places of callers that have left are removed when they are more than the others by this. */
const slack = 64

/** A queue of callers, first in, first out. */
export class WaitQueue {
  /** Callers that had to wait, in all. */
  waits = 0
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #late: () => FahaoError
  readonly #onLeft: () => void
  #entries: Entry[] = []
  /** The place before which all have left. */
  #head = 0
  #length = 0
  #alive: Timer | undefined

  /**
   * @param late the error of a caller that has waited for `timeoutMs`.
   * @param onLeft called when a caller has given up, to serve the others.
   */
  constructor(clock: Clock, timeoutMs: number, late: () => FahaoError, onLeft: () => void = () => {}) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#late = late
    this.#onLeft = onLeft
  }

  /** How many callers wait. */
  get length(): number {
    return this.#length
  }

  /** The first of them. */
  get first(): Waiter | undefined {
    return this.#first()
  }

  /** The ids that they wait for, in all. */
  get demand(): number {
    return this.#entries.reduce((sum, { count, isGone }) => (isGone ? sum : sum + count), 0)
  }

  /** Waits for ids. */
  wait(waiter: Waiter, signal?: AbortSignal): Promise<Run[]> {
    if (signal?.aborted) return Promise.reject(aborted())
    this.waits++
    this.#alive ??= stayAlive()
    return new Promise((resolve, reject) => {
      const leave = (error: Error) => {
        this.#remove(entry)
        entry.reject(error)
        this.#onLeft()
      }
      const forget = onAbort(signal, () => leave(aborted()))
      const timer = this.#clock.timer(this.#timeoutMs, () => leave(this.#late()))
      const settled = () => {
        timer.cancel()
        forget()
      }
      const entry: Entry = {
        ...waiter,
        isGone: false,
        resolve(runs) {
          settled()
          resolve(runs)
        },
        reject(error) {
          settled()
          reject(error)
        },
      }
      this.#entries.push(entry)
      this.#length++
    })
  }

  /** Serves callers as long as `collect` returns ids for the first of them. What it throws is that caller's rejection. */
  serve(collect: (waiter: Waiter) => Run[] | undefined): void {
    for (let first = this.#first(); first !== undefined; first = this.#first()) {
      let runs: Run[] | undefined
      try {
        runs = collect(first)
      } catch (error) {
        this.#remove(first)
        first.reject(error as Error)
        continue
      }
      if (runs === undefined) return
      this.#remove(first)
      first.resolve(runs)
    }
  }

  /** Rejects all callers. */
  refuse(error: Error): void {
    for (let first = this.#first(); first !== undefined; first = this.#first()) {
      this.#remove(first)
      first.reject(error)
    }
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    assert((this.#alive !== undefined) === this.length > 0, 'the process stays alive while a caller waits')
    const waiting = this.#entries.filter(({ isGone }) => !isGone)
    assert(new Set(waiting).size === this.length, 'each caller has one place')
    assert(this.#entries.length <= 2 * this.length + slack, 'memory is bounded by those that wait')
    assert(this.waits >= this.length, 'who waits was counted')
  }

  #first(): Entry | undefined {
    while (this.#entries[this.#head]?.isGone) this.#head++
    return this.#entries[this.#head]
  }

  #remove(entry: Entry): void {
    if (entry.isGone) return
    entry.isGone = true
    this.#length--
    if (this.#length === 0) {
      this.#alive?.cancel()
      this.#alive = undefined
    }
    if (this.#entries.length <= 2 * this.#length + slack) return
    this.#entries = this.#entries.filter(({ isGone }) => !isGone)
    this.#head = 0
  }
}
