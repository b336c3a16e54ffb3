/**
 * The refills of one generator in this process: one at a time, with a permit of the limiter that all generators share,
 * and repeated after a pause when one has failed.
 *
 * Invariants
 *  1. At most one is under way.
 *  2. No refill starts in the pause after a failed one, nor after `stop`.
 *  3. The pause is long only while no caller waits, so that not all generators reserve at once when the engine is back.
 */
import type { Clock, Random, Timer } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { Times } from '../base/times.ts'
import { type Limiter, Ticket } from './engine-permits.ts'

const pauseMinMs = 20
const pauseMaxMs = 1000
const idlePauseMaxMs = 5000
/** How long a failure counts that is neither repeated nor followed by a success: less than the alert on it waits. */
const failingUs = 300_000_000

/** How long the reserves of a process took, by whether they succeeded. */
export class RefillTimes {
  readonly ok = new Times()
  readonly failed = new Times()
}

/** What refills take from their process. */
export type RefillsOptions = {
  readonly clock: Clock
  readonly random: Random
  /** All refills of this process pass it, but those of generators at rest, which are reserved in groups. */
  readonly limiter: Limiter
  /** Counts each refill once it is over; undefined: they are not counted. */
  readonly refillTimes?: RefillTimes | undefined
  /** Called when refills of a generator begin to fail, and when one succeeds again after that (`undefined`). */
  readonly onRefillOutcome?: (name: string, error: Error | undefined) => void
  /** Called when the engine rejects a reserve because it has seen a newer incarnation or leader. */
  readonly onStale?: ((name: string) => void) | undefined
}

/** What refills do for their issuer. Refills call it, and it starts them. */
export type RefillJob = {
  /** Reserves what is wanted when it is called, and serves callers. Rejects as the engine does. */
  reserve(): Promise<void>
  /** Called when a reserve, or another task, has ended, whether it succeeded or failed. */
  ended(): void
  /** Called when the pause after a failure is over. */
  paused(): void
}

/** What was counted of the refills of a generator. */
export type RefillsAtRest = { refills: number; refillFailures: number; refillSeconds: number; waits: number }

/** The same, and whether the newest refill has failed, in the last five minutes: 1 or 0. */
export type RefillStats = RefillsAtRest & { refillsFailing: number }

/** The refills of one generator. */
export class Refills {
  /** How long the newest successful refill took. */
  newestMs = 0
  /** The error of the newest refill; undefined when it succeeded. */
  failure: Error | undefined
  /** How many callers have begun to wait. */
  waits = 0
  #succeeded = 0
  #seconds = 0
  #failed = 0
  #failedUs = 0
  readonly #name: string
  readonly #options: RefillsOptions
  readonly #job: RefillJob
  #running: Promise<void> | undefined
  readonly #ticket = new Ticket()
  /** A caller waits for the refill under way, or has waited for the newest. */
  #urgent = false
  #pauseMs = pauseMinMs
  #pause: Timer | undefined
  #stopped: Error | undefined

  constructor(name: string, options: RefillsOptions, job: RefillJob) {
    this.#name = name
    this.#options = options
    this.#job = job
  }

  stats(): RefillStats {
    const { failure, waits } = this
    const isFailing = failure !== undefined && this.#options.clock.monoUs() - this.#failedUs < failingUs
    const [refills, refillFailures, refillSeconds] = [this.#succeeded, this.#failed, this.#seconds]
    return { refills, refillFailures, refillSeconds, waits, refillsFailing: isFailing ? 1 : 0 }
  }

  #counts(): RefillsAtRest {
    const [refills, refillFailures, refillSeconds] = [this.#succeeded, this.#failed, this.#seconds]
    return { refills, refillFailures, refillSeconds, waits: this.waits }
  }

  /** Writes down what was counted. False: one is under way or has failed, or none can start. */
  rest(into: RefillsAtRest): boolean {
    Object.assign(into, this.#counts())
    return !this.busy && this.failure === undefined
  }

  /** Goes on from what was counted before. */
  wake({ refills, refillFailures, refillSeconds, waits }: RefillsAtRest): void {
    this.waits = waits
    this.#succeeded = refills
    this.#failed = refillFailures
    this.#seconds = refillSeconds
  }

  /** Whether no refill can start now. */
  get busy(): boolean {
    return this.#running !== undefined || this.#pause !== undefined || this.#stopped !== undefined
  }

  /** Whether this is the pause after a failure. */
  get pausing(): boolean {
    return this.#pause !== undefined
  }

  /** A failure that time alone does not end: callers get it at once instead of waiting, until the next try. */
  get refusal(): Error | undefined {
    return this.#pause !== undefined && !waitingHelps(this.failure) ? this.failure : undefined
  }

  /** Starts a refill once the limiter admits it; not while busy. */
  start(urgent: boolean): void {
    this.#urgent = urgent
    this.#occupy(this.#inTurn())
  }

  /**
   * Starts the first refill of an issuer without a permit: its opening has one. What `reserve` does before it first waits is
   * done when this returns. `startedUs`: since when it is under way, if another one has started it.
   */
  startFirst(reserve: () => Promise<void>, startedUs = this.#options.clock.monoUs()): void {
    this.#urgent = true
    this.#occupy(this.#attempt(reserve, startedUs))
  }

  /** A caller has begun to wait: the refill under way becomes urgent, or a pause without waiting callers ends. */
  callerWaits(): void {
    this.waits++
    this.#options.limiter.prioritize(this.#ticket)
    if (this.#pause !== undefined && !this.#urgent && waitingHelps(this.failure)) {
      this.#pause.cancel()
      this.#pause = undefined
      this.#pauseMs = pauseMinMs
    }
    this.#urgent = true
  }

  /** Runs another task that reserves, once nothing is under way. Rejects as `task` does, or with the reason of `stop`. */
  async alone(task: () => Promise<void>): Promise<void> {
    // Several tasks may wait for one refill, and the first of them may run when this one continues.
    while (this.#running !== undefined) await this.#running
    if (this.#stopped !== undefined) throw this.#stopped
    const running = task()
    this.#occupy(running.catch(() => {}))
    await running
  }

  /** Starts no refill from now on. */
  stop(reason: Error): void {
    this.#stopped ??= reason
    this.#pause?.cancel()
    this.#options.limiter.cancel(this.#ticket)
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  #occupy(running: Promise<void>): void {
    this.#running = running.then(() => {
      this.#running = undefined
      this.#job.ended()
    })
  }

  async #inTurn(): Promise<void> {
    const { limiter } = this.#options
    const turn = limiter.acquire(this.#ticket, this.#urgent)
    if (turn !== true && !(await turn)) return
    const failed = this.#failed
    await this.#attempt(() => this.#job.reserve(), this.#options.clock.monoUs())
    limiter.release(this.#failed > failed && isOfEngine(this.failure))
  }

  async #attempt(reserve: () => Promise<void>, startedUs: number): Promise<void> {
    const { clock, refillTimes, onRefillOutcome } = this.#options
    try {
      await reserve()
    } catch (error) {
      refillTimes?.failed.add(clock.monoUs() - startedUs)
      return this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
    this.#succeeded++
    const us = clock.monoUs() - startedUs
    refillTimes?.ok.add(us)
    this.newestMs = us / 1000
    this.#seconds += this.newestMs / 1000
    if (this.failure !== undefined) onRefillOutcome?.(this.#name, undefined)
    this.failure = undefined
    this.#pauseMs = pauseMinMs
  }

  /** Errors that end only by an operator's action or a reload are retried too, at long intervals. */
  #fail(error: Error): void {
    const { clock, random, onRefillOutcome, onStale } = this.#options
    const isFirst = this.failure === undefined
    this.#failed++
    this.#failedUs = clock.monoUs()
    this.failure = error
    // Another issuer may serve the name by now: the failure says nothing about it.
    if (this.#stopped !== undefined) return
    if (isFirst) onRefillOutcome?.(this.#name, error)
    if (hasCode(error, 'STALE')) onStale?.(this.#name)
    if (!waitingHelps(error)) this.#pauseMs = pauseMaxMs
    const jitter = 0.5 + random() / 2
    this.#pause = clock.timer(this.#pauseMs * jitter, () => {
      this.#pause = undefined
      this.#job.paused()
    })
    const isIdle = !this.#urgent && waitingHelps(error)
    this.#pauseMs = Math.min(isIdle ? idlePauseMaxMs : pauseMaxMs, this.#pauseMs * 2)
  }
}

/** Whether a failure can end while callers wait. */
export function waitingHelps(error: unknown): boolean {
  return error instanceof FahaoError && temporary.has(error.code)
}

const temporary: ReadonlySet<string> = new Set(['UNAVAILABLE', 'UNKNOWN', 'CONFLICT', 'CLOCK', 'WORKERID'])

/** Whether the engine failed, and not this generator alone. */
function isOfEngine(error: unknown): boolean {
  return hasCode(error, 'UNAVAILABLE') || hasCode(error, 'UNKNOWN')
}
