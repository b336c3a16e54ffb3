/**
 * A chain of ranges that this process holds, issued in the order in which they came.
 *
 * Invariants
 *  1. No id of a range is taken after its deadline, as far as `expire` was called in the same callback of the event loop.
 *  2. The fast run holds ids for one callback: it is taken back at the end of that. Where ids are permuted it holds none.
 *  3. What `takeUnused` names has not been issued and will not be: it has left the ranges before. It lies in the range of its
 *     lease. A lease that is named again is named from a lower value on.
 */
import { assert } from '../../src/base/assert.ts'
import { atEndOfCallback } from '../../src/base/clock.ts'
import { type ChainedRange, RangeChain } from '../../src/buffers/range-chain.ts'
import { max53 } from '../../src/ids/limits.ts'
import { countBelow, firstFrom, type Range, type Run, ScatteredRun } from '../../src/ids/run.ts'
import type { IdOrder } from './id-order.ts'

/** Whose a range is, and until when. */
export type RangeTerms = {
  /** On the monotonic clock, in µs. */
  readonly deadlineUs: number
  readonly lease: string
}

/** A range with ids left. */
type Link = ChainedRange & {
  readonly lease: string
  deadlineUs: number
  readonly first: bigint
  readonly size: number
  /** The first raw value above the range, or that was given up of it: not always the id after the last one. */
  end: bigint
  /** How many ids were taken. */
  used: number
}

/** What can be given back: a lease, and its first unused raw value. */
export type Leftover = { readonly lease: string; readonly from: bigint }

/** How many ids one check of the deadline covers at most. */
const burstMax = 256

/** Ranges of the ids of one definition. */
export class SegmentChain extends RangeChain<Link> {
  readonly #order: IdOrder | undefined
  /** What was left of ranges that ended unused, the newest last. */
  readonly #unused: Leftover[] = []
  readonly #recallSoon = atEndOfCallback(() => this.recall())

  /** @param order of ids that are not issued as they are counted. */
  constructor(increment: number, offset: bigint, order?: IdOrder) {
    super(increment, offset)
    this.#order = order
  }

  /** Ids left. The getter leaves the fast run as it is, because `available` is read after each `take`. */
  get available(): number {
    return this.left - this.fastRun.taken
  }

  /**
   * For how long its ids last at this rate, in ms from `nowUs`. Ids that come to their deadline before their turn do not
   * count.
   */
  lastsMs(perSecond: number, nowUs: number): number {
    let untilUs = nowUs
    let taken = this.fastRun.taken
    for (const { left, deadlineUs } of this.ranges) {
      const usedUntilUs = perSecond > 0 ? untilUs + ((left - taken) / perSecond) * 1_000_000 : deadlineUs
      untilUs = Math.max(untilUs, Math.min(usedUntilUs, deadlineUs))
      taken = 0
    }
    return (untilUs - nowUs) / 1000
  }

  /** Adds a range of raw values, to be issued after those that are there. */
  add({ start, end }: Range, terms: RangeTerms): void {
    this.recall()
    const first = firstFrom(start, this.increment, this.offset)
    const size = countBelow(first, end, this.increment)
    if (size === 0) return
    // The first range is the first to expire, also where the service has shortened its leases.
    for (const link of this.ranges) link.deadlineUs = Math.min(link.deadlineUs, terms.deadlineUs)
    this.ranges.push({ ...terms, first, size, end, next: first, used: 0, left: size })
    this.left += size
  }

  /** Drops what is left of ranges whose deadline has come. */
  expire(nowUs: number): void {
    if (this.ranges[0] === undefined || this.ranges[0].deadlineUs > nowUs) return
    this.recall()
    for (let first = this.ranges[0]; first !== undefined && first.deadlineUs <= nowUs; first = this.ranges[0])
      this.#giveUp(first)
  }

  /** Takes up to `count` ids of one range; 0 when none is left. */
  take(count: number, run: Run): number {
    const taken = count === 0 ? 0 : this.next(count, run)
    this.taken += taken
    if (taken > 0 && this.#order === undefined) {
      this.fillFastRun(burstMax - 1)
      this.#recallSoon()
    }
    return taken
  }

  /** Takes exactly `count` ids, or none. */
  collect(count: number): Run[] | undefined {
    if (this.available < count) return undefined
    return this.nextRuns(count)
  }

  /** How many ids at its end follow one another. Only for ids that are one apart and in order. */
  get lastRun(): number {
    this.recall()
    let [ids, next] = [0, this.ranges.at(-1)?.next]
    for (const link of this.ranges.toReversed()) {
      if (ids > 0 && link.next + BigInt(link.left) !== next) break
      ids += link.left
      next = link.next
    }
    return ids
  }

  /**
   * Drops the ids before the next `count` ids that follow each other without a gap. Returns false, and drops none, if
   * there are no such ids. Only for ids that are one apart and in order.
   */
  align(count: number): boolean {
    this.recall()
    let [gapAt, ids] = [0, 0]
    for (const [at, { next, left }] of this.ranges.entries()) {
      const before = this.ranges[at - 1]
      if (before !== undefined && before.next + BigInt(before.left) !== next) [gapAt, ids] = [at, 0]
      ids += left
      if (ids < count) continue
      for (const skipped of this.ranges.slice(0, gapAt)) this.#giveUp(skipped)
      return true
    }
    return false
  }

  /** Whether the next `count` ids are at most 2^53−1; of permuted ids: surely. False when fewer are left. */
  areSafe(count: number): boolean {
    this.recall()
    let left = count
    for (const link of this.ranges) {
      const last = link.next + BigInt(Math.min(left, link.left) - 1) * this.stride
      const largest = this.#order === undefined ? last : this.#order.largest(link.first, link.size)
      if (largest > max53) return false
      left -= link.left
      if (left <= 0) return true
    }
    return false
  }

  /** Drops everything. */
  clear(): void {
    this.recall()
    this.ranges.length = 0
    this.left = 0
    this.#unused.length = 0
  }

  /** Gives up the end of the newest range if its deadline comes before `dueUs`, so that about `keep` ids of the chain are left. */
  spare(dueUs: number, keep: number): void {
    this.recall()
    const newest = this.ranges.at(-1)
    if (newest === undefined || newest.deadlineUs > dueUs) return
    const kept = Math.max(0, keep - (this.left - newest.left))
    if (kept < newest.left) this.#giveUp(newest, kept)
  }

  /** Gives up all that is left. */
  giveUp(): void {
    this.recall()
    for (const link of [...this.ranges]) this.#giveUp(link)
  }

  /** Takes out what was given up of one lease, the newest first; undefined: nothing was. */
  takeUnused(): Leftover | undefined {
    return this.#unused.pop()
  }

  override assertInvariants(): void {
    super.assertInvariants()
    let dueUs = 0
    for (const { first, size, next, used, left, deadlineUs } of this.ranges) {
      assert(deadlineUs >= dueUs, 'the first range is the first to expire')
      dueUs = deadlineUs
      assert(used >= 0 && used + left <= size, 'a range has no more ids than it had')
      assert(next === first + BigInt(used) * this.stride, 'the next id follows those that were taken')
    }
    assert(this.#order === undefined || this.fastRun.count === 0, 'permuted ids have no fast run')
  }

  /** Ends a range after its next `kept` ids, or a few more where its order needs them. */
  #giveUp(link: Link, kept = 0): void {
    const { lease, first, size, end, next, used } = link
    const from = this.#order?.unused(first, size, used + kept) ?? next + BigInt(kept) * this.stride
    if (from < end) {
      this.#unused.push({ lease, from })
      link.end = from
    }
    const left = kept === 0 ? 0 : countBelow(next, link.end, this.increment)
    this.left -= link.left - left
    link.left = left
    if (left === 0) this.ranges.splice(this.ranges.indexOf(link), 1)
  }

  protected override next(count: number, run: Run): number {
    const order = this.#order
    if (order === undefined) return super.next(count, run)
    const link = this.ranges[0]
    if (link === undefined) return 0
    run.setOne(order.at(link.first, link.size, link.used))
    this.skip(1)
    return 1
  }

  protected override nextRun(count: number): Run {
    const order = this.#order
    if (order === undefined) return super.nextRun(count)
    const { first, size, used, left } = this.ranges[0]!
    const taken = Math.min(count, left)
    this.skip(taken)
    return new ScatteredRun(taken, (index) => order.at(first, size, used + index))
  }

  protected override skip(count: number): void {
    this.ranges[0]!.used += count
    super.skip(count)
  }
}
