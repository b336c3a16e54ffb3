/** What the use case of an operation can reach: its caller, the generators, and the services of the node. */

import type { Audit } from '../audit/audit.ts'
import type { Access } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Turns } from '../base/turns.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Meters } from '../catalogue/metered-generator.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Engine } from '../engine/engine.ts'
import type { Pools } from '../leasing/pools.ts'
import type { RangeLeases } from '../leasing/range-leases.ts'
import type { WorkerIdUsage } from '../leasing/worker-id-usage.ts'
import type { WorkerLeases } from '../leasing/worker-leases.ts'

/** The limits of a server that arguments depend on. */
export type Limits = {
  /** Largest number of ids in one answer. */
  readonly countMax: number
  /** Largest number of ids that are issued at once. */
  readonly incrByMax: bigint
}

/** The services of a node. */
export interface Services extends Limits {
  readonly timeline: Timeline
  /** The turns of the event loop that long work shares with all requests. */
  readonly turns: Turns
  /** Namespaces, and what they have counted on this node. */
  readonly meters: Meters
  /** Plain worker ids. */
  readonly pools: Pools
  /** Worker ids for callers. */
  readonly workerLeases: WorkerLeases
  /** How many worker ids of the store are taken. */
  readonly workerIds: Pick<WorkerIdUsage, 'newest' | 'recent'>
  /** Ranges of segments for callers. */
  readonly rangeLeases: RangeLeases
  /** Takes what is changed and refused. */
  readonly audit: Audit
  /** Users, and the permissions that they give. */
  readonly access: AccessControl
  readonly engine: Pick<Engine, 'status' | 'list'>
  /** See `Engine.advance`. */
  advance(gap: bigint): Promise<number>
  /** The cluster that this node takes part in; undefined: none. */
  readonly cluster?: ClusterView | undefined
}

/** The part of a cluster that operations and transports read and change. */
export type ClusterView = Pick<
  Cluster,
  'nodeId' | 'shards' | 'shardOf' | 'lead' | 'leadWithin' | 'listen' | 'status' | 'move' | 'drain'
>

/** Who asks. */
export type Caller = {
  /** The permissions of its user. */
  readonly access: Access
  /** The address of the caller, for lists. */
  readonly address: string
  /** Aborted when the caller is gone, so that what waits uses up no ids. */
  readonly signal: AbortSignal
}

/** What a use case receives beside its arguments. */
export type OperationContext = {
  readonly caller: Caller
  /** Charges what is drawn to the namespaces of the caller. */
  readonly catalogue: Catalogue
  readonly server: Services
}
