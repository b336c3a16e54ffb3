/**
 * What a node has lately seen of the leaders of shards, and of its own health: why requests failed at a moment.
 *
 * Invariants
 *  1. At most `eventsMax` of each kind are kept, the newest ones: many of one kind drive out none of the other.
 *  2. Each node notes every change of a leader that it sees, under the epoch of the new one, so that what one node has noted outlives
 *     that node, and clients find out which notes are of one change.
 *  3. A reason that changes all the time is noted once in `reasonMs`: it drives no leaders out.
 */
import { type Clock, repeat, type Timer } from '../base/clock.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Health } from '../node/health.ts'
import type { ClusterView } from '../operations/context.ts'

const [eventsMax, reasonMs] = [100, 10_000]

/** A change that a node has seen. */
export type NodeEvent = { readonly atMs: number; readonly node: string } & (
  | {
      readonly kind: 'lead'
      readonly shard: number
      readonly epoch: number
      readonly from: string
      readonly to: string
      /** `failover`: the leader before was declared dead. `taken`: it leads again after it had given the shard up. */
      readonly how: 'failover' | 'handover' | 'taken'
    }
  | { readonly kind: 'health'; readonly state: Health['state']; readonly reason: string | undefined }
)

/** What events are of. */
export type NodeEventSources = {
  readonly clock: Clock
  readonly timeline: Pick<Timeline, 'nowUs'>
  readonly cluster: Pick<ClusterView, 'status' | 'listen'> | undefined
  /** The id of this node, now. */
  readonly id: () => string
  readonly health: () => Health
}

/** Looks once a second until it is closed. */
export class NodeEvents {
  readonly #sources: NodeEventSources
  readonly #timer: Timer
  readonly #unlisten: (() => void) | undefined
  readonly #events: (readonly [number: number, event: NodeEvent])[] = []
  #count = 0
  /** The newest leader of each shard that was seen, with its epoch. */
  readonly #leaders = new Map<number, { readonly id: string; readonly epoch: number }>()
  /** Leaders that were declared dead. */
  readonly #dead = new Set<string>()
  #health: { readonly state: string; readonly reason: string | undefined; readonly atMs: number } | undefined

  constructor(sources: NodeEventSources) {
    this.#sources = sources
    this.#unlisten = sources.cluster?.listen({ onDead: ({ id }) => this.#dead.add(id) })
    this.#timer = repeat(sources.clock, 1000, async () => this.#look())
  }

  /** How many were noted. */
  get count(): number {
    return this.#count
  }

  /** The events that were noted after the first `told` ones, and those from `atMs` on (Unix ms), the oldest first. */
  since(told: number, atMs = Number.POSITIVE_INFINITY): readonly NodeEvent[] {
    return this.#events
      .filter(([number, event]) => number > told || event.atMs >= atMs)
      .map(([, event]) => event)
  }

  /** Ends its timer. */
  close(): void {
    this.#timer.cancel()
    this.#unlisten?.()
  }

  #look(): void {
    const { cluster, health, id, timeline } = this.#sources
    const atMs = Math.floor(timeline.nowUs() / 1000)
    const node = id()
    for (const { shard, leader, epoch } of cluster?.status().shards ?? []) {
      const before = this.#leaders.get(shard)
      if (leader === undefined || before?.epoch === epoch) continue
      this.#leaders.set(shard, { id: leader.id, epoch })
      // Of the first leader that is seen it is not known since when it leads.
      if (before === undefined) continue
      const [from, to] = [before.id, leader.id]
      const how = from === to ? 'taken' : this.#dead.has(from) ? 'failover' : 'handover'
      this.#note({ atMs, node, kind: 'lead', shard, epoch, from, to, how })
    }
    const leading = new Set([...this.#leaders.values()].map((leader) => leader.id))
    for (const each of this.#dead) if (!leading.has(each)) this.#dead.delete(each)
    const { state, reason } = health()
    const known = this.#health
    const isOther = known?.state !== state || (known.reason !== reason && atMs - known.atMs >= reasonMs)
    if (!isOther) return
    this.#health = { state, reason, atMs }
    this.#note({ atMs, node, kind: 'health', state, reason })
  }

  #note(event: NodeEvent): void {
    this.#events.push([++this.#count, event])
    const alike = this.#events.filter(([, { kind }]) => kind === event.kind)
    if (alike.length > eventsMax) this.#events.splice(this.#events.indexOf(alike[0]!), 1)
  }
}
