/**
 * The ids of one generator that callers issue in their own processes, as this node knows them since it opened the generator.
 *
 * Invariants
 *  1. Each count only grows. `leased` counts the ids in ranges that this node has leased. `drawn` and `returned` count what
 *     callers have reported to this node, also of leases from other nodes: on one node any of the three may be the largest.
 *     Of a `segment`, the sums over all nodes, `leased` − `returned` − `drawn`, are the ids that callers hold or have lost.
 *  2. `returned` counts what a caller does not use, whether it can be issued again or not; `gap` is the part of it that cannot.
 *  3. The rate counts the ids that callers use up: those that were leased and cannot be issued again, or those that were drawn
 *     if they are more. Of a `snowflake` they are more, because its callers lease time and not ids. The rate is an average
 *     over a minute or more, because leases come seldom and each lasts for minutes.
 */
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'

/** Figures since the generator was opened here. */
export type CallerStats = {
  /** Ids in ranges that callers got. */
  readonly leased: number
  /** Ids that callers have issued, as they report with later requests. */
  readonly drawn: number
  /** Ids in ranges that callers have given back unused. */
  readonly returned: number
  /** Returned ids that no caller gets, because the counter had moved on. */
  readonly gap: number
  /** Ids that callers use up per second, over the last minute, or between the last two leases or reports. */
  readonly callersPerSecond: number
}

/** The figures of a generator whose ids no caller holds. */
export const noCallers: CallerStats = Object.freeze({
  leased: 0,
  drawn: 0,
  returned: 0,
  gap: 0,
  callersPerSecond: 0,
})

const spanUs = 60_000_000
const markUs = 1_000_000

/** Counts what callers have. */
export class CallerIds {
  readonly #clock: Clock
  /** The ids that were used up at some moments, at least `markUs` apart. Only the first moment may be more than `spanUs` ago. */
  readonly #marks: { readonly us: number; used: number }[]
  #leased = 0
  #drawn = 0
  #returned = 0
  #gap = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#marks = [{ us: clock.monoUs(), used: 0 }]
  }

  /** Whether callers had anything. */
  get isUsed(): boolean {
    return this.#leased + this.#drawn + this.#returned > 0
  }

  /** A caller got a range of `ids` ids. */
  leased(ids: number): void {
    this.#leased += ids
    this.#mark()
  }

  /** The ids that a caller has issued since its last report. */
  drawn(ids: number): void {
    assert(ids >= 0, 'ids are drawn')
    this.#drawn += ids
    if (ids > 0) this.#mark()
  }

  /** A caller gave back `ids` ids of a range; `gap` of them cannot be issued again. */
  returned(ids: number, gap: number): void {
    assert(gap >= 0 && gap <= ids, 'a gap is of what was given back')
    this.#returned += ids
    this.#gap += gap
    this.#mark()
  }

  /** Figures for INFO and metrics. */
  stats(): CallerStats {
    return {
      leased: this.#leased,
      drawn: this.#drawn,
      returned: this.#returned,
      gap: this.#gap,
      callersPerSecond: this.#perSecond(),
    }
  }

  #mark(): void {
    const us = this.#clock.monoUs()
    const used = Math.max(this.#leased - this.#returned + this.#gap, this.#drawn)
    const newest = this.#marks.at(-1)!
    // The first mark is where the time begins.
    if (this.#marks.length > 1 && us - newest.us < markUs) newest.used = used
    else this.#marks.push({ us, used })
    while (this.#marks.length > 2 && this.#marks[1]!.us <= us - spanUs) this.#marks.shift()
  }

  #perSecond(): number {
    const [first, newest] = [this.#marks[0]!, this.#marks.at(-1)!]
    const passedUs = Math.max(newest.us - first.us, this.#clock.monoUs() - newest.us, spanUs)
    return Math.max(0, ((newest.used - first.used) / passedUs) * 1_000_000)
  }
}
