/**
 * The changes of shards' leaders that this node is making, as a state machine: it decides which begin, and which write
 * follows each answer.
 *
 * Invariants
 *  1. Every new holder gets the epoch after the last one, in the same conditional write that names it.
 *  2. A shard is taken only if its record names no node, or a node whose own record a read that began after this version
 *     was seen finds gone or dead. (A node writes its record before any record can name it, and never again after it is
 *     gone: so a node that merely is not known here yet is not mistaken for a dead one.) One that
 *     rests is taken only once it is free (leaderships.ts).
 *  3. A holder hands a shard over only after it has stopped issuing, and tries until the record has changed or its own
 *     lease is over. It issues again only if the record names it with a new epoch: a write that is still on its way then
 *     meets another version.
 *  4. Leftover ranges go to the node that the record names, in the write that names it: of all attempts one is carried out.
 *  5. At most one change of a shard is under way here, and at most `changesMax` of all, unless everything is given away.
 */
import { describe, hasCode } from '../base/errors.ts'
import type { Balance } from './balance.ts'
import { type Answer, type Call, type LeaderTerm, type ShardChange, type State, trouble } from './events.ts'
import type { Leaderships } from './leaderships.ts'
import { type Leadership, type LeftoverRange, nodeKey, readNode, shardKey } from './records.ts'
import type { Moment } from './timing.ts'

const changesMax = 16

/** The changes of leaders that this node has begun, one per shard at most. */
export class Handover {
  readonly #state: State
  readonly #leaderships: Leaderships
  readonly #balance: Balance
  readonly #changes = new Map<number, ShardChange>()
  /** A change that came to nothing is not repeated before this. */
  readonly #restUntilUs: number[]
  /** When to decide again. */
  #decideUs = Number.POSITIVE_INFINITY

  constructor(state: State, leaderships: Leaderships, balance: Balance) {
    this.#state = state
    this.#leaderships = leaderships
    this.#balance = balance
    this.#restUntilUs = new Array<number>(state.shards).fill(0)
  }

  /** When something is due, on the monotonic clock in µs. */
  get nextUs(): number {
    let nextUs = this.#decideUs
    for (const { retryUs } of this.#changes.values()) nextUs = Math.min(nextUs, retryUs)
    return nextUs
  }

  /** Whether this node leads no shard, and is not changing the leader of any. */
  get isIdle(): boolean {
    return this.#changes.size === 0 && this.#leaderships.led().length === 0
  }

  /** Decides as soon as what happens now has been taken in: once, however often it is called. */
  soon(): void {
    this.#decideUs = Number.NEGATIVE_INFINITY
  }

  /** The lease is over: what is under way belongs to a node id that leads nothing any more. */
  abandonAll(): void {
    this.#changes.clear()
  }

  /** Does what is due. */
  tick(now: Moment): void {
    for (const change of this.#changes.values()) if (change.retryUs <= now.monoUs) this.#resign(change, now)
    if (this.#decideUs > now.monoUs) return
    this.#decideUs = Number.POSITIVE_INFINITY
    const { lease, intent } = this.#state
    if (intent === 'giveAllAway') this.#giveAllAway(now)
    else if (lease.isValidAt(now)) this.#decide(now)
  }

  /** The engine has answered a call for this change; the view holds what it said. */
  answered(call: Call, change: ShardChange, answer: Answer, now: Moment): void {
    if (this.#changes.get(change.shard) !== change) return
    const { term, shard, expected } = change
    const isUnclear = call.do === 'write' && (answer.error === undefined || hasCode(answer.error, 'UNKNOWN'))
    const isUnchanged = this.#state.view.shard(shard)?.version === expected
    if (isUnclear && answer.stored === undefined && isUnchanged) {
      // Another node was faster, or the write is thought lost: the record shows it.
      this.#state.effects.push({ do: 'read', key: shardKey(shard), why: { of: 'shard', change } })
    } else if (term !== undefined) {
      if (!isUnclear && answer.error !== undefined) this.#fail(shard, 'handed over', answer.error)
      const pauseUs = this.#leaderships.isLosing(term) ? (this.#state.timing.retryMs / 3) * 1000 : 0
      change.retryUs = now.monoUs + pauseUs
    } else if (!isUnclear && answer.error !== undefined) {
      // Every node that may take it tries again in a moment; an engine that stays away shows in the lease.
      if (this.#state.lease.isValidAt(now)) this.#fail(shard, 'taken', answer.error)
      this.#end(change, now)
    } else if (call.do === 'read' && call.key !== shardKey(shard) && isUnchanged && isGone(answer)) {
      this.#take(change, now)
    } else this.#end(change, now)
  }

  /** Generators of the shard are released, as far as they could be in time. */
  released(change: ShardChange, leftovers: readonly LeftoverRange[], error: unknown, now: Moment): void {
    if (error !== undefined && !hasCode(error, 'UNKNOWN')) this.#fail(change.shard, 'released', error)
    if (this.#changes.get(change.shard) !== change) return
    change.releasedUs = now.monoUs
    change.leftovers = leftovers
    this.#resign(change, now)
  }

  #decide(now: Moment): void {
    this.#balance.refresh(now.monoUs)
    for (let shard = 0; shard < this.#state.shards; shard++) {
      const dueUs = this.#changes.has(shard) ? undefined : this.#balance.dueUs(shard)
      if (dueUs === undefined) continue
      const atUs = Math.max(dueUs, this.#restUntilUs[shard]!)
      if (atUs > now.monoUs) this.#decideUs = Math.min(this.#decideUs, atUs)
      else if (this.#changes.size < changesMax) this.#begin(shard, undefined, now)
    }
  }

  #giveAllAway(now: Moment): void {
    for (const shard of this.#leaderships.led())
      if (this.#leaderships.held(shard) !== undefined && !this.#changes.has(shard))
        this.#begin(shard, undefined, now)
  }

  /**
   * A counter has seen the fence of a leader that the shard's record does not know. That leader may issue until its lease
   * lapses, so this one gives the shard to no node, and it rests.
   */
  sealedOut(term: LeaderTerm, by: bigint, now: Moment): void {
    const { shard } = term
    const isLed = this.#leaderships.held(shard) === term && by > term.fence
    if (isLed && !this.#changes.has(shard)) this.#begin(shard, by, now)
  }

  #begin(shard: number, sealedBy: bigint | undefined, now: Moment): void {
    const { view, effects } = this.#state
    const known = view.shard(shard)
    const change: ShardChange = {
      shard,
      term: this.#leaderships.held(shard),
      target: this.#balance.wanted(shard),
      sealedBy,
      startedUs: now.monoUs,
      releasedUs: now.monoUs,
      leftovers: [],
      expected: known?.version,
      retryUs: Number.POSITIVE_INFINITY,
    }
    this.#changes.set(shard, change)
    const holder = known?.value.holder ?? ''
    const { term } = change
    if (term !== undefined) {
      this.#leaderships.lose(shard, now.monoUs)
      const hasSuccessor = sealedBy === undefined && this.#balance.successor(shard, change.target) !== ''
      effects.push({ do: 'release', change, term, hasSuccessor })
    } else if (holder === '') this.#take(change, now)
    else effects.push({ do: 'read', key: nodeKey(holder), why: { of: 'shard', change } })
  }

  /** Names this node in the record of a shard that has no leader. */
  #take(change: ShardChange, now: Moment): void {
    if (!this.#state.lease.isValidAt(now)) return this.#end(change, now)
    const { holder = '', epoch = 0, from = '' } = this.#state.view.shard(change.shard)?.value ?? {}
    this.#write(change, { holder: this.#state.lease.id, epoch: epoch + 1, from: holder || from })
  }

  /** Names the successor in the record of a shard that this node has stopped issuing for. */
  #resign(change: ShardChange, now: Moment): void {
    const { shard, term, leftovers, sealedBy } = change
    if (term === undefined || !this.#leaderships.isLosing(term)) return this.#handedOver(change, now)
    const { version, value } = this.#state.view.shard(shard)!
    const from = this.#state.lease.id
    change.expected = version
    change.retryUs = Number.POSITIVE_INFINITY
    if (sealedBy !== undefined) {
      const epoch = Math.max(value.epoch, Number(sealedBy))
      return this.#write(change, { holder: '', epoch, from, rests: true })
    }
    const to = this.#balance.successor(shard, change.target)
    const next = { holder: to, epoch: value.epoch + 1, from, leftovers }
    this.#write(change, to === '' ? { holder: to, epoch: value.epoch, from } : next)
  }

  #handedOver(change: ShardChange, now: Moment): void {
    const { view, lease, effects } = this.#state
    const { shard, startedUs, releasedUs } = change
    const to = view.shard(shard)?.value.holder ?? ''
    const [releaseMs, writeMs] = [(releasedUs - startedUs) / 1000, (now.monoUs - releasedUs) / 1000]
    if (to !== lease.id)
      effects.push({ do: 'report', event: { type: 'handedOver', shard, to, releaseMs, writeMs } })
    this.#end(change, now)
  }

  #end(change: ShardChange, now: Moment): void {
    this.#changes.delete(change.shard)
    this.#restUntilUs[change.shard] = now.monoUs + this.#state.timing.retryMs * 1000
    this.soon()
  }

  #fail(shard: number, what: string, error: unknown): void {
    this.#state.effects.push(trouble(`shard ${shard} could not be ${what}: ${describe(error)}`))
  }

  #write(change: ShardChange, next: Leadership): void {
    const key = shardKey(change.shard)
    const { expected } = change
    const value = JSON.stringify(next)
    this.#state.effects.push({ do: 'write', key, value, expected, why: { of: 'shard', change } })
  }
}

/** Whether a node has no record, or one that says that it is dead. */
function isGone({ stored }: Answer): boolean {
  return stored === undefined || readNode(stored).value.deadBy !== undefined
}
