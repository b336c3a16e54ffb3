/** A cluster as a table: its nodes, and who leads which slots. */
import type { Balance } from './balance.ts'
import type { Leaderships } from './leadership.ts'
import type { Observer } from './observer.ts'
import type { NodeRecord } from './records.ts'
import { slotsOf } from './slots.ts'
import type { View } from './view.ts'

/** A node as seen from here. */
export type NodeStatus = NodeRecord & {
  readonly isSelf: boolean
  /** For how long it has been seen not to renew, in ms. */
  readonly silentMs: number
  /** How many shards it leads. */
  readonly leads: number
}

/** A shard as seen from here. */
export type ShardStatus = {
  readonly shard: number
  readonly firstSlot: number
  readonly lastSlot: number
  /** Node id of the leader, and how clients reach it; undefined: nobody leads it. */
  readonly leader: NodeRecord | undefined
  readonly epoch: number
  /** For how long nobody could issue here, in ms; undefined where somebody can. */
  readonly nobodyForMs: number | undefined
  /** Node id of the one that should lead it; empty when there is none. */
  readonly wanted: string
  /** Whether people wish that. */
  readonly isWish: boolean
}

/** A cluster as seen from one node. */
export type ClusterStatus = {
  readonly cluster: string
  /** This node's id. */
  readonly self: string
  /** For how long this node may lead without another renewal, in ms; 0: it may not. */
  readonly leaseLeftMs: number
  readonly nodes: readonly NodeStatus[]
  readonly shards: readonly ShardStatus[]
}

/** The living nodes, by id. */
export function nodeTable(
  view: View,
  observer: Observer,
  leaderships: Leaderships,
  self: string,
): NodeStatus[] {
  const led = new Map<string, number>()
  for (let shard = 0; shard < leaderships.shards; shard++) {
    const id = leaderships.leader(shard)?.id
    if (id !== undefined) led.set(id, (led.get(id) ?? 0) + 1)
  }
  return [...view.nodes()]
    .map(({ value }) => value)
    .filter(({ id }) => view.isAlive(id))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((node) => ({
      ...node,
      isSelf: node.id === self,
      silentMs: observer.silentMs(node.id),
      leads: led.get(node.id) ?? 0,
    }))
}

/** All shards, in order of their slots. */
export function shardTableOf(view: View, leaderships: Leaderships, balance: Balance): ShardStatus[] {
  return Array.from({ length: leaderships.shards }, (_, shard) => {
    const { first, last } = slotsOf(shard, leaderships.shards)
    const lead = leaderships.look(shard)
    return {
      shard,
      firstSlot: first,
      lastSlot: last,
      leader: leaderships.leader(shard),
      epoch: view.shard(shard)?.value.epoch ?? 0,
      nobodyForMs: lead.state === 'nobody' ? lead.forMs : undefined,
      wanted: balance.wanted(shard),
      isWish: balance.wished(shard) !== '',
    }
  })
}
