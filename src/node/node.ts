/**
 * One running node: an engine, a timeline, a worker id and a catalogue, wired together. It knows no transport;
 * RESP, HTTP and the library attach to it.
 */
import type { Timeline } from '../base/timeline.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { ClientSession, ServerView, Traffic } from '../commands/context.ts'
import type { Engine, StoreOwnership } from '../engine/engine.ts'
import type { Config } from './config-schema.ts'
import type { EngineCall } from './engine-calls.ts'
import type { Health } from './health.ts'
import type { Membership } from './membership.ts'

/** A transport, as far as commands want to know of it. */
export type Transport = {
  /** Where RESP is served. */
  readonly respPort?: number
  readonly sessions?: () => Iterable<ClientSession>
  readonly traffic?: () => Traffic
}

/** A running node. */
export interface FahaoNode {
  readonly config: Config
  readonly engine: Engine
  readonly timeline: Timeline
  readonly catalogue: Catalogue
  readonly server: ServerView
  /** Worker id of this node's snowflakes; undefined until one was needed. */
  readonly workerId: number | undefined
  /** How many worker ids of the store are taken, at the last look; undefined where that is not known. */
  workerIdsTaken(): number | undefined
  /** Its part in a cluster; undefined: it stands alone. */
  readonly membership: Membership | undefined
  /** Takes part in the cluster, if there is one, from when on others can reach it. Resolves when it does. */
  join(): Promise<void>
  /** Gives away what it leads. Requests are answered still: where others lead, with who does. */
  leave(): Promise<void>
  /**
   * To be called in every callback that brought requests, before any of them is carried out. What must not be
   * issued, because another node leads it or another process owns the store, is stopped when it returns. Undefined:
   * there is nothing to look at.
   */
  readonly mayIssue: (() => boolean) | undefined
  /** Makes a transport known to INFO and CLIENT LIST. */
  attach(transport: Transport): void
  health(): Health
  /** How often the engine has been found to have forgotten acknowledged writes. */
  readonly regressions: number
  /** Tells of every call of the engine from now on, once it is over. The listener must not throw. */
  onEngineCall(listener: (call: EngineCall) => void): void
  ownership(): Promise<StoreOwnership>
  /** See `Engine.advance`. */
  advance(gap: bigint): Promise<number>
  /** Leaves the cluster, stops issuing, releases what is in hand, closes the engine. */
  close(): Promise<void>
}
