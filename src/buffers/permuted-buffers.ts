/**
 * The buffers that issue ids out of order: a shuffled one block by block, each block in a secret order; a scrambled one
 * by a permutation of the generator's whole domain, so that the ids do not show how many there are.
 *
 * Invariants
 *  1. Every id is issued once: each order is a permutation, and blocks do not overlap.
 *  2. Only the current block is touched; what lies above it can be released.
 *  3. The fast run holds no ids: each has to be permuted.
 *
 * The third holds of ids with a gene too (issuing/gene-issuer.ts), and of those at random distances (stepped-buffer.ts), which have
 * buffers of their own.
 */
import { assert } from '../base/assert.ts'
import { max53 } from '../ids/limits.ts'
import type { BlockPermutation, Permutation } from '../ids/permutation.ts'
import { Run, ScatteredRun } from '../ids/run.ts'
import { emptyRow, noFastRun } from './fast-runs.ts'
import { RangeBuffer } from './range-buffer.ts'

/** Ids that do not leave as they are: each is changed first. */
export class RowlessBuffer extends RangeBuffer {
  /** Ids that are ≡ `offset` (mod `increment`). */
  constructor(increment: number, offset: bigint) {
    super(increment, offset, noFastRun)
  }

  protected override fill(): void {}

  /** It has no row. */
  override rest(): number {
    return emptyRow
  }

  override assertInvariants(): void {
    super.assertInvariants()
    assert(this.fastRun.count === 0, 'the fast run holds no ids')
  }
}

/** Ids in no order. */
abstract class PermutedBuffer extends RowlessBuffer {
  /** Only a single id is contiguous. */
  protected override align(count: number): boolean {
    return count === 1
  }
}

/** Permutes the ids of each block. */
export class ShuffledBuffer extends PermutedBuffer {
  readonly #permutation: BlockPermutation
  /** The current block: its first id, its size, and how many of its ids are taken. */
  #first = 0n
  #size = 0
  #used = 0

  /** Issues ids that are ≡ `offset` (mod `increment`), shuffled within blocks of at most the permutation's size. */
  constructor(permutation: BlockPermutation, increment: number, offset: bigint) {
    super(increment, offset)
    this.#permutation = permutation
  }

  override available(): number {
    return super.available() + this.#size - this.#used
  }

  override assertInvariants(): void {
    super.assertInvariants()
    assert(this.#used >= 0 && this.#used <= this.#size, 'the ids of a block are those that it has')
    assert(this.#size <= this.#permutation.blockSize, 'a block is permuted as a whole')
    const [top, next] = [this.#top, this.nextId]
    assert(top === undefined || next === undefined || top < next, 'what lies above the block is untouched')
  }

  override dropBelow(floor: bigint): void {
    if (this.#first < floor) this.#used = this.#size
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
    this.#used = this.#size
    super.clear()
  }

  protected override next(_count: number, run: Run): number {
    if (!this.#hasBlock()) return 0
    run.setOne(this.#idAt(this.#first, this.#size, this.#used++))
    return 1
  }

  protected override nextRun(count: number): Run {
    if (!this.#hasBlock()) return new Run()
    const first = this.#first
    const size = this.#size
    const used = this.#used
    const taken = Math.min(count, size - used)
    this.#used += taken
    return new ScatteredRun(taken, (index) => this.#idAt(first, size, used + index))
  }

  #idAt(first: bigint, size: number, index: number): bigint {
    return first + BigInt(this.#permutation.forward(first, index, size)) * this.stride
  }

  /** The largest id of the current block while some of its ids are left. */
  get #top(): bigint | undefined {
    return this.#used < this.#size ? this.#first + BigInt(this.#size - 1) * this.stride : undefined
  }

  /** Whether ids are left in the current block, or in a next one that becomes the current one. */
  #hasBlock(): boolean {
    if (this.#used < this.#size) return true
    const block = new Run()
    if (super.next(this.#permutation.blockSize, block) === 0) return false
    this.#first = block.first
    this.#size = block.count
    this.#used = 0
    return true
  }
}

/**
 * Issues `permutation.forward(raw)` for each raw value. The permutation is one-to-one over the domain `[0, max]`, so
 * distinct values stay distinct.
 */
export class ScrambledBuffer extends PermutedBuffer {
  readonly #permutation: Permutation
  readonly #allSafe: boolean

  /** @param max the largest raw value, and so the largest id. */
  constructor(permutation: Permutation, max: bigint, increment: number, offset: bigint) {
    super(increment, offset)
    this.#permutation = permutation
    this.#allSafe = max <= max53
  }

  override nextIsSafe(): boolean {
    return this.#allSafe
  }

  /** The id of the newest raw value; the raw value would show how many there are. */
  override newest(bound: bigint, floor: bigint): bigint | undefined {
    const raw = super.newest(bound, floor)
    return raw === undefined ? undefined : this.#permutation.forward(raw)
  }

  protected override next(_count: number, run: Run): number {
    const raw = this.nextId
    const taken = super.next(1, run)
    if (raw !== undefined) run.setOne(this.#permutation.forward(raw))
    return taken
  }

  protected override nextRun(count: number): Run {
    const raw = new Run()
    super.next(count, raw)
    return new ScatteredRun(raw.count, (index) => this.#permutation.forward(raw.at(index)))
  }
}
