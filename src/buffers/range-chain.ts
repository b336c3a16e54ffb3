/**
 * A chain of ranges of one counter, issued in the order in which they were added. The base of the service's buffers
 * (range-buffer.ts) and of those of its client.
 *
 * Invariants
 *  1. Every id lies in a range that was added, is ≡ offset (mod increment), and is taken once.
 *  2. A range without ids is not kept.
 *  3. The fast run holds ids of the first range only. It is taken back before anything else is taken or changed.
 */
import { assert } from '../base/assert.ts'
import { Run } from '../ids/run.ts'
import { FastRun } from './fast-runs.ts'

/** A range in a chain: its next id, and how many ids are left. */
export type ChainedRange = { next: bigint; left: number }

/** Filled and read within one call. */
const one = new Run()

/** Ranges. Each may carry more than its ids. */
export abstract class RangeChain<Link extends ChainedRange = ChainedRange> {
  readonly fastRun: FastRun
  protected readonly increment: number
  protected readonly stride: bigint
  protected readonly offset: bigint
  protected readonly ranges: Link[] = []
  /** How many ids the ranges have, those of the fast run too. */
  protected left = 0
  /** Ids taken, without those of the fast run. */
  protected taken = 0

  /** A chain of ids that are ≡ `offset` (mod `increment`). */
  constructor(increment: number, offset: bigint, fastRun: FastRun = new FastRun()) {
    this.fastRun = fastRun
    this.increment = increment
    this.stride = BigInt(increment)
    this.offset = offset
  }

  /** Ids taken since the start. */
  get issued(): number {
    return this.taken + this.fastRun.taken
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    for (const { left } of this.ranges) assert(left > 0, 'a range without ids is not kept')
    assert(
      this.ranges.reduce((sum, { left }) => sum + left, 0) === this.left,
      'the ids left are those of the ranges',
    )
    assert(
      this.fastRun.taken + this.fastRun.count <= (this.ranges[0]?.left ?? 0),
      'the fast run is of the first range',
    )
  }

  /** Takes the fast run back. */
  protected recall(): void {
    const taken = this.fastRun.recall()
    if (taken === 0) return
    this.taken += taken
    this.skip(taken)
  }

  /** Fills the fast run with up to `most` ids. */
  protected fillFastRun(most: number): void {
    const first = this.ranges[0]
    if (first === undefined) return
    const count = Math.floor(Math.min(first.left, most))
    if (count <= 0) return
    one.setOne(first.next)
    this.fastRun.fill(one.hi, one.lo, count, this.increment)
  }

  /** Removes up to `count` ids of the first range and writes them to `run`; 0 when there is none. */
  protected next(count: number, run: Run): number {
    this.recall()
    const first = this.ranges[0]
    if (first === undefined) return 0
    const taken = Math.min(count, first.left)
    run.set(first.next, taken, this.increment)
    this.skip(taken)
    return taken
  }

  /** Removes up to `count` ids, as a run of their own. */
  protected nextRun(count: number): Run {
    const run = new Run()
    this.next(count, run)
    return run
  }

  /** Removes exactly `count` ids, which are there. */
  protected nextRuns(count: number): Run[] {
    const runs: Run[] = []
    for (let left = count; left > 0; ) {
      const run = this.nextRun(left)
      assert(run.count > 0, 'as many ids are buffered as are available')
      runs.push(run)
      left -= run.count
    }
    this.taken += count
    return runs
  }

  /** Removes the next `count` ids of the first range, which has as many. */
  protected skip(count: number): void {
    const first = this.ranges[0]!
    this.left -= count
    first.left -= count
    if (first.left === 0) this.ranges.shift()
    else first.next += count === 1 ? this.stride : BigInt(count) * this.stride
  }
}
