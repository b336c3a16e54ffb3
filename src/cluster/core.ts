/**
 * The core of a cluster: which shards this process may issue for, decided on events and time alone. It has no engine, no
 * clock, no timers and no promises: `step` takes an event and the moment at which it happens, changes the state, and
 * returns effects for the shell to perform, in that order.
 *
 * Invariants
 *  1. Every step checks the lease first: if it has lapsed, `onLapse` comes before every other effect.
 *  2. A record that an answer or a watch brings is in the view before anything is decided on that answer.
 *  3. A lease that ends takes every leadership with it in the same step: `onLost` of each comes before the report of the end.
 *     So a process that was declared dead has dropped everything before it joins again, under a fresh id.
 *  4. At most one call is under way for a lease, for the list of records, and for a change of a shard's leader.
 */
import { describe, hasCode } from '../base/errors.ts'
import type { StoredRecord } from '../engine/engine.ts'
import { addressConflict } from './address-conflicts.ts'
import { Balance } from './balance.ts'
import {
  type Answer,
  type Call,
  type ClusterEvent,
  type Effect,
  type Event,
  type Purpose,
  type ShardLeader,
  type State,
  trouble,
} from './events.ts'
import { FailureDetector } from './failure-detector.ts'
import { misfit } from './format.ts'
import { Handover } from './handover.ts'
import { Leaderships } from './leaderships.ts'
import { NodeLease } from './node-lease.ts'
import { type NodeRecord, nodeKey, nodePrefix, ownFormat, readNode, shardOfKey } from './records.ts'
import { type Moment, Schedule, type Timing } from './timing.ts'
import { View, type ViewChange } from './view.ts'

/** Lists follow each other no faster than this. */
const listsApartMs = 5

/** State machine over the parts of the cluster: lease, failure detector, leaderships, balance, handover. */
export class ClusterCore {
  readonly state: State
  readonly leaderships: Leaderships
  readonly balance: Balance
  readonly handover: Handover
  readonly #listing = new Schedule()
  /** Node id under which this process has joined; empty: none yet. */
  joinedAs = ''
  /** Whether the records have been listed. */
  hasListed = false
  /** The versions that living nodes run. */
  #versions: readonly string[] = []

  /** `id`: a node id that was never used before. */
  constructor(timing: Timing, shards: number, self: State['self'], id: string, now: Moment) {
    this.state = {
      timing,
      shards,
      self,
      view: new View(shards),
      detector: new FailureDetector(timing),
      lease: new NodeLease(id, timing, now),
      intent: 'lead',
      effects: [],
    }
    this.leaderships = new Leaderships(this.state, now.monoUs)
    this.balance = new Balance(this.state, this.leaderships)
    this.handover = new Handover(this.state, this.leaderships, this.balance)
  }

  /** When a tick is due, on the monotonic clock in µs; in the past: now. */
  get nextUs(): number {
    return Math.min(this.state.lease.nextUs, this.#listing.nextUs, this.handover.nextUs)
  }

  /** Takes in an event. Returns the effects of it, in the order in which they are to be performed. */
  step(event: Event, now: Moment): readonly Effect[] {
    const { state } = this
    this.#noticeLapse(now)
    switch (event.type) {
      case 'tick':
        this.#tick(now)
        break
      case 'answered':
        this.#answered(event.call, event.answer, now)
        break
      case 'changed':
        this.#viewChanged(state.view.change(event.change, now.monoUs), now)
        break
      case 'released':
        this.handover.released(event.change, event.leftovers, event.error, now)
        break
      case 'join':
        if (event.id !== state.lease.id) state.lease = new NodeLease(event.id, state.timing, now)
        state.lease.schedule.runSoon()
        break
      case 'sealedOut':
        this.handover.sealedOut(event.term, event.by, now)
        break
      case 'intend':
        state.intent = event.intent
        this.#reassign(now)
        break
      case 'list':
        this.#listing.runSoon()
        break
      case 'renew':
        if (state.lease.heartbeat > 0) state.lease.schedule.runSoon()
        break
      case 'suspect':
        state.lease.suspect()
        this.#noticeLapse(now)
        break
      case 'leave':
        this.#endLease(now)
    }
    return state.effects.splice(0)
  }

  /**
   * Whether a lookup reads the shard's record before it names another node. It does where the view could send a client
   * back and forth: another node has sent the client here; this node should lead the shard, or should have until a moment
   * ago; this node's lease is not valid.
   */
  needsRead(lead: ShardLeader, isRedirected: boolean, now: Moment): boolean {
    if (lead.state !== 'elsewhere') return false
    const { lease } = this.state
    return isRedirected || this.balance.mayBeGiven(lead.shard, now.monoUs) || !lease.isValidAt(now)
  }

  /** Whether a lookup waits for another leader: there is none, it was not reached, or it has missed a renewal. */
  isWorthWaiting(lead: ShardLeader, unreachable: string | undefined): boolean {
    if (lead.state !== 'elsewhere') return lead.state === 'none'
    const { detector, timing } = this.state
    return lead.node.id === unreachable || detector.silentMs(lead.node.id) > timing.missingMs
  }

  #tick(now: Moment): void {
    const { lease, effects } = this.state
    if (!lease.isOver && lease.schedule.nextUs <= now.monoUs) this.#renew(now)
    if (this.#listing.nextUs <= now.monoUs) {
      this.#listing.begin()
      effects.push({ do: 'list', startedUs: now.monoUs })
    }
    this.handover.tick(now)
  }

  #renew(now: Moment): void {
    const { lease, self, intent } = this.state
    const expected = lease.renew(now)
    const record: NodeRecord = {
      id: lease.id,
      ...self,
      format: ownFormat,
      joinedMs: lease.joinedMs,
      draining: intent !== 'lead',
      heartbeat: lease.heartbeat,
      sentUs: now.monoUs,
    }
    this.#write(record, expected, { of: 'renewal', id: lease.id })
  }

  #answered(call: Call, answer: Answer, now: Moment): void {
    if (call.do === 'list') return this.#listed(answer, call.startedUs, now)
    if (call.do === 'remove') return
    const { key, why } = call
    if (why.of === 'verdict') this.#verdict(why, answer)
    if (answer.stored !== undefined)
      this.#viewChanged(this.state.view.change({ key, record: answer.stored }, now.monoUs), now)
    if (why.of === 'shard') this.handover.answered(call, why.change, answer, now)
    else if (why.of === 'renewal') this.#renewed(call, why.id, answer, now)
  }

  /** A renewal was answered, or the read that settles one. */
  #renewed(call: Call, id: string, { stored, error }: Answer, now: Moment): void {
    const { lease, effects } = this.state
    if (lease.isOver || lease.id !== id) return
    if (stored !== undefined) this.#confirmed(stored, now)
    else if (call.do === 'write') {
      const next = lease.afterRefusal(error)
      if (next === 'read')
        return void effects.push({ do: 'read', key: nodeKey(id), why: { of: 'renewal', id } })
      if (next === 'over') return this.#die(undefined, now)
    } else if (error === undefined) return this.#die(undefined, now)
    if (error !== undefined) effects.push(trouble(`the lease could not be renewed: ${describe(error)}`))
    lease.endRenewal(now.monoUs)
  }

  /**
   * The record of this node was written or read. A heartbeat of this process in it is confirmed; any other content
   * means that the lease has ended.
   */
  #confirmed(stored: StoredRecord, now: Moment): void {
    const { lease } = this.state
    const record = readNode(stored).value
    if (!lease.isOwn(record)) return this.#die(record.deadBy, now, lease.isOfCopy(record))
    const lapsedMs = lease.confirm(record.heartbeat, stored, now)
    this.#noticeLapse(now)
    if (lapsedMs !== undefined) this.#resumed(lapsedMs, now)
  }

  #resumed(lapsedMs: number, now: Moment): void {
    const { lease, effects } = this.state
    const node = lease.id
    if (this.joinedAs === node) {
      effects.push({ do: 'onResume' })
      this.#report({ type: 'resumed', node, lapsedMs })
    } else this.#report({ type: 'joined', node })
    this.joinedAs = node
    effects.push({ do: 'wake' })
    this.#reassign(now)
  }

  #listed({ records = [], error }: Answer, startedUs: number, now: Moment): void {
    const { view, detector, lease, timing, effects } = this.state
    if (error === undefined) {
      this.hasListed = true
      for (const change of view.learnAll(records, startedUs, now.monoUs)) this.#viewChanged(change, now)
      detector.observe(view.nodes(), now.monoUs)
      if (lease.isValidAt(now)) this.#judge()
      this.#removeVainPins(startedUs)
      this.handover.soon()
    } else effects.push(trouble(`the records of the cluster could not be read: ${describe(error)}`))
    const nextMs = Math.max(listsApartMs, detector.nextMs(view.nodes(), lease.id))
    this.#listing.end(now.monoUs + Math.min(timing.pollMs, nextMs) * 1000)
  }

  /** Declares silent nodes dead, and removes the records of nodes that have been dead for long. */
  #judge(): void {
    const { view, detector, lease, effects } = this.state
    for (const { key, version, value } of detector.overdue(view.nodes(), lease.id)) {
      const why = { of: 'verdict', node: value.id, silentMs: detector.silentMs(value.id) } as const
      if (value.deadBy === undefined) this.#write({ ...value, deadBy: lease.id }, version, why)
      else effects.push({ do: 'remove', key, expected: version })
    }
  }

  /** A node was declared dead. A verdict whose outcome is not known shows in the next list. */
  #verdict({ node, silentMs }: Purpose & { of: 'verdict' }, { stored, error }: Answer): void {
    if (stored !== undefined) this.#report({ type: 'declaredDead', node, silentMs })
    else if (error !== undefined && !hasCode(error, 'UNKNOWN'))
      this.state.effects.push(trouble(`node ${node} could not be declared dead: ${describe(error)}`))
  }

  /**
   * Removes the pins to nodes that are dead or gone: ids of nodes are not used again. A list that was requested after the
   * pin was seen has the node's record unless the node is gone, because a node writes its record before it can be pinned.
   */
  #removeVainPins(listedUs: number): void {
    const { view, effects } = this.state
    for (const { key, version, value, seenUs } of view.pins())
      if (seenUs < listedUs && view.living(value.to) === undefined)
        effects.push({ do: 'remove', key, expected: version })
  }

  #viewChanged(change: ViewChange | undefined, now: Moment): void {
    if (change === undefined) return
    const { key, unreadable } = change
    if (unreadable !== undefined) this.state.effects.push(trouble(unreadable))
    else if (key.startsWith(nodePrefix)) this.#nodeChanged(key.slice(nodePrefix.length), now)
    else {
      this.leaderships.refresh(shardOfKey(key), now.monoUs)
      this.handover.soon()
    }
  }

  #nodeChanged(id: string, now: Moment): void {
    const { view, detector, lease, effects } = this.state
    const known = view.node(id)
    if (known === undefined) detector.forget(id)
    else {
      const unfit = detector.heardUs(id) === undefined ? misfit(known.value) : undefined
      if (unfit !== undefined) effects.push(trouble(`${unfit}; stop that node`))
      detector.observe([known], now.monoUs)
      const conflict = addressConflict(this.state, known.value)
      if (conflict !== undefined) effects.push(trouble(conflict))
      // No write of this process made this record. After an advance another node may lead already.
      if (id === lease.id && !lease.isOver && !lease.isOwn(known.value))
        this.#die(known.value.deadBy, now, lease.isOfCopy(known.value))
    }
    this.leaderships.refreshNode(id, now.monoUs)
    if (known?.value.deadBy !== undefined) effects.push({ do: 'onDead', node: known.value })
    this.#reportVersions()
    this.#reassign(now)
  }

  #reportVersions(): void {
    const [before, versions] = [this.#versions, this.state.view.versions()]
    this.#versions = versions
    const isNews = before.join() !== versions.join() && versions.length > 0
    if (isNews && (before.length > 1 || versions.length > 1)) this.#report({ type: 'versions', versions })
  }

  #noticeLapse(now: Moment): void {
    const { lease, effects } = this.state
    const reason = lease.lapse(now)
    if (reason === undefined) return
    effects.push({ do: 'onLapse' })
    this.#report({ type: 'lapsed', node: lease.id, reason })
    effects.push({ do: 'wake' })
  }

  /** The lease has ended: `by` declared this node dead (undefined: the record is gone, or not as it was written). */
  #die(by: string | undefined, now: Moment, isCopied = false): void {
    this.#endLease(now)
    this.#report({ type: 'died', node: this.state.lease.id, by: by ?? '', ...(isCopied && { isCopied }) })
  }

  #endLease(now: Moment): void {
    this.state.lease.end(now.monoUs)
    this.handover.abandonAll()
    this.leaderships.dropAll()
  }

  #reassign(now: Moment): void {
    this.balance.reassign(now.monoUs)
    this.handover.soon()
  }

  #write(record: NodeRecord, expected: bigint | undefined, why: Purpose): void {
    const [key, value] = [nodeKey(record.id), JSON.stringify(record)]
    this.state.effects.push({ do: 'write', key, value, expected, why })
  }

  #report(event: ClusterEvent): void {
    this.state.effects.push({ do: 'report', event })
  }
}
