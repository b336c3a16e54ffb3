/** What every kind of generator offers to its callers. */
import { advising } from '../base/advice.ts'
import { describe, FahaoError } from '../base/errors.ts'
import type { DrawRequest } from '../buffers/wait-queue.ts'
import type { IdInput } from '../ids/gene.ts'
import type { ListedGenerator } from '../ids/generator-description.ts'
import type { Run } from '../ids/run.ts'
import { type CallerStats, noCallers } from './caller-ids.ts'
import type { OnceRecord } from './once.ts'

/** The four kinds: made of a counter or of the clock, in strict order or in order per node. */
export type Kind = ListedGenerator['kind']

/** Every kind, in the order of the documentation. */
export const kinds: readonly Kind[] = Object.freeze(['sequence', 'segment', 'timestamp', 'snowflake'])

/** Whether a kind keeps strict order across nodes. */
export function isStrict(kind: Kind): boolean {
  return kind === 'sequence' || kind === 'timestamp'
}

/** How a caller that may wait gets its ids, and the genes of these. */
export type DrawOptions = IdInput & {
  /** All in one run with stride 1; ids before it are dropped. */
  readonly contiguous?: boolean
  /** Rejects with UNSAFE, and uses no id up, when the first of them could be past 2^53−1. */
  readonly safe?: boolean
  /** Gives up waiting: rejects with its reason, and no id is lost. */
  readonly signal?: AbortSignal
  /** Called before the caller joins the queue of those that wait. What it throws is the rejection. */
  readonly onWait?: (() => void) | undefined
  /** Made durable together with the reserve; rejects with `TakenKey` where it exists. Of a group commit alone. */
  readonly once?: OnceRecord | undefined
}

/** What a draw asks of the issuer of a counter. */
export function requestOf(
  count: number,
  { contiguous = false, safe = false, above }: DrawOptions,
): DrawRequest & { readonly floor: bigint } {
  return { count, contiguous, safe, floor: above === undefined ? 0n : BigInt(above) + 1n }
}

/** Issues ids of one generator. One per incarnation and process. */
export interface Issuer {
  /**
   * The row of `FastRuns` that holds what it issues at once; `emptyRow` if there is none, and once it is closed. Its
   * generation changes when it is freed.
   */
  readonly row: number

  /** Whether the right under which it issues has ended: it issues nothing any more. */
  readonly isOver: boolean

  /**
   * Takes up to `count` buffered ids into `run` and returns how many, at least 1 unless dry. Never waits, never throws
   * for lack of ids. 0: no id is buffered, other callers wait already, or the issuer is closed; `draw` handles these.
   */
  take(count: number, run: Run): number

  /** Takes one buffered id as a number. −1, and takes none, when `take` would take none or the id is past 2^53−1. */
  takeNumber(): number

  /**
   * Takes exactly `count` ids, waiting in the queue for the refill under way, at most `issueTimeout`.
   * All or nothing: a caller that gives up or times out has used up no id.
   * Rejects with DRY, BUSY, EXHAUSTED, CLOCK, WORKERID, NOTOWNER, REGRESSED, STALE, UNSAFE, SHUTDOWN, or the reason of the signal.
   */
  draw(count: number, options?: DrawOptions): Promise<Run[]>

  /**
   * Whether the next id is at most 2^53−1, so that a JavaScript number holds it. Takes no id. Exact while ids are
   * buffered; otherwise an estimate from the bound last seen, and `draw` with `safe` makes sure.
   */
  nextIsSafe(): boolean

  /** The newest id issued, here or by a predecessor; after a crash the largest that can have been issued. */
  lastIssued(): bigint | undefined

  /** The value up to which nothing is issued any more, where it can be above `lastIssued`. */
  passed?(): bigint | undefined

  /**
   * Issues nothing at or below `newest` any more. Durable when it resolves. ERR when ids above it are known to have
   * been issued, WRONGTYPE where ids follow the clock alone.
   */
  moveTo(newest: bigint): Promise<void>

  /** Figures for INFO and metrics. */
  stats(): IssuerStats

  /** Throws where an invariant is broken. For tests: it reads all that it holds. */
  assertInvariants(): void

  /** Stops issuing, rejects waiting callers with `reason`, and releases the buffered range on top of the bound. */
  close(reason: Error): Promise<void>
}

/** Figures of one issuer. Counts are since it was opened here; those of `CallerStats` are of ids that callers issue. */
export type IssuerStats = CallerStats & {
  /** Ids issued. */
  readonly issued: number
  /** Ids per second, smoothed over about a minute. */
  readonly ratePerSecond: number
  /** The highest rate so far. */
  readonly peakPerSecond: number
  /** Buffered ids; for clock kinds, how many the reserved time would hold. */
  readonly inHand: number
  /** For how long the buffered ids would last at this rate, in seconds; Infinity when idle. */
  readonly inHandSeconds: number
  /** Raw values reserved. */
  readonly reserved: number
  /** Raw values released. */
  readonly released: number
  /** Of batches: ids that no caller gets, because those that had asked for them had left, or the right to issue had ended. */
  readonly dropped: number
  /** Of batches: ids that no caller gets, at most, because their reserve has had no known outcome. */
  readonly lost: number
  /** Reserves that succeeded. */
  readonly refills: number
  /** Reserves that failed. */
  readonly refillFailures: number
  /** Whether the newest reserve has failed, in the last five minutes: 1 or 0; of a family, how many of its sections. */
  readonly refillsFailing: number
  /** Time spent in reserves that succeeded, in seconds. */
  readonly refillSeconds: number
  /** Requests that had to wait. */
  readonly waits: number
  /** Time during which callers were waiting, in seconds. */
  readonly drySeconds: number
  /** Callers waiting now. */
  readonly waiting: number
}

/** The figures of an issuer that has done nothing. */
export const idleStats: IssuerStats = Object.freeze({
  ...noCallers,
  issued: 0,
  ratePerSecond: 0,
  peakPerSecond: 0,
  inHand: 0,
  inHandSeconds: Number.POSITIVE_INFINITY,
  reserved: 0,
  released: 0,
  dropped: 0,
  lost: 0,
  refills: 0,
  refillFailures: 0,
  refillsFailing: 0,
  refillSeconds: 0,
  waits: 0,
  drySeconds: 0,
  waiting: 0,
})

/** Error for callers that cannot represent the next id exactly (above 2^53−1). */
export function unsafe(): FahaoError {
  return new FahaoError(
    'UNSAFE',
    'the next id can be past 2^53−1, where numbers are not exact; ask for text or a bigint',
  )
}

/** Error for callers when a counter has come to its end. */
export function exhausted(name: string, max: bigint): FahaoError {
  return advising('EXHAUSTED', (say) => {
    const raise = say({ operation: 'id.alter', name, options: { max: undefined } })
    return `generator '${name}' has reached its maximum ${max}; raise it with ${raise}, or use another generator`
  })
}

/** Error for callers that have waited too long: what is missing, and why it was not refilled in time. */
export function dry(missing: string, cause: unknown): FahaoError {
  const why =
    cause === undefined ? 'the engine has not answered in time' : `the engine said: ${describe(cause)}`
  return new FahaoError('DRY', `${missing} and ${why}; retry`, { cause })
}
