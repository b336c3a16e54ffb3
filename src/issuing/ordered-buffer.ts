/**
 * Ranges of a counter in hand, issued in increasing order.
 *
 * Invariants
 *  1. Every id lies in a range that was added, is ≡ offset (mod increment), and is given out once.
 *  2. Ids increase; ranges are added in increasing order.
 *  3. Adjacent ranges are one: a run may cross where they met.
 */
import { assert } from '../base/assert.ts'
import type { Range } from '../engine/engine.ts'
import { FastRun } from '../ids/fast-run.ts'
import { type Run, safeHi, two32 } from '../ids/run.ts'
import { countBelow, firstFrom } from './progression.ts'
import { collectRuns, type RangeBuffer } from './range-buffer.ts'

/** A range in hand: the next id of it, and how many are left. */
type Piece = { next: bigint; left: number; end: bigint }

/** See the invariants at the top of the file. */
export class OrderedBuffer implements RangeBuffer {
  readonly ready = new FastRun()
  readonly #increment: number
  readonly #offset: bigint
  readonly #later: Piece[] = []
  /** The current range, with its next id in halves. */
  #hi = 0
  #lo = 0
  #left = 0
  #end = 0n
  #laterLeft = 0
  #issued = 0

  /** Issues ids that are ≡ `offset` (mod `increment`). */
  constructor(increment: number, offset: bigint) {
    this.#increment = increment
    this.#offset = offset
  }

  /** How many ids are in hand. */
  get left(): number {
    this.#recall()
    return this.#left + this.#laterLeft
  }

  get issued(): number {
    return this.#issued + this.ready.taken
  }

  /** The next id; only while something is left. */
  get #next(): bigint {
    return BigInt(this.#hi) * 0x1_0000_0000n + BigInt(this.#lo)
  }

  /** Takes a range in hand. It starts at or above the end of the one added before. */
  add(range: Range): void {
    this.#recall()
    const piece = this.#piece(range)
    const tail = this.#later.at(-1)
    const tailEnd = tail?.end ?? this.#end
    assert(range.start >= tailEnd, 'ranges are added in increasing order')
    if (piece.left === 0) {
      // No id in it, but the next range may still adjoin to it.
      if (range.start === tailEnd) this.#extendTail(0, range.end)
      return
    }
    if (this.#left === 0) return this.#begin(piece)
    if (range.start === tailEnd) return this.#extendTail(piece.left, range.end)
    this.#later.push(piece)
    this.#laterLeft += piece.left
  }

  /** Takes up to `count` ids of the current range. */
  take(count: number, run: Run): number {
    this.#recall()
    if (this.#left === 0) return 0
    const taken = count < this.#left ? count : this.#left
    run.hi = this.#hi
    run.lo = this.#lo
    run.count = taken
    run.stride = this.#increment
    this.#issued += taken
    this.#skip(taken)
    return taken
  }

  collect(count: number): Run[] {
    return collectRuns(this, count)
  }

  prepare(keep: number): void {
    const spare = this.left - keep
    const untilCarry = Math.floor((two32 - 1 - this.#lo) / this.#increment) + 1
    const count = Math.floor(Math.min(this.#left, spare, untilCarry))
    if (count > 0) this.ready.make(this.#hi, this.#lo, count, this.#increment)
  }

  /** Whether `count` ids are left in one run, once the ranges before it are dropped; drops them. */
  align(count: number): boolean {
    this.#recall()
    if (this.#left >= count) return true
    const fitting = this.#later.findIndex((piece) => piece.left >= count)
    if (fitting < 0) return false
    for (let dropped = 0; dropped <= fitting; dropped++) this.#shift()
    return true
  }

  /** Drops every id below `floor`. */
  dropBelow(floor: bigint): void {
    this.#recall()
    while (this.#left > 0 && this.#end <= floor) this.#shift()
    if (this.#left === 0 || this.#next >= floor) return
    const below = countBelow(this.#next, floor, this.#increment)
    if (below >= this.#left) this.#shift()
    else this.#skip(below)
  }

  nextIsSafe(bound: bigint): boolean {
    this.#recall()
    return this.#left > 0 ? this.#hi < safeHi : bound < 2n ** 53n
  }

  newest(bound: bigint, floor: bigint): bigint | undefined {
    this.#recall()
    const next = this.#left > 0 ? this.#next : firstFrom(bound, this.#increment, this.#offset)
    const newest = next - BigInt(this.#increment)
    return newest < floor ? undefined : newest
  }

  /**
   * The lowest value from which on everything up to `end` is in hand; undefined when nothing is. Adjacent
   * ranges have become one, so the newest range tells.
   */
  untouchedUpTo(end: bigint): bigint | undefined {
    this.#recall()
    const newest = this.#later.at(-1)
    if (newest !== undefined) return newest.end === end ? newest.next : undefined
    return this.#left > 0 && this.#end === end ? this.#next : undefined
  }

  /** Lets go of everything. */
  clear(): void {
    this.#recall()
    this.#later.length = 0
    this.#laterLeft = 0
    this.#left = 0
  }

  #recall(): void {
    const taken = this.ready.recall()
    if (taken === 0) return
    this.#issued += taken
    this.#skip(taken)
  }

  #piece(range: Range): Piece {
    const next = firstFrom(range.start, this.#increment, this.#offset)
    return { next, left: countBelow(next, range.end, this.#increment), end: range.end }
  }

  #extendTail(count: number, end: bigint): void {
    const tail = this.#later.at(-1)
    if (tail === undefined) {
      this.#left += count
      this.#end = end
      return
    }
    tail.left += count
    tail.end = end
    this.#laterLeft += count
  }

  #skip(count: number): void {
    this.#left -= count
    const lo = this.#lo + count * this.#increment
    if (lo < two32) this.#lo = lo
    else if (lo <= Number.MAX_SAFE_INTEGER) this.#carry(Math.floor(lo / two32), lo)
    else this.#goTo(this.#next + BigInt(count) * BigInt(this.#increment))
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
    const piece = this.#later.shift()
    if (piece === undefined) {
      this.#left = 0
      return
    }
    this.#laterLeft -= piece.left
    this.#begin(piece)
  }

  #begin(piece: Piece): void {
    this.#left = piece.left
    this.#end = piece.end
    this.#goTo(piece.next)
  }
}
