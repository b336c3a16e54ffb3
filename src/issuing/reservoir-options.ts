/** What issuers that issue from memory, or by group commit, take from their process. */
import type { Observer } from './observer.ts'
import type { RefillsOptions } from './refills.ts'

/** What the reservoirs of all generators with one definition share. */
export type ReservoirOptions = RefillsOptions & {
  /** Observes all reservoirs of this process. */
  readonly observer: Observer
  /** How long a caller waits at most, in ms. */
  readonly issueTimeoutMs: number
  /** How many callers may wait. */
  readonly waitersMax: number
  /**
   * Whether this process may issue now; if not, or if a copy of its memory was noticed, it has closed or ended the gates
   * of the reservoirs that may not when this returns. Called before waiting callers are served: callers of `take` have called it
   * in the same callback. Undefined: it always may.
   */
  readonly mayIssue?: (() => boolean) | undefined
}
