/**
 * How many ids of each generator this process has drawn since it last told the service, which sees nothing of them otherwise.
 *
 * Invariants
 *  1. An id is reported once, with the next lease, renewal or return of its generator; again only if the request failed, and may have
 *     been carried out all the same.
 *  2. Nothing is reported to a service that has not said that it takes reports: an older one would refuse the request.
 */
import { assert } from '../../src/base/assert.ts'

/** What is yet to be reported. */
export class DrawnIds {
  readonly #pending = new Map<string, number>()
  /** The most ids of one report; 0: none is taken. */
  #max = 0

  /** Counts ids that were drawn. */
  count(name: string, ids: number): void {
    this.#pending.set(name, this.pending(name) + ids)
  }

  /** How many are yet to be reported. */
  pending(name: string): number {
    return this.#pending.get(name) ?? 0
  }

  /** How many the next request reports. */
  due(name: string): number {
    return Math.min(this.pending(name), this.#max)
  }

  /** Sends a request with the number of ids that it reports. */
  async report<Reply>(name: string, send: (drawn: number) => Promise<Reply>): Promise<Reply> {
    const drawn = this.due(name)
    this.count(name, -drawn)
    try {
      return await send(drawn)
    } catch (error) {
      this.count(name, drawn)
      // A node of an earlier version may have answered: the next one that takes reports says so.
      if (drawn > 0) this.#max = 0
      throw error
    }
  }

  /** Notes how many ids a report may have, as the service has said with a grant; undefined: it takes none. */
  permit(max: number | undefined): void {
    this.#max = max ?? 0
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    for (const ids of this.#pending.values()) assert(ids >= 0, 'an id is reported once')
  }
}
