/**
 * The calls to the thread of the store.
 *
 * Invariants
 *  1. The thread has one batch at a time. Calls that arrive meanwhile share the next batch, and so one fsync.
 *  2. Every call settles by its deadline: a write that was sent as UNKNOWN, all others as UNAVAILABLE. A call
 *     that was not sent by then is never sent.
 *  3. An advance is a batch of its own, with a longer deadline. The other calls keep their deadlines during it.
 */
import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { advanceTimeoutMs } from '../advance-rules.ts'
import { Batches } from '../batches.ts'
import {
  type FailureCode,
  isWrite,
  type Operation,
  type OperationOutcome,
  type Operations,
} from './thread-messages.ts'

type PendingCall = {
  readonly operation: Operation
  readonly resolve: (value: never) => void
  readonly reject: (error: FahaoError) => void
  readonly timer: Timer
  isSent: boolean
}

const sizeMax = 1000

/** The calls of one engine. */
export class ThreadCalls {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #send: (operations: readonly Operation[]) => void
  /** The calls that have not settled. */
  readonly #open = new Set<PendingCall>()
  readonly #batches = new Batches<PendingCall>({
    widthMax: 1,
    sizeMax,
    isAlone: ({ operation }) => operation.op === 'advance',
    carryOut: (calls) => this.#carryOut(calls),
  })
  /** Receives the outcomes of the batch that the thread has. */
  #receive: ((outcomes: readonly OperationOutcome[]) => void) | undefined
  #ended: string | undefined
  #stuck = false

  /** @param send sends a batch to the thread. */
  constructor(clock: Clock, timeoutMs: number, send: (operations: readonly Operation[]) => void) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#send = send
  }

  /** Whether the thread has let a deadline pass and has not answered since. */
  get stuck(): boolean {
    return this.#stuck
  }

  /** Carries out an operation in the thread. */
  call<Name extends keyof Operations>(
    op: Name,
    ...args: Parameters<Operations[Name]>
  ): Promise<ReturnType<Operations[Name]>> {
    if (this.#ended !== undefined) return Promise.reject(new FahaoError('UNAVAILABLE', this.#ended))
    return new Promise((resolve, reject) => {
      const operation = { op, args } as unknown as Operation
      const delayMs = op === 'advance' ? advanceTimeoutMs(this.#timeoutMs) : this.#timeoutMs
      const timer = this.#clock.timer(delayMs, () => this.#expire(call))
      const call: PendingCall = { operation, resolve, reject, timer, isSent: false }
      this.#open.add(call)
      this.#batches.add(call)
    })
  }

  /** Receives the outcomes of the batch that the thread has. */
  done(outcomes: readonly OperationOutcome[]): void {
    assert(this.#receive !== undefined, 'the thread answers the batch that it has')
    this.#receive(outcomes)
    this.#receive = undefined
  }

  /** Fails all calls, and rejects further ones: the thread has ended. */
  end(reason: string): void {
    this.#ended = reason
    for (const call of this.#open) this.#fail(call, 'UNKNOWN', reason)
  }

  async #carryOut(calls: readonly PendingCall[]): Promise<void> {
    for (const call of calls) call.isSent = true
    const answer = Promise.withResolvers<readonly OperationOutcome[]>()
    this.#receive = answer.resolve
    this.#send(calls.map(({ operation }) => operation))
    const outcomes = await answer.promise
    assert(outcomes.length === calls.length, 'each operation has an outcome')
    this.#stuck = false
    for (const [at, call] of calls.entries()) {
      const outcome = outcomes[at]!
      if ('code' in outcome) this.#fail(call, outcome.code, outcome.message)
      else if (this.#close(call)) call.resolve(outcome.value as never)
    }
  }

  #expire(call: PendingCall): void {
    if (call.isSent) this.#stuck = true
    else this.#batches.remove(call)
    this.#fail(call, 'UNKNOWN', 'the store did not answer in time; look at its disk')
  }

  /** Rejects a call. Only a write that was sent has an unknown outcome. */
  #fail(call: PendingCall, code: FailureCode, message: string): void {
    const mayHaveChanged = call.isSent && isWrite(call.operation)
    const known = code === 'UNKNOWN' && !mayHaveChanged ? 'UNAVAILABLE' : code
    if (this.#close(call)) call.reject(new FahaoError(known, message))
  }

  #close(call: PendingCall): boolean {
    call.timer.cancel()
    return this.#open.delete(call)
  }
}
