/**
 * The size of a refill of a counter, and the low mark at which one is due: by the use that is expected, by the ids that
 * callers wait for, by the space that is left. Pure functions; `counter-source.ts` calls them for each refill. Those of fahao-client
 * (client/src/demand.ts) also fall with little use, because its ranges have a deadline and are not released in time.
 */

/** The state of a generator that decides the size of a refill; all in ids. */
export type RefillNeed = {
  /** The ids that should be buffered at least, beyond those that callers wait for. */
  readonly expected: number
  readonly buffered: number
  /** The ids that callers wait for, all in all, and the longest run among them. */
  readonly demand: number
  readonly contiguous: number
  /** The ids that are left of the generator's space. */
  readonly space: number
  /**
   * The least that a refill reserves: doubled each time callers had to wait, up to `stepMax`, and slowly back to
   * `stepMin`. 0: no least.
   */
  readonly step: number
  readonly stepMin: number
  readonly stepMax: number
}

/** The smallest and the largest refill of a counter, in ids. A `step` of 0 is `adaptive`: see `counter-source.ts`. */
export type RefillSizes = { readonly step: number; readonly stepMax: number }

/** No refill is larger: beyond 2^53 a double would miscount the buffer. */
const refillMax = 2 ** 50

/**
 * A refill is due when fewer ids than this are buffered: half a step, or what is expected if that is more, but at most 1 %
 * of the space left.
 */
export function lowMark({ expected, step, space }: RefillNeed): number {
  return Math.min(Math.max(expected, step / 2), shareOf(space))
}

/**
 * The size of the refill that `need` calls for, in ids; 0: none now. It fills towards twice what is expected, is at
 * least a step, at most `stepMax` and 1 % of the space left, but never less than what callers wait for.
 */
export function refillSize(need: RefillNeed): number {
  const missing = missingOf(need)
  if (missing <= 0 && need.buffered >= lowMark(need)) return 0
  const wanted = Math.max(2 * need.expected + need.demand - need.buffered, stepAfter(need))
  const allowed = Math.min(wanted, need.stepMax, shareOf(need.space))
  return Math.ceil(Math.min(Math.max(allowed, missing), refillMax))
}

/** The step from this refill on: smaller if a refill is due and no caller waits for it. */
export function stepAfter(need: RefillNeed): number {
  if (missingOf(need) > 0 || need.buffered >= lowMark(need)) return need.step
  return Math.max(need.stepMin, Math.floor(need.step * 0.9))
}

/** The ids that callers wait for beyond the buffer. */
function missingOf({ demand, buffered, contiguous }: RefillNeed): number {
  return Math.max(demand - buffered, contiguous)
}

/** Whether `stepMax` keeps a refill from lasting the horizon. */
export function stepMaxBinds({ expected, stepMax }: RefillNeed): boolean {
  return expected > stepMax
}

/** 1 % of what is left, so that no crash costs much of a small space; at least one id while there is one. */
function shareOf(space: number): number {
  return space > 0 ? Math.max(1, space / 100) : 0
}
