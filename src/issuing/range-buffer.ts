/** Ranges of a counter in hand, in whatever order they are issued. */
import { assert } from '../base/assert.ts'
import type { Range } from '../engine/engine.ts'
import type { FastRun } from '../ids/fast-run.ts'
import { Run } from '../ids/run.ts'

/** What a counter's stock needs of the ids that it holds. */
export interface RangeBuffer {
  /** What may be issued past `take`. Whatever else is called takes it back. */
  readonly ready: FastRun
  /** How many ids are in hand. */
  readonly left: number
  /** How many were taken, ready ones too. */
  readonly issued: number
  /** Takes a range in hand, above all that were added before. */
  add(range: Range): void
  /** Takes up to `count` ids into `run`, 0 when nothing is left. */
  take(count: number, run: Run): number
  /** Takes exactly `count` ids, which have to be in hand. */
  collect(count: number): Run[]
  /** Makes ids ready, but leaves at least `keep` in hand. */
  prepare(keep: number): void
  /** Drops ids until the next `count` are one run; false, and nothing dropped, when there is no such run. */
  align(count: number): boolean
  /** Drops every id below `floor`. */
  dropBelow(floor: bigint): void
  /** Whether the next id is at most 2^53−1. With nothing in hand: whether the first from `bound` on is. */
  nextIsSafe(bound: bigint): boolean
  /**
   * The newest id that can have been issued: below the next one in hand, or below `bound` when nothing is in
   * hand. Undefined when that is below `floor`, so that none was.
   */
  newest(bound: bigint, floor: bigint): bigint | undefined
  /** The lowest value from which on everything up to `end` is in hand and untouched; undefined: nothing is. */
  untouchedUpTo(end: bigint): bigint | undefined
  /** Lets go of everything. */
  clear(): void
}

/** Takes exactly `count` ids of what is known to hold them. */
export function collectRuns(hand: { take(count: number, run: Run): number }, count: number): Run[] {
  const runs: Run[] = []
  for (let left = count; left > 0; ) {
    const run = new Run()
    left -= hand.take(left, run)
    assert(run.count > 0, 'a hand holds what it says')
    runs.push(run)
  }
  return runs
}
