/** What the stand-ins have in common: a running node of an old service. */

/** A node of an old service: its own statements, its own ranges in hand. */
export interface OldNode {
  /** The next id of a key: at once while there are some in hand. Throws or rejects as the old service fails. */
  next(key: string): bigint | Promise<bigint>
}
