/** Where the ids of one generator come from: one class for each way to get them. */
import type { FastRun } from '../../src/buffers/fast-runs.ts'
import type { Run } from '../../src/ids/run.ts'
import type { GeneratorStats } from './generator.ts'

/** How a caller that may wait gets its ids. */
export type DrawOptions = {
  /** Rejects with UNSAFE when an id is above 2^53−1. */
  readonly safe?: boolean
  /** As one run of ids with a distance of 1, possibly in parts. Only where the definition of the source allows that. */
  readonly contiguous?: boolean
  readonly signal?: AbortSignal | undefined
}

/** Ids of one incarnation and definition of a generator. */
export interface IdSource {
  /** Ids that can be issued without any check, until the end of this callback; empty where there are none. */
  readonly fastRun: FastRun
  /** Takes up to `count` buffered ids into `run`; 0 when none is buffered. A refill starts when one is due. */
  take(count: number, run: Run): number
  /** Whether the next id is surely at most 2^53−1, if one is buffered. */
  nextIsSafe(): boolean
  /** Takes exactly `count` ids, waiting for the service. Rejects as methods of `ClientGenerator` do; STALE: ask its replacement. */
  draw(count: number, options: DrawOptions): Promise<Run[]>
  /** See `ClientGenerator.stats`. */
  stats(): GeneratorStats
  /** Throws where an invariant is broken. */
  assertInvariants(): void
  /** Drops the buffer: a copy of this memory may issue the same ids. */
  drop(): void
  /** Rejects callers with `reason`, and returns what can be returned. Never rejects. */
  close(reason: Error): Promise<void>
}
