/**
 * Other nodes that say that they are reached where this one is. One that is silent is this process's own past, and will
 * be declared dead; one that renews is a mistake in a configuration, and clients would be sent to either.
 *
 * Invariants
 *  1. Only a beat that has moved twice since this process first saw it counts. A record that stands still proves
 *     nothing, and a killed predecessor can leave one renewal behind that the engine carries out later: every further
 *     one names a version that this one has replaced.
 */
import { FahaoError } from '../base/errors.ts'
import type { NodeRecord } from './records.ts'
import type { Timing } from './timing.ts'

/** See the top of the file. */
export class AddressConflicts {
  readonly #self: () => Pick<NodeRecord, 'id' | 'resp' | 'http'>
  /** The last beat seen of each, and how often it has moved. */
  readonly #beats = new Map<string, { beat: number; moves: number }>()
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
    const moves = before === undefined ? 0 : before.moves + (before.beat === beat ? 0 : 1)
    this.#beats.set(id, { beat, moves })
    if (moves < 2 || this.#told.has(id)) return undefined
    this.#told.add(id)
    return `node ${id} announces ${address} as well, and is alive; give each node an address of its own (--announce, --announce-http)`
  }

  /** The node is on record no more. */
  forget(id: string): void {
    this.#beats.delete(id)
    this.#told.delete(id)
  }

  /** Waits until those on record have had the time to renew, twice where one has once. Rejects with CONFIG when one does. */
  async refuse(
    timing: Timing,
    { pause, isOver }: { pause: (delayMs: number) => Promise<void>; isOver: () => boolean },
  ): Promise<void> {
    for (let waitedMs = 0; waitedMs < this.#renewals() * timing.renewMs && !isOver(); ) {
      await pause(timing.pollMs / 2)
      waitedMs += timing.pollMs / 2
      if (this.#told.size > 0)
        throw new FahaoError('CONFIG', 'another node has the address that this one announces; see the log')
    }
  }

  /** How many intervals between renewals have to pass before all on record have shown whether they renew. */
  #renewals(): number {
    const most = Math.max(-1, ...[...this.#beats.values()].map(({ moves }) => moves))
    return most < 0 ? 0 : 1.5 * (most + 1)
  }

  /** The address of this node that another one has too. */
  #shared({ id, resp, http }: NodeRecord): string | undefined {
    const self = this.#self()
    if (id === self.id) return undefined
    if (resp !== undefined && resp === self.resp) return resp
    return http !== undefined && http === self.http ? http : undefined
  }
}
