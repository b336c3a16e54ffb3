/**
 * A process's part in a cluster: the interface for issuers, commands and transports.
 *
 *     // in every callback that brings requests, before the first id is issued:
 *     const term = cluster.here(slot)              // undefined: wait, redirect or forward
 *     const lead = await cluster.leadWithin(slot)
 *
 * Invariants
 *  1. `here(slot)` returns a term only while the lease's deadline has not passed; each call compares both clocks.
 *  2. When the lease lapses, all listeners have been called before the call that notices it returns.
 *  3. A process that was declared dead joins again only under the settings that are recorded at that time.
 */
import { type Clock, sleep } from '../base/clock.ts'
import { describe, FahaoError, hasCode } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { conflictRenewals, renewalsAtThisAddress } from './address-conflicts.ts'
import { ClusterCore } from './core.ts'
import type { ClusterEvent, LeaderTerm, ShardLeader } from './events.ts'
import { LeaderLookup } from './leader-lookup.ts'
import { nodeKey, type PinnedLeader, pinKey, readNode, readPin } from './records.ts'
import { agreeOnSettings } from './settings.ts'
import { type ClusterListener, Shell, withTimeout } from './shell.ts'
import { shardTable } from './slots.ts'
import { type ClusterStatus, tablesOf } from './status.ts'
import { type Timing, type TimingOptions, timing } from './timing.ts'
import type { View } from './view.ts'

/** Options of a process's part in a cluster. */
export type ClusterOptions = TimingOptions & {
  readonly engine: Engine
  readonly clock: Clock
  /** A new node id at each call, never used before by any process: 40 random hexadecimal digits, as Redis has them. */
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

const removalTries = 3
const pinTries = 10

/** A process's part in a cluster: lookups of leaders, changes of leadership, and their status. */
export class Cluster {
  readonly #options: ClusterOptions
  readonly #timing: Timing
  readonly #shardOf: Uint16Array
  readonly #core: ClusterCore
  readonly #shell: Shell
  readonly #lookup: LeaderLookup
  /** Terms that a counter has refused. */
  readonly #sealedOut = new WeakSet<LeaderTerm>()

  /** Does not join. Throws CONFIG for a lease that cannot work. */
  constructor(options: ClusterOptions) {
    const { engine, clock, shards, resp, http, version, newNodeId } = options
    this.#options = options
    this.#timing = timing(options)
    this.#shardOf = shardTable(shards)
    const now = { monoUs: clock.monoUs(), wallUs: clock.wallUs() }
    this.#core = new ClusterCore(this.#timing, shards, { resp, http, version }, newNodeId(), now)
    this.#shell = new Shell(engine, clock, this.#core, (event) => this.#report(event))
    this.#lookup = new LeaderLookup(this.#shell)
  }

  /** This process's node id. It changes when the process joins again after it was declared dead. */
  get nodeId(): string {
    return this.#core.state.lease.id
  }

  /** How many shards there are. */
  get shards(): number {
    return this.#options.shards
  }

  /** How long a lease lasts. */
  get leaseTtlMs(): number {
    return this.#timing.ttlMs
  }

  /** The shard of a slot. */
  shardOf(slot: number): number {
    return this.#shardOf[slot]!
  }

  /** Whether this node may lead: compares two clocks. If not, listeners have been called when this returns. */
  check(): boolean {
    return this.#shell.check()
  }

  /**
   * The memory of this process may exist twice, and a copy may hold the lease too. When this returns, this node leads
   * nothing; it continues if the next renewal shows that no copy has renewed.
   */
  suspect(): void {
    this.#shell.step({ type: 'suspect' })
  }

  /** This node's term as the leader of a slot; undefined: it must not issue for it now. The lease has been checked. */
  here(slot: number): LeaderTerm | undefined {
    const term = this.held(slot)
    return term !== undefined && this.#shell.check() ? term : undefined
  }

  /** As `here`, for callers that have called `check()` in the same callback. */
  held(slot: number): LeaderTerm | undefined {
    return this.#core.leaderships.held(this.#shardOf[slot]!)
  }

  /** The leader of a slot, by the records that this process has received. */
  lead(slot: number): ShardLeader {
    return this.#lookup.lead(this.#shardOf[slot]!)
  }

  /**
   * The leader of a slot, after a wait until a node leads: up to `waitMs`, by default as long as a take-over lasts.
   * `isRedirected`: another node redirected the request to this one. While the node `unreachable` leads, this waits for
   * another leader.
   */
  leadWithin(
    slot: number,
    waitMs = this.#timing.leaderWaitMs,
    isRedirected = false,
    unreachable?: string,
  ): Promise<ShardLeader> {
    return this.#lookup.leadWithin(this.#shardOf[slot]!, waitMs, isRedirected, unreachable)
  }

  /** Calls `listener` at every change of this node's leaderships from now on. Returns a function that ends that. */
  listen(listener: ClusterListener): () => void {
    this.#shell.listeners.add(listener)
    return () => void this.#shell.listeners.delete(listener)
  }

  /**
   * Reports that a counter refuses this term, because it has seen the fence `by`: a newer leader has reserved. If the shard's
   * record does not know of that one, this node gives the shard up: it is led again above that fence, once the newer
   * leader's lease has lapsed, if there is one.
   */
  sealedOut(term: LeaderTerm, by: bigint): void {
    if (this.#sealedOut.has(term)) return
    this.#sealedOut.add(term)
    const { shard, fence } = term
    this.#report({ type: 'sealedOut', shard, fence, by })
    void this.#lookup.read(shard).then((isAnswered) => {
      if (isAnswered) this.#shell.step({ type: 'sealedOut', term, by })
      else this.#sealedOut.delete(term)
    })
  }

  /**
   * Pins a shard to a node until that node is dead; undefined: removes the pin, so that the assigned node leads the
   * shard. Resolves when the pin is recorded; the hand-over follows. Rejects with ERR if there is no such shard or living node.
   */
  async move(shard: number, to: string | undefined): Promise<void> {
    refusePin(this.#core.state.view, this.shards, shard, to)
    await pin(this.#options.engine, shard, to)
    this.#shell.step({ type: 'list' })
  }

  /**
   * Hands every shard over and takes none; `false`: takes shards again. Resolves when the node's record says so; rejects
   * with UNKNOWN if the engine has not answered for the length of a lease: the drain continues nonetheless.
   */
  async drain(draining = true): Promise<void> {
    if (this.#isClosing) return
    this.#shell.step({ type: 'intend', intent: draining ? 'drain' : 'lead' })
    await this.#renew()
  }

  /** The cluster as this node sees it. */
  status(): ClusterStatus {
    const now = this.#shell.now()
    return {
      cluster: this.#options.cluster,
      self: this.nodeId,
      leaseLeftMs: this.#core.state.lease.leftMs(now),
      ...tablesOf(this.#core, now),
    }
  }

  /**
   * Joins the cluster. Resolves when this node has joined; tries until then, or until it is closed. Rejects with
   * CONFIG if the installation has other settings, or another node announces the same address.
   */
  async start(): Promise<void> {
    await this.#agree()
    if (this.#isClosing) return
    this.#shell.step({ type: 'list' })
    await this.#shell.until(() => this.#core.hasListed)
    await this.#refuseConflicts()
    if (this.#isClosing) return
    this.#shell.step({ type: 'join', id: this.nodeId })
    await this.#shell.until(() => this.#core.joinedAs !== '')
  }

  /** Leaves: hands over all shards, removes the node record. Without the engine it takes the length of a lease at most. */
  async close(): Promise<void> {
    if (this.#isClosing) return
    this.#shell.step({ type: 'intend', intent: 'close' })
    await withTimeout(this.#options.clock, this.#timing.ttlMs, this.#giveAllAway()).catch(() => {})
    const node = this.nodeId
    await this.#shell.leave()
    await this.#removeRecord(node)
    await this.#shell.end()
    this.#report({ type: 'left', node })
  }

  get #isClosing(): boolean {
    const { intent } = this.#core.state
    return intent === 'close' || intent === 'giveAllAway'
  }

  /**
   * Hands over all shards. The other nodes are told first, by a renewal that says that this node drains. It leads as
   * before until they have had `noticeMs` to receive that.
   */
  async #giveAllAway(): Promise<void> {
    if (this.#core.leaderships.led().length > 0 && this.status().nodes.length > 1) {
      await this.#renew()
      await sleep(this.#options.clock, this.#timing.noticeMs)
    }
    this.#shell.step({ type: 'intend', intent: 'giveAllAway' })
    await this.#shell.until(() => this.#core.handover.isIdle)
  }

  /** Removes this node's record, so that the other nodes need not wait until it may be declared dead. */
  async #removeRecord(id: string): Promise<void> {
    const { engine } = this.#options
    for (let tries = 0; tries < removalTries; tries++) {
      try {
        const stored = await this.#shell.answer(engine.read(nodeKey(id)))
        if (stored === undefined || readNode(stored).value.deadBy !== undefined) return
        if (await this.#shell.answer(engine.remove(stored.key, stored.version))) return
      } catch (error) {
        this.#trouble(`the record of this node could not be removed: ${describe(error)}`)
      }
    }
  }

  /** Resolves when a renewal sent from now on is known to be carried out, or the lease is over. */
  async #renew(): Promise<void> {
    const { lease } = this.#core.state
    const heartbeat = lease.heartbeat + 1
    this.#shell.step({ type: 'renew' })
    const isDone = this.#shell.until(() => lease.confirmed >= heartbeat || lease.isOver)
    await withTimeout(this.#options.clock, this.#timing.ttlMs, isDone)
  }

  #report(event: ClusterEvent): void {
    this.#options.onEvent(event)
    if (event.type === 'died' && !this.#isClosing)
      this.#joinAgain().catch((error) => this.#trouble(describe(error)))
  }

  /**
   * Agrees on the settings first: an engine that has forgotten the lease may have forgotten them too. The pause prevents
   * a busy loop.
   */
  async #joinAgain(): Promise<void> {
    await this.#shell.pause(this.#timing.retryMs)
    await this.#agree()
    if (!this.#isClosing) this.#shell.step({ type: 'join', id: this.#options.newNodeId() })
  }

  /** Agrees on the settings; tries again while the engine cannot answer. Rejects with CONFIG. */
  async #agree(): Promise<void> {
    const { engine, clock } = this.#options
    const { ttlMs, marginMs, retryMs } = this.#timing
    while (!this.#isClosing) {
      try {
        const wanted = { ...this.#options, leaseTtlMs: ttlMs, marginMs }
        return void (await withTimeout(clock, ttlMs, agreeOnSettings(engine, wanted)))
      } catch (error) {
        const mayPass = error instanceof FahaoError && (error.retryable || error.code === 'REGRESSED')
        if (!mayPass) throw error
        this.#trouble(`the settings could not be agreed on: ${describe(error)}`)
        await this.#shell.pause(retryMs)
      }
    }
  }

  /**
   * Waits long enough to see whether another living node with this address renews its lease; each renewal that is seen
   * prolongs the wait. Rejects with CONFIG after `conflictRenewals` of them.
   */
  async #refuseConflicts(): Promise<void> {
    const stepMs = this.#timing.pollMs / 2
    for (let waitedMs = 0; !this.#isClosing; waitedMs += stepMs) {
      const renewals = renewalsAtThisAddress(this.#core.state)
      if (renewals >= conflictRenewals)
        throw new FahaoError('CONFIG', 'another node has the address that this one announces; see the log')
      if (waitedMs >= 1.5 * (renewals + 1) * this.#timing.renewMs) return
      await this.#shell.pause(stepMs)
    }
  }

  #trouble(message: string): void {
    this.#report({ type: 'trouble', message })
  }
}

/** Throws ERR where a pin cannot be carried out. */
function refusePin(view: View, shards: number, shard: number, to: string | undefined): void {
  if (!(shard >= 0 && shard < shards))
    throw new FahaoError('ERR', `there is no shard ${shard}; the last one is ${shards - 1}`)
  if (to === undefined) return
  if (view.living(to) === undefined)
    throw new FahaoError('ERR', `there is no living node ${to}; look at the cluster's status`)
  if (view.living(to)!.draining) throw new FahaoError('ERR', `node ${to} is draining; end that first`)
}

/**
 * Records that `to` shall lead the shard, or, undefined, that the assignment decides again. Rejects with CONFLICT when
 * other nodes keep changing the pin, and as the engine does.
 */
async function pin(engine: Engine, shard: number, to: string | undefined): Promise<void> {
  const key = pinKey(shard)
  for (let each = 0; each < pinTries; each++) {
    const stored = await engine.read(key)
    if ((stored && readPin(stored).value.to) === to) return
    const value = JSON.stringify({ to } satisfies Partial<PinnedLeader>)
    const change: Promise<unknown> =
      to === undefined ? engine.remove(key, stored!.version) : engine.write(key, value, stored?.version)
    // The read that follows shows the outcome.
    await change.catch((error: unknown) => {
      if (!hasCode(error, 'UNKNOWN')) throw error
    })
  }
  throw new FahaoError(
    'CONFLICT',
    `the pin of shard ${shard} was changed elsewhere ${pinTries} times in a row; retry`,
  )
}
