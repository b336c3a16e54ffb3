/**
 * A cluster in the terms of Redis Cluster: masters with the slots that each serves, and replicas.
 *
 * A node without slots stands by for all of them, and is named as a replica of every master: most libraries know no nodes but
 * those that the table names for slots, and would know one node where it leads everything. A node with slots is a master
 * alone, because libraries keep one role for each address. A node that drains takes over nothing, so it is no replica.
 *
 * Every slot has a master, also while it has no leader: then it stands under the node that should lead it, where requests
 * wait until it does. Libraries reject a table with holes, or send such requests to any node; CLUSTER INFO counts the slots
 * that have a leader.
 */

import { addressOf } from '../base/address.ts'
import { slotOf } from '../cluster/slots.ts'
import type { NodeStatus, ShardStatus } from '../cluster/status.ts'
import type { ClusterView } from '../operations/context.ts'
import type { CommandContext } from './context.ts'

/** A node as Redis Cluster describes it. */
export type TableNode = {
  readonly id: string
  /** Announced host, without brackets, and port of RESP. */
  readonly host: string
  readonly port: number
  readonly isSelf: boolean
  /** The highest epoch of its leaderships; 0: it leads nothing. */
  readonly epoch: number
  /** The age of its newest heartbeat, in ms. */
  readonly silentMs: number
  readonly slots: readonly SlotRange[]
  /** Whether it stands by: it has no slots, and takes over those of a master that dies. */
  readonly isReplica: boolean
}

/** Consecutive slots, both ends included. */
export type SlotRange = { readonly first: number; readonly last: number }

/** The nodes, by id. `ownAddress`: `host:port` of this node until its record is in the view. */
export function tableNodes(cluster: ClusterView, ownAddress: string): TableNode[] {
  const { self, nodes, shards } = cluster.status()
  const reachable = nodes.filter(({ resp }) => resp !== undefined)
  const known = reachable.length > 0 ? reachable : [unrecorded(self, ownAddress)]
  const ids = new Set(known.map(({ id }) => id))
  const owner = (shard: ShardStatus) =>
    [shard.leader?.id ?? shard.wanted, self].find((id) => ids.has(id)) ?? known[0]!.id
  const byOwner = Map.groupBy(shards, owner)
  return known.map((node) => {
    const own = byOwner.get(node.id) ?? []
    const led = own.filter(({ leader }) => leader?.id === node.id)
    return {
      ...addressOf(node.resp!),
      id: node.id,
      isSelf: node.id === self,
      epoch: Math.max(0, ...led.map(({ epoch }) => epoch)),
      silentMs: node.silentMs,
      slots: joined(own),
      isReplica: own.length === 0 && !node.draining,
    }
  })
}

/**
 * Whether CLUSTER SLOTS names this node for the slot of a name, as a function of the name: a command that counts or
 * lists names answers for those only, as a node of a Redis Cluster does. Without a cluster: every name.
 */
export function isServedHere({ server, session }: CommandContext): (name: string) => boolean {
  if (server.cluster === undefined) return () => true
  const runs = tableNodes(server.cluster, session.localAddress).find(({ isSelf }) => isSelf)?.slots ?? []
  return (name) => {
    const slot = slotOf(name)
    return runs.some(({ first, last }) => first <= slot && slot <= last)
  }
}

/** Before this node has joined, the view is empty, and clients stay at this node. */
function unrecorded(id: string, resp: string): Pick<NodeStatus, 'id' | 'resp' | 'silentMs' | 'draining'> {
  return { id, resp, silentMs: 0, draining: false }
}

function joined(shards: readonly ShardStatus[]): SlotRange[] {
  const runs: { first: number; last: number }[] = []
  for (const { firstSlot, lastSlot } of shards) {
    const before = runs.at(-1)
    if (before?.last === firstSlot - 1) before.last = lastSlot
    else runs.push({ first: firstSlot, last: lastSlot })
  }
  return runs
}
