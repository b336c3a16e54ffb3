/**
 * Where the proxy takes ids from.
 *
 * Invariants
 *  1. A call ends after `timeoutMs`, and when its signal is aborted. Then the maker is told, and no further id is drawn.
 *  2. Ids that are at hand cost no promise, no timer and no signal.
 */
import { systemClock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { formatDuration } from '../base/units.ts'
import { goneError } from './pacing.ts'
import type { DrawnIds } from './sql/fill.ts'

/** Makes ids of generators. */
export interface IdMaker {
  /** The next `count` ids of a generator, if they are at hand; undefined: `draw` them. Throws a FahaoError. */
  tryDraw(generator: string, count: number): DrawnIds | undefined
  /**
   * The next `count` ids, contiguous where the kind allows it. Rejects with a FahaoError.
   * @param signal ends the wait; no id is drawn after it.
   */
  draw(generator: string, count: number, signal: AbortSignal): Promise<DrawnIds>
  /** Whether the ids of a generator are texts; undefined: `openIsText` finds out. */
  tryIsText(generator: string): boolean | undefined
  /** The same; opens the generator. Rejects as `draw` does. */
  openIsText(generator: string, signal: AbortSignal): Promise<boolean>
}

/** Gives ids of a maker within a time. */
export class IdSupply {
  readonly #maker: IdMaker
  readonly #timeoutMs: number

  constructor(maker: IdMaker, timeoutMs: number) {
    this.#maker = maker
    this.#timeoutMs = timeoutMs
  }

  /**
   * The next `count` ids of a generator, contiguous where its kind allows it. Throws or rejects with a FahaoError:
   * UNAVAILABLE after the time, ABORTED once `signal` is aborted.
   */
  take(generator: string, count: number, signal: AbortSignal): DrawnIds | Promise<DrawnIds> {
    return (
      this.#maker.tryDraw(generator, count) ??
      this.#inTime(generator, signal, (ending) => this.#maker.draw(generator, count, ending))
    )
  }

  /** Whether the ids of a generator are texts. Throws or rejects as `take` does. */
  isText(generator: string, signal: AbortSignal): boolean | Promise<boolean> {
    return (
      this.#maker.tryIsText(generator) ??
      this.#inTime(generator, signal, (ending) => this.#maker.openIsText(generator, ending))
    )
  }

  #inTime<Result>(
    generator: string,
    signal: AbortSignal,
    ask: (ending: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    if (signal.aborted) return Promise.reject(goneError())
    return new Promise((resolve, reject) => {
      const ending = new AbortController()
      const end = (error: FahaoError) => {
        reject(error)
        ending.abort()
      }
      const onAbort = () => end(goneError())
      const timer = systemClock.timer(this.#timeoutMs, () => end(this.#late(generator)))
      signal.addEventListener('abort', onAbort, { once: true })
      ask(ending.signal)
        .finally(() => {
          timer.cancel()
          signal.removeEventListener('abort', onAbort)
        })
        .then(resolve, reject)
    })
  }

  #late(generator: string): FahaoError {
    const waited = formatDuration(this.#timeoutMs)
    return new FahaoError(
      'UNAVAILABLE',
      `no id of '${generator}' came within ${waited}, so the statement was not sent; retry it, and check that Fahao answers (proxy-id-timeout)`,
    )
  }
}
