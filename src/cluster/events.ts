/** The input and output of the core of a cluster, as data: events, effects, and the types that both use. */
import type { RecordChange, StoredRecord } from '../engine/engine.ts'
import type { FailureDetector } from './failure-detector.ts'
import type { NodeLease } from './node-lease.ts'
import type { LeftoverRange, NodeRecord } from './records.ts'
import type { Timing } from './timing.ts'
import type { View } from './view.ts'

/** A term of this node as the leader of a shard. One object for as long as the term lasts: keep it and compare. */
export type LeaderTerm = {
  readonly state: 'here'
  readonly shard: number
  /** Carried by every reserve for the strict generators of the shard. */
  readonly fence: bigint
  /** Unissued ranges that the leader before handed over. */
  readonly leftovers: readonly LeftoverRange[]
}

/** The leader of a shard. */
export type ShardLeader =
  | LeaderTerm
  /** Another node, according to the records that this node has. */
  | { readonly state: 'elsewhere'; readonly shard: number; readonly node: NodeRecord }
  /** None that may issue: a hand-over is under way, a lease has lapsed, the leader is dead. */
  | { readonly state: 'none'; readonly shard: number; readonly forMs: number }

/** A transition, for logs, metrics and tests. Durations are in ms. */
export type ClusterEvent =
  /** This process takes part, under this node id. */
  | Readonly<{ type: 'joined'; node: string }>
  /** This process has left after handing over its shards. */
  | Readonly<{ type: 'left'; node: string }>
  /** The lease of this process has lapsed: it issues nothing strict. */
  | Readonly<{ type: 'lapsed'; node: string; reason: string }>
  /** The lease of this process is valid again, and it leads what it led before. */
  | Readonly<{ type: 'resumed'; node: string; lapsedMs: number }>
  /**
   * This process was declared dead (`by`: a node id, or `byAdvance`; empty: its record is gone, or `isCopied`: a copy
   * of its memory has renewed), and joins again under a new id.
   */
  | Readonly<{ type: 'died'; node: string; by: string; isCopied?: true }>
  /** This process has declared another node dead. */
  | Readonly<{ type: 'declaredDead'; node: string; silentMs: number }>
  /** This process leads a shard. `from`: the leader before; `vacantMs`: how long there was none, as seen from here. */
  | Readonly<{ type: 'won'; shard: number; fence: bigint; from: string; vacantMs: number }>
  /** This process no longer leads a shard, without a hand-over. `to`: the new leader, when that is known. */
  | Readonly<{ type: 'lost'; shard: number; fence: bigint; to: string }>
  /**
   * This process has handed a shard over to a node, or, empty, to none. For `releaseMs` + `writeMs` no node issued:
   * until the write was sent, and until it was known to be carried out.
   */
  | Readonly<{ type: 'handedOver'; shard: number; to: string; releaseMs: number; writeMs: number }>
  /** A counter has seen the fence `by`, of a newer leader, and refuses this node's. */
  | Readonly<{ type: 'sealedOut'; shard: number; fence: bigint; by: bigint }>
  /** The living nodes run these versions: several, or one where they were several before. */
  | Readonly<{ type: 'versions'; versions: readonly string[] }>
  /** A step failed and is tried again. */
  | Readonly<{ type: 'trouble'; message: string }>

/** A change of a shard's leader that this node is making: the state between its calls of the engine. */
export type ShardChange = {
  readonly shard: number
  /** The term that is handed over; undefined: the shard is being taken. */
  readonly term: LeaderTerm | undefined
  /** Id of the node that should lead the shard, as decided when this change began. */
  readonly target: string
  /** A fence of another leader, above that of the term: the shard goes to no node, and rests. Undefined: a usual change. */
  readonly sealedBy: bigint | undefined
  readonly startedUs: number
  /** When issuing and releasing had ended, and the leftover ranges for the successor at that moment. */
  releasedUs: number
  leftovers: readonly LeftoverRange[]
  /** Version that the write under way replaces; undefined: the record is created. */
  expected: bigint | undefined
  /** When to write again; infinite: a call is under way. */
  retryUs: number
}

/** Why a record is read or written: a renewal of this lease, a verdict on another node, a change of a shard's leader. */
export type Purpose =
  | Readonly<{ of: 'renewal'; id: string }>
  | Readonly<{ of: 'verdict'; node: string; silentMs: number }>
  | Readonly<{ of: 'shard'; change: ShardChange }>

/** A call of the engine. Each is answered by one event, after `renewMs` at the latest. */
export type Call =
  | Readonly<{ do: 'list'; startedUs: number }>
  | Readonly<{ do: 'read'; key: string; why: Purpose }>
  | Readonly<{ do: 'write'; key: string; value: string; expected: bigint | undefined; why: Purpose }>
  | Readonly<{ do: 'remove'; key: string; expected: bigint }>

/** Work for the shell. Effects are performed in the order in which the core returns them. */
export type Effect =
  | Call
  /** Calls of listeners. */
  | Readonly<{ do: 'onWon' | 'onLost'; term: LeaderTerm }>
  | Readonly<{ do: 'onLapse' | 'onResume' }>
  | Readonly<{ do: 'onDead'; node: NodeRecord }>
  /** `onLosing`, answered by the event `released`. */
  | Readonly<{ do: 'release'; change: ShardChange; term: LeaderTerm; hasSuccessor: boolean }>
  /** Wakes the lookups of this shard's leader, or of all shards' leaders. */
  | Readonly<{ do: 'wake'; shard?: number }>
  | Readonly<{ do: 'report'; event: ClusterEvent }>

/** An answer of the engine. `stored`: what was read or written; undefined: no record, or a write that was refused. */
export type Answer = Readonly<{
  stored?: StoredRecord | undefined
  records?: readonly StoredRecord[]
  error?: unknown
}>

/** What this process wants: to lead; to lead nothing while another node can; the same until the process ends; to lead nothing. */
export type Intent = 'lead' | 'drain' | 'close' | 'giveAllAway'

/** An input of the core. */
export type Event =
  /** Time has passed, or a planned moment has come. */
  | Readonly<{ type: 'tick' }>
  | Readonly<{ type: 'answered'; call: Call; answer: Answer }>
  /** A change of a record, by a watch or a read. */
  | Readonly<{ type: 'changed'; change: RecordChange }>
  /** A shard's generators are released, as far as they could be in time. */
  | Readonly<{ type: 'released'; change: ShardChange; leftovers: readonly LeftoverRange[]; error: unknown }>
  /** Hold a lease under this node id; a new id if the last lease is over. */
  | Readonly<{ type: 'join'; id: string }>
  /** A counter has seen this fence, which lies above that of the term, though the shard's record names this term. */
  | Readonly<{ type: 'sealedOut'; term: LeaderTerm; by: bigint }>
  | Readonly<{ type: 'intend'; intent: Intent }>
  /** `list`: list the records at once; `renew`: renew the lease at once; `leave`: end it and drop all leaderships. */
  | Readonly<{ type: 'list' | 'renew' | 'leave' }>
  /** The memory of this process may exist twice: the lease lapses until a renewal that is sent from now on. */
  | Readonly<{ type: 'suspect' }>

/** The state that the parts of the core share. */
export type State = {
  readonly timing: Timing
  readonly shards: number
  /** How this process is reached, and its version. */
  readonly self: Pick<NodeRecord, 'resp' | 'http' | 'version'>
  readonly view: View
  readonly detector: FailureDetector
  lease: NodeLease
  intent: Intent
  /** Effects of the present call of `step`. */
  readonly effects: Effect[]
}

/** The report of a step that failed and is tried again. */
export function trouble(message: string): Effect {
  return { do: 'report', event: { type: 'trouble', message } }
}
