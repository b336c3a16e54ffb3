/** Turns of the event loop, which all requests share: long work is done in parts, each in a turn. */

/** Gives out turns. Work is counted as the bytes of a reply that take as long. */
export interface Turns {
  /** Resolves when a part of long work may begin: now, or after others have run. */
  take(bytes: number): Promise<void>
}

/** Work in parts, between which others may be served. */
export type Parts<Result> = Generator<void, Result>
