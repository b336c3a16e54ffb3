/** How much to reserve at a time: by what was used lately, by what callers had to wait for, by what is left. */

/** What the size of a refill depends on; all in ids, rates per second. */
export type RefillNeed = {
  readonly rate: number
  readonly horizonSeconds: number
  readonly inHand: number
  /** What callers wait for, all in all, and the longest run among it. */
  readonly demand: number
  readonly contiguous: number
  /** What is left of the generator's space. */
  readonly space: number
  /**
   * The least that a refill reserves: doubled each time callers had to wait, up to `stepMax`, and slowly back to
   * `stepMin`.
   */
  readonly step: number
  readonly stepMin: number
  readonly stepMax: number
}

/** The smallest and the largest refill of a counter, in ids. */
export type RefillSizes = { readonly step: number; readonly stepMax: number }

/** No refill is larger: beyond 2^53 a double would miscount what is in hand. */
const refillMax = 2 ** 50

/** A refill is due when fewer ids than this are in hand: half a step, or the horizon, but 1 % of the space left. */
export function lowMark({ rate, horizonSeconds, step, space }: RefillNeed): number {
  return Math.min(Math.max(rate * horizonSeconds, step / 2), shareOf(space))
}

/**
 * The size of the refill that `need` calls for, in ids; 0: none now. It fills towards twice the horizon, is at
 * least a step, at most `stepMax` and 1 % of the space left, but never less than what callers wait for.
 */
export function refillSize(need: RefillNeed): number {
  const missing = missingOf(need)
  if (missing <= 0 && need.inHand >= lowMark(need)) return 0
  const wanted = Math.max(2 * need.rate * need.horizonSeconds - need.inHand, stepAfter(need))
  const allowed = Math.min(wanted, need.stepMax, shareOf(need.space))
  return Math.ceil(Math.min(Math.max(allowed, missing), refillMax))
}

/** The step from this refill on: smaller if one is due and nobody waits for it. */
export function stepAfter(need: RefillNeed): number {
  if (missingOf(need) > 0 || need.inHand >= lowMark(need)) return need.step
  return Math.max(need.stepMin, Math.floor(need.step * 0.9))
}

/** What callers wait for beyond what is in hand. */
function missingOf({ demand, inHand, contiguous }: RefillNeed): number {
  return Math.max(demand - inHand, contiguous)
}

/** Whether `stepMax` keeps a refill from lasting the horizon. */
export function stepMaxBinds({ rate, horizonSeconds, stepMax }: RefillNeed): boolean {
  return rate * horizonSeconds > stepMax
}

/** 1 % of what is left, so that no crash costs much of a small space; at least one id while there is one. */
function shareOf(space: number): number {
  return space > 0 ? Math.max(1, space / 100) : 0
}
