/**
 * A running node: an engine, a timeline, a worker id and a catalogue. It depends on no transport: RESP, HTTP and the
 * library attach to it.
 */
import type { AccessControl } from '../auth/access-control.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Catalogue, Generator } from '../catalogue/catalogue.ts'
import type { NameTable } from '../catalogue/name-table.ts'
import type { ServerView } from '../commands/context.ts'
import type { Config } from '../config/config-schema.ts'
import type { Engine } from '../engine/engine.ts'
import type { EngineCall } from '../engine/engine-calls.ts'
import type { Tracing } from '../installation/tracing.ts'
import type { Session, Traffic } from '../operations/session.ts'
import type { Health } from './health.ts'
import type { Membership } from './membership.ts'

/** A transport, as far as commands need it. */
export type Transport = {
  /** Port of RESP. */
  readonly respPort?: number
  readonly sessions?: () => Iterable<Session>
  readonly traffic?: () => Traffic
}

/** A running node. */
export interface FahaoNode {
  readonly config: Config
  readonly engine: Engine
  readonly timeline: Timeline
  readonly catalogue: Catalogue
  /** The generators that are open in this process. */
  readonly names: NameTable<Generator>
  readonly server: ServerView
  /** Users, and what they may do. Transports ask it before they carry a request out. */
  readonly access: AccessControl
  /** Worker id of this node's snowflakes; undefined until a snowflake needs it. */
  readonly workerId: number | undefined
  /**
   * The node's membership of a cluster; undefined: there is no cluster. Let it join once other nodes can connect. After it
   * has left, the node still answers requests; for shards of other nodes it names the leader.
   */
  readonly membership: Membership | undefined
  /**
   * Call it in every callback that brings requests, before the first request is executed. When it returns, generators
   * that this node must not issue, because another node leads them or another process owns the store, are stopped, and
   * what a copy of this memory may hold is dropped. Returns whether this node may issue strict kinds.
   */
  readonly mayIssue: () => boolean
  /** Registers a transport for INFO and CLIENT LIST. */
  attach(transport: Transport): void
  health(): Health
  /** How often the engine was found to have forgotten acknowledged writes. */
  readonly regressions: number
  /** Reports every later call of the engine once it is over. The listener must not throw. */
  onEngineCall(listener: (call: EngineCall) => void): void
  /** Makes spans; undefined: this process has no SDK of OpenTelemetry. */
  readonly tracing: Tracing | undefined
  /** See `Engine.advance`. */
  advance(gap: bigint): Promise<number>
  /** Leaves the cluster, stops issuing, releases buffered ids, closes the engine. */
  close(): Promise<void>
}

/** The sums of the transports that have sessions. */
export function trafficOf(transports: readonly Transport[]): Traffic {
  const sum = { connectionsTotal: 0, connectionsRejected: 0, commands: 0, bytesIn: 0, bytesOut: 0 }
  for (const each of transports.flatMap(({ traffic }) => traffic?.() ?? [])) {
    for (const figure of Object.keys(sum) as (keyof Traffic)[]) sum[figure] += each[figure]
  }
  return sum
}
