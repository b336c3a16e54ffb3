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
import { Run, safeHi } from '../ids/run.ts'
import type { DrawOptions, Issuer, IssuerStats } from './issuer.ts'
import { aborted, Line, type Waiter, type Wish } from './line.ts'
import { Meter } from './meter.ts'
import type { Ready } from './ready.ts'
import type { Stock } from './stock.ts'

/** What the reservoirs of all generators that are defined alike share: limits of waiting, above all. */
export type ReservoirOptions = {
  readonly clock: Clock
  readonly random: Random
  /** How long a caller waits at most, in ms. */
  readonly issueTimeoutMs: number
  /** How many callers may wait. */
  readonly waitersMax: number
  /** Told when refills of a generator begin to fail, and when one succeeds again after that (`undefined`). */
  readonly onRefillOutcome?: (name: string, error: Error | undefined) => void
}

/** Filled and emptied within one call. */
const one = new Run()
const retryMinMs = 20
const retryMaxMs = 1000

/** Issues from a stock. See the invariants at the top of the file. */
export class Reservoir implements Issuer {
  readonly #stock: Stock
  readonly #ready: Ready
  readonly #options: ReservoirOptions
  /** Only while somebody waits. */
  #line: Line | undefined
  /** For how long somebody waited in lines that have dissolved. */
  #drySeconds = 0
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
    this.#meter = new Meter(options.clock.monoUs())
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
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    if (options.signal?.aborted) return Promise.reject(aborted())
    const wish = { count, contiguous: options.contiguous === true, safe: options.safe === true }
    if (this.#line === undefined) {
      const outcome = this.#collect(wish)
      if (this.#stock.low) this.#refill()
      if (outcome instanceof Error) return Promise.reject(outcome)
      if (outcome !== undefined) return Promise.resolve(outcome)
      this.#stock.ranDry()
    }
    // A failure that waiting does not mend is not worth a wait, until the next try has shown otherwise.
    if (this.#retry !== undefined && !waitingHelps(this.#failure)) return Promise.reject(this.#failure)
    this.#waits++
    this.#line ??= this.#newLine()
    const place = this.#line.join(wish, this.#options.issueTimeoutMs, options.signal)
    this.#dissolve()
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
      drySeconds: this.#drySeconds + (this.#line?.drySeconds ?? 0),
      waiting: this.#line?.length ?? 0,
    }
  }

  /** Ids per second now; a stock sizes its refills by it. */
  observeRate(): number {
    return this.#meter.observe(this.#stock.issued, this.#options.clock.monoUs())
  }

  /** See `Stock.moveTo`; waits for the refill under way, and keeps the next one away until it is done. */
  async moveTo(newest: bigint): Promise<void> {
    while (this.#refilling !== undefined) await this.#refilling
    if (this.#closed !== undefined) throw this.#closed
    const running = this.#stock.moveTo(newest)
    this.#occupy(running.catch(() => {}))
    await running
  }

  async close(reason: Error): Promise<void> {
    this.#closed ??= reason
    // Looking at the stock takes back what is ready.
    this.#stock.available()
    this.#retry?.cancel()
    this.#wake?.cancel()
    while (this.#line !== undefined) this.#settleFirst(reason)
    // A reserve under way may still open a range: it must be in hand before what is in hand is given back.
    await this.#refilling
    await this.#stock.close()
  }

  /** What is ready has run out, or was taken back because somebody waits, or because this is closed. */
  #takeLooking(count: number, run: Run): number {
    if (this.#line !== undefined || this.#closed !== undefined) return 0
    const taken = this.#stock.take(count, run)
    if (this.#stock.low) this.#refill()
    return taken
  }

  /** The ids that are wished for; what forbids them; or undefined while they are not in hand. */
  #collect({ count, contiguous, safe }: Wish): Run[] | Error | undefined {
    if (safe && this.#stock.available() > 0 && !this.#stock.nextIsSafe()) return unsafe()
    return this.#stock.collect(count, contiguous)
  }

  #newLine(): Line {
    const { clock, waitersMax } = this.#options
    return new Line(
      clock,
      waitersMax,
      () => this.#stock.whyDry(this.#failure),
      () => this.#left(),
    )
  }

  /** Somebody went away without ids: those behind may be content with what is in hand. */
  #left(): void {
    this.#dissolve()
    this.#serve()
  }

  /** Serves the line from what is in hand, in order, as far as it goes; then, with an error, tells the others. */
  #serve(error?: Error): void {
    for (let waiter = this.#line?.first(); waiter !== undefined; waiter = this.#line?.first()) {
      const outcome = this.#collect(waiter) ?? error
      if (outcome === undefined) return
      this.#settleFirst(outcome)
    }
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

  #refill(): void {
    if (this.#refilling !== undefined || this.#closed !== undefined || this.#retry !== undefined) return
    const first = this.#line?.first()
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
    const { clock } = this.#options
    const startedUs = clock.monoUs()
    try {
      const contiguous = first?.contiguous ? first.count : 0
      await this.#stock.refill(this.#line?.demand ?? 0, contiguous, this.observeRate())
    } catch (error) {
      return this.#failed(error instanceof Error ? error : new Error(String(error)))
    }
    this.#refills++
    this.#refillUs += clock.monoUs() - startedUs
    if (this.#failure !== undefined) this.#options.onRefillOutcome?.(this.#stock.name, undefined)
    this.#failure = undefined
    this.#retryMs = retryMinMs
  }

  /** Errors that only a person or a reload can mend are told at once; the others are tried again. */
  #failed(error: Error): void {
    this.#refillFailures++
    if (this.#failure === undefined) this.#options.onRefillOutcome?.(this.#stock.name, error)
    this.#failure = error
    if (this.#closed !== undefined) return
    if (!waitingHelps(error)) {
      this.#serve(error)
      this.#retryMs = retryMaxMs
    }
    const { clock, random } = this.#options
    const jitter = 0.5 + random() / 2
    this.#retry = clock.timer(this.#retryMs * jitter, () => {
      this.#retry = undefined
      if (this.#line !== undefined || this.#stock.low) this.#refill()
    })
    this.#retryMs = Math.min(retryMaxMs, this.#retryMs * 2)
  }

  /** @param helped whom the refill that has just ended was to help, if anybody. */
  #goOn(helped?: Waiter): void {
    if (this.#closed !== undefined) return
    this.#serve()
    const first = this.#line?.first()
    if (first === undefined || this.#retry !== undefined) return
    // Whom a refill did not help, another one at once would not help either, and might spin.
    const waitMs = this.#stock.waitMs() ?? (first === helped ? retryMinMs : undefined)
    if (waitMs === undefined) return this.#refill()
    this.#wake?.cancel()
    this.#wake = this.#options.clock.timer(waitMs, () => this.#goOn())
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
