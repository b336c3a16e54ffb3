/**
 * Calls of one kind, sent to the database in batches when several wait.
 *
 * Invariants
 *  1. A call that its batch did not carry out is sent alone, with the rest of its time, and settles as if it had never
 *     been in a batch: no call fails because of another one. A call that waits by itself is sent alone, too.
 *  2. Every call settles by its own deadline, whatever the outcome of its batch: a write as UNKNOWN once the batch has
 *     been sent, any other call as UNAVAILABLE.
 *  3. A batch with an unknown outcome leaves each write in it unknown: none of them is sent again.
 *  4. A key whose lock another session held until the timeout joins no batch until a call of that key has succeeded. After
 *     a batch that timed out on a lock, these are the keys whose calls then fail alone, for whatever reason. Calls without keys
 *     fail with their batch, which they do not send apart.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { Batches } from '../batches.ts'
import { Deadlines } from '../deadlines.ts'
import { type CallOptions, lateText } from './connection-pool.ts'
import { type Ask, isFailure } from './driver.ts'

/** The outcome of a call that a batch carried out, or may have carried out. */
export type BatchResult<Value> = { readonly value: Value } | { readonly error: unknown }

/** How calls of one kind are carried out. */
export type CallKind<Request, Value> = {
  readonly writes: boolean
  /** The key of a request: the second of two requests with one key is sent after the first has settled. Default: none has a key. */
  readonly keyOf?: (request: Request) => string
  /** The characters that a request adds to a message, if they may be many. */
  readonly lengthOf?: (request: Request) => number
  readonly alone: (ask: Ask, request: Request) => Promise<Value>
  /** Carries out several requests in one message; undefined for each that was not carried out. */
  readonly together: (ask: Ask, requests: readonly Request[]) => Promise<(BatchResult<Value> | undefined)[]>
}

/** The limits of batches, and how a call gets a connection. */
export type BatchedCallsOptions = {
  readonly clock: Clock
  readonly timeoutMs: number
  /** The maximum number of batches in flight. */
  readonly widthMax: number
  /** The maximum number of calls in a batch. */
  readonly sizeMax: number
  /** Runs a call on a connection; see `ConnectionPool.run`. */
  readonly run: <Value>(work: (ask: Ask) => Promise<Value>, options: CallOptions) => Promise<Value>
}

/**
 * The characters in the values of one message, unless a single value has more: MySQL accepts messages of at least 1 MiB, and
 * takes up to 6 bytes for a character.
 */
export const lengthMax = 100_000

type PendingCall<Request, Value> = {
  readonly request: Request
  readonly sinceUs: number
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
  timer: Timer | undefined
  /** The batch in flight that contains it. */
  trip: RunningBatch | undefined
}

/** A batch in flight. */
type RunningBatch = { readonly sinceUs: number; sent: boolean }

/** Calls of one kind. */
export class BatchedCalls<Request, Value> {
  readonly #options: BatchedCallsOptions
  readonly #deadlines: Deadlines
  readonly #sort: CallKind<Request, Value>
  readonly #batches: Batches<PendingCall<Request, Value>>
  /** Keys whose lock another session held until the timeout. */
  readonly #held = new Set<string>()
  #ended = false

  constructor(options: BatchedCallsOptions, sort: CallKind<Request, Value>) {
    this.#options = options
    this.#deadlines = new Deadlines(options.clock, options.timeoutMs)
    this.#sort = sort
    const keyOf = sort.keyOf && ((call: PendingCall<Request, Value>) => sort.keyOf!(call.request))
    this.#batches = new Batches({
      widthMax: options.widthMax,
      sizeMax: options.sizeMax,
      lengthOf: sort.lengthOf && ((call) => sort.lengthOf!(call.request)),
      lengthMax,
      keyOf,
      isAlone: (call) => keyOf !== undefined && this.#held.has(keyOf(call)),
      carryOut: (calls) => this.#carryOut(calls),
    })
  }

  /** Carries out a request, in a batch if several wait. */
  call(request: Request): Promise<Value> {
    const { clock } = this.#options
    if (this.#ended) return Promise.reject(new FahaoError('UNAVAILABLE', 'the engine is closed'))
    return new Promise((resolve, reject) => {
      const call: PendingCall<Request, Value> = {
        request,
        sinceUs: clock.monoUs(),
        resolve,
        reject,
        timer: undefined,
        trip: undefined,
      }
      call.timer = this.#deadlines.begin(() => this.#expire(call))
      this.#batches.add(call)
    })
  }

  /** Rejects further calls; resolves when none waits for a batch or is in one. */
  drain(): Promise<void> {
    this.#ended = true
    return this.#batches.idle()
  }

  async #carryOut(calls: readonly PendingCall<Request, Value>[]): Promise<void> {
    if (calls.length === 1) return this.#alone(calls[0]!)
    const { clock, timeoutMs, run } = this.#options
    const trip: RunningBatch = { sinceUs: clock.monoUs(), sent: false }
    for (const call of calls) call.trip = trip
    try {
      const work = async (ask: Ask) => {
        // A call that settled while the batch waited for a connection is not sent.
        const open = calls.filter(({ timer }) => timer !== undefined)
        const requests = open.map(({ request }) => request)
        return { open, done: open.length > 0 ? await this.#sort.together(sending(ask, trip), requests) : [] }
      }
      const { open, done } = await run(work, { timeoutMs })
      open.forEach((call, at) => {
        const outcome = done[at]
        if (outcome === undefined) void this.#alone(call)
        else
          this.#settle(call, () =>
            'error' in outcome ? call.reject(outcome.error) : call.resolve(outcome.value),
          )
      })
    } catch (error) {
      // Without keys, each call alone would wait for the same lock again.
      const tellsKeys = this.#sort.keyOf !== undefined
      for (const call of calls) {
        if (tellsKeys && isFailure(error, 'contended')) void this.#alone(call, true)
        else this.#settle(call, () => call.reject(error))
      }
    }
  }

  /** @param suspect its batch timed out on a lock, which may be that of its key: the rest of its time is shorter than that. */
  async #alone(call: PendingCall<Request, Value>, suspect = false): Promise<void> {
    if (call.timer === undefined) return
    const { clock, timeoutMs, run } = this.#options
    const key = this.#sort.keyOf?.(call.request)
    const waitedMs = (clock.monoUs() - call.sinceUs) / 1000
    this.#settle(call, () => {})
    try {
      const options = { timeoutMs: Math.max(1, timeoutMs - waitedMs), waitedMs }
      call.resolve(await run((ask) => this.#sort.alone(ask, call.request), options))
      if (key !== undefined) this.#held.delete(key)
    } catch (error) {
      if (key !== undefined && (suspect || isFailure(error, 'contended'))) this.#held.add(key)
      call.reject(error)
    }
  }

  #expire(call: PendingCall<Request, Value>): void {
    const { clock, timeoutMs } = this.#options
    const { trip } = call
    const inTime = `within ${timeoutMs} ms`
    let error: FahaoError
    if (this.#batches.remove(call) || trip === undefined) {
      const where = `waited ${inTime} in this process behind earlier ones; nothing was sent`
      error = new FahaoError('UNAVAILABLE', `the call ${where}; ask for less at once, or raise pool=`)
    } else {
      const code = trip.sent && this.#sort.writes ? 'UNKNOWN' : 'UNAVAILABLE'
      error = new FahaoError(code, lateText(timeoutMs, (clock.monoUs() - trip.sinceUs) / 1000))
    }
    this.#settle(call, () => call.reject(error))
  }

  /** Settles a call that has neither settled nor been sent alone. */
  #settle(call: PendingCall<Request, Value>, answer: () => void): void {
    if (call.timer === undefined) return
    call.timer.cancel()
    call.timer = undefined
    answer()
  }
}

/** Marks the batch as sent: from its first message on, any call in it may have been carried out. */
function sending(ask: Ask, trip: RunningBatch): Ask {
  return (command) => {
    trip.sent = true
    return ask(command)
  }
}
