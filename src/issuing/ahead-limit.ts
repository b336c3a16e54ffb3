/**
 * How far ahead of the clock the time of worker ids is reserved at most, so that an advance of a store that has lost writes
 * begins above all of it. Pure. All times in Unix µs.
 *
 * Invariants
 *  1. An advance begins at or above `boundLimitUs` of every process whose clock is at most `clockMarginUs` ahead of that of
 *     the process that advances, with the leads and the bound of all ids that the kept records show.
 *  2. No caller's lease gets a bound above `boundLimitUs` (leasing/worker-leases.ts).
 *  3. No incarnation of a snowflake has a floor above `floorLimitUs` when it begins (catalogue/incarnation-change.ts). So a
 *     chain of alterations, each above the time that holders have reserved above the one before, ends there. It is refused
 *     until the clock has come up.
 *  4. Above a floor, a node reserves no more than one step and the units of one burst beyond what invariant 1 covers.
 */

/** What an advance skips at least, beyond the latest clock: more than what callers lease, for up to 15 minutes. */
const skippedUsMin = 20 * 60_000_000
/** The same as a multiple of the longest lead of a node. */
const skippedLeads = 1.5
const clockMarginUs = 60_000_000
/**
 * A second advance, too, begins at least this far above the bound of all ids that the first one has set: it takes 1.25 of the
 * longest lead off, and adds `skippedUs`, which makes 3⅓ minutes at least.
 */
const aboveOthersUs = 3 * 60_000_000
/** A span that starts ahead of the clock has at most 60 s and a unit of time. */
const spanAheadUs = 90_000_000

/** By how much an advance raises the bounds of worker ids above the latest clock; `leadUs`: the longest lead, in µs. */
export function skippedUs(leadUs: number): number {
  return Math.max(skippedUsMin, leadUs * skippedLeads)
}

/** What the limits depend on. */
export type LimitBase = {
  /** The timeline of this process. */
  readonly nowUs: number
  /** The bound of all ids (`boundOfOthers`); 0 if the store was never advanced. */
  readonly othersUs: number
  /** The longest lead of a node that is known, in µs. */
  readonly leadUs: number
}

/** The highest bound up to which time of a worker id is reserved. */
export function boundLimitUs({ nowUs, othersUs, leadUs }: LimitBase): number {
  return Math.max(nowUs + skippedUs(leadUs) - clockMarginUs, othersUs + aboveOthersUs)
}

/** The highest floor with which an incarnation begins: spans above it stay below `boundLimitUs`. */
export function floorLimitUs(base: LimitBase): number {
  return boundLimitUs(base) - spanAheadUs
}

/** For how long time above the moment `us` is reserved: for the lead, but not beyond `boundLimitUs`. In µs. */
export function leadAbove(us: number, base: LimitBase): number {
  return Math.max(0, Math.min(base.leadUs, boundLimitUs(base) - us))
}
