/** What the buffers of a generator have in common: range-buffer.ts, permuted-buffers.ts and clock-buffer.ts. */

import type { Run } from '../ids/run.ts'
import type { FastRun } from './fast-runs.ts'

/** Ids of one generator that can be issued at once. */
export interface IdBuffer {
  /**
   * Ids that may be issued without `take`. `take` and `ready` may fill the run, once an id has
   * been taken: the id before the first one of the run is the newest. Other methods may take back what is left in it.
   */
  readonly fastRun: FastRun

  /** Set when a refill should start. */
  low: boolean

  /** Ids taken since the start, those of the fast run too. */
  readonly issued: number

  /** Takes up to `count` ids into `run`; returns how many, 0 when the buffer is empty. */
  take(count: number, run: Run): number

  /** How many ids `take` would give now, all in all. */
  available(): number

  /**
   * Takes exactly `count` ids in one step, or none: undefined. `contiguous`: as one run with stride 1, dropping the ids
   * before it.
   */
  collect(count: number, contiguous: boolean): Run[] | undefined

  /** Makes ids ready in the fast run, as `take` does. Only after an id has been taken. */
  ready(): void

  /** Throws where an invariant is broken. For tests: it reads all that it holds. */
  assertInvariants(): void
}
