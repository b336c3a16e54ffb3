/**
 * Ids by request: of the strict kinds, whose every id the service issues, and of generators that this client cannot issue
 * itself. Calls of one turn of the event loop share a request.
 *
 * Invariants
 *  1. An id of a reply goes to one caller. A reply without exactly the ids of its callers goes to none of them.
 *  2. Requests overlap up to `inFlightMax`. Further calls wait, and share the next one.
 *  3. A caller whose call began after another caller's id had arrived gets a larger id of a strict kind: a request is sent
 *     after the calls that it serves.
 *  4. No call waits longer than `timeoutMs`: a batch has what is left to its oldest call, and contains no call that is
 *     much younger. All batches under way are older than a call that waits to be sent, so that one gets its turn in time.
 *  5. A batch that the service refuses as a whole is asked for call by call: the last ids of a generator reach the callers
 *     that they suffice for.
 *  6. Ids with a gap between them do not reach a caller whose ids follow one another: it asks
 *     again, `gapTriesMax` times in all.
 */
import { assert } from '../../src/base/assert.ts'
import type { Clock } from '../../src/base/clock.ts'
import { FahaoError, hasCode } from '../../src/base/errors.ts'
import { onAbort } from '../../src/base/on-abort.ts'
import { FastRun } from '../../src/buffers/fast-runs.ts'
import { max53 } from '../../src/ids/limits.ts'
import { Run } from '../../src/ids/run.ts'
import type { GeneratorStats } from './generator.ts'
import type { DrawOptions, IdSource } from './id-source.ts'

/** Asks the service for exactly `count` ids; rejects after `timeoutMs`. */
export type AskIds = (count: number, timeoutMs: number) => Promise<Run[]>

/** The parts of a request source. */
export type RequestSourceOptions = {
  readonly ask: AskIds
  readonly clock: Clock
  readonly timeoutMs: number
}

type Caller = {
  readonly count: number
  /** When the call began, on the monotonic clock in µs. */
  readonly sinceUs: number
  readonly resolve: (runs: Run[]) => void
  readonly reject: (reason: unknown) => void
  /** The caller has given up: no id is asked for it. */
  isGone: boolean
}

const inFlightMax = 8
/** Ids of a shared request; the default of the service's `count-max` is far above. */
const batchMax = 10_000
/** How often ids that follow one another are asked for. Gaps are rare: ids of other nodes, or of reserves without a reply. */
const gapTriesMax = 5
/** Calls of one batch differ in age by this part of `timeoutMs` at most: `inFlightMax` batches take all that may wait. */
const agePart = 1 / inFlightMax

/** Asks for each id. */
export class RequestSource implements IdSource {
  /** Stays empty. */
  readonly fastRun = new FastRun()
  readonly #options: RequestSourceOptions
  #callers: Caller[] = []
  /** How many callers have given up since the last batch. */
  #gone = 0
  #inFlight = 0
  #scheduled = false
  #closed: Error | undefined
  #issued = 0
  #requests = 0
  #failures = 0
  #waits = 0
  #waiting = 0

  constructor(options: RequestSourceOptions) {
    this.#options = options
  }

  take(): number {
    return 0
  }

  nextIsSafe(): boolean {
    return false
  }

  async draw(count: number, { safe = false, contiguous = false, signal }: DrawOptions): Promise<Run[]> {
    signal?.throwIfAborted()
    if (this.#closed !== undefined) throw this.#closed
    this.#waits++
    this.#waiting++
    try {
      const runs = contiguous ? await this.#joinWithoutGap(count, signal) : await this.#join(count, signal)
      if (safe && runs.some((run) => run.at(run.count - 1) > max53)) throw unsafe()
      return runs
    } finally {
      this.#waiting--
    }
  }

  stats(): GeneratorStats {
    return {
      issued: this.#issued,
      buffered: 0,
      lastsMs: 0,
      requests: this.#requests,
      failures: this.#failures,
      waits: this.#waits,
      waiting: this.#waiting,
    }
  }

  drop(): void {}

  assertInvariants(): void {
    assert(this.#inFlight <= inFlightMax, 'requests overlap up to a limit')
    assert(
      this.#callers.filter(({ isGone }) => !isGone).length <= this.#waiting,
      'who is to be asked for waits',
    )
    assert(this.#closed === undefined || this.#callers.length === 0, 'no caller waits after the end')
  }

  async close(reason: Error): Promise<void> {
    this.#closed = reason
    for (const { reject } of this.#callers.splice(0)) reject(reason)
  }

  async #joinWithoutGap(count: number, signal: AbortSignal | undefined): Promise<Run[]> {
    for (let tries = 0; tries < gapTriesMax; tries++) {
      const runs = await this.#join(count, signal)
      if (areAdjacent(runs)) return runs
    }
    throw new FahaoError(
      'UNAVAILABLE',
      `the service has issued ${count} ids with gaps between them ${gapTriesMax} times; retry, or ask for fewer`,
    )
  }

  #join(count: number, signal: AbortSignal | undefined): Promise<Run[]> {
    return new Promise((resolve, reject) => {
      const forget = onAbort(signal, (reason) => {
        caller.isGone = true
        this.#gone++
        reject(reason)
      })
      const caller: Caller = {
        count,
        sinceUs: this.#options.clock.monoUs(),
        isGone: false,
        resolve(runs) {
          forget()
          resolve(runs)
        },
        reject(error) {
          forget()
          reject(error)
        },
      }
      this.#callers.push(caller)
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= inFlightMax || this.#callers.length === 0) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      const batch = this.#nextBatch()
      if (batch.length > 0) void this.#send(batch).then(() => this.#schedule())
      this.#schedule()
    })
  }

  #nextBatch(): Caller[] {
    if (this.#gone > 0) this.#callers = this.#callers.filter(({ isGone }) => !isGone)
    this.#gone = 0
    const untilUs = (this.#callers[0]?.sinceUs ?? 0) + this.#options.timeoutMs * agePart * 1000
    let sum = 0
    let size = 0
    for (const { count, sinceUs } of this.#callers) {
      sum += count
      if (size > 0 && (sum > batchMax || sinceUs > untilUs)) break
      size++
    }
    return this.#callers.splice(0, size)
  }

  #leftMs({ sinceUs }: Caller): number {
    const { clock, timeoutMs } = this.#options
    return timeoutMs - (clock.monoUs() - sinceUs) / 1000
  }

  /** Never rejects. */
  async #send(batch: readonly Caller[]): Promise<void> {
    this.#inFlight++
    try {
      const wanted = batch.reduce((sum, { count }) => sum + count, 0)
      const runs = await this.#options.ask(wanted, this.#leftMs(batch[0]!))
      this.#requests++
      if (runs.reduce((sum, { count }) => sum + count, 0) !== wanted)
        throw new FahaoError('UNKNOWN', `the service has not sent ${wanted} ids; check its version`)
      this.#issued += wanted
      dealOut(runs, batch)
    } catch (error) {
      this.#failures++
      if (batch.length > 1 && isOfSize(error)) await Promise.all(batch.map((caller) => this.#send([caller])))
      else for (const { reject } of batch) reject(error)
    } finally {
      this.#inFlight--
    }
  }
}

/** Whether fewer ids might have been issued. */
function isOfSize(error: unknown): boolean {
  return hasCode(error, 'EXHAUSTED') || hasCode(error, 'LIMIT') || hasCode(error, 'QUOTA')
}

/** Whether each id is one larger than the id before it, of runs with a distance of 1. */
function areAdjacent(runs: readonly Run[]): boolean {
  return runs.every((run, at) => at === 0 || run.first === runs[at - 1]!.at(runs[at - 1]!.count))
}

/** Gives each caller its ids, in order. */
function dealOut(runs: readonly Run[], callers: readonly Caller[]): void {
  let at = 0
  let used = 0
  for (const { count, resolve } of callers) {
    const own: Run[] = []
    for (let left = count; left > 0; ) {
      const run = runs[at]!
      const taken = Math.min(left, run.count - used)
      const part = new Run()
      part.set(run.at(used), taken, run.stride)
      own.push(part)
      used += taken
      left -= taken
      if (used === run.count) {
        at++
        used = 0
      }
    }
    resolve(own)
  }
}

/** The error of a caller that takes numbers, when the next id is none. */
export function unsafe(): FahaoError {
  return new FahaoError('UNSAFE', 'the next id is above 2^53−1; use next or nextText')
}
