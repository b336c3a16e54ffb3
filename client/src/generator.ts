/** What a generator of the service offers to this process. Hooks and callers build on these types alone. */

import type { IdInput } from '../../src/ids/gene.ts'
import type { ListedGenerator } from '../../src/ids/generator-description.ts'

/** How ids of a generator are ordered; see the documentation of kinds. */
export type Kind = ListedGenerator['kind']

/**
 * Options of a call that may wait. Of a generator with bits for a gene each call needs one, and is a request to the service, as is each
 * call for ids of a past moment, which `at` names, and for ids above a number, which `above` names.
 */
export type WaitOptions = IdInput & {
  /** Ends the wait: the call rejects with the reason of the signal, an AbortError or a TimeoutError unless it was given one. */
  readonly signal?: AbortSignal
}

/** Options of a call for many ids. */
export type BatchOptions = WaitOptions & {
  /**
   * Whether each id is one larger than the id before it, where the generator allows that: it is a `sequence` or a `segment`
   * whose ids are one apart, in order and not scrambled. Ids in front of a gap are dropped if they are too few. Default: false.
   */
  readonly contiguous?: boolean
}

/** Figures of a generator since this client first used it. */
export type GeneratorStats = {
  /** Ids that callers got. */
  readonly issued: number
  /** Ids that are buffered here; for a snowflake, how many the leased time allows at this moment. */
  readonly buffered: number
  /**
   * For how long the buffered ids last without the service, in ms: at the present rate, and until their deadline. 0 for
   * strict kinds.
   */
  readonly lastsMs: number
  /** Requests to the service that were answered. */
  readonly requests: number
  /** Requests that failed after all tries. */
  readonly failures: number
  /** Calls that had to wait for the service. */
  readonly waits: number
  /** Calls that wait now. */
  readonly waiting: number
}

/**
 * A generator of the service. Methods named `try…` never wait: they give what is buffered in this process, or undefined,
 * and always undefined for the strict kinds `sequence` and `timestamp`, whose every id is asked for. The others wait for
 * at most `timeoutMs` of the client.
 *
 * They reject with the code of the service (EXHAUSTED, NOGENERATOR, NOPERM, …), with SHUTDOWN after `close`, and with
 * UNAVAILABLE when nothing is buffered and no node has answered in time.
 */
export interface ClientGenerator {
  readonly name: string
  /** The kind as of the last answer of the service. */
  readonly kind: Kind
  /** Whether its ids have a format, and so are texts, as of the last answer of the service. */
  readonly isFormatted: boolean
  /** The next id. */
  next(options?: WaitOptions): Promise<bigint>
  /** The next id, if one is buffered. */
  tryNext(): bigint | undefined
  /**
   * The next id as a number. Rejects with UNSAFE when it is above 2^53−1, and uses no id then; of the strict kinds it uses
   * one, because only the reply shows how large it is. Of scrambled ids it rejects wherever one of them can be above.
   */
  nextNumber(options?: WaitOptions): Promise<number>
  /** The next id as a number, if one is buffered and at most 2^53−1; otherwise undefined, and no id is used. */
  tryNextNumber(): number | undefined
  /** The next id as text in the generator's format; decimal if it has none. */
  nextText(options?: WaitOptions): Promise<string>
  /** The next id as text, if one is buffered and its format needs no node of the service. */
  tryNextText(): string | undefined
  /** The next id as bytes: 16 as its UUID or ULID has them, 12 of an ObjectId. WRONGTYPE if the generator has no such format. */
  nextBytes(options?: WaitOptions): Promise<Uint8Array>
  /** The next `count` ids, in the order of issue. ERR unless `count` is a whole number from 1 to 1,000,000. */
  nextBatch(count: number, options?: BatchOptions): Promise<bigint[]>
  /** The next `count` ids as texts, as `nextText` and `nextBatch` give them. */
  nextTexts(count: number, options?: WaitOptions): Promise<string[]>
  /** Figures for logs and metrics. */
  stats(): GeneratorStats
}
