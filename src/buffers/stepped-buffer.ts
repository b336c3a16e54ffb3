/**
 * The buffer that issues ids in order and at random distances: raw values are counted, and of each range only those that the
 * steps meet are ids.
 *
 * Invariants
 *  1. Ids increase, and within a range, and from it to an adjacent one, their distance is a random step. A range that is not
 *     adjacent begins with its first value: what a predecessor has used up need not be known.
 *  2. The ids left are counted as few as they can be: as if each step were the longest. So no more than are there are promised,
 *     and an id that is taken makes them at most one less.
 *  3. The fast run holds no ids: each is one step of its own.
 */
import { assert } from '../base/assert.ts'
import type { RandomSteps } from '../ids/random-steps.ts'
import { Run, ScatteredRun } from '../ids/run.ts'
import { RowlessBuffer } from './permuted-buffers.ts'

/** Issues ids that are random steps apart. */
export class SteppedBuffer extends RowlessBuffer {
  readonly #steps: RandomSteps
  /** The newest id that was taken; undefined: none since it was moved. */
  #newest: bigint | undefined
  /** How far the next id lies behind the end of the newest range, while all that is left. */
  #beyond = 0

  constructor(steps: RandomSteps) {
    super(1, 0n)
    this.#steps = steps
  }

  override available(): number {
    let available = 0
    for (const { left } of this.ranges) available += Math.ceil(left / this.#steps.highest)
    return available
  }

  override dropBelow(floor: bigint): void {
    const next = this.ranges[0]?.next
    if (next === undefined || next < floor) this.#newest = undefined
    super.dropBelow(floor)
  }

  override newest(bound: bigint, floor: bigint): bigint | undefined {
    return this.#newest ?? super.newest(bound, floor)
  }

  override assertInvariants(): void {
    super.assertInvariants()
    const next = this.ranges[0]?.next
    assert(next === undefined || this.#newest === undefined || this.#newest < next, 'ids increase')
  }

  protected override firstOf(start: bigint, isAdjacent: boolean): bigint {
    const beyond = isAdjacent ? this.#beyond : 0
    this.#beyond = 0
    return start + BigInt(beyond)
  }

  /** Only a single id is contiguous. */
  protected override align(count: number): boolean {
    return count === 1
  }

  protected override next(_count: number, run: Run): number {
    const id = this.ranges[0]?.next
    if (id === undefined) return 0
    run.setOne(id)
    this.#pass(id, this.#steps.after(run.hi, run.lo))
    return 1
  }

  protected override nextRun(count: number): Run {
    const first = this.ranges[0]
    if (first === undefined) return new Run()
    const { next, left } = first
    const offsets = this.#steps.walk(next, count)
    let taken = count
    while (offsets[taken - 1]! >= left) taken--
    this.#pass(next + BigInt(offsets[taken - 1]!), offsets[taken]!)
    return new ScatteredRun(taken, (index) => next + BigInt(offsets[index]!))
  }

  /** Passes `values` of the first range, up to the id behind `newest`. */
  #pass(newest: bigint, values: number): void {
    const { left } = this.ranges[0]!
    this.#newest = newest
    this.skip(Math.min(values, left))
    this.#beyond = this.ranges.length === 0 ? Math.max(0, values - left) : 0
  }
}
