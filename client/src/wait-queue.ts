/**
 * Callers that wait for ids of one generator.
 *
 * Invariants
 *  1. Callers are served in the order in which they came; a caller that gives up leaves its place and gets no ids.
 *     Then `onLeft` looks at those behind it.
 *  2. Every caller is settled once: with ids, with its own timeout, its signal, or the queue's refusal.
 *  3. The process stays alive while a caller waits.
 */
import { assert } from '../../src/base/assert.ts'
import { type Clock, stayAlive, type Timer } from '../../src/base/clock.ts'
import type { FahaoError } from '../../src/base/errors.ts'
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

type Entry = Waiter & { readonly resolve: (runs: Run[]) => void; readonly reject: (error: Error) => void }

/** A queue of callers, first in, first out. */
export class WaitQueue {
  /** Callers that had to wait, in all. */
  waits = 0
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #late: () => FahaoError
  readonly #onLeft: () => void
  readonly #entries: Entry[] = []
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
    return this.#entries.length
  }

  /** The first of them. */
  get first(): Waiter | undefined {
    return this.#entries[0]
  }

  /** The ids that they wait for, in all. */
  get demand(): number {
    return this.#entries.reduce((sum, { count }) => sum + count, 0)
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
      const end = () => leave(aborted())
      const timer = this.#clock.timer(this.#timeoutMs, () => leave(this.#late()))
      const settled = () => {
        timer.cancel()
        signal?.removeEventListener('abort', end)
      }
      const entry: Entry = {
        ...waiter,
        resolve(runs) {
          settled()
          resolve(runs)
        },
        reject(error) {
          settled()
          reject(error)
        },
      }
      signal?.addEventListener('abort', end, { once: true })
      this.#entries.push(entry)
    })
  }

  /** Serves callers as long as `collect` returns ids for the first of them. What it throws is that caller's rejection. */
  serve(collect: (waiter: Waiter) => Run[] | undefined): void {
    for (let first = this.#entries[0]; first !== undefined; first = this.#entries[0]) {
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
    for (const entry of this.#entries.splice(0)) entry.reject(error)
    this.#rest()
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    assert((this.#alive !== undefined) === this.length > 0, 'the process stays alive while a caller waits')
    assert(new Set(this.#entries).size === this.length, 'each caller has one place')
    assert(this.waits >= this.length, 'who waits was counted')
  }

  #remove(entry: Entry): void {
    const at = this.#entries.indexOf(entry)
    if (at >= 0) this.#entries.splice(at, 1)
    this.#rest()
  }

  #rest(): void {
    if (this.#entries.length > 0) return
    this.#alive?.cancel()
    this.#alive = undefined
  }
}
