/**
 * One timeline per process: wall clock at the start + monotonic elapsed, corrected forwards only.
 *
 * Invariants
 *  1. Neither `nowUs()` nor `burstUs()` ever goes back, whatever the wall clock does.
 *  2. A wall clock set back or frozen changes nothing: time goes on with the monotonic clock.
 *  3. A wall clock ahead by at most `leadMaxUs` is followed at once; one further ahead only as far as every
 *     reading for `settleUs` has found it, and this is reported. So a bad minute poisons no bound.
 *  4. A start more than `restMaxUs` beyond the last recorded write is such a step: time starts where that was
 *     recorded. A store may rest over a weekend without its first ids carrying an old time.
 *  5. `burstUs()` is at most one callback of the event loop or `burstReads` calls old.
 */
import type { Clock } from './clock.ts'

/** What happened to a wall clock that stood far ahead. */
export type ClockStep = {
  /** `held`: seen, not followed yet. `taken`: followed, it persisted. `gone`: it went back by itself. */
  readonly state: 'held' | 'taken' | 'gone'
  /** How far ahead of the timeline the wall clock stands, in µs. */
  readonly aheadUs: number
}

/** Limits of a timeline, and who is told about steps. */
export type TimelineOptions = {
  /** The largest step forwards that is followed at once, in µs. Default one hour. */
  readonly leadMaxUs?: number
  /** How long a larger step must persist, in µs. Default 5 s. */
  readonly settleUs?: number
  /** When the newest write was made, in µs since 1970, if anybody remembers. */
  readonly lastWriteUs?: number | undefined
  /** Called on each change of a large step. */
  readonly onStep?: (step: ClockStep) => void
}

const burstReads = 64
/** How long a store may have rested, at a start, before its clock is doubted: 30 days. */
const restMaxUs = 30 * 86_400_000_000

/** The process's time. See the invariants at the top of the file. */
export class Timeline {
  readonly #clock: Clock
  readonly #leadMaxUs: number
  readonly #settleUs: number
  readonly #onStep: (step: ClockStep) => void
  /** Timeline minus monotonic clock; only ever grows. */
  #offsetUs: number
  #heldSinceUs: number | undefined
  /** How far ahead every reading since then has found it, at least. */
  #heldAheadUs = 0
  #burstUs = 0
  #burstLeft = 0
  #endOfTurnAsked = false

  constructor(clock: Clock, options: TimelineOptions = {}) {
    this.#clock = clock
    this.#leadMaxUs = options.leadMaxUs ?? 3_600_000_000
    this.#settleUs = options.settleUs ?? 5_000_000
    this.#onStep = options.onStep ?? (() => {})
    const wallUs = clock.wallUs()
    const lastUs = options.lastWriteUs ?? wallUs
    const startUs = wallUs > lastUs + Math.max(restMaxUs, this.#leadMaxUs) ? lastUs : wallUs
    this.#offsetUs = startUs - clock.monoUs()
  }

  /** The time now, in whole µs since 1970. */
  nowUs(): number {
    const monoUs = this.#clock.monoUs()
    const aheadUs = this.#clock.wallUs() - (monoUs + this.#offsetUs)
    if (aheadUs > 0) {
      if (aheadUs <= this.#leadMaxUs) this.#offsetUs += aheadUs
      else if (this.#persists(monoUs, aheadUs)) this.#offsetUs += this.#heldAheadUs
    }
    if (this.#heldSinceUs !== undefined && aheadUs <= this.#leadMaxUs) this.#letGo('gone', aheadUs)
    return Math.floor(monoUs + this.#offsetUs)
  }

  /** The time, read once per callback of the event loop or `burstReads` calls, whichever comes first. */
  burstUs(): number {
    if (this.#burstLeft-- > 0) return this.#burstUs
    this.#burstLeft = burstReads - 1
    this.#burstUs = this.nowUs()
    if (!this.#endOfTurnAsked) {
      this.#endOfTurnAsked = true
      queueMicrotask(this.#endOfTurn)
    }
    return this.#burstUs
  }

  /** The same clock's monotonic reading, in µs; for measuring how long something took. */
  monoUs(): number {
    return this.#clock.monoUs()
  }

  #endOfTurn = () => {
    this.#burstLeft = 0
    this.#endOfTurnAsked = false
  }

  #persists(monoUs: number, aheadUs: number): boolean {
    if (this.#heldSinceUs === undefined) {
      this.#heldSinceUs = monoUs
      this.#heldAheadUs = aheadUs
      this.#onStep({ state: 'held', aheadUs })
      return false
    }
    this.#heldAheadUs = Math.min(this.#heldAheadUs, aheadUs)
    if (monoUs - this.#heldSinceUs < this.#settleUs) return false
    this.#letGo('taken', this.#heldAheadUs)
    return true
  }

  #letGo(state: 'taken' | 'gone', aheadUs: number): void {
    this.#heldSinceUs = undefined
    this.#onStep({ state, aheadUs })
  }
}
