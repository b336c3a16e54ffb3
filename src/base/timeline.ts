/**
 * The timeline of a process: the wall clock at the start plus elapsed monotonic time, corrected forwards only.
 *
 * Invariants
 *  1. Neither `nowUs()` nor `burstUs()` ever decreases, whatever the wall clock does.
 *  2. A wall clock that is set back or frozen has no effect: time advances with the monotonic clock.
 *  3. The timeline follows a wall clock ahead by at most `leadMaxUs` at once. A larger step must persist for `settleUs`;
 *     the timeline then follows it as far as every reading in that time was ahead, and reports it. So a clock that is
 *     wrong for a minute spoils no bound.
 *  4. A wall clock more than `restMaxUs` past the last recorded write at the start counts as such a step: the timeline
 *     starts at that write. A store that was idle for a weekend is below this limit, so its first ids carry the
 *     present time.
 *  5. `burstUs()` is at most one callback of the event loop or `burstReads` calls old.
 */
import { atEndOfCallback, type Clock } from './clock.ts'

/** A step of the wall clock beyond `leadMaxUs`. */
export type ClockStep = {
  /** `held`: seen, not followed yet. `taken`: it persisted and was followed. `gone`: the wall clock came back. */
  readonly state: 'held' | 'taken' | 'gone'
  /** How far the wall clock is ahead of the timeline, in µs. */
  readonly aheadUs: number
}

/** Limits of a timeline, and the listener for steps. */
export type TimelineOptions = {
  /** The largest step that is followed at once, in µs. Default one hour. */
  readonly leadMaxUs?: number
  /** How long a larger step must persist, in µs. Default 5 s. */
  readonly settleUs?: number
  /** Time of the newest recorded write, in µs since 1970; undefined if unknown. */
  readonly lastWriteUs?: number | undefined
  /** Called when a jump of the wall clock by more than `leadMaxUs` is first held back, is taken over, or has gone. */
  readonly onStep?: (step: ClockStep) => void
}

const burstReads = 64
/** The longest idle time of a store after which the clock is trusted at the start: 30 days. */
const restMaxUs = 30 * 86_400_000_000

/** The time of a process. */
export class Timeline {
  readonly #clock: Clock
  readonly #leadMaxUs: number
  readonly #settleUs: number
  readonly #onStep: (step: ClockStep) => void
  /** Timeline minus monotonic clock; never decreases. */
  #offsetUs: number
  #heldSinceUs: number | undefined
  /** The least lead of the wall clock in all readings since then. */
  #heldAheadUs = 0
  #burstUs = 0
  #burstLeft = 0
  readonly #endSoon = atEndOfCallback(() => {
    this.#burstLeft = 0
  })

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
    if (this.#heldSinceUs !== undefined && aheadUs <= this.#leadMaxUs) this.#endStep('gone', aheadUs)
    return Math.floor(monoUs + this.#offsetUs)
  }

  /** The time, read once per callback of the event loop or `burstReads` calls, whichever comes first. */
  burstUs(): number {
    if (this.#burstLeft-- > 0) return this.#burstUs
    this.#burstLeft = burstReads - 1
    this.#burstUs = this.nowUs()
    this.#endSoon()
    return this.#burstUs
  }

  /** How far the wall clock is ahead by a step that is not followed yet, in µs, in all readings since; 0: there is none. */
  get heldUs(): number {
    return this.#heldSinceUs === undefined ? 0 : this.#heldAheadUs
  }

  /** The monotonic reading of the same clock, in µs; for measuring durations. */
  monoUs(): number {
    return this.#clock.monoUs()
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
    this.#endStep('taken', this.#heldAheadUs)
    return true
  }

  #endStep(state: 'taken' | 'gone', aheadUs: number): void {
    this.#heldSinceUs = undefined
    this.#onStep({ state, aheadUs })
  }
}
