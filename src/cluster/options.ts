/** What a cluster needs from the process that takes part in it, and what it tells it. */
import type { Clock } from '../base/clock.ts'
import type { Engine } from '../engine/engine.ts'
import type { ClusterEvent } from './events.ts'
import type { LeaderTerm } from './leadership.ts'
import type { LeftoverRange, NodeRecord } from './records.ts'
import type { TimingOptions } from './timing.ts'

/** What a cluster takes from its process. */
export type ClusterOptions = TimingOptions & {
  readonly engine: Engine
  readonly clock: Clock
  /** A new node id at each call, never used before, by nobody: 40 random hexadecimal digits, as Redis has them. */
  readonly newNodeId: () => string
  /** Name of the cluster, and number of shards: as recorded by its first node. So are the lease and its margin. */
  readonly cluster: string
  readonly shards: number
  /** Announced `host:port` of RESP and HTTP; undefined: not served. */
  readonly resp?: string | undefined
  readonly http?: string | undefined
  /** Version of this program, for people. */
  readonly version: string
  readonly onEvent: (event: ClusterEvent) => void
}

/** Who issues, and must know when to stop. Called synchronously unless it says otherwise; must not throw. */
export type ClusterListener = {
  /** This node leads the shard from now on, and may go on with `here.tails`, or forget them. */
  readonly onWon?: (here: LeaderTerm) => void
  /**
   * The shard is being given away: stop issuing before returning. Put into `tails` what the successor shall go on with;
   * undefined: there is none. Resolve when that is done, and what else can be given back is on its way to the engine.
   * `releaseMs` is how long that may take; what takes longer is lost.
   */
  readonly onLosing?: (
    here: LeaderTerm,
    tails: LeftoverRange[] | undefined,
    releaseMs: number,
  ) => Promise<void>
  /** The shard is led elsewhere, without a hand-over: forget what is in hand, it cannot be given back. */
  readonly onLost?: (here: LeaderTerm) => void
  /** Nothing may be issued until `onResume`; what is in hand stays good if that comes. */
  readonly onLapse?: () => void
  readonly onResume?: () => void
  /** The node has been declared dead: whatever it still answers is late. May be told more than once. */
  readonly onDead?: (node: NodeRecord) => void
}
