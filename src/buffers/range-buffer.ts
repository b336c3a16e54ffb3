/**
 * Ranges of a counter, buffered and issued in increasing order.
 *
 * Invariants
 *  1. Ids increase; ranges are added in increasing order.
 *  2. Adjacent ranges are one: a run may cross the boundary between them.
 */
import { assert } from '../base/assert.ts'
import { max53 } from '../ids/limits.ts'
import { countBelow, firstFrom, type Range, Run } from '../ids/run.ts'
import { emptyRow } from './fast-runs.ts'
import type { IdBuffer } from './id-buffer.ts'
import { RangeChain } from './range-chain.ts'

/** Filled and read within one call. */
const one = new Run()

/** Issues ranges as they are counted. The base of the buffers that permute ids. */
export class RangeBuffer extends RangeChain implements IdBuffer {
  low = false
  /** A refill is due when fewer ids are left. */
  lowMark = 0
  /** The end of the newest range. */
  #end = 0n

  take(count: number, run: Run): number {
    const taken = this.next(count, run)
    this.taken += taken
    this.checkLow()
    this.ready()
    return taken
  }

  ready(): void {
    this.recall()
    // Once a refill is due, ids below the low mark are issued as fast as those above it.
    this.fill(this.low ? 0 : this.lowMark)
  }

  available(): number {
    this.recall()
    return this.left
  }

  collect(count: number, contiguous = false): Run[] | undefined {
    if (this.available() < count || (contiguous && !this.align(count))) return undefined
    const runs = this.nextRuns(count)
    this.checkLow()
    return runs
  }

  /** Sets `low` when fewer ids than `lowMark` are left. */
  checkLow(): void {
    if (this.available() < this.lowMark) this.low = true
  }

  /** The next id of the first range; undefined when the buffer is empty. */
  protected get nextId(): bigint | undefined {
    const first = this.ranges[0]
    const { taken } = this.fastRun
    if (first !== undefined && taken < first.left) return first.next + BigInt(taken) * this.stride
    this.recall()
    return this.ranges[0]?.next
  }

  /** Adds a range. It starts at or above the end of the one added before. */
  add({ start, end }: Range): void {
    this.recall()
    assert(start >= this.#end, 'ranges are added in increasing order')
    const isAdjacent = start === this.#end
    const next = this.firstOf(start, isAdjacent)
    const left = countBelow(next, end, this.increment)
    // A range without ids counts where it is adjacent: the next range may be adjacent to it.
    if (left === 0 && !isAdjacent) return
    const last = this.ranges.at(-1)
    if (isAdjacent && last !== undefined) last.left += left
    else if (left > 0) this.ranges.push({ next, left })
    this.left += left
    this.#end = end
  }

  /** Drops every id below `floor`. */
  dropBelow(floor: bigint): void {
    this.recall()
    for (let first = this.ranges[0]; first !== undefined && first.next < floor; first = this.ranges[0])
      this.skip(Math.min(first.left, countBelow(first.next, floor, this.increment)))
  }

  /** How many ids from `floor` on are left. */
  leftFrom(floor: bigint): number {
    this.recall()
    return this.ranges.reduce((sum, { next, left }) => {
      const below = next < floor ? Math.min(left, countBelow(next, floor, this.increment)) : 0
      return sum + left - below
    }, 0)
  }

  /** Whether the next id is at most 2^53−1; of an empty buffer: whether the first id from `bound` on is. */
  nextIsSafe(bound: bigint): boolean {
    return (this.nextId ?? bound) <= max53
  }

  /**
   * The largest id that can have been issued: below the next buffered one, or below `bound` of an empty buffer.
   * Undefined when that is below `floor`, so that none was.
   */
  newest(bound: bigint, floor: bigint): bigint | undefined {
    const next = this.nextId ?? firstFrom(bound, this.increment, this.offset)
    const newest = next - this.stride
    return newest < floor ? undefined : newest
  }

  /**
   * The lowest value from which on everything up to `end` is buffered; undefined when nothing is. Adjacent ranges
   * have become one, so the newest range decides.
   */
  untouchedUpTo(end: bigint): bigint | undefined {
    this.recall()
    return this.#end === end ? this.ranges.at(-1)?.next : undefined
  }

  /**
   * Leaves all that it holds in its row, and issues nothing more: the next id tells the rest, because all ids up to `bound`
   * follow it. Returns the row; `emptyRow`, and keeps everything: it holds something else.
   */
  rest(bound: bigint): number {
    this.recall()
    const [first] = this.ranges
    const next = first?.next ?? firstFrom(bound, this.increment, this.offset)
    const isAll = first === undefined || (this.ranges.length === 1 && this.#end === bound)
    if (this.low || !isAll || bound > max53 || next > max53) {
      if (this.taken > 0) this.ready()
      return emptyRow
    }
    one.setOne(next)
    this.fastRun.fill(one.hi, one.lo, 0, this.increment)
    // Before the first id is taken, the id before the next one is none that was issued.
    if (this.taken > 0) this.fill(this.lowMark)
    this.ranges.length = 0
    this.left = 0
    return this.fastRun.leave()
  }

  /** Goes on, in a row of its own, with what another buffer has left in the row: the ids from `next` up to `bound`. */
  wake(next: bigint, bound: bigint, issued: number, lowMark: number): void {
    this.#end = bound
    this.left = countBelow(next, bound, this.increment)
    if (this.left > 0) this.ranges.push({ next, left: this.left })
    this.taken = issued
    this.lowMark = lowMark
    this.checkLow()
    if (issued > 0) this.ready()
  }

  /** Drops all ids, and the low mark. */
  clear(): void {
    this.recall()
    this.ranges.length = 0
    this.left = 0
    this.lowMark = 0
    this.low = false
  }

  /** Throws where an invariant is broken. */
  override assertInvariants(): void {
    super.assertInvariants()
    let end: bigint | undefined
    for (const { next, left } of this.ranges) {
      assert(firstFrom(next, this.increment, this.offset) === next, 'ids are ≡ offset (mod increment)')
      assert(end === undefined || next >= end, 'ranges increase, and do not overlap')
      end = next + BigInt(left - 1) * this.stride + 1n
    }
    assert(end === undefined || end <= this.#end, 'no id is at or above the end of the newest range')
  }

  /** Of the ids left in the first range the `count`-th, or the last if fewer are left; undefined when the buffer is empty. */
  protected peek(count: number): bigint | undefined {
    const first = this.ranges[0]
    return first && first.next + BigInt(Math.min(count, first.left) - 1) * this.stride
  }

  /** The first id of a range from `start` on, which is adjacent to the newest one or not. */
  protected firstOf(start: bigint, _isAdjacent: boolean): bigint {
    return firstFrom(start, this.increment, this.offset)
  }

  /** Fills the fast run, but leaves at least `keep` ids out of it. */
  protected fill(keep: number): void {
    this.fillFastRun(this.left - keep)
  }

  /** Whether `count` ids are left in one range, once the ranges before it are dropped; drops them. */
  protected align(count: number): boolean {
    const fitting = this.ranges.findIndex(({ left }) => left >= count)
    for (let dropped = 0; dropped < fitting; dropped++) this.skip(this.ranges[0]!.left)
    return fitting >= 0
  }
}
