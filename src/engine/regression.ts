/**
 * The regression check: whether a store is still the one that this process has accepted, or has lost acknowledged writes.
 * Pure. An engine reads the position of its store with each reply, and keeps the state of the check between them.
 *
 * Intuition: a store names its history and counts its progress. Both stay or grow while the store is in use; only an
 * advance begins another history, which is later than the one before. A position that is neither further in the same
 * history nor in a later one belongs to an older copy, or to another store.
 *
 * Invariants
 *  1. The accepted position never falls within a history.
 *  2. A suspected regression ends only when a later history is accepted. A position that looks sound again, as when
 *     servers take turns, does not end it.
 *  3. A reply is compared with the position that was accepted when its request was sent, because replies overtake one
 *     another. A reply to a request from before the present history was accepted is ignored, unless its history is
 *     still later.
 *  4. A later history is not accepted while the store is wrong for another reason, such as the mark of another process.
 *  5. `advances` grows by 1 with each accepted history.
 */
import { FahaoError } from '../base/errors.ts'

/** How far a store has come. */
export type Position<Name extends string = string> = {
  /** The history id: the name of one unbroken history. */
  readonly history: string
  /** Numbers that never fall within a history. */
  readonly progress: Readonly<Record<Name, bigint>>
}

/** The state of a check. */
export type RegressionCheck<Store extends Position> = {
  readonly accepted: Store
  /** How many later histories have been accepted. */
  readonly advances: number
  /** Why the store is suspected to have lost writes, in one line, and the position that showed it, if one did. */
  readonly suspected?: { readonly reason: string; readonly position?: Store | undefined } | undefined
}

/** A position in a reply, with the engine's comparison. */
export type Observation<Store extends Position> = {
  readonly position: Store
  /** Whether an advance has begun its history after the accepted one. */
  readonly isLater: boolean
  /** Why nothing may be written to a store with this position; undefined if nothing speaks against it. */
  readonly wrong: string | undefined
}

/** The reason for a position of another history. Stored in marks, by which other processes recognise it. */
export const otherHistory = 'it has another history than the one that was in use'

/** Why `found` cannot come after `accepted`; undefined if it can. */
export function regressionOf(found: Position, accepted: Position): string | undefined {
  if (found.history !== accepted.history) return otherHistory
  const names = Object.keys(accepted.progress)
  if (names.every((name) => found.progress[name]! >= accepted.progress[name]!)) return undefined
  const stands = names.map((name) => `${name} ${found.progress[name]}`).join(' and ')
  const seen = names.map((name) => accepted.progress[name]).join(' and ')
  return `it lacks acknowledged writes: it stands at ${stands}, after ${seen}`
}

/** The check after a reply to a request that was sent when the check was `sent`. */
export function observe<Store extends Position>(
  check: RegressionCheck<Store>,
  { position, isLater, wrong }: Observation<Store>,
  sent: RegressionCheck<Store>,
): RegressionCheck<Store> {
  if (isLater && wrong === undefined) return accept(check, position)
  if (sent.advances !== check.advances) return check
  if (wrong !== undefined) return suspect(check, wrong, position)
  return regressionOf(position, check.accepted) === undefined ? { ...check, accepted: position } : check
}

/** The check after a sign that the store has lost writes. The first reason stays; the position is the latest. */
export function suspect<Store extends Position>(
  check: RegressionCheck<Store>,
  reason: string,
  position = check.suspected?.position,
): RegressionCheck<Store> {
  return { ...check, suspected: { reason: check.suspected?.reason ?? reason, position } }
}

/** The check after an advance: `position` begins, or is in, the history from now on. */
export function accept<Store extends Position>(
  check: RegressionCheck<Store>,
  position: Store,
): RegressionCheck<Store> {
  return { accepted: position, advances: check.advances + 1 }
}

/** What people read of a regression. `store`: its name in a sentence. */
export function describeRegression(store: string, reason: string): string {
  return `${store} is not what it was: ${reason}; run 'fahao advance --by N' with more than what can have been reserved since`
}

/** The rejection of a write to a store that is suspected. */
export function regressed(store: string, reason: string): FahaoError {
  return new FahaoError('REGRESSED', describeRegression(store, reason))
}
