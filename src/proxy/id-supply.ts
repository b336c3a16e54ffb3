/**
 * Where the proxy takes ids from.
 *
 * Invariants
 *  1. A call ends after `timeoutMs`, and when its signal is aborted. Then the maker is told, and no further id is drawn.
 *  2. Ids of one statement that are at hand cost no promise, no timer and no signal.
 *  3. A text waits for one draw at a time, however many statements it has: listeners on one signal take the square of their
 *     number. No more ids are drawn than the text needs.
 */
import { systemClock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { formatDuration } from '../base/units.ts'
import { goneError, laterTurn } from './pacing.ts'
import type { DrawnIds } from './sql/fill.ts'

/** Makes ids of generators. */
export interface IdMaker {
  /** The next `count` ids of a generator, if they are at hand; undefined: `draw` them. Throws a FahaoError. */
  tryDraw(generator: string, count: number): DrawnIds | undefined
  /**
   * The next `count` ids. Rejects with a FahaoError.
   * @param signal ends the wait; no id is drawn after it.
   * @param contiguous whether they follow one another, where the kind allows it.
   */
  draw(generator: string, count: number, signal: AbortSignal, contiguous: boolean): Promise<DrawnIds>
  /** Whether the ids of a generator are texts; undefined: `openIsText` finds out. */
  tryIsText(generator: string): boolean | undefined
  /** The same; opens the generator. Rejects as `draw` does. */
  openIsText(generator: string, signal: AbortSignal): Promise<boolean>
}

/** What one statement draws. */
export type Draw = { readonly generator: string; readonly count: number }

/** Statements whose ids are drawn together: their places in a text, and how many ids they need. */
type Batch = { readonly generator: string; readonly places: number[]; count: number; contiguous: boolean }

/** The ids of several statements are drawn together up to this number. */
const batchMax = 1000

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
  take(
    generator: string,
    count: number,
    signal: AbortSignal,
    contiguous = true,
  ): DrawnIds | Promise<DrawnIds> {
    return (
      this.#maker.tryDraw(generator, count) ??
      this.#inTime(generator, signal, (ending) => this.#maker.draw(generator, count, ending, contiguous))
    )
  }

  /**
   * The ids of each statement of a text, those of one statement contiguous where the kind allows it. Rejects as `take` does;
   * the time is that of each draw.
   */
  async takeEach(draws: readonly Draw[], signal: AbortSignal): Promise<readonly DrawnIds[]> {
    const drawn: DrawnIds[] = Array(draws.length)
    for (const [index, batch] of batchesOf(draws).entries()) {
      if (index > 0) await laterTurn(signal)
      const { generator, places, count, contiguous } = batch
      const { ids, isText } = await this.take(generator, count, signal, contiguous)
      let from = 0
      for (const place of places) {
        const to = from + (draws[place]?.count ?? 0)
        drawn[place] = { ids: ids.slice(from, to), isText }
        from = to
      }
    }
    return drawn
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

/** The fewest draws, for which no statement's ids are parted. A statement of many rows is a draw by itself. */
function batchesOf(draws: readonly Draw[]): Batch[] {
  const batches: Batch[] = []
  const open = new Map<string, Batch>()
  for (const [place, { generator, count }] of draws.entries()) {
    let batch = open.get(generator)
    if (batch === undefined || batch.count + count > batchMax) {
      batch = { generator, places: [], count: 0, contiguous: false }
      batches.push(batch)
      open.set(generator, batch)
    }
    batch.places.push(place)
    batch.count += count
    batch.contiguous ||= count > 1
  }
  return batches
}
