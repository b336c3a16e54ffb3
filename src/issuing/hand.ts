/** Ranges of a counter in hand, in whatever order they are issued. */
import type { Range } from '../engine/engine.ts'
import type { Run } from '../ids/run.ts'

/** What a counter's stock needs of the ids that it holds. */
export interface Hand {
  /** How many ids are in hand. */
  readonly left: number
  /** Takes a range in hand, above all that were added before. */
  add(range: Range): void
  /** Takes up to `count` ids into `run`, 0 when nothing is left. */
  take(count: number, run: Run): number
  /** Drops ids until the next `count` are one run; false, and nothing dropped, when there is no such run. */
  align(count: number): boolean
  /** Drops every id below `floor`. */
  dropBelow(floor: bigint): void
  /** Whether the next id is surely at most 2^53−1. */
  nextIsSafe(): boolean
  /** The value below the next id in hand: the newest that can have been issued; undefined when unknown. */
  readonly next: bigint
  /** The lowest value from which on everything up to `end` is in hand and untouched. */
  untouchedUpTo(end: bigint): bigint | undefined
  /** Lets go of everything. */
  clear(): void
}
