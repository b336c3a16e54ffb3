/**
 * The names in the requests of one connection that wait together for their replies.
 *
 * Invariants
 *  1. A request that changes its name starts when no other request with that name waits, and none starts before it has ended.
 *     Requests that draw ids of one name wait together: they draw in the order in which they started.
 */

/** The names of one connection. */
export class NamesUnderWay {
  /** How many draws of a name wait; 0: a change does. */
  readonly #draws = new Map<string, number>()

  /** Whether a request with this name may start now. */
  mayStart(name: string, changes: boolean): boolean {
    const draws = this.#draws.get(name)
    return draws === undefined || (!changes && draws > 0)
  }

  /** A request has started that ends when `reply` settles. */
  start(name: string, changes: boolean, reply: Promise<unknown>): void {
    this.#draws.set(name, changes ? 0 : (this.#draws.get(name) ?? 0) + 1)
    const end = () => this.#end(name)
    reply.then(end, end)
  }

  #end(name: string): void {
    const draws = this.#draws.get(name)!
    if (draws <= 1) this.#draws.delete(name)
    else this.#draws.set(name, draws - 1)
  }
}
