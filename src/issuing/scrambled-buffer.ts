/** Any hand, its values mapped by a permutation of the generator's whole domain: hides how many there are. */
import type { Permutation } from '../ids/permutation.ts'
import { type Run, ScatteredRun } from '../ids/run.ts'
import { OrderedBuffer } from './ordered-buffer.ts'
import { collectRuns } from './range-buffer.ts'

/**
 * Issues `permutation.forward(raw)` for each raw value of an ordered hand. The permutation is one-to-one over
 * the domain `[0, max]`, so distinct values stay distinct.
 */
export class ScrambledBuffer extends OrderedBuffer {
  readonly #permutation: Permutation
  readonly #allSafe: boolean

  /** @param max the largest raw value, and so the largest id. */
  constructor(permutation: Permutation, max: bigint, increment: number, offset: bigint) {
    super(increment, offset)
    this.#permutation = permutation
    this.#allSafe = max < 2n ** 53n
  }

  override take(_count: number, run: Run): number {
    const taken = super.take(1, run)
    if (taken > 0) run.setOne(this.#permutation.forward(run.first))
    return taken
  }

  override collect(count: number): Run[] {
    const raw = collectRuns({ take: (most, run) => super.take(most, run) }, count)
    return raw.map((run) => new ScatteredRun(run.count, (index) => this.#permutation.forward(run.at(index))))
  }

  /** What leaves this hand has to be mapped. */
  override prepare(): void {}

  /** Neighbours are not neighbours any more. */
  override align(count: number): boolean {
    return count === 1 && super.align(1)
  }

  override nextIsSafe(): boolean {
    return this.#allSafe
  }

  /** Not the raw value, which would tell how many there are. */
  override newest(bound: bigint, floor: bigint): bigint | undefined {
    const raw = super.newest(bound, floor)
    return raw === undefined ? undefined : this.#permutation.forward(raw)
  }
}
