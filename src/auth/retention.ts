/**
 * How long the records of removed users and of ended tokens stay.
 *
 * Such a record tells a running node, and one that starts later, that a store which went back lacks the end of the user or
 * token. It is of no use against a copy that is older than the record's age. So it stays for `retentionMs`, longer than any copy
 * that an operator would restore, and not longer: an installation in which users come and go does not fill up.
 */

/** How long such a record stays. */
export const retentionMs = 366 * 86_400_000

/** The record of a user or token that has ended. */
export type Ended = {
  /** Unix time in ms. */
  readonly endedMs: number
}

/** The records that go: those that are older than `retentionMs`, and the oldest of those beyond `max`. */
export function purgeable<Record extends Ended>(
  ended: readonly Record[],
  max: number,
  nowMs: number,
): Record[] {
  const isOld = ({ endedMs }: Ended) => endedMs + retentionMs <= nowMs
  const old = ended.filter(isOld)
  const beyond = ended.length - old.length - max
  if (beyond <= 0) return old
  const recent = ended.filter((record) => !isOld(record)).sort((a, b) => a.endedMs - b.endedMs)
  return [...old, ...recent.slice(0, beyond)]
}
