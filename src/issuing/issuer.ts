/** What every kind of generator offers to those who want ids. */
import { FahaoError } from '../base/errors.ts'
import type { Run } from '../ids/run.ts'

/** The four kinds: made of a counter or of the clock, in strict order or in order per node. */
export type Kind = 'sequence' | 'segment' | 'timestamp' | 'snowflake'

/** Every kind, in the order of the documentation. */
export const kinds: readonly Kind[] = Object.freeze(['sequence', 'segment', 'timestamp', 'snowflake'])

/** Whether a kind keeps strict order across nodes. */
export function isStrict(kind: Kind): boolean {
  return kind === 'sequence' || kind === 'timestamp'
}

/** How a caller that may wait wants its ids. */
export type DrawOptions = {
  /** All in one run with stride 1; ids that stand in the way are dropped. */
  readonly contiguous?: boolean
  /** Rejects with UNSAFE, and uses nothing up, when the first of them could be past 2^53−1. */
  readonly safe?: boolean
  /** Gives up waiting: rejects with ABORTED, and no id is lost. */
  readonly signal?: AbortSignal
}

/** Hands out ids of one generator. One per incarnation and process. */
export interface Issuer {
  /**
   * Takes up to `count` ids that are in hand into `run` and returns how many, at least 1 unless dry. Never
   * waits, never throws for want of ids. 0 means: nothing in hand, or others are already waiting in line, or
   * the issuer is closed; `draw` knows what to do then.
   */
  take(count: number, run: Run): number

  /**
   * Takes one id that is in hand as a number. −1, and nothing is used up: `take` would give none, or the id is
   * past 2^53−1.
   */
  takeNumber(): number

  /**
   * Takes exactly `count` ids, waiting in line for the refill under way, at most `issueTimeout`.
   * All or nothing: a caller that gives up or times out has used up no id.
   * Rejects with DRY, BUSY, EXHAUSTED, CLOCK, WORKERID, NOTOWNER, REGRESSED, STALE, UNSAFE, SHUTDOWN or ABORTED.
   */
  draw(count: number, options?: DrawOptions): Promise<Run[]>

  /**
   * Whether the next id is at most 2^53−1, so that a JavaScript number holds it. Takes nothing. Exact while ids
   * are in hand; while none are, as far as the bound last seen tells, and `draw` with `safe` makes sure.
   */
  nextIsSafe(): boolean

  /** The newest id issued, here or by a predecessor; after a crash the last one that can have been. */
  lastIssued(): bigint | undefined

  /**
   * Issues nothing at or below `newest` any more. Durable when it resolves. ERR when ids above it are known to have
   * been issued, WRONGTYPE where ids follow the clock alone.
   */
  moveTo(newest: bigint): Promise<void>

  /** Figures for INFO and metrics. */
  stats(): IssuerStats

  /** Stops issuing, sends waiting callers away with `reason`, and releases what is still on top of its bound. */
  close(reason: Error): Promise<void>
}

/** Figures of one issuer. Counts are since it was opened here. */
export type IssuerStats = {
  /** Ids handed out. */
  readonly issued: number
  /** Ids per second, smoothed over about a minute. */
  readonly ratePerSecond: number
  /** The highest it has been. */
  readonly peakPerSecond: number
  /** Ids in hand; for clock kinds, what the reserved time would hold. */
  readonly inHand: number
  /** For how long the ids in hand would last at this rate, in seconds; Infinity when idle. */
  readonly inHandSeconds: number
  /** Raw values reserved. */
  readonly reserved: number
  /** Raw values given back. */
  readonly released: number
  /** Reserves that succeeded. */
  readonly refills: number
  /** Reserves that failed. */
  readonly refillFailures: number
  /** Time spent in reserves that succeeded, in seconds. */
  readonly refillSeconds: number
  /** Requests that had to wait. */
  readonly waits: number
  /** Time during which somebody was waiting, in seconds. */
  readonly drySeconds: number
  /** Callers waiting now. */
  readonly waiting: number
}

/** What a caller is told whom the next id would not reach as it is. */
export function unsafe(): FahaoError {
  return new FahaoError(
    'UNSAFE',
    'the next id can be past 2^53−1, where numbers are not exact; ask for text or a bigint',
  )
}

/** What a caller is told when a counter has come to its end. */
export function exhausted(name: string, max: bigint): FahaoError {
  return new FahaoError(
    'EXHAUSTED',
    `generator '${name}' has reached its maximum ${max}; raise MAX with ID.ALTER or use another generator`,
  )
}
