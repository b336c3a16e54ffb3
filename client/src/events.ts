/** Events of a client, for logs. */
import type { FahaoError } from '../../src/base/errors.ts'

/** Passes events on. What the receiver throws, or rejects with, is ignored: ids do not depend on a log. */
export function withoutErrors(onEvent: (event: ClientEvent) => unknown): (event: ClientEvent) => void {
  return (event) => {
    try {
      const result = onEvent(event)
      if (result instanceof Promise) result.catch(() => {})
    } catch {
      // The documentation of `onEvent` says so.
    }
  }
}

/** Something that an operator may want to see. No event needs an answer. */
export type ClientEvent =
  /** A node did not answer, or refused to for now; the request goes to the next one. */
  | { readonly type: 'node-failed'; readonly node: string; readonly error: FahaoError }
  /** All tries of a refill failed; `lastsMs`: for how long the buffered ids last. */
  | {
      readonly type: 'refill-failed'
      readonly generator: string
      readonly error: FahaoError
      readonly lastsMs: number
    }
  /** The service answers refills of this generator again. */
  | { readonly type: 'refill-recovered'; readonly generator: string }
  /** The generator was altered: ids of the earlier definition were dropped. */
  | { readonly type: 'generator-changed'; readonly generator: string }
  /** This memory may exist twice: everything that was buffered or leased was dropped, and is leased again. */
  | { readonly type: 'memory-copied'; readonly reason: string }
  /** A plain worker id is no longer this process's. */
  | { readonly type: 'worker-lost'; readonly pool: string; readonly error: FahaoError }
