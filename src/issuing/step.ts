/** How much to reserve at a time: by what was used lately, by what callers had to wait for, by what is left. */

/** The least that a refill reserves: `step`, doubled each time callers had to wait, and slowly back. */
export class StepSize {
  readonly #min: number
  readonly max: number
  #ids: number

  /** @param min @param max in ids. */
  constructor(min: number, max: number) {
    this.#min = min
    this.max = max
    this.#ids = Math.min(min, max)
  }

  /** The step now, in ids. */
  get ids(): number {
    return this.#ids
  }

  /** Callers had to wait. */
  grow(): void {
    this.#ids = Math.min(this.max, this.#ids * 2)
  }

  /** A refill went by without anybody waiting. */
  shrink(): void {
    this.#ids = Math.max(Math.min(this.#min, this.max), Math.floor(this.#ids * 0.9))
  }
}

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
  readonly step: StepSize
}

/** No refill is larger: beyond 2^53 a double would miscount what is in hand. */
const refillMax = 2 ** 50

/** A refill is due when fewer ids than this are in hand: half a step, or the horizon, but 1 % of the space left. */
export function lowMark({ rate, horizonSeconds, step, space }: RefillNeed): number {
  return Math.min(Math.max(rate * horizonSeconds, step.ids / 2), shareOf(space))
}

/**
 * The size of the refill that `need` calls for, in ids; 0: none now. It fills towards twice the horizon, is at
 * least a step, at most `stepMax` and 1 % of the space left, but never less than what callers wait for.
 */
export function refillSize(need: RefillNeed): number {
  const { step } = need
  const missing = Math.max(need.demand - need.inHand, need.contiguous)
  if (missing <= 0 && need.inHand >= lowMark(need)) return 0
  if (missing <= 0) step.shrink()
  const wanted = Math.max(2 * need.rate * need.horizonSeconds - need.inHand, step.ids)
  const allowed = Math.min(wanted, step.max, shareOf(need.space))
  return Math.ceil(Math.min(Math.max(allowed, missing), refillMax))
}

/** Whether `stepMax` keeps a refill from lasting the horizon. */
export function stepMaxBinds({ rate, horizonSeconds, step }: RefillNeed): boolean {
  return rate * horizonSeconds > step.max
}

/** 1 % of what is left, so that no crash costs much of a small space; at least one id while there is one. */
function shareOf(space: number): number {
  return space > 0 ? Math.max(1, space / 100) : 0
}
