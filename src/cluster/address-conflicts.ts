/**
 * Other nodes that announce the address of this one. A silent node is a predecessor of this process, and will be declared
 * dead. A node that renews is an error in a configuration: clients would reach either node under the address.
 *
 * Invariants
 *  1. Only a node that has renewed twice since this process first saw its record counts as a conflict. An unchanged record
 *     proves nothing, and the engine may carry out one late renewal of a killed predecessor; a second late renewal fails,
 *     because it names a version that the first has replaced.
 */
import type { State } from './events.ts'
import type { NodeRecord } from './records.ts'

/** How often another node has to renew. */
export const conflictRenewals = 2

/** What is wrong with another node's address, when it has just turned out to live; undefined: nothing, or nothing new. */
export function addressConflict(state: State, node: NodeRecord): string | undefined {
  const address = sharedAddress(state, node)
  if (address === undefined || state.detector.renewals(node.id) !== conflictRenewals) return undefined
  return `node ${node.id} announces ${address} as well, and is alive; give each node an address of its own (--announce, --announce-http)`
}

/** How often a node at this address has renewed since it was first seen, at most; −1: there is none. */
export function renewalsAtThisAddress(state: State): number {
  const others = state.view.nodes().filter(({ value }) => sharedAddress(state, value) !== undefined)
  return Math.max(-1, ...others.map(({ value }) => state.detector.renewals(value.id)))
}

/** The address of this node that another one has too, unless that one is dead. */
function sharedAddress({ self, lease }: State, { id, resp, http, deadBy }: NodeRecord): string | undefined {
  if (id === lease.id || deadBy !== undefined) return undefined
  if (resp !== undefined && resp === self.resp) return resp
  return http !== undefined && http === self.http ? http : undefined
}
