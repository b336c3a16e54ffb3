/**
 * The mechanism behind every kind: a source with buffered ids, a background refill, and a queue of callers that wait
 * while the buffer is empty.
 *
 * `take` issues from the fast run, then from the buffer, and never waits. `draw` waits in the queue (buffers/wait-queue.ts) for
 * a refill. `refills.ts` runs and repeats them, `engine-permits.ts` limits those of all generators, the source decides their size.
 *
 * Invariants
 *  1. At most one refill of a generator is under way in this process, and no other task that reserves.
 *  2. No call takes ids while a caller waits: order of arrival is order of issue.
 *  3. Whatever the engine does, callers leave the queue within `issueTimeoutMs`.
 *  4. A failed refill is repeated after a pause as long as ids are wanted; what it may have reserved is a gap.
 *  5. No id is issued after `stop`, or while its gate (gate.ts) is closed: callers wait then.
 *  6. A caller is refused only if the buffered ids do not satisfy it.
 *  7. Many waiting callers, or callers that get many runs, are served over several turns of the event loop.
 *  8. Before waiting callers are served, it is checked whether this process may issue, and whether a copy of its memory exists.
 *  9. It is busy for its gate while callers wait, and while a refill is wanted, runs, or pauses.
 */
import { assert } from '../base/assert.ts'
import type { Timer } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import { emptyRow, type FastRun } from '../buffers/fast-runs.ts'
import type { IdBuffer } from '../buffers/id-buffer.ts'
import { RateMeter } from '../buffers/rate-meter.ts'
import { type DrawRequest, type Waiter, WaitQueue } from '../buffers/wait-queue.ts'
import type { Reservation } from '../engine/engine.ts'
import { Run, safeHi } from '../ids/run.ts'
import { noCallers } from './caller-ids.ts'
import type { CounterAtRest } from './counter-rows.ts'
import { Gate, type Gated } from './gate.ts'
import type { IdSource } from './id-source.ts'
import { type DrawOptions, type Issuer, type IssuerStats, requestOf, unsafe } from './issuer.ts'
import { Observation, type ObservedJob } from './observation.ts'
import type { RefillSizes } from './refill-size.ts'
import { type RefillJob, Refills } from './refills.ts'
import type { ReservoirOptions } from './reservoir-options.ts'

/** Filled and read within one call. */
const one = new Run()
/** The pause after a refill that served no caller, in ms. */
const uselessMs = 20
/** How many runs the waiting callers get in one turn of the event loop. */
const servedMax = 4096
/** Calls of one that is at rest go on with the one that has what it had. */
export const atRest = new FahaoError('STALE', 'this generator is at rest; retry')

/** Issues from a source. */
export class Reservoir implements Issuer, Gated, ObservedJob, RefillJob {
  readonly #source: IdSource
  readonly #buffer: IdBuffer
  readonly #fastRun: FastRun
  readonly #options: ReservoirOptions
  /** Only while a caller waits. */
  #queue: WaitQueue | undefined
  /** For how long callers waited in queues that are gone. */
  #drySeconds = 0
  readonly #meter: RateMeter
  readonly #refills: Refills
  /** The caller that was first in the queue when the refill under way began. */
  #refilledFor: Waiter | undefined
  #wake: Timer | undefined
  readonly #observation: Observation
  /** Of the right under which it issues. */
  readonly gate: Gate
  #closed: Error | undefined
  #ended: Promise<void> | undefined

  /** @param gate of the right under which it issues. `from`: what another one knew, whose ids the source has by now. */
  constructor(source: IdSource, options: ReservoirOptions, gate: Gate = new Gate(), from?: CounterAtRest) {
    this.gate = gate
    this.#source = source
    this.#buffer = source.buffer
    this.#fastRun = source.buffer.fastRun
    this.#options = options
    this.#meter = new RateMeter(options.clock.monoUs())
    this.#refills = new Refills(source.name, options, this)
    this.#observation = new Observation(options.observer, source, this)
    if (from !== undefined) {
      this.#meter.wake(from)
      this.#refills.wake(from)
      this.#drySeconds = from.drySeconds
      const { refill } = from
      if (refill) this.#refills.startFirst(() => source.receive!(refill.reserved), refill.startedUs)
    }
    // One that has reserved nothing yet, as where all callers lease, reserves when it is asked for ids. One that was at rest is
    // looked at from its next refill on.
    else if ((source.counter?.reserved ?? 0) > 0) this.#observation.start()
    this.refillIfLow()
  }

  get row(): number {
    return this.#fastRun.row
  }

  get isOver(): boolean {
    return this.gate.ended !== undefined
  }

  /** How many ids could be given back. */
  get buffered(): number {
    return this.#source.counter === undefined ? 0 : this.#buffer.available()
  }

  /** The fast path. No queue, refill or closing has to be checked here: the fast run is empty then. */
  take(count: number, run: Run): number {
    return this.#fastRun.take(count, run) || this.#takeBuffered(count, run)
  }

  takeNumber(): number {
    const number = this.#fastRun.takeNumber()
    if (number >= 0 || !this.nextIsSafe()) return number
    return this.#takeBuffered(1, one) === 0 ? -1 : one.number
  }

  /** From the buffer if no caller waits and enough ids are buffered; otherwise in the wait queue. */
  draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    const mayIssue = this.#queue === undefined && this.#mayIssue()
    if (this.#over !== undefined) return Promise.reject(this.#over)
    if (options.signal?.aborted) return Promise.reject(options.signal.reason)
    const request = requestOf(count, options)
    if (mayIssue) {
      const outcome = this.#collect(request)
      // Without ids, the refill starts when this caller waits for it, and has the size that it needs.
      if (outcome !== undefined && this.#buffer.low) this.#refill()
      if (outcome instanceof Error) return Promise.reject(outcome)
      if (outcome !== undefined) {
        this.#buffer.ready()
        return Promise.resolve(outcome)
      }
      if (request.floor === 0n) this.#source.ranEmpty?.()
    }
    if (this.#refills.refusal !== undefined) return Promise.reject(this.#refills.refusal)
    this.#queue ??= this.#newQueue()
    const drawn = this.#queue.join(request, options.signal, options.onWait)
    this.#dropEmptyQueue()
    this.#refills.callerWaits()
    this.#refill()
    return drawn
  }

  nextIsSafe(): boolean {
    return this.#fastRun.count > 0 ? this.#fastRun.hi < safeHi : this.#source.nextIsSafe()
  }

  lastIssued(): bigint | undefined {
    return this.#source.lastIssued()
  }

  stats(): IssuerStats {
    const { issued } = this.#buffer
    const ratePerSecond = this.#meter.look(issued, this.#options.clock.monoUs())
    return {
      ...noCallers,
      ...this.#refills.stats(),
      issued,
      ratePerSecond,
      peakPerSecond: this.#meter.peakPerSecond,
      inHand: this.#buffer.available(),
      inHandSeconds: this.#source.seconds(ratePerSecond),
      reserved: this.#source.counter?.reserved ?? 0,
      released: this.#source.counter?.released ?? 0,
      dropped: 0,
      lost: 0,
      drySeconds: this.#drySeconds + (this.#queue?.drySeconds ?? 0),
      waiting: this.#queue?.length ?? 0,
    }
  }

  assertInvariants(): void {
    this.#buffer.assertInvariants()
    this.#queue?.assertInvariants()
    const { count } = this.#fastRun
    assert(this.#queue === undefined || this.#queue.length > 0, 'there is a queue only while a caller waits')
    assert(count === 0 || this.#queue === undefined, 'no call takes ids while a caller waits')
    assert(count === 0 || this.#closed === undefined, 'no id is issued after the end')
    assert(this.#queue === undefined || this.gate.isBusy(this), 'an issuer for which callers wait is busy')
    this.gate.assertInvariants()
    assert(this.#closed === undefined || this.#queue === undefined, 'no caller waits after the end')
  }

  moveTo(newest: bigint): Promise<void> {
    if (this.#over !== undefined) return Promise.reject(this.#over)
    return this.#refills.alone(() => this.#source.moveTo(newest))
  }

  resize(sizes: RefillSizes): void {
    this.#source.resize?.(sizes)
  }

  resume(): void {
    if (this.#over !== undefined) return
    this.#serveThenRefill()
    this.refillIfLow()
  }

  /** Stops issuing and rejects waiting callers with `reason`, before it returns. */
  stop(reason: Error): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#buffer.available()
    this.#fastRun.free()
    this.gate.noteIdle(this)
    this.#refills.stop(reason)
    this.#wake?.cancel()
    this.#observation.stop()
    this.#queue?.refuse(() => reason)
    this.#dropEmptyQueue()
  }

  /** See `IdSource`. It does not rest while it has something to do. */
  rest(into: CounterAtRest): number {
    const isBusy = this.#queue !== undefined || this.#over !== undefined || !this.gate.isOpen
    if (isBusy || !this.#refills.rest(into)) return emptyRow
    const row = this.#source.rest?.(into)
    if (row === undefined || row === emptyRow) return emptyRow
    this.#meter.rest(into)
    into.drySeconds = this.#drySeconds
    // Its row is the other one's, and so is all that could be released.
    this.#ended = Promise.resolve()
    this.stop(atRest)
    return row
  }

  /** Whether another one has gone on with what it had. */
  get isAtRest(): boolean {
    return this.#closed === atRest
  }

  /** Grows with each request; undefined while a caller waits. */
  get activity(): number | undefined {
    return this.#queue === undefined ? this.#buffer.issued + this.#refills.waits : undefined
  }

  /** Whether it holds much more than is used. */
  get holdsSpare(): boolean {
    return this.#source.holdsSpare === true
  }

  /** Resolves when no task that reserves is under way. */
  idle(): Promise<void> {
    return this.#refills.idle()
  }

  close(reason: Error): Promise<void> {
    if (this.gate.isDropped) return this.abandon(reason)
    this.stop(reason)
    // A reserve under way may still open a range: it has to be buffered before the buffer is released.
    this.#ended ??= this.idle().then(async () => {
      const untouched = this.#source.empty()
      await this.#source.counter?.release(untouched)
    })
    return this.#ended
  }

  /** Closes, while no task that reserves is under way. Returns the range from which another process can continue. */
  transfer(reason: Error): Reservation | undefined {
    this.stop(reason)
    if (this.#ended !== undefined) return undefined
    this.#ended = Promise.resolve()
    const leftover = this.#source.counter?.transfer(this.#source.empty())
    // After STALE, a newer incarnation or leader has used the counter, so the range is a gap.
    return hasCode(this.#refills.failure, 'STALE') ? undefined : leftover
  }

  /** Closes without a release: another process may have received the buffered range. */
  abandon(reason: Error): Promise<void> {
    this.stop(reason)
    this.#ended ??= this.idle()
    return this.#ended
  }

  /** The path of `take` when the fast run is empty: used up, or taken back because a caller waits or this is closed. */
  #takeBuffered(count: number, run: Run): number {
    if (this.#queue !== undefined || this.#closed !== undefined || !this.gate.isOpen) return 0
    const taken = this.#buffer.take(count, run)
    // The caller that gets no id calls `draw`.
    if (taken > 0 && this.#buffer.low) this.#refill()
    return taken
  }

  /** The requested ids, the error that forbids them, or undefined while too few are buffered. */
  #collect({ count, contiguous, safe, floor = 0n }: DrawRequest): Run[] | Error | undefined {
    if (floor > 0n && !this.#source.skipTo!(floor, count)) return undefined
    if (safe && this.#buffer.available() > 0 && !this.#source.nextIsSafe()) return unsafe()
    return this.#buffer.collect(count, contiguous)
  }

  get #over(): Error | undefined {
    return this.#closed ?? this.gate.ended
  }

  #newQueue(): WaitQueue {
    this.gate.noteBusy(this)
    // No call takes ids from here on.
    this.#buffer.available()
    const { clock, waitersMax, issueTimeoutMs } = this.#options
    return new WaitQueue({
      clock,
      timeoutMs: issueTimeoutMs,
      lengthMax: waitersMax,
      onTimeout: () => (this.gate.isOpen ? this.#source.whyDry(this.#refills.failure) : slotNotServed()),
      onLeave: () => {
        this.#dropEmptyQueue()
        this.#serve()
      },
    })
  }

  /**
   * Serves the queue from the buffer, in order, as far as it reaches; then rejects the others with `error`, if given.
   * False: the rest follows in a later turn.
   */
  #serve(error?: Error): boolean {
    if (this.#queue === undefined || !this.#mayIssue()) return true
    let served = 0
    // A copy may have been noticed above, and the queue have been rejected.
    this.#queue?.serve((waiter) => {
      if (served >= servedMax) return undefined
      const outcome = this.#collect(waiter) ?? error
      served += outcome instanceof Error ? 1 : (outcome?.length ?? 0)
      return outcome
    })
    this.#dropEmptyQueue()
    if (this.#queue === undefined || served < servedMax) return true
    this.#wakeIn(0)
    return false
  }

  #dropEmptyQueue(): void {
    if (this.#queue === undefined || this.#queue.length > 0) return
    this.#drySeconds += this.#queue.drySeconds
    this.#queue = undefined
    this.#noteIfIdle()
  }

  #noteIfIdle(): void {
    if (this.#queue === undefined && !this.#refills.busy && this.gate.isOpen) this.gate.noteIdle(this)
  }

  #mayIssue(): boolean {
    return (this.#options.mayIssue?.() ?? true) && this.gate.isOpen
  }

  rate(): number {
    return this.#meter.observe(this.#buffer.issued, this.#options.clock.monoUs())
  }

  refillIfLow(): void {
    if (this.#buffer.low) this.#refill()
  }

  /** Starts a refill, unless one is under way or pauses after a failure. The source decides its size. */
  #refill(): void {
    this.gate.noteBusy(this)
    if (this.#refills.busy || !this.gate.isOpen) return
    this.#refills.start(this.#queue !== undefined)
  }

  reserve(): Promise<void> {
    this.#refilledFor = this.#queue?.first
    const contiguous = this.#refilledFor?.contiguous ? this.#refilledFor.count : 0
    return this.#source.refill(this.#queue?.demand ?? 0, contiguous, this.rate(), this.#queue?.floor ?? 0n)
  }

  ended(): void {
    const refilledFor = this.#refilledFor
    this.#refilledFor = undefined
    this.#serveThenRefill(refilledFor)
  }

  paused(): void {
    if (this.#queue !== undefined || this.#buffer.low) this.#refill()
  }

  /**
   * Serves the queue, then starts a refill if callers still wait. Runs after each refill, and whenever ids may be issued
   * again.
   * @param refilledFor the caller that was first in the queue when this refill began; undefined: none waited.
   */
  #serveThenRefill(refilledFor?: Waiter): void {
    if (this.#over !== undefined) return
    const served = this.#serve(this.#refills.refusal)
    this.#observation.start()
    this.#noteIfIdle()
    if (!served) return
    if (this.#queue === undefined && this.gate.isOpen && this.#buffer.issued > 0) this.#buffer.ready()
    const first = this.#queue?.first
    if (first === undefined || this.#refills.pausing) return
    // A refill that did not serve its first caller is not repeated at once: it might never.
    const waitMs = this.#source.waitMs?.() ?? (first === refilledFor ? uselessMs : undefined)
    if (waitMs === undefined) this.#refill()
    else this.#wakeIn(waitMs)
  }

  #wakeIn(delayMs: number): void {
    this.#wake?.cancel()
    this.#wake = this.#options.clock.timer(delayMs, () => this.#serveThenRefill())
  }
}
