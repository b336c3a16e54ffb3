/**
 * Who may issue what: the part that one process takes in a cluster. Everything above asks here, and nowhere else.
 *
 *     // in every callback that brought requests, before issuing for any of them:
 *     const here = cluster.here(slot)              // undefined: park, redirect or forward
 *     const lead = await cluster.leadWithin(slot)
 *
 * Invariants
 *  1. `here(slot)` answers only while the lease's deadline has not passed, which it looks up each time.
 *  2. When the lease lapses, listeners are told before the call that noticed it returns.
 *  3. A process that was declared dead has dropped every leadership before it joins again, under a fresh id.
 */
import { type Clock, sleep } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import { AddressConflicts } from './address-conflicts.ts'
import { Balance } from './balance.ts'
import { CoalescedReads } from './coalesced-reads.ts'
import type { ClusterEvent } from './events.ts'
import { FailureDetector } from './failure-detector.ts'
import { Feed } from './feed.ts'
import { Handover } from './handover.ts'
import { LeaderLookup } from './leader-lookup.ts'
import { type Lead, Leaderships, type LeaderTerm } from './leadership.ts'
import { Lease } from './lease.ts'
import { Listeners } from './listeners.ts'
import type { ClusterListener, ClusterOptions } from './options.ts'
import { Notify, withTimeout } from './pauses.ts'
import { pin, refusePin, removePinsToDeadNodes } from './pins.ts'
import { pinKey, shardKey } from './records.ts'
import { agreeInTheEnd } from './settings.ts'
import { shardTable } from './slots.ts'
import { type ClusterStatus, tablesOf } from './status.ts'
import { type Timing, timing } from './timing.ts'
import { View } from './view.ts'

/** See the top of the file. */
export class Cluster {
  readonly #options: ClusterOptions
  readonly #clock: Clock
  readonly #timing: Timing
  readonly #shardOf: Uint16Array
  readonly #view: View
  readonly #observer: FailureDetector
  readonly #leaderships: Leaderships
  readonly #handover: Handover
  readonly #balance: Balance
  readonly #looks: CoalescedReads
  readonly #asking: LeaderLookup
  readonly #feed: Feed
  readonly #rivals = new AddressConflicts(() => ({ ...this.#options, id: this.nodeId }))
  readonly #listeners = new Listeners()
  readonly #bell: Notify
  readonly #patience = {
    isOver: () => this.#closing,
    pause: (delayMs: number) => this.#bell.pause(delayMs),
    onTrouble: (message: string) => this.#tell({ type: 'trouble', message }),
  }
  #lease: Lease
  #draining = false
  #closing = false
  #abandoned = false
  /** Node id under which this process has joined. */
  #joinedAs = ''
  readonly #joined = Promise.withResolvers<void>()

  /** Starts nothing. Refuses a lease that cannot work: CONFIG. */
  constructor(options: ClusterOptions) {
    const { engine, clock, shards } = options
    this.#options = options
    this.#clock = clock
    this.#timing = timing(options)
    this.#shardOf = shardTable(shards)
    this.#bell = new Notify(clock)
    const { onTrouble } = this.#patience
    const each = <Value>(make: (shard: number) => Value) =>
      Array.from({ length: shards }, (_, at) => make(at))
    this.#view = new View(
      clock,
      { shards: each(shardKey), wishes: each(pinKey) },
      { onNode: (id) => this.#onNode(id), onShard: (shard) => this.#onShard(shard), onTrouble },
    )
    const view = this.#view
    const lease = () => this.#lease
    this.#lease = this.#newLease()
    this.#observer = new FailureDetector({
      engine,
      clock,
      timing: this.#timing,
      self: () => this.#lease.id,
      learn: (stored) => view.learn(stored),
      onDeclaredDead: ({ id }, silentMs) => this.#tell({ type: 'declaredDead', node: id, silentMs }),
      onTrouble,
    })
    this.#leaderships = new Leaderships(shards, clock, view, lease, {
      onWon: (here, from, vacantMs) => this.#onWon(here, from, vacantMs),
      onLost: (here, to) => this.#onLost(here, to),
    })
    const needs = { clock, timing: this.#timing, view, lease, leaderships: this.#leaderships, onTrouble }
    this.#handover = new Handover({
      ...needs,
      engine,
      onLosing: (here, tails) => this.#listeners.onLosing(here, tails, this.#timing.releaseMs),
      isAbandoned: () => this.#abandoned,
      onHandedOver: (handedOver) => this.#tell({ type: 'handedOver', ...handedOver }),
    })
    this.#balance = new Balance({
      ...needs,
      handover: this.#handover,
      observer: this.#observer,
      isDraining: () => this.#draining || this.#closing,
    })
    this.#looks = new CoalescedReads(clock, this.#timing.retryMs, (shard) => this.#handover.read(shard))
    const isAbandoned = () => this.#abandoned
    const [balance, looks, observer] = [this.#balance, this.#looks, this.#observer]
    this.#asking = new LeaderLookup({ ...needs, balance, looks, observer, isAbandoned })
    this.#feed = new Feed({
      ...needs,
      engine,
      observer: this.#observer,
      mayJudge: () => this.#lease.check(),
      onLook: () => {
        this.#balance.soon()
        void removePinsToDeadNodes(engine, view)
      },
    })
  }

  /** This process's node id; another one after each time that it was declared dead. */
  get nodeId(): string {
    return this.#lease.id
  }

  /** How many shards there are. */
  get shards(): number {
    return this.#leaderships.shards
  }

  /** The shard of a slot. */
  shardOf(slot: number): number {
    return this.#shardOf[slot]!
  }

  /**
   * Joins. Resolves when this node is one of the cluster's; tries until then, or until it is closed. Rejects with
   * CONFIG when the installation has other settings, or another node this one's address.
   */
  async start(): Promise<void> {
    await this.#agree()
    if (this.#closing) return
    await this.#feed.start()
    await this.#rivals.refuse(this.#timing, this.#patience)
    if (this.#closing) return
    void this.#lease.start()
    await this.#joined.promise
  }

  /** Whether this node may lead: one look at two clocks. If not, listeners have been told when this returns. */
  check(): boolean {
    return this.#lease.check()
  }

  /** This node's leadership of a slot; undefined: it must not issue for it now. The lease has been checked. */
  here(slot: number): LeaderTerm | undefined {
    const here = this.#leaderships.held(this.#shardOf[slot]!)
    return here !== undefined && this.#lease.check() ? here : undefined
  }

  /** As `here`, for callers that have called `check()` in the same callback. */
  held(slot: number): LeaderTerm | undefined {
    return this.#leaderships.held(this.#shardOf[slot]!)
  }

  /** Who leads a slot, as far as is known now. */
  lead(slot: number): Lead {
    return this.#leaderships.look(this.#shardOf[slot]!)
  }

  /**
   * The leader of a slot, after a wait until a node leads: see `Asking`. `sentHere`: another node said that this one
   * does. While the node `unreachable` leads, this waits for another leader.
   */
  leadWithin(slot: number, waitMs?: number, sentHere = false, unreachable?: string): Promise<Lead> {
    return this.#asking.leadWithin(this.#shardOf[slot]!, waitMs, sentHere, unreachable)
  }

  /** Has `listener` told of this node's leaderships from now on. Returns what ends that. */
  listen(listener: ClusterListener): () => void {
    return this.#listeners.add(listener)
  }

  /** A reserve with this leadership's fence was refused as STALE: somebody newer leads. */
  sealedOut(here: LeaderTerm): void {
    this.#tell({ type: 'sealedOut', shard: here.shard, fence: here.fence })
    void this.#looks.look(here.shard)
  }

  /**
   * Has a shard led by the node that is named for as long as it lives, or, undefined, by the one that it is assigned
   * to. Resolves when the wish is recorded; it is carried out a moment later. Rejects with ERR where that
   * cannot be.
   */
  async move(shard: number, to: string | undefined): Promise<void> {
    refusePin(this.#view, this.shards, shard, to)
    await pin(this.#options.engine, shard, to)
    this.#feed.hurry()
  }

  /**
   * Gives away every shard and takes none, or, `false`, takes part again. Resolves when the others can know; rejects
   * with UNKNOWN after a lease in which the engine has not answered: it stands nonetheless.
   */
  async drain(draining = true): Promise<void> {
    this.#draining = draining
    this.#balance.reassign()
    await this.#lease.renew()
    this.#balance.soon()
  }

  /** The cluster as this node sees it. */
  status(): ClusterStatus {
    return {
      cluster: this.#options.cluster,
      self: this.nodeId,
      leaseLeftMs: this.#lease.leftMs,
      ...tablesOf(this.#view, this.#leaderships, this.#balance, this.#timing, this.nodeId),
    }
  }

  /** Leaves: gives everything away, removes the node record. Takes a lease at most when the engine is away. */
  async close(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    this.#balance.reassign()
    await withTimeout(this.#clock, this.#timing.ttlMs, this.#giveAllAway()).catch(() => {})
    this.#abandoned = true
    this.#bell.ring()
    const id = this.nodeId
    const left = this.#lease.leave()
    // The lease is over: nothing is issued between that and the next line.
    this.#leaderships.dropAll()
    await left
    this.#joined.resolve()
    await this.#feed.stop()
    this.#tell({ type: 'left', node: id })
  }

  /** Leads on until the others know that it is to end. */
  async #giveAllAway(): Promise<void> {
    if (this.#leaderships.mine().length > 0 && this.status().nodes.length > 1) {
      await this.#lease.renew()
      await sleep(this.#clock, this.#timing.noticeMs)
    }
    await this.#balance.giveAllAway()
  }

  async #agree(): Promise<void> {
    const { ttlMs, marginMs } = this.#timing
    const wanted = { ...this.#options, leaseTtlMs: ttlMs, marginMs }
    await agreeInTheEnd(wanted.engine, this.#clock, wanted, this.#patience)
  }

  #newLease(): Lease {
    const { engine, newNodeId, resp, http, version } = this.#options
    const joinedMs = Math.floor(this.#clock.wallUs() / 1000)
    return new Lease({
      engine,
      clock: this.#clock,
      timing: this.#timing,
      id: newNodeId(),
      describe: () => ({ resp, http, joinedMs, draining: this.#draining || this.#closing, version }),
      learn: (stored) => this.#view.learn(stored),
      onLapse: (reason) => this.#onLapse(reason),
      onResume: (lapsedMs) => this.#onResume(lapsedMs),
      onDeath: (by) => this.#onDeath(by),
      onTrouble: this.#patience.onTrouble,
    })
  }

  #onLapse(reason: string): void {
    this.#listeners.onLapse()
    this.#tell({ type: 'lapsed', node: this.nodeId, reason })
    this.#leaderships.wakeAll()
  }

  #onResume(lapsedMs: number): void {
    const node = this.nodeId
    if (this.#joinedAs === node) {
      this.#listeners.onResume()
      this.#tell({ type: 'resumed', node, lapsedMs })
    } else {
      this.#joinedAs = node
      this.#tell({ type: 'joined', node })
      this.#joined.resolve()
    }
    this.#leaderships.wakeAll()
    this.#balance.reassign()
  }

  #onDeath(by: string | undefined): void {
    const node = this.nodeId
    this.#leaderships.dropAll()
    this.#tell({ type: 'died', node, by: by ?? '' })
    if (this.#closing) return
    this.#lease = this.#newLease()
    this.#joinAgain().catch((error) => this.#patience.onTrouble(describe(error)))
  }

  /** What the engine has forgotten may include the settings; and who dies over and over must not do so in a loop. */
  async #joinAgain(): Promise<void> {
    await this.#bell.pause(this.#timing.retryMs)
    await this.#agree()
    if (!this.#closing) void this.#lease.start()
  }

  #onNode(id: string): void {
    const known = this.#view.node(id)
    if (known === undefined) {
      this.#observer.forget(id)
      this.#rivals.forget(id)
    } else {
      this.#observer.observe([known])
      if (id === this.nodeId) this.#lease.notice(known.value)
      const rival = this.#rivals.see(known.value)
      if (rival !== undefined) this.#patience.onTrouble(rival)
    }
    this.#leaderships.refreshNode(id)
    if (known?.value.deadBy !== undefined) this.#listeners.onDead(known.value)
    this.#balance.reassign()
  }

  #onShard(shard: number): void {
    this.#leaderships.refresh(shard)
    this.#balance.soon()
  }

  #onWon(here: LeaderTerm, from: string, vacantMs: number): void {
    this.#listeners.onWon(here)
    this.#tell({ type: 'won', shard: here.shard, fence: here.fence, from, vacantMs })
  }

  #onLost(here: LeaderTerm, to: string): void {
    this.#listeners.onLost(here)
    this.#tell({ type: 'lost', shard: here.shard, fence: here.fence, to })
  }

  #tell(event: ClusterEvent): void {
    this.#options.onEvent(event)
  }
}
