/**
 * This node's part in a cluster: set up from its configuration, told in log lines, counted for metrics.
 *
 * Invariants
 *  1. A node starts with the settings that the installation has, or not at all: what one of a cluster's nodes does
 *     alone, another could do at the same time.
 *  2. It joins when others can reach it, and leaves before they cannot.
 */

import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { Cluster } from '../cluster/cluster.ts'
import type { ClusterEvent } from '../cluster/events.ts'
import type { SettingsRecord } from '../cluster/records.ts'
import { agreeOnSettings, clusterSettings } from '../cluster/settings.ts'
import type { Engine } from '../engine/engine.ts'
import { announced } from './addresses.ts'
import { clusterEventText } from './cluster-event-text.ts'
import type { Config } from './config-schema.ts'
import { version } from './version.ts'

/** What a membership takes from its node. */
export type MembershipOptions = {
  readonly config: Config
  readonly engine: Engine
  readonly clock: Clock
  /** A fresh node id at each call. */
  readonly newNodeId: () => string
  readonly onEvent: (event: LogEvent) => void
}

/** Number of hand-overs, and the total time in which no node could issue, in seconds. */
export type HandoverFigures = { readonly count: number; readonly seconds: number }

/** The membership of a node in its cluster. */
export class Membership {
  readonly cluster: Cluster
  /** How often each transition has been seen. */
  readonly transitions = new Map<ClusterEvent['type'], number>()
  #handovers: HandoverFigures = { count: 0, seconds: 0 }
  #joining: Promise<void> | undefined
  #leaving: Promise<void> | undefined
  #joined = false

  private constructor(
    { config, engine, clock, newNodeId, onEvent }: MembershipOptions,
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
        if (event.type === 'left' && !this.#joined) return
        this.#count(event)
        onEvent(clusterEventText(event))
      },
    })
  }

  /**
   * What the configuration says, undefined for a node that stands alone. Rejects with CONFIG when that is not what the
   * installation is, or where there can be no cluster.
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

  get handovers(): HandoverFigures {
    return this.#handovers
  }

  /** Resolves when this node is one of the cluster's; tries until then. */
  join(): Promise<void> {
    this.#joining ??= this.cluster.start().then(() => {
      this.#joined = true
    })
    return this.#joining
  }

  /** Gives away what it leads, and leaves. Resolves after a lease at most, and a moment. */
  leave(): Promise<void> {
    this.#leaving ??= this.cluster.close()
    return this.#leaving
  }

  /** Why strict kinds may not be served as they should be; undefined: they are. */
  get trouble(): string | undefined {
    if (!this.#joined) return 'this node has not joined the cluster yet'
    if (!this.cluster.check())
      return 'the lease of this node has lapsed: strict kinds wait until it is renewed, or another node has taken over'
    const leaderless = this.cluster.status().shards.filter(({ nobodyForMs }) => nobodyForMs !== undefined)
    if (leaderless.length === 0) return undefined
    return `${leaderless.length} of ${this.cluster.shards} shards have no leader at this moment`
  }

  /** Whether it has ever been one of the cluster's nodes. */
  get joined(): boolean {
    return this.#joined
  }

  #count(event: ClusterEvent): void {
    this.transitions.set(event.type, (this.transitions.get(event.type) ?? 0) + 1)
    if (event.type !== 'handedOver') return
    const { count, seconds } = this.#handovers
    this.#handovers = { count: count + 1, seconds: seconds + (event.releaseMs + event.writeMs) / 1000 }
  }
}

async function refuseClustered(engine: Engine): Promise<void> {
  const settings = await clusterSettings(engine)
  if (settings === undefined) return
  const { cluster, shards } = settings
  throw new FahaoError(
    'CONFIG',
    `this installation is the cluster '${cluster}', whose strict generators are issued by leaders only; start this node with --cluster ${cluster} --shards ${shards}, also when it is the only one`,
  )
}

async function refuseUnshared(engine: Engine): Promise<void> {
  const { state } = await engine.ownership()
  if (state === 'shared') return
  throw new FahaoError(
    'CONFIG',
    `a cluster needs an engine that its nodes share, and ${engine.location} is for one machine; give --engine a MySQL, MariaDB, PostgreSQL or etcd, or leave --cluster out`,
  )
}
