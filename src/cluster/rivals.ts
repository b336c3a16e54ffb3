/**
 * Other nodes that say that they are reached where this one is. One that is silent is this process's own past, and will
 * be declared dead; one that renews is a mistake in somebody's configuration, and clients would be sent to either.
 *
 * Invariants
 *  1. Only a beat that has moved since this process first saw it counts: what merely stands on record proves nothing.
 */
import { FahaoError } from '../base/errors.ts'
import type { NodeRecord } from './records.ts'
import type { Timing } from './timing.ts'

/** See the top of the file. */
export class Rivals {
  readonly #self: () => Pick<NodeRecord, 'id' | 'resp' | 'http'>
  /** The beat at which each was first seen. */
  readonly #beats = new Map<string, number>()
  readonly #told = new Set<string>()

  constructor(self: () => Pick<NodeRecord, 'id' | 'resp' | 'http'>) {
    this.#self = self
  }

  /** Takes in what is known of a node now. What is wrong, the first time that it turns out to live. */
  see(node: NodeRecord): string | undefined {
    const { id, beat, deadBy } = node
    const address = this.#shared(node)
    if (address === undefined || deadBy !== undefined) {
      this.forget(id)
      return undefined
    }
    const before = this.#beats.get(id)
    if (before === undefined) this.#beats.set(id, beat)
    if (before === undefined || before === beat || this.#told.has(id)) return undefined
    this.#told.add(id)
    return `node ${id} announces ${address} as well, and is alive; give each node an address of its own (--announce, --announce-http)`
  }

  /** The node is on record no more. */
  forget(id: string): void {
    this.#beats.delete(id)
    this.#told.delete(id)
  }

  /** Waits until those on record have had the time to renew. Rejects with CONFIG when one does. */
  async refuse(
    timing: Timing,
    { pause, isOver }: { pause: (delayMs: number) => Promise<void>; isOver: () => boolean },
  ): Promise<void> {
    for (let waitedMs = 0; this.#beats.size > 0 && waitedMs < 1.5 * timing.renewMs && !isOver(); ) {
      await pause(timing.pollMs / 2)
      waitedMs += timing.pollMs / 2
      if (this.#told.size > 0)
        throw new FahaoError('CONFIG', 'another node has the address that this one announces; see the log')
    }
  }

  /** The address of this node that another one has too. */
  #shared({ id, resp, http }: NodeRecord): string | undefined {
    const self = this.#self()
    if (id === self.id) return undefined
    if (resp !== undefined && resp === self.resp) return resp
    return http !== undefined && http === self.http ? http : undefined
  }
}
