/**
 * Ranges of a counter in hand, issued block by block, each block in an order that only its key knows.
 *
 * Invariants
 *  1. Every id of a range is given out once: within a block the order is a permutation, and a block is a part
 *     of one range only, counted from the range's own start.
 *  2. Only the current block is touched; what lies above it can be given back.
 */
import { assert } from '../base/assert.ts'
import type { Range } from '../engine/engine.ts'
import { FastRun } from '../ids/fast-run.ts'
import type { BlockPermutation } from '../ids/permutation.ts'
import { type Run, ScatteredRun } from '../ids/run.ts'
import type { RangeBuffer } from './range-buffer.ts'

/** What is left of a range: its first id, how many there are, and its end. */
type Piece = { first: bigint; left: number; readonly end: bigint }

const numberMax = BigInt(Number.MAX_SAFE_INTEGER)

/** See the invariants at the top of the file. */
export class ShuffledBuffer implements RangeBuffer {
  /** Always empty: each id has to be permuted. */
  readonly ready = new FastRun()
  issued = 0
  readonly #permutation: BlockPermutation
  readonly #blockSize: number
  readonly #increment: bigint
  readonly #offset: bigint
  readonly #ranges: Piece[] = []
  #left = 0
  /** The current block: its first id, its size, and how many of it are out. */
  #block = 0n
  #size = 0
  #used = 0

  /** Issues ids that are ≡ `offset` (mod `increment`), shuffled within blocks of `blockSize` ids. */
  constructor(permutation: BlockPermutation, blockSize: number, increment: number, offset: bigint) {
    this.#permutation = permutation
    this.#blockSize = blockSize
    this.#increment = BigInt(increment)
    this.#offset = offset
  }

  get left(): number {
    return this.#left + this.#size - this.#used
  }

  add(range: Range): void {
    assert(range.start >= (this.#ranges.at(-1)?.end ?? 0n), 'ranges are added in increasing order')
    const away = (((this.#offset - range.start) % this.#increment) + this.#increment) % this.#increment
    const first = range.start + away
    if (first >= range.end) return
    const left = Number((range.end - first + this.#increment - 1n) / this.#increment)
    this.#ranges.push({ first, left, end: range.end })
    this.#left += left
  }

  take(count: number, run: Run): number {
    assert(count > 0, 'somebody wants an id')
    if (this.#used === this.#size && !this.#nextBlock()) return 0
    run.setOne(this.#idAt(this.#block, this.#size, this.#used++))
    this.issued++
    return 1
  }

  collect(count: number): Run[] {
    const runs: Run[] = []
    for (let left = count; left > 0; ) {
      assert(this.#used < this.#size || this.#nextBlock(), 'a hand holds what it says')
      const block = this.#block
      const size = this.#size
      const used = this.#used
      const taken = Math.min(left, size - used)
      runs.push(new ScatteredRun(taken, (index) => this.#idAt(block, size, used + index)))
      this.#used += taken
      left -= taken
    }
    this.issued += count
    return runs
  }

  prepare(): void {}

  /** Ids in hand are in no order: only a run of one is. */
  align(count: number): boolean {
    return count === 1 && this.left > 0
  }

  dropBelow(floor: bigint): void {
    if (this.#block < floor) this.#used = this.#size
    while (this.#ranges.length > 0 && this.#ranges[0]!.first < floor) {
      this.#left -= this.#ranges.shift()!.left
    }
  }

  nextIsSafe(bound: bigint): boolean {
    const range = this.#ranges[0]
    if (this.#used < this.#size) return this.#top <= numberMax
    return (range === undefined ? bound : this.#topOf(range)) <= numberMax
  }

  newest(bound: bigint, floor: bigint): bigint | undefined {
    const below = this.#ranges[0]?.first ?? bound
    const newest = this.#used < this.#size ? this.#top : below - 1n
    return newest < floor ? undefined : newest
  }

  untouchedUpTo(end: bigint): bigint | undefined {
    let from: bigint | undefined
    for (const range of this.#ranges.toReversed()) {
      if (range.end !== (from ?? end)) break
      from = range.first
    }
    return from
  }

  clear(): void {
    this.#ranges.length = 0
    this.#left = 0
    this.#used = this.#size
  }

  #idAt(block: bigint, size: number, index: number): bigint {
    return block + BigInt(this.#permutation.forward(block, index, size)) * this.#increment
  }

  /** The largest id of the current block. */
  get #top(): bigint {
    return this.#block + BigInt(this.#size - 1) * this.#increment
  }

  /** The largest id of the block that a range starts with. */
  #topOf(range: Piece): bigint {
    return range.first + BigInt(Math.min(this.#blockSize, range.left) - 1) * this.#increment
  }

  #nextBlock(): boolean {
    const range = this.#ranges[0]
    if (range === undefined) return false
    this.#block = range.first
    this.#size = Math.min(this.#blockSize, range.left)
    this.#used = 0
    this.#left -= this.#size
    range.left -= this.#size
    range.first += BigInt(this.#size) * this.#increment
    if (range.left === 0) this.#ranges.shift()
    return true
  }
}
