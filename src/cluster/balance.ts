/**
 * Decides which shards this node should take, and which it should give away.
 *
 * Invariants
 *  1. Every node that knows the same records wants the same leader for each shard: the node that people wish for, or
 *     the assigned one.
 *  2. A free shard is taken by the wanted node at once, by any other that does not drain after `graceMs`.
 *  3. A shard that somebody leads is moved only to a node that renews, and that has been the wanted one for `noticeMs`:
 *     so that it knows. Where neither people wish it nor this node drains, the set of nodes must also have been the
 *     same for `settleMs`. Whoever was to have it when it was stopped gets it, as long as that one can lead.
 *  4. At most one change of a shard is under way here, and at most `changesMax` of all.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import { assign, type Candidate } from './assignment.ts'
import type { FailureDetector } from './failure-detector.ts'
import type { Handover } from './handover.ts'
import type { Leaderships } from './leadership.ts'
import type { Lease } from './lease.ts'
import type { NodeRecord } from './records.ts'
import type { Timing } from './timing.ts'
import type { View } from './view.ts'

/** What is needed to decide. */
export type BalanceOptions = {
  readonly clock: Clock
  readonly timing: Timing
  readonly view: View
  readonly lease: () => Lease
  readonly leaderships: Leaderships
  readonly handover: Handover
  readonly observer: FailureDetector
  /** Whether this node wants to lead nothing. */
  readonly isDraining: () => boolean
  readonly onTrouble: (message: string) => void
}

const changesMax = 16

/** See the invariants at the top of the file. */
export class Balance {
  readonly #options: BalanceOptions
  readonly #clock: Clock
  readonly #changes = new Map<number, Promise<void>>()
  /** A change that came to nothing is not repeated before this, on the monotonic clock in µs. */
  readonly #restUntilUs: number[]
  #assigned: readonly string[] = []
  #isCurrent = false
  #places = ''
  /** The wanted leader of each shard, and since when, on the monotonic clock in µs. */
  readonly #targets: { to: string; sinceUs: number }[]
  /** When this node ceased to be the wanted leader of each shard, on the monotonic clock in µs. */
  readonly #wantedHereUs: number[]
  #stableSinceUs = 0
  /** Since when this node's record says that it drains; undefined: it does not. */
  #drainsSinceUs: number | undefined
  #due: Timer | undefined
  #soon = false
  #stopped = false

  constructor(options: BalanceOptions) {
    this.#options = options
    this.#clock = options.clock
    const { shards } = options.leaderships
    this.#restUntilUs = new Array<number>(shards).fill(0)
    this.#wantedHereUs = new Array<number>(shards).fill(Number.NEGATIVE_INFINITY)
    this.#targets = Array.from({ length: shards }, () => ({ to: '', sinceUs: Number.POSITIVE_INFINITY }))
  }

  /** Node id of the one that should lead the shard; empty when there is none. */
  wanted(shard: number): string {
    const to = this.wished(shard)
    return to === '' ? this.assigned(shard) : to
  }

  /**
   * Whether this node may lead the shard without knowing it yet: it should, or it should have until lately. Whoever gave
   * the shard away had stopped for this node, and finishes what it has begun.
   */
  mayBeGiven(shard: number): boolean {
    const { lease, timing } = this.#options
    if (this.wanted(shard) === lease().id) return true
    return this.#clock.monoUs() - this.#wantedHereUs[shard]! < timing.renewMs * 1000
  }

  /** Node id that people wish for, if that node can lead; empty otherwise. */
  wished(shard: number): string {
    const to = this.#options.view.wish(shard)?.value.to ?? ''
    return to !== '' && this.#canLead(to) ? to : ''
  }

  /** Node id that the shard is assigned to; empty when there are no nodes. */
  assigned(shard: number): string {
    this.#assign()
    return this.#assigned[shard] ?? ''
  }

  /** The nodes, or what this one wants, have changed: decides anew. */
  reassign(): void {
    this.#isCurrent = false
    this.soon()
  }

  /** Decides in a moment, once, however often it is called. */
  soon(): void {
    if (this.#soon || this.#stopped) return
    this.#soon = true
    queueMicrotask(() => {
      this.#soon = false
      this.#decide()
    })
  }

  /** Takes nothing any more, and gives away what is led here, also to nobody. Resolves when that is done. */
  async giveAllAway(): Promise<void> {
    this.#stopped = true
    this.#due?.cancel()
    while (this.#changes.size > 0 || this.#heldShards().length > 0) {
      for (const shard of this.#heldShards()) if (!this.#changes.has(shard)) this.#change(shard)
      await Promise.all(this.#changes.values())
    }
  }

  #decide(): void {
    if (this.#stopped || !this.#options.lease().check()) return
    this.#assign()
    this.#seeOwnDrain()
    this.#due?.cancel()
    let nextUs = Number.POSITIVE_INFINITY
    for (let shard = 0; shard < this.#assigned.length; shard++) {
      this.#seeTarget(shard)
      if (this.#changes.has(shard)) continue
      const atUs = this.#dueUs(shard)
      if (atUs === undefined) continue
      if (atUs > this.#clock.monoUs()) nextUs = Math.min(nextUs, atUs)
      else if (this.#changes.size < changesMax) this.#change(shard)
    }
    if (nextUs < Number.POSITIVE_INFINITY) {
      this.#due = this.#clock.timer((nextUs - this.#clock.monoUs()) / 1000 + 1, () => this.soon())
    }
  }

  /** From when on something should be done about a shard, on the monotonic clock in µs; undefined: nothing. */
  #dueUs(shard: number): number | undefined {
    const { leaderships, lease } = this.#options
    const restUs = this.#restUntilUs[shard]!
    if (leaderships.held(shard) !== undefined) {
      const to = this.wanted(shard)
      return to === '' || to === lease().id || !this.#renews(to)
        ? undefined
        : Math.max(restUs, this.#movableUs(shard))
    }
    const vacantUs = leaderships.vacantUs(shard)
    if (vacantUs === undefined) return undefined
    if (this.wanted(shard) === lease().id) return Math.max(restUs, vacantUs)
    if (this.#options.isDraining()) return undefined
    return Math.max(restUs, vacantUs + this.#options.timing.graceMs * 1000)
  }

  #movableUs(shard: number): number {
    const { timing, isDraining } = this.#options
    const knownUs = this.#targets[shard]!.sinceUs + timing.noticeMs * 1000
    if (isDraining())
      return Math.max(knownUs, (this.#drainsSinceUs ?? Number.POSITIVE_INFINITY) + timing.noticeMs * 1000)
    if (this.wished(shard) !== '') return knownUs
    return Math.max(knownUs, this.#stableSinceUs + timing.settleMs * 1000)
  }

  #change(shard: number): void {
    const { leaderships, handover, lease, timing, onTrouble } = this.#options
    const giving = leaderships.held(shard) !== undefined
    const planned = this.wanted(shard)
    const canFollow = () => planned !== lease().id && this.#canLead(planned) && this.#renews(planned)
    const successor = () => (canFollow() ? planned : this.#successor(shard))
    const change = giving ? handover.handOver(shard, successor) : handover.take(shard)
    const done = change
      .catch((error: unknown) => {
        // Those that stand by try again in a moment; the lease says if the engine stays away.
        if (lease().check()) onTrouble(`shard ${shard} could not be taken: ${describe(error)}`)
      })
      .then(() => {
        this.#changes.delete(shard)
        this.#restUntilUs[shard] = this.#clock.monoUs() + timing.retryMs * 1000
        this.soon()
      })
    this.#changes.set(shard, done)
  }

  /** To whom a shard goes that has stopped issuing here. */
  #successor(shard: number): string {
    const to = this.wanted(shard)
    const self = this.#options.lease().id
    if (to !== '' && to !== self && this.#renews(to)) return to
    return this.#stopped ? '' : self
  }

  #canLead(id: string): boolean {
    const { view } = this.#options
    const node = view.living(id)
    return node !== undefined && !this.#drains(node)
  }

  #seeTarget(shard: number): void {
    const target = this.#targets[shard]!
    const to = this.wanted(shard)
    if (to === target.to) return
    const nowUs = this.#clock.monoUs()
    if (target.to === this.#options.lease().id) this.#wantedHereUs[shard] = nowUs
    target.to = to
    target.sinceUs = nowUs
  }

  #heldShards(): number[] {
    const { leaderships, lease } = this.#options
    return lease().over ? [] : leaderships.mine().filter((shard) => leaderships.held(shard) !== undefined)
  }

  #renews(id: string): boolean {
    return this.#options.observer.silentMs(id) < this.#options.timing.renewMs * 2
  }

  #drains({ id, draining }: NodeRecord): boolean {
    return draining || (id === this.#options.lease().id && this.#options.isDraining())
  }

  #seeOwnDrain(): void {
    const { view, lease } = this.#options
    if (!view.node(lease().id)?.value.draining) this.#drainsSinceUs = undefined
    else this.#drainsSinceUs ??= this.#clock.monoUs()
  }

  #assign(): void {
    if (this.#isCurrent) return
    this.#isCurrent = true
    const { view, leaderships } = this.#options
    const living = [...view.nodes()].map(({ value }) => value).filter(({ deadBy }) => deadBy === undefined)
    const willing = living.filter((node) => !this.#drains(node))
    const places: Candidate[] = (willing.length > 0 ? willing : living)
      .map(({ id, resp, http }) => ({ id, address: resp ?? http ?? id }))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    const key = JSON.stringify(places)
    if (key === this.#places) return
    this.#places = key
    this.#stableSinceUs = this.#clock.monoUs()
    this.#assigned = assign(leaderships.shards, places)
  }
}
