/** What the stand-ins have in common: a running node of an old service. */

/** A node of an old service: its own statements and its own buffer. */
export interface OldNode {
  /** The next id of a key: at once while some are buffered. Throws or rejects as the old service fails. */
  next(key: string): bigint | Promise<bigint>
}
