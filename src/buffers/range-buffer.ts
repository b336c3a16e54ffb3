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
import { countBelow, firstFrom, Run, two32 } from '../ids/run.ts'
import type { IdBuffer } from '../issuing/id-source.ts'

/** A buffered range: its next id, and how many ids are left. A range without ids is not kept. */
type BufferedRange = { next: bigint; left: number }

/** Filled and read within one call. */
const one = new Run()

/** Issues ranges as they are counted. The base of the buffers that permute ids. */
export class RangeBuffer implements IdBuffer {
  readonly fastRun = new FastRun()
  low = false
  /** A refill is due when fewer ids are left. */
  lowMark = 0
  /** Ids taken, without those of the fast run. */
  protected taken = 0
  protected readonly increment: number
  readonly #stride: bigint
  readonly #offset: bigint
  /** In increasing order; the fast run holds ids of the first one. */
  readonly #ranges: BufferedRange[] = []
  /** How many ids they have. */
  #left = 0
  /** The end of the newest range. */
  #end = 0n

  /** Issues ids that are ≡ `offset` (mod `increment`). */
  constructor(increment: number, offset: bigint) {
    this.increment = increment
    this.#stride = BigInt(increment)
    this.#offset = offset
  }

  get issued(): number {
    return this.taken + this.fastRun.taken
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
    return this.#left
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

  /** The next id of the first range; undefined when the buffer is empty. */
  protected get nextId(): bigint | undefined {
    return this.#ranges[0]?.next
  }

  /** Adds a range. It starts at or above the end of the one added before. */
  add({ start, end }: Range): void {
    this.#recall()
    assert(start >= this.#end, 'ranges are added in increasing order')
    const isAdjacent = start === this.#end
    const next = firstFrom(start, this.increment, this.#offset)
    const left = countBelow(next, end, this.increment)
    // A range without ids counts where it is adjacent: the next range may be adjacent to it.
    if (left === 0 && !isAdjacent) return
    const last = this.#ranges.at(-1)
    if (isAdjacent && last !== undefined) last.left += left
    else if (left > 0) this.#ranges.push({ next, left })
    this.#left += left
    this.#end = end
  }

  /** Drops every id below `floor`. */
  dropBelow(floor: bigint): void {
    this.#recall()
    for (let first = this.#ranges[0]; first !== undefined && first.next < floor; first = this.#ranges[0])
      this.#skip(Math.min(first.left, countBelow(first.next, floor, this.increment)))
  }

  /** Whether the next id is at most 2^53−1; of an empty buffer: whether the first id from `bound` on is. */
  nextIsSafe(bound: bigint): boolean {
    this.#recall()
    return (this.nextId ?? bound) <= max53
  }

  /**
   * The largest id that can have been issued: below the next buffered one, or below `bound` of an empty buffer.
   * Undefined when that is below `floor`, so that none was.
   */
  newest(bound: bigint, floor: bigint): bigint | undefined {
    this.#recall()
    const next = this.nextId ?? firstFrom(bound, this.increment, this.#offset)
    const newest = next - this.#stride
    return newest < floor ? undefined : newest
  }

  /**
   * The lowest value from which on everything up to `end` is buffered; undefined when nothing is. Adjacent ranges
   * have become one, so the newest range decides.
   */
  untouchedUpTo(end: bigint): bigint | undefined {
    this.#recall()
    return this.#end === end ? this.#ranges.at(-1)?.next : undefined
  }

  /** Drops all ids, and the low mark. */
  clear(): void {
    this.#recall()
    this.#ranges.length = 0
    this.#left = 0
    this.lowMark = 0
    this.low = false
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    let sum = 0
    let end: bigint | undefined
    for (const { next, left } of this.#ranges) {
      assert(left > 0, 'a range without ids is not kept')
      assert(firstFrom(next, this.increment, this.#offset) === next, 'ids are ≡ offset (mod increment)')
      assert(end === undefined || next >= end, 'ranges increase, and do not overlap')
      end = next + BigInt(left - 1) * this.#stride + 1n
      sum += left
    }
    assert(sum === this.#left, 'the ids left are those of the ranges')
    assert(end === undefined || end <= this.#end, 'no id is at or above the end of the newest range')
    assert(
      this.fastRun.taken + this.fastRun.count <= (this.#ranges[0]?.left ?? 0),
      'the fast run is of the first range',
    )
  }

  /** Removes up to `count` ids of the first range and writes them to `run`; 0 when the buffer is empty. */
  protected next(count: number, run: Run): number {
    this.#recall()
    const first = this.#ranges[0]
    if (first === undefined) return 0
    const taken = Math.min(count, first.left)
    run.set(first.next, taken, this.increment)
    this.#skip(taken)
    return taken
  }

  /** Removes up to `count` ids, as a run of their own. */
  protected nextRun(count: number): Run {
    const run = new Run()
    this.next(count, run)
    return run
  }

  /**
   * The `count`-th id from now of the first range, or its last id if it has fewer; undefined when the buffer is
   * empty.
   */
  protected peek(count: number): bigint | undefined {
    const first = this.#ranges[0]
    return first && first.next + BigInt(Math.min(count, first.left) - 1) * this.#stride
  }

  /** Fills the fast run, but leaves at least `keep` ids out of it. */
  protected fill(keep: number): void {
    const first = this.#ranges[0]
    if (first === undefined) return
    one.setOne(first.next)
    const untilCarry = Math.floor((two32 - 1 - one.lo) / this.increment) + 1
    const count = Math.floor(Math.min(first.left, this.#left - keep, untilCarry))
    if (count > 0) this.fastRun.fill(one.hi, one.lo, count, this.increment)
  }

  /** Whether `count` ids are left in one range, once the ranges before it are dropped; drops them. */
  protected align(count: number): boolean {
    const fitting = this.#ranges.findIndex(({ left }) => left >= count)
    for (let dropped = 0; dropped < fitting; dropped++) this.#skip(this.#ranges[0]!.left)
    return fitting >= 0
  }

  #recall(): void {
    const taken = this.fastRun.recall()
    if (taken === 0) return
    this.taken += taken
    this.#skip(taken)
  }

  /** Removes the next `count` ids of the first range, which has as many. */
  #skip(count: number): void {
    const first = this.#ranges[0]!
    this.#left -= count
    first.left -= count
    if (first.left === 0) this.#ranges.shift()
    else first.next += count === 1 ? this.#stride : BigInt(count) * this.#stride
  }
}
