/**
 * A buffer whose ids are issued block by block, each block in a secret order.
 *
 * Invariants
 *  1. Every id is issued once: within a block the order is a permutation, and blocks do not overlap.
 *  2. Only the current block is touched; what lies above it can be released.
 */
import { max53 } from '../ids/limits.ts'
import type { BlockPermutation } from '../ids/permutation.ts'
import { Run, ScatteredRun } from '../ids/run.ts'
import { RangeBuffer } from './range-buffer.ts'

/** Permutes the ids of each block. */
export class ShuffledBuffer extends RangeBuffer {
  readonly #permutation: BlockPermutation
  /** The current block, and how many of its ids are taken. */
  #block = new Run()
  #used = 0

  /** Issues ids that are ≡ `offset` (mod `increment`), shuffled within blocks of at most the permutation's size. */
  constructor(permutation: BlockPermutation, increment: number, offset: bigint) {
    super(increment, offset)
    this.#permutation = permutation
  }

  override available(): number {
    return super.available() + this.#block.count - this.#used
  }

  override dropBelow(floor: bigint): void {
    if (this.#block.first < floor) this.#used = this.#block.count
    super.dropBelow(floor)
  }

  /** Whether all ids of the block that the next id belongs to are at most 2^53−1. */
  override nextIsSafe(bound: bigint): boolean {
    return (this.#top ?? this.peek(this.#permutation.blockSize) ?? bound) <= max53
  }

  override newest(bound: bigint, floor: bigint): bigint | undefined {
    return this.#top ?? super.newest(bound, floor)
  }

  override clear(): void {
    this.#used = this.#block.count
    super.clear()
  }

  protected override next(_count: number, run: Run): number {
    if (!this.#hasBlock()) return 0
    run.setOne(this.#idAt(this.#block, this.#used++))
    return 1
  }

  protected override nextRun(count: number): Run {
    if (!this.#hasBlock()) return new Run()
    const block = this.#block
    const used = this.#used
    const taken = Math.min(count, block.count - used)
    this.#used += taken
    return new ScatteredRun(taken, (index) => this.#idAt(block, used + index))
  }

  /** The fast run holds no ids: each has to be permuted. */
  protected override fill(): void {}

  /** Ids are in no order: only a single one is contiguous. */
  protected override align(count: number): boolean {
    return count === 1
  }

  #idAt(block: Run, index: number): bigint {
    return block.at(this.#permutation.forward(block.first, index, block.count))
  }

  /** The largest id of the current block while some of its ids are left. */
  get #top(): bigint | undefined {
    return this.#used < this.#block.count ? this.#block.at(this.#block.count - 1) : undefined
  }

  /** Whether ids are left in the current block, or in a next one that becomes the current one. */
  #hasBlock(): boolean {
    if (this.#used < this.#block.count) return true
    const block = new Run()
    if (super.next(this.#permutation.blockSize, block) === 0) return false
    this.#block = block
    this.#used = 0
    return true
  }
}
