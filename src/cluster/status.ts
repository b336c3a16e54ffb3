/**
 * A cluster as tables: its nodes, and the leaders of its slots.
 *
 * They are for people, so a leader that has not renewed for the length of a lease counts as none: it may have stopped.
 * Requests use `Leaderships` alone, where a leader stays the leader until it is declared dead.
 */
import { FahaoError } from '../base/errors.ts'
import type { ClusterCore } from './core.ts'
import type { ShardLeader } from './events.ts'
import type { NodeRecord } from './records.ts'
import { slotsOf } from './slots.ts'
import type { Moment } from './timing.ts'

/** A node as seen from here. */
export type NodeStatus = NodeRecord & {
  readonly isSelf: boolean
  /** Since its newest heartbeat was seen here, in ms. */
  readonly silentMs: number
  /** How many shards it leads and may issue for. */
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
  /** For how long no node could issue for it, in ms; undefined if a node can. */
  readonly nobodyForMs: number | undefined
  /** For how long no node may take it, because a leader that no record names may still issue, in ms; undefined: any may. */
  readonly restsForMs: number | undefined
  /** Node id that should lead it; empty when there is none. */
  readonly wanted: string
  /** Whether the shard is pinned to that node. */
  readonly isWish: boolean
}

/** A cluster as seen from one node. */
export type ClusterStatus = {
  readonly cluster: string
  /** This node's id. */
  readonly self: string
  /** For how long this node may lead without another renewal, in ms; 0: it may not. */
  readonly leaseLeftMs: number
  /** The versions that the nodes run, each once. */
  readonly versions: readonly string[]
  readonly nodes: readonly NodeStatus[]
  readonly shards: readonly ShardStatus[]
}

/** The living nodes, by id, and all shards, in order of their slots. */
export function tablesOf(
  { state, leaderships, balance }: ClusterCore,
  now: Moment,
): Pick<ClusterStatus, 'versions' | 'nodes' | 'shards'> {
  const { view, timing, lease, detector } = state
  const shards = Array.from({ length: state.shards }, (_, shard): ShardStatus => {
    const { first, last } = slotsOf(shard, state.shards)
    return {
      shard,
      firstSlot: first,
      lastSlot: last,
      leader: leaderships.leader(shard),
      epoch: view.shard(shard)?.value.epoch ?? 0,
      nobodyForMs: nobodyForMs(leaderships.lead(shard, now)),
      restsForMs: restsForMs(shard),
      wanted: balance.wanted(shard),
      isWish: balance.pinned(shard) !== '',
    }
  })
  const led = Map.groupBy(
    shards.filter(({ nobodyForMs }) => nobodyForMs === undefined),
    ({ leader }) => leader?.id,
  )
  const nodes = view
    .nodes()
    .filter(({ value }) => value.deadBy === undefined)
    .map(({ value }) => ({
      ...value,
      isSelf: value.id === lease.id,
      silentMs: silentMs(value.id),
      leads: led.get(value.id)?.length ?? 0,
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  return { versions: view.versions(), nodes, shards }

  function silentMs(id: string): number {
    return (now.monoUs - (detector.heardUs(id) ?? now.monoUs)) / 1000
  }

  function restsForMs(shard: number): number | undefined {
    const leftMs = ((leaderships.restUntilUs(shard) ?? now.monoUs) - now.monoUs) / 1000
    return leftMs > 0 ? leftMs : undefined
  }

  function nobodyForMs(lead: ShardLeader): number | undefined {
    if (lead.state !== 'elsewhere') return lead.state === 'here' ? undefined : lead.forMs
    const overdueMs = silentMs(lead.node.id) - timing.ttlMs
    return overdueMs > 0 ? overdueMs : undefined
  }
}

/** Throws ERR if no other node could take over the shards of this one. */
export function refuseLoneDrain({ nodes }: ClusterStatus): void {
  if (nodes.some(({ isSelf, draining }) => !isSelf && !draining)) return
  throw new FahaoError(
    'ERR',
    'no other node could take over; start one, or use CLUSTER FAILOVER FORCE to have it done once there is one',
  )
}
