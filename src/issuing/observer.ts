/**
 * The observations of all issuers of a process: each is called again after the time that it names, as long as it names one.
 * One timer serves all that wait equally long, so an observed issuer costs some words: a timer of its own would cost
 * hundreds of bytes.
 *
 * Invariants
 *  1. An issuer is called once for each call of `observe`, not before its time.
 *  2. Those that wait equally long are called in the order in which they were added: the first one decides the timer.
 *  3. Many that are due at once are called in parts, between which others run.
 */
import type { Clock, Timer } from '../base/clock.ts'

/** What is observed. */
export interface Observed {
  /** Its time has come. Returns in how many ms it is to be called again; undefined: no more. */
  observe(): number | undefined
}

/** How many are called before others run. */
const calledTogether = 500

/** Those that wait equally long, the first one first, and when they are due. */
type Line = { readonly dueUs: Map<Observed, number>; timer: Timer | undefined }

/** Calls issuers when their times have come. */
export class Observer {
  readonly #clock: Clock
  readonly #lines = new Map<number, Line>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `item` in `delayMs`. */
  observe(item: Observed, delayMs: number): void {
    const line = this.#lines.get(delayMs) ?? { dueUs: new Map(), timer: undefined }
    this.#lines.set(delayMs, line)
    line.dueUs.set(item, this.#clock.monoUs() + delayMs * 1000)
    if (line.timer === undefined) this.#wait(line, delayMs)
  }

  /** Does not call `item`, unless it is added again. */
  forget(item: Observed): void {
    for (const [delayMs, { dueUs, timer }] of this.#lines) {
      if (!dueUs.delete(item) || dueUs.size > 0) continue
      timer?.cancel()
      this.#lines.delete(delayMs)
    }
  }

  #wait(line: Line, waitMs: number): void {
    line.timer = this.#clock.timer(waitMs, () => {
      line.timer = undefined
      this.#call(line)
    })
  }

  #call(line: Line): void {
    const nowUs = this.#clock.monoUs()
    let called = 0
    for (const [item, dueUs] of line.dueUs) {
      if (dueUs > nowUs || called++ === calledTogether) break
      line.dueUs.delete(item)
      const againMs = item.observe()
      if (againMs !== undefined) this.observe(item, againMs)
    }
    const [nextUs] = line.dueUs.values()
    if (nextUs !== undefined && line.timer === undefined)
      this.#wait(line, Math.max(0, Math.ceil((nextUs - nowUs) / 1000)))
  }
}
