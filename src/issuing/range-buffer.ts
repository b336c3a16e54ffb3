/**
 * Ranges of a counter, buffered and issued in increasing order.
 *
 * Invariants
 *  1. Every id lies in a range that was added, is ≡ offset (mod increment), and is taken once.
 *  2. Ids increase; ranges are added in increasing order.
 *  3. Adjacent ranges are one: a run may cross the boundary between them.
 */
import { assert } from '../base/assert.ts'
import type { Range } from '../engine/engine.ts'
import { FastRun } from '../ids/fast-run.ts'
import { max53 } from '../ids/limits.ts'
import { countBelow, firstFrom, Run, safeHi, two32 } from '../ids/run.ts'
import type { IdBuffer } from './id-source.ts'

/** A buffered range: its next id, how many ids are left, and its end. */
type BufferedRange = { next: bigint; left: number; end: bigint }

/** Issues ranges as they are counted. The base of the buffers that permute ids. */
export class RangeBuffer implements IdBuffer {
  readonly fastRun = new FastRun()
  low = false
  /** A refill is due when fewer ids are left. */
  lowMark = 0
  /** Ids taken, without those of the fast run. */
  protected taken = 0
  protected readonly increment: number
  readonly #offset: bigint
  readonly #later: BufferedRange[] = []
  /** The current range, with its next id in halves. */
  #hi = 0
  #lo = 0
  #left = 0
  #end = 0n
  #laterLeft = 0

  /** Issues ids that are ≡ `offset` (mod `increment`). */
  constructor(increment: number, offset: bigint) {
    this.increment = increment
    this.#offset = offset
  }

  get issued(): number {
    return this.taken + this.fastRun.taken
  }

  /** The next id; only while one is left. */
  get #next(): bigint {
    return BigInt(this.#hi) * 0x1_0000_0000n + BigInt(this.#lo)
  }

  take(count: number, run: Run): number {
    const taken = this.next(count, run)
    this.taken += taken
    this.checkLow()
    // Once a refill is due, ids below the low mark are issued as fast as those above it.
    this.fill(this.low ? 0 : this.lowMark)
    return taken
  }

  available(): number {
    this.#recall()
    return this.#left + this.#laterLeft
  }

  collect(count: number, contiguous = false): Run[] | undefined {
    if (this.available() < count || (contiguous && !this.align(count))) return undefined
    const runs: Run[] = []
    for (let left = count; left > 0; ) {
      const run = this.nextRun(left)
      assert(run.count > 0, 'as many ids are buffered as are available')
      runs.push(run)
      left -= run.count
    }
    this.taken += count
    this.checkLow()
    return runs
  }

  /** Sets `low` when fewer ids than `lowMark` are left. */
  checkLow(): void {
    if (this.available() < this.lowMark) this.low = true
  }

  /** Adds a range. It starts at or above the end of the one added before. */
  add(range: Range): void {
    this.#recall()
    const added = this.#countIds(range)
    const last = this.#later.at(-1)
    const lastEnd = last?.end ?? this.#end
    assert(range.start >= lastEnd, 'ranges are added in increasing order')
    if (added.left === 0) {
      // It holds no id, but the next range may be adjacent to it.
      if (range.start === lastEnd) this.#extendLast(0, range.end)
      return
    }
    if (this.#left === 0) return this.#begin(added)
    if (range.start === lastEnd) return this.#extendLast(added.left, range.end)
    this.#later.push(added)
    this.#laterLeft += added.left
  }

  /** Drops every id below `floor`. */
  dropBelow(floor: bigint): void {
    this.#recall()
    while (this.#left > 0 && this.#end <= floor) this.#shift()
    if (this.#left === 0 || this.#next >= floor) return
    const below = countBelow(this.#next, floor, this.increment)
    if (below >= this.#left) this.#shift()
    else this.#skip(below)
  }

  /** Whether the next id is at most 2^53−1; of an empty buffer: whether the first id from `bound` on is. */
  nextIsSafe(bound: bigint): boolean {
    this.#recall()
    return this.#left > 0 ? this.#hi < safeHi : bound <= max53
  }

  /**
   * The largest id that can have been issued: below the next buffered one, or below `bound` of an empty buffer.
   * Undefined when that is below `floor`, so that none was.
   */
  newest(bound: bigint, floor: bigint): bigint | undefined {
    this.#recall()
    const next = this.#left > 0 ? this.#next : firstFrom(bound, this.increment, this.#offset)
    const newest = next - BigInt(this.increment)
    return newest < floor ? undefined : newest
  }

  /**
   * The lowest value from which on everything up to `end` is buffered; undefined when nothing is. Adjacent ranges
   * have become one, so the newest range decides.
   */
  untouchedUpTo(end: bigint): bigint | undefined {
    this.#recall()
    const newest = this.#later.at(-1)
    if (newest !== undefined) return newest.end === end ? newest.next : undefined
    return this.#left > 0 && this.#end === end ? this.#next : undefined
  }

  /** Drops all ids, and the low mark. */
  clear(): void {
    this.#recall()
    this.#later.length = 0
    this.#laterLeft = 0
    this.#left = 0
    this.lowMark = 0
    this.low = false
  }

  /** Removes up to `count` ids of the current range and writes them to `run`; 0 when the buffer is empty. */
  protected next(count: number, run: Run): number {
    this.#recall()
    if (this.#left === 0) return 0
    const taken = count < this.#left ? count : this.#left
    run.hi = this.#hi
    run.lo = this.#lo
    run.count = taken
    run.stride = this.increment
    this.#skip(taken)
    return taken
  }

  /** Removes up to `count` ids, as a run of their own. */
  protected nextRun(count: number): Run {
    const run = new Run()
    this.next(count, run)
    return run
  }

  /** The largest of the next ids of the current range, at most `count`; undefined when the buffer is empty. */
  protected peek(count: number): bigint | undefined {
    if (this.#left === 0) return undefined
    return this.#next + BigInt(Math.min(count, this.#left) - 1) * BigInt(this.increment)
  }

  /** Fills the fast run, but leaves at least `keep` ids out of it. */
  protected fill(keep: number): void {
    const spare = this.available() - keep
    const untilCarry = Math.floor((two32 - 1 - this.#lo) / this.increment) + 1
    const count = Math.floor(Math.min(this.#left, spare, untilCarry))
    if (count > 0) this.fastRun.fill(this.#hi, this.#lo, count, this.increment)
  }

  /** Whether `count` ids are left in one run, once the ranges before it are dropped; drops them. */
  protected align(count: number): boolean {
    if (this.#left >= count) return true
    const fitting = this.#later.findIndex(({ left }) => left >= count)
    if (fitting < 0) return false
    for (let dropped = 0; dropped <= fitting; dropped++) this.#shift()
    return true
  }

  #recall(): void {
    const taken = this.fastRun.recall()
    if (taken === 0) return
    this.taken += taken
    this.#skip(taken)
  }

  #countIds(range: Range): BufferedRange {
    const next = firstFrom(range.start, this.increment, this.#offset)
    return { next, left: countBelow(next, range.end, this.increment), end: range.end }
  }

  #extendLast(count: number, end: bigint): void {
    const last = this.#later.at(-1)
    if (last === undefined) {
      this.#left += count
      this.#end = end
      return
    }
    last.left += count
    last.end = end
    this.#laterLeft += count
  }

  #skip(count: number): void {
    this.#left -= count
    const lo = this.#lo + count * this.increment
    if (lo < two32) this.#lo = lo
    else if (lo <= Number.MAX_SAFE_INTEGER) this.#carry(Math.floor(lo / two32), lo)
    else this.#goTo(this.#next + BigInt(count) * BigInt(this.increment))
    if (this.#left === 0 && this.#later.length > 0) this.#shift()
  }

  #carry(carry: number, lo: number): void {
    this.#lo = lo - carry * two32
    this.#hi += carry
  }

  #goTo(next: bigint): void {
    this.#hi = Number(next >> 32n)
    this.#lo = Number(next & 0xffff_ffffn)
  }

  #shift(): void {
    const first = this.#later.shift()
    if (first === undefined) {
      this.#left = 0
      return
    }
    this.#laterLeft -= first.left
    this.#begin(first)
  }

  #begin({ next, left, end }: BufferedRange): void {
    this.#left = left
    this.#end = end
    this.#goTo(next)
  }
}
