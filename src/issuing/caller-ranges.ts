/**
 * Ranges of a counter for callers that issue the ids themselves: each is reserved for one caller, beside the buffer of
 * this process.
 *
 * Invariants
 *  1. A caller gets a range only after the engine has acknowledged its reserve (P2). A range whose reserve failed, or
 *     whose outcome is unknown, is a gap (P8).
 *  2. Each range has a `ReservedCounter` of its own. So its release names the version that its own reserve made, and the
 *     engine refuses it once another reserve or release has changed the counter, also one of the buffer here.
 *  3. Each range starts at or above the end of every range before it, less what was released, so that an engine that forgot
 *     writes does not open a range to two callers of this process.
 *  4. A range is released once. After `close` no range is reserved, and one whose reserve was under way is a gap; a release
 *     is still sent, for the counter refuses that of an earlier incarnation.
 */
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import type { Range, Reservation } from '../engine/engine.ts'
import { countBelow, firstFrom } from '../ids/run.ts'
import { CallerIds } from './caller-ids.ts'
import type { Incarnation } from './incarnation.ts'
import { exhausted } from './issuer.ts'
import { ReservedCounter, type ReservedCounterOptions } from './reserved-counter.ts'

/** What the callers' ranges of all generators with one definition share. */
export type CallerRangesOptions = ReservedCounterOptions & {
  readonly clock: Clock
  /** The largest raw value. */
  readonly max: bigint
  /** Ids are ≡ `offset` (mod `increment`). */
  readonly increment: number
  readonly offset: bigint
}

/** A range of raw values that belongs to one caller. */
export type CallerRange = Range & {
  /** How many ids it has. */
  readonly ids: number
  /**
   * Gives back `[from, end)`, of which the caller has issued nothing and will issue nothing. Resolves to how many ids
   * went back: 0 where the range is no longer on top of the counter's bound, or nothing is known of the release. Call it
   * once. Never rejects.
   */
  readonly release: (from: bigint) => Promise<number>
}

/** Reserves ranges of one incarnation's counter for callers. */
export class CallerRanges {
  /** What callers have. */
  readonly ids: CallerIds
  readonly #incarnation: Incarnation
  readonly #options: CallerRangesOptions
  /** The end of the newest range, or where its release has moved it. */
  #bound: bigint
  #newestVersion = -1n
  #closed: Error | undefined

  /** @param bound the counter's bound when the generator was opened; 0 when it had never been used. */
  constructor(bound: bigint, incarnation: Incarnation, options: CallerRangesOptions) {
    const { floor } = incarnation
    this.#bound = bound > floor ? bound : floor
    this.#incarnation = incarnation
    this.#options = options
    this.ids = new CallerIds(options.clock)
  }

  /**
   * Reserves a range of `ids` ids, or all that are left. Rejects with EXHAUSTED, STALE, UNAVAILABLE, UNKNOWN or REGRESSED, and
   * with the reason of `close`.
   */
  async reserve(ids: number): Promise<CallerRange> {
    assert(ids >= 1, 'a caller asks for ids')
    if (this.#closed !== undefined) throw this.#closed
    const { max, increment } = this.#options
    const counter = new ReservedCounter(this.#incarnation, this.#bound, this.#options)
    const reservation = await counter.reserveUpTo(BigInt(ids) * BigInt(increment), max + 1n)
    this.#follow(reservation)
    // The copy of a memory that was made meanwhile may have got the same range; the generator is closed then.
    this.#options.copies?.check()
    if (this.#closed !== undefined) throw this.#closed
    const { start, end } = reservation
    const count = this.#idsOf(start, end)
    // What is left of the space is smaller than the distance between ids.
    if (count === 0) throw exhausted(this.#incarnation.name, max)
    this.ids.leased(count, end)
    const release = (from: bigint) => this.#release(counter, reservation, from)
    return { start, end, ids: count, release }
  }

  /** Rejects every reserve from now on. */
  close(reason: Error): void {
    this.#closed ??= reason
  }

  async #release(
    counter: ReservedCounter,
    { start, end, version }: Reservation,
    from: bigint,
  ): Promise<number> {
    assert(from >= start && from <= end, 'a caller gives back what it got')
    if (!(await counter.release(from))) return 0
    if (this.#newestVersion === version) this.#bound = from
    const ids = this.#idsOf(from, end)
    this.ids.returned(ids)
    return ids
  }

  #idsOf(start: bigint, end: bigint): number {
    const { increment, offset } = this.#options
    return countBelow(firstFrom(start, increment, offset), end, increment)
  }

  #follow({ end, version }: Reservation): void {
    if (version > this.#newestVersion) this.#newestVersion = version
    if (end > this.#bound) this.#bound = end
  }
}
