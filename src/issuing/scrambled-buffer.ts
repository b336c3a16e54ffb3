/** A buffer whose ids are mapped by a permutation of the generator's whole domain: they do not show how many there are. */
import { max53 } from '../ids/limits.ts'
import type { Permutation } from '../ids/permutation.ts'
import { Run, ScatteredRun } from '../ids/run.ts'
import { RangeBuffer } from './range-buffer.ts'

/**
 * Issues `permutation.forward(raw)` for each raw value. The permutation is one-to-one over the domain `[0, max]`, so
 * distinct values stay distinct.
 */
export class ScrambledBuffer extends RangeBuffer {
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
    const taken = super.next(1, run)
    if (taken > 0) run.setOne(this.#permutation.forward(run.first))
    return taken
  }

  protected override nextRun(count: number): Run {
    const raw = new Run()
    super.next(count, raw)
    return new ScatteredRun(raw.count, (index) => this.#permutation.forward(raw.at(index)))
  }

  /** The fast run holds no ids: each has to be mapped. */
  protected override fill(): void {}

  /** Ids are in no order: only a single one is contiguous. */
  protected override align(count: number): boolean {
    return count === 1
  }
}
