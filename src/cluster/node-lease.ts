/**
 * The lease: this process's right to lead anything, as a pure state machine. It is held by renewing the node record with
 * conditional writes, which `core.ts` sends.
 *
 * Invariants
 *  1. `isValid` holds only before a deadline on the monotonic clock: the moment *before* a renewal that is known to have
 *     been carried out was sent, + ttl − margin. A node that declares this one dead has seen that renewal's version
 *     stand for ttl + margin, so its clock began later, and the deadline has passed before.
 *  2. Every renewal names the version that the last one made. So a renewal that is carried out proves that no node has
 *     declared this one dead in between, however late it comes: a lease that lapsed may be resumed.
 *  3. A renewal whose outcome is unknown, or that was refused, is settled by a read; the heartbeat found counts from the
 *     moment before *that* heartbeat was sent, which may have passed already.
 *  4. A record that is gone, says that this node is dead, or holds a heartbeat other than the last one known to be
 *     carried out or one sent since (the engine has forgotten what it acknowledged), ends the lease permanently; its id is
 *     not used again. One write only requires that the record does not exist yet: with a second such try, a node that
 *     was declared dead and whose record was removed would come back under its old id.
 *  5. Wall time that has run ahead of monotonic time by more than the margin since the renewal was sent means that the
 *     machine was suspended, with its monotonic clock. Then only a renewal sent afterwards counts: a read alone would
 *     not do, for it says nothing about the moment after it.
 *  6. A heartbeat is recognized by its number and by the moment of this process's clock that its record names. So where
 *     the memory of this process exists twice, one copy renews, and the other finds a heartbeat that it has not sent: its
 *     lease ends (4). After `suspect` only a renewal sent afterwards counts.
 */
import { assert } from '../base/assert.ts'
import { hasCode } from '../base/errors.ts'
import type { StoredRecord } from '../engine/engine.ts'
import type { NodeRecord } from './records.ts'
import { type Moment, Schedule, type Timing } from './timing.ts'

/** How far wall time stood ahead of monotonic time when a heartbeat was sent; −∞: it does not count any more. */
type Sent = { readonly monoUs: number; readonly aheadUs: number }

/** The lease of one node id, from its first heartbeat to its end. A node that joins again has a new one. */
export class NodeLease {
  readonly id: string
  /** Unix ms. */
  readonly joinedMs: number
  /** When to renew. */
  readonly schedule = new Schedule()
  /** The last heartbeat sent, and the last one that is known to have been carried out. */
  heartbeat = 0
  confirmed = 0
  /** Whether the lease was valid when it was last checked. */
  isHeld = false
  /** The lease has ended permanently. */
  isOver = false
  /** When the lease was last found not to be valid any more. */
  lapsedUs: number
  readonly #timing: Timing
  readonly #marginUs: number
  /** Heartbeats of the last ttl that are not known to be carried out. */
  readonly #sent = new Map<number, Sent>()
  #version: bigint | undefined
  #deadlineUs = Number.NEGATIVE_INFINITY
  #aheadUs = 0
  #startedUs = 0
  /** When the heartbeat `confirmed` was sent. */
  #confirmedUs: number | undefined
  #isSuspected = false

  /** `id` was never used before. */
  constructor(id: string, timing: Timing, now: Moment) {
    this.id = id
    this.joinedMs = Math.floor(now.wallUs / 1000)
    this.lapsedUs = now.monoUs
    this.#timing = timing
    this.#marginUs = timing.marginMs * 1000
  }

  /** Whether this process may lead at this moment. Two comparisons: it is on the path of every request. */
  isValid(monoUs: number, wallUs: number): boolean {
    return monoUs < this.#deadlineUs && wallUs - monoUs - this.#aheadUs <= this.#marginUs
  }

  /** As `isValid`, for the core. */
  isValidAt({ monoUs, wallUs }: Moment): boolean {
    return this.isValid(monoUs, wallUs)
  }

  /** For how long the lease is valid without another renewal, in ms; 0 when it is not. */
  leftMs(now: Moment): number {
    return this.isValidAt(now) ? (this.#deadlineUs - now.monoUs) / 1000 : 0
  }

  /** When something is due, on the monotonic clock in µs. */
  get nextUs(): number {
    if (this.isOver) return Number.POSITIVE_INFINITY
    return Math.min(this.schedule.nextUs, this.isHeld ? this.#deadlineUs : Number.POSITIVE_INFINITY)
  }

  /** Notices a lapse; the next renewal follows at once then. Returns the reason; undefined: it has not lapsed just now. */
  lapse({ monoUs, wallUs }: Moment): string | undefined {
    if (!this.isHeld || this.isValid(monoUs, wallUs)) return undefined
    const aheadMs = Math.round((wallUs - monoUs - this.#aheadUs) / 1000)
    const isExpired = monoUs >= this.#deadlineUs
    this.isHeld = false
    this.lapsedUs = monoUs
    this.#deadlineUs = Number.NEGATIVE_INFINITY
    this.schedule.runSoon()
    if (this.#isSuspected) return 'the memory of this node may exist twice'
    return isExpired
      ? 'it was not renewed in time'
      : `wall time has run ahead by ${aheadMs} ms: the machine was suspended, or its clock set`
  }

  /** A copy of this memory may hold the lease too: nothing that was sent before counts. `lapse` notices that. */
  suspect(): void {
    this.#isSuspected = true
    this.#deadlineUs = Number.NEGATIVE_INFINITY
    for (const [heartbeat, { monoUs }] of this.#sent)
      this.#sent.set(heartbeat, { monoUs, aheadUs: Number.NEGATIVE_INFINITY })
  }

  /** Begins a renewal. Returns the version that its write replaces; undefined: it creates the record. */
  renew({ monoUs, wallUs }: Moment): bigint | undefined {
    this.schedule.begin()
    this.#startedUs = monoUs
    for (const [heartbeat, sent] of this.#sent)
      if (monoUs - sent.monoUs > this.#timing.ttlMs * 1000) this.#sent.delete(heartbeat)
    this.#sent.set(++this.heartbeat, { monoUs, aheadUs: wallUs - monoUs })
    this.#isSuspected = false
    return this.#version
  }

  /** What follows from a renewal that failed with `error`, or was refused. */
  afterRefusal(error: unknown): 'over' | 'retry' | 'read' {
    if (hasCode(error, 'REGRESSED') && this.#version !== undefined) return 'over'
    return hasCode(error, 'UNAVAILABLE') || hasCode(error, 'REGRESSED') ? 'retry' : 'read'
  }

  /** Whether the record may be as this process has left it. */
  isOwn(record: NodeRecord): boolean {
    return record.deadBy === undefined && record.heartbeat >= this.confirmed && !this.isOfCopy(record)
  }

  /**
   * Whether only a copy of this memory can have sent the heartbeat in the record: its number is above all that this process
   * has sent, or this process has sent it at another moment.
   */
  isOfCopy({ heartbeat, sentUs }: NodeRecord): boolean {
    if (heartbeat > this.heartbeat) return true
    const ownUs =
      this.#sent.get(heartbeat)?.monoUs ?? (heartbeat === this.confirmed ? this.#confirmedUs : undefined)
    return ownUs !== undefined && ownUs !== sentUs
  }

  /**
   * `heartbeat` was carried out and made this version. Returns for how long the lease had lapsed, in ms, when it is valid
   * again.
   */
  confirm(heartbeat: number, { version }: StoredRecord, now: Moment): number | undefined {
    this.#version = version
    this.confirmed = heartbeat
    const sent = this.#sent.get(heartbeat)
    // A heartbeat that was confirmed before, or sent more than a ttl ago, extends nothing.
    if (sent === undefined) return undefined
    this.#confirmedUs = sent.monoUs
    for (const older of this.#sent.keys()) if (older <= heartbeat) this.#sent.delete(older)
    this.#deadlineUs = sent.monoUs + (this.#timing.ttlMs - this.#timing.marginMs) * 1000
    this.#aheadUs = sent.aheadUs
    if (!this.isValidAt(now)) {
      // The confirmation came after the deadline that this heartbeat gives, or the machine was suspended since it was
      // sent. Only a later heartbeat can make the lease valid.
      this.schedule.runSoon()
      return undefined
    }
    if (this.isHeld) return undefined
    this.isHeld = true
    return (now.monoUs - this.lapsedUs) / 1000
  }

  /** The renewal under way has ended. */
  endRenewal(nowUs: number): void {
    const { renewMs, retryMs } = this.#timing
    const isDone = this.confirmed >= this.heartbeat
    this.schedule.end(isDone ? this.#startedUs + renewMs * 1000 : nowUs + retryMs * 1000)
  }

  /** Ends the lease permanently. */
  end(nowUs: number): void {
    this.isOver = true
    this.#deadlineUs = Number.NEGATIVE_INFINITY
    if (this.isHeld) this.lapsedUs = nowUs
    this.isHeld = false
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    const { ttlMs, marginMs } = this.#timing
    const latestUs = this.#startedUs + (ttlMs - marginMs) * 1000
    assert(this.#deadlineUs <= latestUs, 'the deadline counts from before a renewal was sent')
    assert(this.confirmed <= this.heartbeat, 'what was carried out was sent')
    for (const heartbeat of this.#sent.keys())
      assert(heartbeat > this.confirmed && heartbeat <= this.heartbeat, 'later renewals wait for an answer')
    assert(!this.isOver || this.#deadlineUs === Number.NEGATIVE_INFINITY, 'what has ended is not valid')
  }
}
