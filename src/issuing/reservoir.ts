/**
 * The one mechanism behind every kind: ids in hand, a background refill, and a line of callers for when the
 * one has run out and the other is not back yet.
 *
 * Invariants
 *  1. At most one refill of a generator is under way in this process, and nothing else that reserves.
 *  2. Nobody takes while somebody waits: order of arrival is order of issue.
 *  3. Whatever the engine does, callers leave the line within `issueTimeoutMs`.
 *  4. A failed refill is repeated after a pause as long as ids are wanted; what it may have reserved is a gap.
 *  5. After `stop` nothing is issued, and neither is between `suspend` and `resume`: who comes then waits.
 *  6. A caller is refused only if what is in hand does not content it.
 *  7. When many wait, or for many runs, they are served over several turns of the event loop.
 *  8. Where this process may issue only as long as it leads, or owns the store, that is looked at before those who
 *     waited are served.
 */
import type { Timer } from '../base/clock.ts'
import { hasCode } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import type { Reservation } from '../engine/engine.ts'
import type { FastRun } from '../ids/fast-run.ts'
import { Run, safeHi } from '../ids/run.ts'
import type { IdSource } from './id-source.ts'
import { type DrawOptions, type Issuer, type IssuerStats, unsafe } from './issuer.ts'
import { Meter } from './meter.ts'
import { Refills, type RefillsOptions } from './refills.ts'
import type { RefillSizes } from './step.ts'
import { aborted, type DrawRequest, type Waiter, WaitQueue } from './wait-queue.ts'

/** What the reservoirs of all generators that are defined alike share: limits of waiting, above all. */
export type ReservoirOptions = RefillsOptions & {
  /** How long a caller waits at most, in ms. */
  readonly issueTimeoutMs: number
  /** How many callers may wait. */
  readonly waitersMax: number
  /**
   * Whether this process may issue now; if not, it has suspended or stopped what may not when this returns. Asked before those
   * who waited are served: whoever calls `take` has asked in the same callback. Undefined: it always may.
   */
  readonly mayIssue?: (() => boolean) | undefined
}

/** Filled and emptied within one call. */
const one = new Run()
/** How long a refill that helped nobody keeps the next one away, in ms. */
const uselessMs = 20
/** How many runs of ids those who wait are given before others get their turn. */
const servedMax = 4096
/** When the rate is looked at while ids are issued: soon after the first ids, then less and less often, in ms. */
const lookMinMs = 100
const lookMaxMs = 10_000

/** Issues from a stock. See the invariants at the top of the file. */
export class Reservoir implements Issuer {
  readonly #stock: IdSource
  readonly #ready: FastRun
  readonly #options: ReservoirOptions
  /** Only while somebody waits. */
  #line: WaitQueue | undefined
  /** For how long somebody waited in lines that have dissolved. */
  #drySeconds = 0
  readonly #meter: Meter
  readonly #refills: Refills
  #waits = 0
  #wake: Timer | undefined
  #look: Timer | undefined
  #lookMs = lookMinMs
  /** How many ids had been issued at the last look. */
  #seen = 0
  #suspended = false
  #closed: Error | undefined
  #ended: Promise<void> | undefined

  constructor(stock: IdSource, options: ReservoirOptions) {
    this.#stock = stock
    this.#ready = stock.ready
    this.#options = options
    this.#meter = new Meter(options.clock.monoUs())
    this.#refills = new Refills(stock.name, options, () => {
      if (this.#line !== undefined || this.#stock.low) this.#refill()
    })
    // How long what was adopted will last nobody has looked at yet.
    if (stock.low) this.#refill()
  }

  take(count: number, run: Run): number {
    return this.#ready.take(count, run) || this.#takeLooking(count, run)
  }

  takeNumber(): number {
    const number = this.#ready.takeNumber()
    if (number >= 0 || !this.nextIsSafe()) return number
    return this.#takeLooking(1, one) === 0 ? -1 : one.number
  }

  draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    const mayIssue = this.#line === undefined && this.#mayIssue()
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    if (options.signal?.aborted) return Promise.reject(aborted())
    const wish = { count, contiguous: options.contiguous === true, safe: options.safe === true }
    if (mayIssue) {
      const outcome = this.#collect(wish)
      if (this.#stock.low) this.#refill()
      if (outcome instanceof Error) return Promise.reject(outcome)
      if (outcome !== undefined) return Promise.resolve(outcome)
      this.#stock.ranDry()
    }
    const { refusal } = this.#refills
    if (refusal !== undefined) return Promise.reject(refusal)
    this.#waits++
    this.#line ??= this.#newLine()
    const place = this.#line.join(wish, this.#options.issueTimeoutMs, options.signal)
    this.#dissolve()
    this.#refills.hurry()
    this.#refill()
    return place
  }

  nextIsSafe(): boolean {
    return this.#ready.count > 0 ? this.#ready.hi < safeHi : this.#stock.nextIsSafe()
  }

  lastIssued(): bigint | undefined {
    return this.#stock.lastIssued()
  }

  stats(): IssuerStats {
    const ratePerSecond = this.observeRate()
    return {
      issued: this.#stock.issued,
      ratePerSecond,
      peakPerSecond: this.#meter.peakPerSecond,
      inHand: this.#stock.available(),
      inHandSeconds: this.#stock.seconds(ratePerSecond),
      reserved: this.#stock.reserved,
      released: this.#stock.released,
      refills: this.#refills.succeeded,
      refillFailures: this.#refills.failed,
      refillSeconds: this.#refills.seconds,
      waits: this.#waits,
      drySeconds: this.#drySeconds + (this.#line?.drySeconds ?? 0),
      waiting: this.#line?.length ?? 0,
    }
  }

  /** Ids per second now; a stock sizes its refills by it. */
  observeRate(): number {
    return this.#meter.observe(this.#stock.issued, this.#options.clock.monoUs())
  }

  moveTo(newest: bigint): Promise<void> {
    return this.#refills.alone(
      () => this.#stock.moveTo(newest),
      () => this.#goOn(),
    )
  }

  /** See `Stock.resize`. */
  resize(sizes: RefillSizes): void {
    this.#stock.resize(sizes)
  }

  /** Issues nothing until `resume`. What is in hand stays there, and who comes waits in line. */
  suspend(): void {
    this.#suspended = true
    // Looking at the stock takes back what is ready.
    this.#stock.available()
  }

  /** Goes on with what is in hand. */
  resume(): void {
    this.#suspended = false
    this.#goOn()
  }

  /** Stops issuing and sends waiting callers away with `reason`, before it returns. */
  stop(reason: Error): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#stock.available()
    this.#refills.stop(reason)
    this.#wake?.cancel()
    this.#look?.cancel()
    while (this.#line !== undefined) this.#settleFirst(reason)
  }

  /** Resolves when nothing is under way that reserves. */
  idle(): Promise<void> {
    return this.#refills.idle()
  }

  close(reason: Error): Promise<void> {
    this.stop(reason)
    // A reserve under way may still open a range: it must be in hand before what is in hand is given back.
    this.#ended ??= this.idle().then(() => this.#stock.close())
    return this.#ended
  }

  /** Closes, while nothing is under way that reserves. Returns what somebody else can go on with. */
  leave(reason: Error): Reservation | undefined {
    this.stop(reason)
    if (this.#ended !== undefined) return undefined
    this.#ended = Promise.resolve()
    const tail = this.#stock.leave()
    // Of a life that is over, or under a newer leader: nobody shall go on with that.
    return hasCode(this.#refills.failure, 'STALE') ? undefined : tail
  }

  /** Closes and gives nothing back: what is in hand may be somebody else's to continue. */
  abandon(reason: Error): Promise<void> {
    this.stop(reason)
    this.#ended ??= this.idle()
    return this.#ended
  }

  /** What is ready has run out, or was taken back because somebody waits, or because this is closed. */
  #takeLooking(count: number, run: Run): number {
    if (this.#line !== undefined || this.#closed !== undefined || this.#suspended) return 0
    const taken = this.#stock.take(count, run)
    if (this.#stock.low) this.#refill()
    return taken
  }

  /** The ids that are wished for; what forbids them; or undefined while they are not in hand. */
  #collect({ count, contiguous, safe }: DrawRequest): Run[] | Error | undefined {
    if (safe && this.#stock.available() > 0 && !this.#stock.nextIsSafe()) return unsafe()
    return this.#stock.collect(count, contiguous)
  }

  #newLine(): WaitQueue {
    const { clock, waitersMax } = this.#options
    return new WaitQueue(
      clock,
      waitersMax,
      () => (this.#suspended ? slotNotServed() : this.#stock.whyDry(this.#refills.failure)),
      () => this.#left(),
    )
  }

  /** Somebody went away without ids: those behind may be content with what is in hand. */
  #left(): void {
    this.#dissolve()
    this.#serve()
  }

  /**
   * Serves the line from what is in hand, in order, as far as it goes; then, with an error, tells the others. False: it
   * goes on in a later turn.
   */
  #serve(error?: Error): boolean {
    if (this.#line === undefined || !this.#mayIssue()) return true
    let served = 0
    for (let waiter = this.#line?.first(); waiter !== undefined; waiter = this.#line?.first()) {
      if (served >= servedMax) {
        this.#wakeIn(0)
        return false
      }
      const outcome = this.#collect(waiter) ?? error
      if (outcome === undefined) return true
      served += outcome instanceof Error ? 1 : outcome.length
      this.#settleFirst(outcome)
    }
    return true
  }

  #settleFirst(outcome: Run[] | Error): void {
    this.#line?.settleFirst(outcome)
    this.#dissolve()
  }

  #dissolve(): void {
    if (this.#line === undefined || this.#line.length > 0) return
    this.#drySeconds += this.#line.drySeconds
    this.#line = undefined
  }

  #mayIssue(): boolean {
    return (this.#options.mayIssue?.() ?? true) && !this.#suspended
  }

  #refill(): void {
    if (this.#refills.busy || this.#suspended) return
    let first: Waiter | undefined
    this.#refills.start(
      this.#line !== undefined,
      () => {
        first = this.#line?.first()
        const contiguous = first?.contiguous ? first.count : 0
        return this.#stock.refill(this.#line?.demand ?? 0, contiguous, this.observeRate())
      },
      () => this.#goOn(first),
    )
  }

  /** Traffic may have grown since the stock was sized: looks now and then, for as long as ids are issued. */
  #lookAgain(): void {
    const { issued } = this.#stock
    if (this.#look !== undefined) return
    if (issued === this.#seen && this.#lookMs === lookMaxMs) {
      this.#lookMs = lookMinMs
      return
    }
    this.#seen = issued
    this.#look = this.#options.clock.timer(this.#lookMs, () => {
      this.#look = undefined
      this.#lookMs = Math.min(lookMaxMs, this.#lookMs * 2)
      this.#stock.observe(this.observeRate())
      if (this.#stock.low) this.#refill()
      this.#lookAgain()
    })
  }

  /** @param helped whom the refill that has just ended was to help, if anybody. */
  #goOn(helped?: Waiter): void {
    if (this.#closed !== undefined) return
    const served = this.#serve(this.#refills.refusal)
    this.#lookAgain()
    if (!served) return
    const first = this.#line?.first()
    if (first === undefined || this.#refills.pausing) return
    // Whom a refill did not help, another one at once would not help either, and might spin.
    const waitMs = this.#stock.waitMs() ?? (first === helped ? uselessMs : undefined)
    if (waitMs === undefined) this.#refill()
    else this.#wakeIn(waitMs)
  }

  #wakeIn(delayMs: number): void {
    this.#wake?.cancel()
    this.#wake = this.#options.clock.timer(delayMs, () => this.#goOn())
  }
}
