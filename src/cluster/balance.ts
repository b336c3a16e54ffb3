/**
 * The balance: which node should lead each shard, and from when on this node should take a shard or hand one over.
 *
 * Invariants
 *  1. Every node that has the same records wants the same leader for each shard: the node that an operator has pinned it
 *     to, or the assigned one.
 *  2. A free shard is taken by the wanted node at once, by any other that does not drain after `graceMs`.
 *  3. A shard that has a leader is moved only to a node that renews, and that has been the wanted one for `noticeMs`: so
 *     that it knows. Where the shard is not pinned and this node does not drain, the set of nodes must also have been the
 *     same for `settleMs`. Once issuing has stopped for a hand-over, the target stays fixed as long as it can lead.
 */
import { assign, type Candidate } from './assignment.ts'
import type { State } from './events.ts'
import type { Leaderships } from './leaderships.ts'
import type { NodeRecord } from './records.ts'

/** The wanted leader of each shard, and the moment from which it has been wanted. */
export class Balance {
  readonly #state: State
  readonly #leaderships: Leaderships
  #assigned: readonly string[] = []
  /** When the nodes, or what this one wants, last changed; undefined: the assignment is made of what they are now. */
  #changedUs: number | undefined = 0
  #candidates = ''
  #stableSinceUs = 0
  /** Since when this node's record says that it drains; undefined: it does not. */
  #drainsSinceUs: number | undefined
  /** The wanted leader of each shard, and since when. */
  readonly #targets: { to: string; sinceUs: number }[]
  /** When this node ceased to be the wanted leader of each shard. */
  readonly #wantedHereUs: number[]

  constructor(state: State, leaderships: Leaderships) {
    this.#state = state
    this.#leaderships = leaderships
    this.#wantedHereUs = new Array<number>(state.shards).fill(Number.NEGATIVE_INFINITY)
    this.#targets = Array.from(this.#wantedHereUs, () => ({ to: '', sinceUs: Number.POSITIVE_INFINITY }))
  }

  /** Node id that should lead the shard; empty when there is none. */
  wanted(shard: number): string {
    const to = this.pinned(shard)
    if (to !== '') return to
    this.#assign()
    return this.#assigned[shard] ?? ''
  }

  /** Node id that the shard is pinned to, if that node can lead; empty otherwise. */
  pinned(shard: number): string {
    const to = this.#state.view.pin(shard)
    return to !== '' && this.#canLead(to) ? to : ''
  }

  /**
   * Whether this node may lead the shard without knowing it yet: it should, or it should have until lately. A leader that
   * had stopped issuing for this node finishes that hand-over.
   */
  mayBeGiven(shard: number, nowUs: number): boolean {
    const { lease, timing } = this.#state
    if (this.wanted(shard) === lease.id) return true
    return nowUs - this.#wantedHereUs[shard]! < timing.renewMs * 1000
  }

  /** Call it when nodes have changed, or what this node wants. */
  reassign(nowUs: number): void {
    this.#changedUs = nowUs
  }

  /** Notes which leaders are wanted now, and since when. */
  refresh(nowUs: number): void {
    const { view, lease } = this.#state
    if (!view.node(lease.id)?.value.draining) this.#drainsSinceUs = undefined
    else this.#drainsSinceUs ??= nowUs
    for (const [shard, target] of this.#targets.entries()) {
      const to = this.wanted(shard)
      if (to === target.to) continue
      if (target.to === lease.id) this.#wantedHereUs[shard] = nowUs
      target.to = to
      target.sinceUs = nowUs
    }
  }

  /** From when on this node should change the shard's leader, on the monotonic clock in µs; undefined: it should not. */
  dueUs(shard: number): number | undefined {
    const { lease, timing } = this.#state
    const { to } = this.#targets[shard]!
    if (this.#leaderships.held(shard) !== undefined)
      return to === '' || to === lease.id || !this.#renews(to) ? undefined : this.#movableUs(shard)
    const freeUs = this.#leaderships.freeUs(shard)
    if (freeUs === undefined || to === lease.id) return freeUs
    return this.#isDraining ? undefined : freeUs + timing.graceMs * 1000
  }

  /**
   * The id of the node that gets a shard for which this node has stopped issuing, to hand it to `target`. Empty: no node. The
   * own id: the shard stays here.
   */
  successor(shard: number, target: string): string {
    const { lease, intent } = this.#state
    if (target !== lease.id && this.#canLead(target) && this.#renews(target)) return target
    const to = this.wanted(shard)
    if (to !== '' && to !== lease.id && this.#renews(to)) return to
    return intent === 'giveAllAway' ? '' : lease.id
  }

  #movableUs(shard: number): number {
    const { timing } = this.#state
    const knownUs = this.#targets[shard]!.sinceUs + timing.noticeMs * 1000
    if (this.#isDraining)
      return Math.max(knownUs, (this.#drainsSinceUs ?? Number.POSITIVE_INFINITY) + timing.noticeMs * 1000)
    if (this.pinned(shard) !== '') return knownUs
    return Math.max(knownUs, this.#stableSinceUs + timing.settleMs * 1000)
  }

  #canLead(id: string): boolean {
    const node = this.#state.view.living(id)
    return node !== undefined && !this.#drains(node)
  }

  #renews(id: string): boolean {
    return this.#state.detector.silentMs(id) < this.#state.timing.renewMs * 2
  }

  #drains({ id, draining }: NodeRecord): boolean {
    return draining || (id === this.#state.lease.id && this.#isDraining)
  }

  get #isDraining(): boolean {
    return this.#state.intent !== 'lead'
  }

  #assign(): void {
    if (this.#changedUs === undefined) return
    const changedUs = this.#changedUs
    this.#changedUs = undefined
    const { view, shards } = this.#state
    const living = view
      .nodes()
      .map(({ value }) => value)
      .filter(({ deadBy }) => deadBy === undefined)
    const willing = living.filter((node) => !this.#drains(node))
    const candidates: Candidate[] = (willing.length > 0 ? willing : living)
      .map(({ id, resp, http }) => ({ id, address: resp ?? http ?? id }))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    const key = JSON.stringify(candidates)
    if (key === this.#candidates) return
    this.#candidates = key
    this.#stableSinceUs = changedUs
    this.#assigned = assign(shards, candidates)
  }
}
