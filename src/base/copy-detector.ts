/**
 * Notices that the memory of this process may exist twice: a snapshot of a virtual machine that was resumed, a process
 * that was restored from its image. What such a process has reserved belongs to its copy as much as to itself, so it must
 * drop all of it. Pure: a node and the client use it, also in a browser.
 *
 * Invariants
 *  1. When `check` returns, everything that `onCopy` drops has been dropped: a caller that calls it before it issues, in
 *     the same callback of the event loop, issues nothing that a copy holds, as far as the copy can be noticed.
 *  2. A copy is noticed when a mark of the machine or of the process has changed, or when wall time has run ahead of
 *     monotonic time by more than `marginMs` since the last look. Slewing and smaller steps do nothing; a larger step of
 *     the wall clock forwards looks the same as a copy, and costs a gap.
 *  3. A wall clock that is set back is no copy: a copy is resumed later than it was made.
 *  4. A copy is noticed once. Where both clocks stood still and no mark has changed, nothing can be noticed.
 */
import { type Clock, repeat, type Timer } from './clock.ts'

/** A value that differs between a process and its copy, on some machines. */
export type CopyMark = {
  /** For messages: `the process id`. */
  readonly name: string
  /** The value now; `undefined` where it cannot be read. Called at every look, so it must be cheap, and not throw. */
  readonly read: () => string | number | bigint | undefined
}

/** The parts of a copy detector. */
export type CopyDetectorOptions = {
  readonly clock: Clock
  /** By how much wall time may run ahead of monotonic time between two looks, in ms. Default 1000. */
  readonly marginMs?: number
  /** What else to compare; default nothing. */
  readonly marks?: readonly CopyMark[]
  /** Drops what a copy may hold too, before it returns. `reason` in a few words, for a log. */
  readonly onCopy: (reason: string) => void
}

/** The default of `CopyDetectorOptions.marginMs`: above the steps that time services make while they keep a clock right. */
export const copyMarginMs = 1000

/** How often `watch` looks, in ms: between two looks, slewing cannot reach the margin. */
const watchMs = 1000

/** Compares clocks and marks with those of the last look. */
export class CopyDetector {
  /** How many copies have been noticed. */
  count = 0
  readonly #clock: Clock
  readonly #marginUs: number
  readonly #marks: readonly CopyMark[]
  readonly #values: ReturnType<CopyMark['read']>[]
  readonly #onCopy: (reason: string) => void
  /** Wall time minus monotonic time at the last look, in µs. */
  #aheadUs: number

  constructor({ clock, marginMs = copyMarginMs, marks = [], onCopy }: CopyDetectorOptions) {
    this.#clock = clock
    this.#marginUs = marginMs * 1000
    this.#marks = marks
    this.#values = marks.map(({ read }) => read())
    this.#onCopy = onCopy
    this.#aheadUs = clock.wallUs() - clock.monoUs()
  }

  /**
   * Looks, and calls `onCopy` before it returns if this memory may have been copied since the last look. Returns whether
   * it was. Two readings of clocks: call it once per callback of the event loop, before ids are issued in it.
   */
  check(): boolean {
    const aheadUs = this.#clock.wallUs() - this.#clock.monoUs()
    const steppedUs = aheadUs - this.#aheadUs
    this.#aheadUs = aheadUs
    const changed = this.#changedMark()
    if (steppedUs <= this.#marginUs && changed === undefined) return false
    const seconds = Math.round(steppedUs / 1_000_000)
    this.report(changed ?? `wall time ran ahead of monotonic time by ${seconds} s`)
    return true
  }

  /** A copy was noticed elsewhere: a record shows what only a copy of this memory can have written. Calls `onCopy`. */
  report(reason: string): void {
    this.count++
    this.#onCopy(reason)
  }

  /** Looks for copies every second, until the timer is cancelled: an idle process, too, drops what it holds. */
  watch(): Timer {
    return repeat(this.#clock, watchMs, async () => this.check())
  }

  /** Remembers the marks as they are now. Returns the first that has changed, as a reason. */
  #changedMark(): string | undefined {
    let reason: string | undefined
    for (let index = 0; index < this.#marks.length; index++) {
      const value = this.#marks[index]!.read()
      if (value === this.#values[index]) continue
      this.#values[index] = value
      reason ??= `${this.#marks[index]!.name} changed`
    }
    return reason
  }
}
