/**
 * A cluster as a table: its nodes, and who leads which slots.
 *
 * It is told for people, so a leader that was not heard of for a lease leads nothing here: it may have stopped. Requests
 * go by `Leaderships` alone, which believes in a leader until it is declared dead.
 */
import { FahaoError } from '../base/errors.ts'
import type { Balance } from './balance.ts'
import type { Lead, Leaderships } from './leadership.ts'
import type { NodeRecord } from './records.ts'
import { slotsOf } from './slots.ts'
import type { Timing } from './timing.ts'
import type { View } from './view.ts'

/** A node as seen from here. */
export type NodeStatus = NodeRecord & {
  readonly isSelf: boolean
  /** Since the newest version of its record was seen here, in ms. */
  readonly silentMs: number
  /** How many shards it leads, of those that somebody leads. */
  readonly leads: number
}

/** A shard as seen from here. */
export type ShardStatus = {
  readonly shard: number
  readonly firstSlot: number
  readonly lastSlot: number
  /** The living node that its record names, whether or not it can lead now; undefined: none. */
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

/** The living nodes, by id, and all shards, in order of their slots. */
export function tablesOf(
  view: View,
  leaderships: Leaderships,
  balance: Balance,
  { ttlMs }: Pick<Timing, 'ttlMs'>,
  self: string,
): Pick<ClusterStatus, 'nodes' | 'shards'> {
  const shards = Array.from({ length: leaderships.shards }, (_, shard): ShardStatus => {
    const { first, last } = slotsOf(shard, leaderships.shards)
    return {
      shard,
      firstSlot: first,
      lastSlot: last,
      leader: leaderships.leader(shard),
      epoch: view.shard(shard)?.value.epoch ?? 0,
      nobodyForMs: nobodyForMs(leaderships.look(shard), view, ttlMs),
      wanted: balance.wanted(shard),
      isWish: balance.wished(shard) !== '',
    }
  })
  const led = Map.groupBy(
    shards.filter(({ nobodyForMs }) => nobodyForMs === undefined),
    ({ leader }) => leader?.id,
  )
  const nodes = [...view.nodes()]
    .map(({ value }) => value)
    .filter(({ id }) => view.isAlive(id))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((node) => ({
      ...node,
      isSelf: node.id === self,
      silentMs: view.silentMs(node.id) ?? 0,
      leads: led.get(node.id)?.length ?? 0,
    }))
  return { nodes, shards }
}

/** Throws ERR where no other node could take over what this one leads. */
export function refuseLoneDrain({ nodes }: ClusterStatus): void {
  if (nodes.some(({ isSelf, draining }) => !isSelf && !draining)) return
  throw new FahaoError(
    'ERR',
    'no other node could take over; start one, or use CLUSTER FAILOVER FORCE to have it done once there is one',
  )
}

function nobodyForMs(lead: Lead, view: View, ttlMs: number): number | undefined {
  if (lead.state === 'nobody') return lead.forMs
  if (lead.state === 'here') return undefined
  const overdueMs = (view.silentMs(lead.node.id) ?? 0) - ttlMs
  return overdueMs > 0 ? overdueMs : undefined
}
