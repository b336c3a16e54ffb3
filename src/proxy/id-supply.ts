/**
 * Where the proxy takes ids from.
 *
 * Invariants
 *  1. A call ends after `timeoutMs`, and when its signal is aborted. Then the maker is told, and no further id is drawn.
 *  2. Ids of one statement that are buffered cost no promise, no timer and no signal.
 *  3. A text draws once of each generator, one after the other, and no more ids than it has rows.
 */
import { systemClock } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import { formatDuration } from '../base/units.ts'
import type { DrawnIds } from './sql/fill-ids.ts'

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
  /** Opens a generator, so that no draw waits for that. Rejects as `draw` does. */
  open(generator: string, signal: AbortSignal): Promise<unknown>
}

/** Counters of what was filled in. */
export type FillingTotals = {
  /** Statements that got ids. */
  filled: number
  ids: number
  /** Statements that were refused because their table has no guard, or because their column cannot hold the ids. */
  refused: number
  /** Statements that were not sent because there was no id. */
  failed: number
  /** Statements that may insert into a filled table, and passed as they came. */
  passed: number
  /** Questions that the proxy has asked servers by itself. */
  questions: number
}

/** What one statement draws. */
export type Draw = { readonly generator: string; readonly count: number }

/** Gives ids of a maker within a time. */
export class IdSupply {
  readonly totals: FillingTotals = { filled: 0, ids: 0, refused: 0, failed: 0, passed: 0, questions: 0 }
  readonly #maker: IdMaker
  readonly #timeoutMs: number
  readonly #onMissingId: (reason: string) => void

  /** @param onMissingId called when a statement is not sent because there is no id for it. */
  constructor(maker: IdMaker, timeoutMs: number, onMissingId: (reason: string) => void = () => {}) {
    this.#maker = maker
    this.#timeoutMs = timeoutMs
    this.#onMissingId = onMissingId
  }

  /** Counts a statement that is not sent because there is no id for it. */
  missed(reason: string): void {
    this.totals.failed++
    this.#onMissingId(reason)
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
    if (signal.aborted) throw goneError()
    return (
      this.#maker.tryDraw(generator, count) ??
      this.#inTime(generator, signal, (ending) => this.#maker.draw(generator, count, ending, contiguous))
    )
  }

  /**
   * The ids of each statement of a text: one batch for each generator, contiguous where the kind allows it if a statement needs
   * several. Throws or rejects as `take` does; the time is that of each batch.
   */
  takeEach(draws: readonly Draw[], signal: AbortSignal): readonly DrawnIds[] | Promise<readonly DrawnIds[]> {
    const [only, ...others] = draws
    if (only === undefined || others.length > 0) return this.#takeEach(draws, signal)
    const drawn = this.take(only.generator, only.count, signal)
    return drawn instanceof Promise ? drawn.then((ids) => [ids]) : [drawn]
  }

  async #takeEach(draws: readonly Draw[], signal: AbortSignal): Promise<readonly DrawnIds[]> {
    const drawn: DrawnIds[] = Array(draws.length)
    for (const [generator, own = []] of Map.groupBy(draws.entries(), ([, draw]) => draw.generator)) {
      const total = own.reduce((sum, [, { count }]) => sum + count, 0)
      const contiguous = own.some(([, { count }]) => count > 1)
      const { ids, isText } = await this.take(generator, total, signal, contiguous)
      let from = 0
      for (const [place, { count }] of own) {
        drawn[place] = { ids: ids.slice(from, from + count), isText }
        from += count
      }
    }
    return drawn
  }

  /** Opens generators. Resolves to those that give no ids now, and why. */
  async open(generators: ReadonlySet<string>, signal: AbortSignal): Promise<Map<string, string>> {
    const missing = new Map<string, string>()
    const opened = (generator: string) =>
      this.#inTime(generator, signal, (ending) => this.#maker.open(generator, ending))
    await Promise.all(
      [...generators].map((generator) =>
        opened(generator).catch((error) => missing.set(generator, describe(error))),
      ),
    )
    return missing
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
        ending.abort(error)
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

/** The client is gone, so that its statement is not sent. */
export function goneError(): FahaoError {
  return new FahaoError('ABORTED', 'the client has ended the connection, so its statement was not sent')
}
