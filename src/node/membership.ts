/**
 * This node's part in a cluster: made from its configuration, with log lines and metrics of its events.
 *
 * Invariants
 *  1. A node starts with the settings that the installation has, or not at all: a node without the cluster's leases
 *     would issue the ids of a leader's generators at the same time.
 *  2. A node joins once other nodes can reach it, and leaves while they still can.
 */

import { type Address, addressText } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { LogEvent } from '../base/events.ts'
import { Cluster } from '../cluster/cluster.ts'
import type { ClusterEvent } from '../cluster/events.ts'
import type { SettingsRecord } from '../cluster/records.ts'
import { agreeOnSettings, clusterSettings } from '../cluster/settings.ts'
import type { Config } from '../config/config-schema.ts'
import { configError } from '../config/config-values.ts'
import type { Engine } from '../engine/engine.ts'
import { version } from '../installation/version.ts'
import { clusterEventText } from './event-text.ts'

/** Each has a count from the start: Prometheus sees no increase from nothing to one. */
const eventTypes = [
  ...(['joined', 'left', 'lapsed', 'resumed', 'died', 'declaredDead'] as const),
  ...(['won', 'lost', 'handedOver', 'sealedOut', 'versions', 'trouble'] as const),
] satisfies ClusterEvent['type'][]

/** What a membership takes from its node. */
export type MembershipOptions = {
  readonly config: Config
  readonly engine: Engine
  readonly clock: Clock
  /** A fresh node id at each call. */
  readonly newNodeId: () => string
  readonly onEvent: (event: LogEvent) => void
  /** A copy of this memory renews the lease of this node: nothing that it has reserved is its own alone. */
  readonly onCopy?: (reason: string) => void
}

/** The membership of a node in its cluster. */
export class Membership {
  readonly cluster: Cluster
  /** How often each transition has been seen. */
  readonly transitions = new Map<ClusterEvent['type'], number>(eventTypes.map((type) => [type, 0]))
  /** Number of hand-overs, and the total time in which no node could issue, in seconds. */
  readonly handovers = { count: 0, seconds: 0 }
  /** Whether this process has ever been a node of the cluster. */
  joined = false
  #joining: Promise<void> | undefined
  #leaving: Promise<void> | undefined

  private constructor(
    { config, engine, clock, newNodeId, onEvent, onCopy }: MembershipOptions,
    settings: SettingsRecord,
  ) {
    this.cluster = new Cluster({
      engine,
      clock,
      newNodeId,
      ...settings,
      leaderWaitMs: config.leaderWaitMs,
      ...announced(config),
      version,
      onEvent: (event) => {
        // Closed without having joined: a port was taken.
        if (event.type === 'left' && !this.joined) return
        this.#count(event)
        onEvent(clusterEventText(event))
        if (event.type === 'died' && event.isCopied) onCopy?.('another process renews the lease of this node')
      },
    })
  }

  /**
   * The membership that the configuration names; undefined: the node is in no cluster. Rejects with CONFIG when the
   * installation has other settings, or its engine cannot be shared.
   */
  static async of(options: MembershipOptions): Promise<Membership | undefined> {
    const { config, engine } = options
    if (config.cluster === undefined) {
      await refuseClustered(engine)
      return undefined
    }
    await refuseUnshared(engine)
    const { cluster, shards, leaseTtlMs } = config
    return new Membership(options, await agreeOnSettings(engine, { cluster, shards, leaseTtlMs }))
  }

  /** Resolves when this node has joined; tries until then. */
  join(): Promise<void> {
    this.#joining ??= this.cluster.start().then(() => {
      this.joined = true
    })
    return this.#joining
  }

  /** Hands over all shards, and leaves. Resolves a moment after the length of a lease at the latest. */
  leave(): Promise<void> {
    this.#leaving ??= this.cluster.close()
    return this.#leaving
  }

  /** Why requests for strict kinds may wait or fail; undefined: none does. */
  get trouble(): string | undefined {
    if (!this.joined) return 'this node has not joined the cluster yet'
    if (!this.cluster.check())
      return 'the lease of this node has lapsed: strict kinds wait until it is renewed, or another node has taken over'
    const leaderless = this.cluster.status().shards.filter(({ nobodyForMs }) => nobodyForMs !== undefined)
    if (leaderless.length === 0) return undefined
    return `${leaderless.length} of ${this.cluster.shards} shards have no leader at this moment`
  }

  #count(event: ClusterEvent): void {
    this.transitions.set(event.type, (this.transitions.get(event.type) ?? 0) + 1)
    if (event.type !== 'handedOver') return
    this.handovers.count++
    this.handovers.seconds += (event.releaseMs + event.writeMs) / 1000
  }
}

/** The announced addresses, `host:port`; undefined: not served. Throws CONFIG where other machines cannot reach one. */
function announced(config: Config) {
  const { resp, http, announce, announceHttp } = config
  if (resp === undefined)
    throw configError(
      'clients find the nodes of a cluster by their RESP addresses, and resp is off; give it one',
    )
  return {
    resp: reachable('announce', announce ?? resp),
    http: http && reachable('announce-http', announceHttp ?? http),
  }
}

function reachable(setting: string, address: Address): string {
  const text = addressText(address)
  if (address.port !== 0 && !/^(?:0\.0\.0\.0|::|0:0:0:0:0:0:0:0)$/.test(address.host)) return text
  throw configError(
    `${text} is not an address that other machines can connect to; set --${setting} HOST:PORT to one that is`,
  )
}

async function refuseClustered(engine: Engine): Promise<void> {
  const settings = await clusterSettings(engine)
  if (settings === undefined) return
  const { cluster, shards } = settings
  throw configError(
    `this installation is the cluster '${cluster}', whose strict generators are issued by leaders only; start this node with --cluster ${cluster} --shards ${shards}, also when it is the only one`,
  )
}

async function refuseUnshared(engine: Engine): Promise<void> {
  const { state } = await engine.ownership()
  if (state === 'shared') return
  throw configError(
    `a cluster needs an engine that its nodes share, and ${engine.location} is for one machine; give --engine a MySQL, MariaDB, PostgreSQL or etcd, or leave --cluster out`,
  )
}
