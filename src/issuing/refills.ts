/**
 * The reserves of one generator in this process: one at a time, and again after a pause when one has failed.
 *
 * Invariants
 *  1. At most one is under way.
 *  2. No refill starts in the pause after one that failed, nor after `stop`.
 *  3. The pause is long only while nobody waits, so that not all generators come at once when the engine is back.
 */
import type { Timer } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { Ticket } from './limiter.ts'
import type { ReservoirOptions } from './reservoir.ts'

const pauseMinMs = 20
const pauseMaxMs = 1000
const calmPauseMaxMs = 5000

/** What refills take from their reservoir. */
type RefillsOptions = Pick<ReservoirOptions, 'clock' | 'random' | 'gate' | 'onRefillOutcome' | 'onStale'>

/** See the invariants at the top of the file. */
export class Refills {
  /** Refills that succeeded, how long they took, and those that failed. */
  succeeded = 0
  seconds = 0
  failed = 0
  /** How long the newest that succeeded took. */
  newestMs = 0
  /** Why the newest failed; undefined when it did not. */
  failure: Error | undefined
  readonly #name: string
  readonly #options: RefillsOptions
  readonly #again: () => void
  #running: Promise<void> | undefined
  readonly #ticket = new Ticket()
  /** Somebody waits for the refill under way, or has waited for the newest. */
  #urgent = false
  #pauseMs = pauseMinMs
  #pause: Timer | undefined
  #stopped: Error | undefined

  /** @param again called when the pause after a failure is over. */
  constructor(name: string, options: RefillsOptions, again: () => void) {
    this.#name = name
    this.#options = options
    this.#again = again
  }

  /** Whether no refill can start now. */
  get busy(): boolean {
    return this.#running !== undefined || this.#pause !== undefined || this.#stopped !== undefined
  }

  /** In the pause after a failure. */
  get pausing(): boolean {
    return this.#pause !== undefined
  }

  /** A failure that waiting does not mend, so not worth a wait, until the next try has shown otherwise. */
  get refusal(): Error | undefined {
    return this.#pause !== undefined && !waitingHelps(this.failure) ? this.failure : undefined
  }

  /** Starts a refill when its turn has come; not while busy. `after` follows, whatever came of it. */
  start(urgent: boolean, refill: () => Promise<void>, after: () => void): void {
    this.#urgent = urgent
    this.#occupy(this.#inTurn(refill), after)
  }

  /** Somebody has begun to wait: the refill under way goes before those that nobody waits for, or begins now. */
  hurry(): void {
    this.#options.gate.hurry(this.#ticket)
    if (this.#pause !== undefined && !this.#urgent && waitingHelps(this.failure)) {
      this.#pause.cancel()
      this.#pause = undefined
      this.#pauseMs = pauseMinMs
    }
    this.#urgent = true
  }

  /** Runs what else reserves, once nothing is under way. Rejects as `task` does, or with what it was stopped for. */
  async alone(task: () => Promise<void>, after: () => void): Promise<void> {
    // Others wait for the same refill, and one of them may have begun when this one goes on.
    while (this.#running !== undefined) await this.#running
    if (this.#stopped !== undefined) throw this.#stopped
    const running = task()
    this.#occupy(
      running.catch(() => {}),
      after,
    )
    await running
  }

  /** Starts nothing any more. */
  stop(reason: Error): void {
    this.#stopped ??= reason
    this.#pause?.cancel()
    this.#options.gate.forget(this.#ticket)
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  #occupy(running: Promise<void>, after: () => void): void {
    this.#running = running.then(() => {
      this.#running = undefined
      after()
    })
  }

  async #inTurn(refill: () => Promise<void>): Promise<void> {
    const { gate } = this.#options
    const turn = gate.enter(this.#ticket, this.#urgent)
    if (turn !== true && !(await turn)) return
    const failed = this.failed
    await this.#attempt(refill)
    gate.leave(this.failed > failed && isEngines(this.failure))
  }

  async #attempt(refill: () => Promise<void>): Promise<void> {
    const { clock, onRefillOutcome } = this.#options
    const startedUs = clock.monoUs()
    try {
      await refill()
    } catch (error) {
      return this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
    this.succeeded++
    this.newestMs = (clock.monoUs() - startedUs) / 1000
    this.seconds += this.newestMs / 1000
    if (this.failure !== undefined) onRefillOutcome?.(this.#name, undefined)
    this.failure = undefined
    this.#pauseMs = pauseMinMs
  }

  /** Errors that only a person or a reload can mend are tried again, but seldom. */
  #fail(error: Error): void {
    const { clock, random, onRefillOutcome, onStale } = this.#options
    const isFirst = this.failure === undefined
    this.failed++
    this.failure = error
    // What follows this one under its name is not concerned.
    if (this.#stopped !== undefined) return
    if (isFirst) onRefillOutcome?.(this.#name, error)
    if (hasCode(error, 'STALE')) onStale?.(this.#name)
    if (!waitingHelps(error)) this.#pauseMs = pauseMaxMs
    const jitter = 0.5 + random() / 2
    this.#pause = clock.timer(this.#pauseMs * jitter, () => {
      this.#pause = undefined
      this.#again()
    })
    const calm = !this.#urgent && waitingHelps(error)
    this.#pauseMs = Math.min(calm ? calmPauseMaxMs : pauseMaxMs, this.#pauseMs * 2)
  }
}

/** Whether a failure can pass while callers wait. */
function waitingHelps(error: unknown): boolean {
  return error instanceof FahaoError && passing.has(error.code)
}

const passing: ReadonlySet<string> = new Set(['UNAVAILABLE', 'UNKNOWN', 'CONFLICT', 'CLOCK', 'WORKERID'])

/** Whether the engine is what failed, and not this one generator. */
function isEngines(error: unknown): boolean {
  return hasCode(error, 'UNAVAILABLE') || hasCode(error, 'UNKNOWN')
}
