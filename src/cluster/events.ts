/** What happens in a cluster, as this node sees it: for logs, metrics and tests. */

/** A transition, with durations in ms. */
export type ClusterEvent =
  /** This process takes part, under this node id. */
  | { readonly type: 'joined'; readonly node: string }
  /** It has left in good order. */
  | { readonly type: 'left'; readonly node: string }
  /** Its lease has lapsed: nothing strict is issued here. */
  | { readonly type: 'lapsed'; readonly node: string; readonly reason: string }
  /** Its lease holds again, and it leads what it led before. */
  | { readonly type: 'resumed'; readonly node: string; readonly lapsedMs: number }
  /** It was declared dead (by: a node id; empty: its record is gone), and joins again under a fresh id. */
  | { readonly type: 'died'; readonly node: string; readonly by: string }
  /** This node has declared another one dead. */
  | { readonly type: 'declaredDead'; readonly node: string; readonly silentMs: number }
  /** It leads a shard. `from`: who led before; `vacantMs`: how long nobody did, as far as it knows. */
  | {
      readonly type: 'won'
      readonly shard: number
      readonly fence: bigint
      readonly from: string
      readonly vacantMs: number
    }
  /** It leads a shard no more, without having given it away. `to`: who does, when that is known. */
  | { readonly type: 'lost'; readonly shard: number; readonly fence: bigint; readonly to: string }
  /** It has given a shard away; for `releaseMs` + `writeMs` nobody issued. `to` empty: to nobody. */
  | {
      readonly type: 'handedOver'
      readonly shard: number
      readonly to: string
      readonly releaseMs: number
      readonly writeMs: number
    }
  /** A reserve was refused because a newer leader has been there. */
  | { readonly type: 'sealedOut'; readonly shard: number; readonly fence: bigint }
  /** Something did not work and is tried again. */
  | { readonly type: 'trouble'; readonly message: string }
