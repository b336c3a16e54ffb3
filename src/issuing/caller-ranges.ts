/**
 * Ranges of a counter for callers that issue the ids themselves: each is reserved for one caller, beside the buffer of
 * this process.
 *
 * Invariants
 *  1. A caller gets a range only after the engine has acknowledged its reserve (P2). A range whose reserve failed, or
 *     whose outcome is unknown, is a gap (P8).
 *  2. Each range has a `ReservedCounter` of its own. So its release names one version, and the engine refuses it once another
 *     reserve or release has changed the counter, also one of the buffer here. The version is that of its own reserve, or
 *     of the release by which the range above it went back as a whole.
 *  3. Each range starts at or above the end of every range before it, less what was released, so that an engine that forgot
 *     writes does not open a range to two callers of this process.
 *  4. A value is released once, and only by the caller of its range: the range ends at FROM before the release is sent, whatever the
 *     outcome. After `close` no range is reserved, and one whose reserve was under way is a gap; a release is still sent, for the
 *     counter refuses that of an earlier incarnation.
 *  5. Of the ranges on top, each begins where the one below ends, and no reserve lies between theirs that was not released as a
 *     whole. A range leaves them before its release is sent, with all below it. They come back only if the release is known to have
 *     been carried out, and nothing was reserved here meanwhile.
 */
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { countBelow, firstFrom, type Range } from '../ids/run.ts'
import { CallerIds } from './caller-ids.ts'
import { Gate } from './gate.ts'
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
   * Gives back `[from, end)`, none of which the caller has issued or will issue: the range ends at `from` then.
   * Never rejects.
   */
  readonly release: (from: bigint) => Promise<GivenBack>
}

/** What a caller has given back of a range. */
export type GivenBack = {
  /** The number of ids; 0 if the range has none from there on, or they were given back before. */
  readonly ids: number
  /** Whether they can be issued again: not if the range is not on top of the counter's bound, or nothing is known of the release. */
  readonly isBack: boolean
}

/** A range that a caller has, and its counter. */
type Held = { readonly start: bigint; end: bigint; readonly counter: ReservedCounter }

/** How many ranges of one counter can go back at most, one after the other: what a few callers hold at their end. */
export const topMax = 16

/** Reserves ranges of one incarnation's counter for callers. */
export class CallerRanges {
  /** What callers have. */
  readonly ids: CallerIds
  readonly #incarnation: Incarnation
  readonly #options: CallerRangesOptions
  /** The end of the newest range, or where its release has moved it. */
  #bound: bigint
  /** The version of the newest reserve or release. */
  #newestVersion = -1n
  /** The ranges that can go back, the lowest first; the last one is on top of the counter's bound, as far as is known here. */
  #top: Held[] = []
  #hasLeased = false
  #reserving = 0
  readonly #gate: Gate
  #closed: Error | undefined

  /** @param bound the counter's bound when the generator was opened; 0 when it had never been used. */
  constructor(
    bound: bigint,
    incarnation: Incarnation,
    options: CallerRangesOptions,
    gate: Gate = new Gate(),
  ) {
    this.#gate = gate
    const { floor } = incarnation
    this.#bound = bound > floor ? bound : floor
    this.#incarnation = incarnation
    this.#options = options
    this.ids = new CallerIds(options.clock)
  }

  /** The counter's bound as ranges for callers have shown it here; undefined: none was reserved. */
  get leasedUpTo(): bigint | undefined {
    return this.#hasLeased ? this.#bound : undefined
  }

  /** Whether a range was reserved, or is being reserved. */
  get isUsed(): boolean {
    return this.#hasLeased || this.#reserving > 0
  }

  /**
   * Reserves a range of `ids` ids, or all that are left. Rejects with EXHAUSTED, STALE, UNAVAILABLE, UNKNOWN or REGRESSED, and
   * with the reason of `close`.
   */
  async reserve(ids: number): Promise<CallerRange> {
    this.#reserving++
    try {
      return await this.#reserve(ids)
    } finally {
      this.#reserving--
    }
  }

  async #reserve(ids: number): Promise<CallerRange> {
    assert(ids >= 1, 'a caller asks for ids')
    this.#refuseIfOver()
    const { max, increment } = this.#options
    const counter = new ReservedCounter(this.#incarnation, this.#bound, this.#options)
    const reservation = await counter.reserveUpTo(BigInt(ids) * BigInt(increment), max + 1n)
    const { start, end, version } = reservation
    const held = { start, end, counter }
    this.#follow(held, version)
    // The copy of a memory that was made meanwhile may have got the same range; the generator is closed then.
    this.#options.copies?.check()
    this.#refuseIfOver()
    const count = this.#idsOf(start, end)
    // What is left of the space is smaller than the distance between ids.
    if (count === 0) throw exhausted(this.#incarnation.name, max)
    this.ids.leased(count)
    this.#hasLeased = true
    const release = (from: bigint) => this.#release(held, from)
    return { start, end, ids: count, release }
  }

  /** Rejects every reserve from now on. */
  close(reason: Error): void {
    this.#closed ??= reason
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    assert(this.#top.length <= topMax, 'a few ranges are on top')
    for (const [at, { start, end, counter }] of this.#top.entries()) {
      assert(start < end, 'a range on top has values')
      assert(counter.version !== undefined, 'a range on top can be released')
      assert(at === 0 || this.#top[at - 1]?.end === start, 'ranges on top are adjacent')
    }
  }

  #refuseIfOver(): void {
    const over = this.#closed ?? this.#gate.ended
    if (over !== undefined) throw over
  }

  async #release(held: Held, from: bigint): Promise<GivenBack> {
    assert(from >= held.start, 'a caller gives back what it got')
    const ids = this.#idsOf(from, held.end)
    if (ids === 0) return { ids, isBack: false }
    held.end = from
    const below = this.#takeFromTop(held)
    const isBack = below !== undefined && (await this.#releaseTop(held, below))
    this.ids.returned(ids, isBack ? 0 : ids)
    return { ids, isBack }
  }

  /** Takes a range, and those below it, from the ranges on top. Returns those below; undefined: it was not on top of the bound. */
  #takeFromTop(held: Held): Held[] | undefined {
    const at = this.#top.indexOf(held)
    const isLast = at >= 0 && at === this.#top.length - 1
    const below = this.#top.splice(0, at + 1).slice(0, -1)
    return isLast ? below : undefined
  }

  /** Releases what lies above the end of the range that was on top. Resolves to whether it is known that it did. */
  async #releaseTop(held: Held, below: Held[]): Promise<boolean> {
    const { start, counter } = held
    const version = counter.version ?? -1n
    // The values in front of the first id are of no use to the caller.
    if (this.#idsOf(start, held.end) === 0) held.end = start
    if (!(await counter.release(held.end))) return false
    if (this.#newestVersion !== version) return true
    this.#newestVersion = version + 1n
    this.#bound = held.end
    this.#top = held.end > start ? [...below, held] : below
    this.#top.at(-1)?.counter.backOnTop(this.#newestVersion)
    return true
  }

  #idsOf(start: bigint, end: bigint): number {
    const { increment, offset } = this.#options
    return countBelow(firstFrom(start, increment, offset), end, increment)
  }

  #follow(held: Held, version: bigint): void {
    if (held.end > this.#bound) this.#bound = held.end
    // A range below one that was answered before is not on top.
    if (version <= this.#newestVersion) return
    const last = this.#top.at(-1)
    const isNext = version === this.#newestVersion + 1n && last?.end === held.start
    if (!isNext) this.#top = []
    this.#newestVersion = version
    // An engine that forgot writes can open a range below one that is held: that is not on top.
    if (held.counter.version === undefined) this.#top = []
    else this.#top.push(held)
    if (this.#top.length > topMax) this.#top.shift()
  }
}
