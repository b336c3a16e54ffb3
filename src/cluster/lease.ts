/**
 * This process's right to lead anything: its node record, renewed by conditional writes.
 *
 * Invariants
 *  1. `check()` passes only before a deadline on the monotonic clock: the moment *before* a renewal that is known to
 *     have been carried out was sent, + ttl − margin. Whoever declares this node dead has seen that renewal's
 *     version stand for ttl + margin, so its clock began later, and the deadline has passed before.
 *  2. Every renewal names the version that the last one made. So one that is carried out proves that nobody has
 *     declared this node dead in between, however late it comes: a lease that lapsed may be resumed.
 *  3. A renewal whose outcome is unknown, or that was refused, is settled by a read; what it finds counts from the
 *     moment before *that* beat was sent, which may have passed already.
 *  4. A record that is gone, says that this node is dead, or holds a beat other than the last one known to be carried
 *     out or one sent since (the engine has forgotten what it acknowledged), ends the lease for good; its id is not
 *     used again. That the record shall not exist yet is asked of one write only: had a node that was declared dead
 *     and taken off the records a second try, it would come back as who it was.
 *  5. Wall time that has run ahead of monotonic time by more than the margin since the renewal was sent means that
 *     the machine was suspended, with its monotonic clock. Nothing counts then but a renewal sent afterwards: a
 *     read alone would not do, for it says nothing about the moment after it.
 *  6. Listeners are told of a lapse before `check()` returns, and of the end at once; but for `leave`, whose caller knows.
 */
import type { Clock, Timer } from '../base/clock.ts'
import { describe, hasCode } from '../base/errors.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { Notify, withTimeout } from './pauses.ts'
import { type NodeRecord, nodeKey, readNode } from './records.ts'
import type { Timing } from './timing.ts'

/** What a lease takes from its process. */
export type LeaseOptions = {
  readonly engine: Engine
  readonly clock: Clock
  readonly timing: Timing
  /** Node id, never used before. */
  readonly id: string
  /** What the record says beside the beat. Asked at each renewal. */
  readonly describe: () => Omit<NodeRecord, 'id' | 'beat'>
  /** Told of each version of the own record. */
  readonly learn: (stored: StoredRecord) => void
  /** The right has lapsed just now: stop issuing before returning. */
  readonly onLapse: (reason: string) => void
  /** It holds again, and nobody else led in between. */
  readonly onResume: (lapsedMs: number) => void
  /** It will not come back: `by` declared this node dead (undefined: the record is gone, or not as it was written). */
  readonly onDeath: (by: string | undefined) => void
  readonly onTrouble: (message: string) => void
}

type Sent = { readonly monoUs: number; readonly aheadUs: number }

/** See the invariants at the top of the file. */
export class Lease {
  readonly id: string
  readonly #options: LeaseOptions
  readonly #clock: Clock
  readonly #timing: Timing
  readonly #bell: Notify
  /** Renewals that may still open something when they turn out to have been carried out, by beat: those of one ttl. */
  readonly #sent = new Map<number, Sent>()
  #beat = 0
  /** The last one that is known to have been carried out. */
  #carried = 0
  #version: bigint | undefined
  #deadlineUs = Number.NEGATIVE_INFINITY
  /** How far wall time stood ahead of monotonic time when the renewal that counts was sent, in µs. */
  #aheadUs = 0
  #marginUs: number
  #holds = false
  #lapsedUs = 0
  #over = false
  #timer: Timer | undefined
  #running: Promise<void> | undefined
  #awaiting: { readonly beat: number; readonly done: () => void }[] = []

  constructor(options: LeaseOptions) {
    this.#options = options
    this.id = options.id
    this.#clock = options.clock
    this.#timing = options.timing
    this.#bell = new Notify(options.clock)
    this.#marginUs = options.timing.marginMs * 1000
    this.#lapsedUs = options.clock.monoUs()
  }

  /** Whether this process may lead now. Call it in every callback that brought requests, before issuing. */
  check(): boolean {
    const monoUs = this.#clock.monoUs()
    const aheadUs = this.#clock.wallUs() - monoUs - this.#aheadUs
    if (monoUs < this.#deadlineUs && aheadUs <= this.#marginUs) return true
    if (this.#holds) this.#lapse(monoUs < this.#deadlineUs ? aheadUs : 0)
    return false
  }

  /** When `check()` stopped passing, on the monotonic clock in µs; undefined while it passes. */
  get lapsedUs(): number | undefined {
    return this.check() ? undefined : this.#lapsedUs
  }

  /** How this node is reached. */
  get address(): Pick<NodeRecord, 'resp' | 'http'> {
    return this.#options.describe()
  }

  /** Whether the lease has ended for good. */
  get over(): boolean {
    return this.#over
  }

  /** For how long it would hold without another renewal, in ms; 0 when it does not. */
  get leftMs(): number {
    return this.check() ? (this.#deadlineUs - this.#clock.monoUs()) / 1000 : 0
  }

  /** Begins to write the record and to renew it. Resolves when it is there for the first time, or over. */
  start(): Promise<void> {
    this.#running = this.#renewals()
    return this.#carriedOut(1)
  }

  /**
   * Renews at once. Resolves when a renewal sent from now on is known to be carried out, or the lease is over; rejects
   * with UNKNOWN after the time of a lease, and goes on trying.
   */
  renew(): Promise<void> {
    this.#bell.ring()
    return withTimeout(this.#clock, this.#timing.ttlMs, this.#carriedOut(this.#beat + 1))
  }

  /**
   * Somebody else's look at the own record has found this. If nothing that was sent from here could have left it so,
   * the lease is over at once, not only at the next renewal: after an advance another node may lead already.
   */
  notice({ beat, deadBy }: NodeRecord): void {
    if (!this.#over && !this.#isOwn(beat, deadBy)) this.#die(deadBy)
  }

  /**
   * Stops renewing and takes the record away, so that nobody waits for it to grow old. The lease is over when this
   * returns; listeners are not told, so the caller drops its leaderships in the same turn.
   */
  async leave(): Promise<void> {
    this.#end()
    await this.#running
    for (let tries = 0; tries < 3; tries++) {
      try {
        const stored = await this.#call(this.#options.engine.read(nodeKey(this.id)))
        if (stored === undefined || readNode(stored).value.deadBy !== undefined) return
        if (await this.#call(this.#options.engine.remove(stored.key, stored.version))) return
      } catch (error) {
        this.#options.onTrouble(`the record of this node could not be removed: ${describe(error)}`)
      }
    }
  }

  async #renewals(): Promise<void> {
    const { renewMs, retryMs } = this.#timing
    while (!this.#over) {
      const startedUs = this.#clock.monoUs()
      const beat = this.#beat + 1
      try {
        await this.#renew(beat)
      } catch (error) {
        this.#options.onTrouble(`the lease could not be renewed: ${describe(error)}`)
      }
      if (this.#over) return
      const done = this.#carried >= beat
      const passedMs = (this.#clock.monoUs() - startedUs) / 1000
      await this.#bell.pause(done ? Math.max(0, renewMs - passedMs) : retryMs)
    }
  }

  /** Sends one beat. What becomes of it is known when this resolves. */
  async #renew(beat: number): Promise<void> {
    const value = JSON.stringify({ id: this.id, ...this.#options.describe(), beat } satisfies NodeRecord)
    const monoUs = this.#clock.monoUs()
    this.#beat = beat
    for (const [older, sent] of this.#sent) {
      if (monoUs - sent.monoUs > this.#timing.ttlMs * 1000) this.#sent.delete(older)
    }
    this.#sent.set(beat, { monoUs, aheadUs: this.#clock.wallUs() - monoUs })
    let stored: StoredRecord | undefined
    try {
      stored = await this.#call(this.#options.engine.write(nodeKey(this.id), value, this.#version))
    } catch (error) {
      if (hasCode(error, 'REGRESSED') && this.#version !== undefined) return this.#die(undefined)
      if (hasCode(error, 'UNAVAILABLE') || hasCode(error, 'REGRESSED')) throw error
    }
    if (this.#over) return
    if (stored === undefined) await this.#settle()
    else this.#carry(beat, stored)
  }

  /** Reads what stands there after a beat without a clear answer, or one that was refused. */
  async #settle(): Promise<void> {
    const stored = await this.#call(this.#options.engine.read(nodeKey(this.id)))
    if (this.#over) return
    if (stored === undefined) return this.#die(undefined)
    const { beat, deadBy } = readNode(stored).value
    if (this.#isOwn(beat, deadBy)) return this.#carry(beat, stored)
    this.#options.learn(stored)
    this.#die(deadBy)
  }

  /** Whether the record may be as this process has left it. */
  #isOwn(beat: number, deadBy: string | undefined): boolean {
    return deadBy === undefined && beat >= this.#carried && beat <= this.#beat
  }

  /** `beat` stands in the record. */
  #carry(beat: number, stored: StoredRecord): void {
    this.#version = stored.version
    this.#carried = beat
    this.#options.learn(stored)
    const sent = this.#sent.get(beat)
    // A beat that was known already, or was sent more than a ttl ago, opens nothing new.
    if (sent === undefined) return this.#tell(beat)
    for (const older of this.#sent.keys()) if (older <= beat) this.#sent.delete(older)
    this.#deadlineUs = sent.monoUs + (this.#timing.ttlMs - this.#timing.marginMs) * 1000
    this.#aheadUs = sent.aheadUs
    this.#watchDeadline()
    if (!this.check()) {
      // It came too late, or the machine was suspended since: only a later one can help.
      this.#bell.ring()
    } else if (!this.#holds) {
      this.#holds = true
      this.#options.onResume((this.#clock.monoUs() - this.#lapsedUs) / 1000)
    }
    this.#tell(beat)
  }

  /** Looks at the clock when the deadline has passed, also if no request comes. */
  #watchDeadline(): void {
    this.#timer?.cancel()
    const leftMs = (this.#deadlineUs - this.#clock.monoUs()) / 1000
    this.#timer = this.#clock.timer(Math.max(0, leftMs) + 1, () => {
      if (this.#clock.monoUs() < this.#deadlineUs) this.#watchDeadline()
      this.check()
    })
  }

  #lapse(suspendedUs: number): void {
    this.#holds = false
    this.#lapsedUs = this.#clock.monoUs()
    this.#deadlineUs = Number.NEGATIVE_INFINITY
    this.#bell.ring()
    this.#options.onLapse(
      suspendedUs > 0
        ? `wall time has run ahead by ${Math.round(suspendedUs / 1000)} ms: the machine was suspended, or its clock set`
        : 'it was not renewed in time',
    )
  }

  #die(by: string | undefined): void {
    if (this.#over) return
    this.#end()
    this.#options.onDeath(by)
  }

  #end(): void {
    this.#over = true
    this.#deadlineUs = Number.NEGATIVE_INFINITY
    if (this.#holds) {
      this.#holds = false
      this.#lapsedUs = this.#clock.monoUs()
    }
    this.#timer?.cancel()
    this.#bell.ring()
    this.#tell(Number.POSITIVE_INFINITY)
  }

  #carriedOut(beat: number): Promise<void> {
    if (this.#over) return Promise.resolve()
    return new Promise((done) => this.#awaiting.push({ beat, done }))
  }

  #tell(beat: number): void {
    for (const each of this.#awaiting) if (each.beat <= beat) each.done()
    this.#awaiting = this.#awaiting.filter((each) => each.beat > beat)
  }

  #call<Value>(promise: Promise<Value>): Promise<Value> {
    return withTimeout(this.#clock, this.#timing.renewMs, promise)
  }
}
