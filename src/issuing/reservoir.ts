/**
 * The one mechanism behind every kind: ids in hand, a background refill, and a line of callers for when the
 * one has run out and the other is not back yet.
 *
 * Invariants
 *  1. At most one refill of a generator is under way in this process, and nothing else that reserves.
 *  2. Nobody takes while somebody waits: order of arrival is order of issue.
 *  3. Whatever the engine does, callers leave the line within `issueTimeoutMs`.
 *  4. A failed refill is repeated after a pause as long as ids are wanted; what it may have reserved is a gap.
 *  5. After `close` nothing is issued.
 *  6. A caller is refused only if what is in hand does not content it.
 */
import type { Clock, Random, Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { type Run, safeHi } from '../ids/run.ts'
import type { DrawOptions, Issuer, IssuerStats } from './issuer.ts'
import { aborted, Line, type Waiter, type Wish } from './line.ts'
import { Meter } from './meter.ts'
import type { Ready } from './ready.ts'
import type { Stock } from './stock.ts'

/** Limits of waiting. */
export type ReservoirOptions = {
  readonly clock: Clock
  readonly random: Random
  /** How long a caller waits at most, in ms. */
  readonly issueTimeoutMs: number
  /** How many callers may wait. */
  readonly waitersMax: number
  /** Told when a refill fails, and when one succeeds again after that (`undefined`). */
  readonly onRefillOutcome?: (error: unknown) => void
}

const retryMinMs = 20
const retryMaxMs = 1000

/** Issues from a stock. See the invariants at the top of the file. */
export class Reservoir implements Issuer {
  readonly #stock: Stock
  readonly #ready: Ready
  readonly #options: ReservoirOptions
  readonly #clock: Clock
  readonly #line: Line
  readonly #meter: Meter
  #waits = 0
  #refills = 0
  #refillFailures = 0
  #refillUs = 0
  #refilling: Promise<unknown> | undefined
  #retryMs = retryMinMs
  #retry: Timer | undefined
  #wake: Timer | undefined
  #failure: Error | undefined
  #closed: Error | undefined

  constructor(stock: Stock, options: ReservoirOptions) {
    this.#stock = stock
    this.#ready = stock.ready
    this.#options = options
    this.#clock = options.clock
    this.#meter = new Meter(options.clock.monoUs())
    this.#line = new Line(
      options.clock,
      options.waitersMax,
      () => stock.whyDry(this.#failure),
      () => this.#serve(),
    )
  }

  take(count: number, run: Run): number {
    return this.#ready.take(count, run) || this.#takeLooking(count, run)
  }

  draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    if (options.signal?.aborted) return Promise.reject(aborted())
    const wish = { count, contiguous: options.contiguous === true, safe: options.safe === true }
    if (this.#line.length === 0) {
      const outcome = this.#collect(wish)
      if (this.#stock.low) this.#refill()
      if (outcome instanceof Error) return Promise.reject(outcome)
      if (outcome !== undefined) return Promise.resolve(outcome)
      this.#stock.ranDry()
    }
    // A failure that waiting does not mend is not worth a wait, until the next try has shown otherwise.
    if (this.#retry !== undefined && !waitingHelps(this.#failure)) return Promise.reject(this.#failure)
    this.#waits++
    const place = this.#line.join(wish, this.#options.issueTimeoutMs, options.signal)
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
      inHand: this.#stock.available(),
      inHandSeconds: this.#stock.seconds(ratePerSecond),
      reserved: this.#stock.reserved,
      released: this.#stock.released,
      refills: this.#refills,
      refillFailures: this.#refillFailures,
      refillSeconds: this.#refillUs / 1_000_000,
      waits: this.#waits,
      drySeconds: this.#line.drySeconds,
      waiting: this.#line.length,
    }
  }

  /** Ids per second now; a stock sizes its refills by it. */
  observeRate(): number {
    return this.#meter.observe(this.#stock.issued, this.#clock.monoUs())
  }

  /** Runs `task`, which reserves, with no refill under way before it ends. */
  async alone(task: () => Promise<void>): Promise<void> {
    while (this.#refilling !== undefined) await this.#refilling
    if (this.#closed !== undefined) throw this.#closed
    const running = task()
    this.#occupy(running.catch(() => {}))
    await running
  }

  async close(reason: Error): Promise<void> {
    this.#closed ??= reason
    // Looking at the stock takes back what is ready.
    this.#stock.available()
    this.#retry?.cancel()
    this.#wake?.cancel()
    while (this.#line.length > 0) this.#line.settleFirst(reason)
    // A reserve under way may still open a range: it must be in hand before what is in hand is given back.
    await this.#refilling
    await this.#stock.close()
  }

  /** What is ready has run out, or was taken back because somebody waits, or because this is closed. */
  #takeLooking(count: number, run: Run): number {
    if (this.#line.length !== 0 || this.#closed !== undefined) return 0
    const taken = this.#stock.take(count, run)
    if (this.#stock.low) this.#refill()
    return taken
  }

  /** The ids that are wished for; what forbids them; or undefined while they are not in hand. */
  #collect({ count, contiguous, safe }: Wish): Run[] | Error | undefined {
    if (safe && this.#stock.available() > 0 && !this.#stock.nextIsSafe()) return unsafe()
    return this.#stock.collect(count, contiguous)
  }

  /** Serves the line from what is in hand, in order, as far as it goes. */
  #serve(): void {
    for (let waiter = this.#line.first(); waiter !== undefined; waiter = this.#line.first()) {
      const outcome = this.#collect(waiter)
      if (outcome === undefined) return
      this.#line.settleFirst(outcome)
    }
  }

  /** No more will come: serves whom what is in hand contents, and tells the others why. */
  #serveLast(error: Error): void {
    for (let waiter = this.#line.first(); waiter !== undefined; waiter = this.#line.first()) {
      this.#line.settleFirst(this.#collect(waiter) ?? error)
    }
  }

  #refill(): void {
    if (this.#refilling !== undefined || this.#closed !== undefined || this.#retry !== undefined) return
    const first = this.#line.first()
    this.#occupy(this.#refillFor(first), first)
  }

  /** Keeps refills away until `running`, which does not reject, is done; then goes on with the line. */
  #occupy(running: Promise<void>, first?: Waiter): void {
    this.#refilling = running.then(() => {
      this.#refilling = undefined
      this.#goOn(first)
    })
  }

  async #refillFor(first: Waiter | undefined): Promise<void> {
    const startedUs = this.#clock.monoUs()
    try {
      await this.#stock.refill(this.#line.demand, first?.contiguous ? first.count : 0)
    } catch (error) {
      return this.#failed(error instanceof Error ? error : new Error(String(error)))
    }
    this.#refills++
    this.#refillUs += this.#clock.monoUs() - startedUs
    if (this.#failure !== undefined) this.#options.onRefillOutcome?.(undefined)
    this.#failure = undefined
    this.#retryMs = retryMinMs
  }

  /** Errors that only a person or a reload can mend are told at once; the others are tried again. */
  #failed(error: Error): void {
    this.#refillFailures++
    this.#failure = error
    this.#options.onRefillOutcome?.(error)
    if (this.#closed !== undefined) return
    if (!waitingHelps(error)) {
      this.#serveLast(error)
      this.#retryMs = retryMaxMs
    }
    const jitter = 0.5 + this.#options.random() / 2
    this.#retry = this.#clock.timer(this.#retryMs * jitter, () => {
      this.#retry = undefined
      if (this.#line.length > 0 || this.#stock.low) this.#refill()
    })
    this.#retryMs = Math.min(retryMaxMs, this.#retryMs * 2)
  }

  /** @param helped whom the refill that has just ended was to help, if anybody. */
  #goOn(helped?: Waiter): void {
    if (this.#closed !== undefined) return
    this.#serve()
    const first = this.#line.first()
    if (first === undefined || this.#retry !== undefined) return
    // Whom a refill did not help, another one at once would not help either, and might spin.
    const waitMs = this.#stock.waitMs() ?? (first === helped ? retryMinMs : undefined)
    if (waitMs === undefined) return this.#refill()
    this.#wake?.cancel()
    this.#wake = this.#clock.timer(waitMs, () => this.#goOn())
  }
}

/** Whether a failure can pass while callers wait. */
function waitingHelps(error: unknown): boolean {
  return error instanceof FahaoError && passing.has(error.code)
}

const passing: ReadonlySet<string> = new Set(['UNAVAILABLE', 'UNKNOWN', 'CONFLICT', 'CLOCK', 'WORKERID'])

function unsafe(): FahaoError {
  return new FahaoError(
    'UNSAFE',
    'the next id can be past 2^53−1, where numbers are not exact; ask for text or a bigint',
  )
}
