/**
 * The calls to the worker thread.
 *
 * Invariants
 *  1. The worker has one batch at a time. Calls that arrive meanwhile share the next batch, and so one fsync.
 *  2. Every call settles by its deadline: a write that was sent as UNKNOWN, all others as UNAVAILABLE. A call
 *     that was not sent by then is never sent.
 *  3. Outcomes are observed in the order of the operations, before any call resolves, also those of calls that have
 *     passed their deadlines.
 *  4. An advance is a batch of its own, with a longer deadline. The other calls keep their deadlines during it.
 */
import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { advanceTimeoutMs } from '../advance.ts'
import {
  type FailureCode,
  isWrite,
  type Operation,
  type OperationOutcome,
  type OperationValue,
  type OperationValues,
} from './protocol.ts'

type PendingCall = {
  readonly operation: Operation
  readonly deadlineUs: number
  readonly resolve: (value: OperationValue) => void
  readonly reject: (error: FahaoError) => void
  readonly background: boolean
  open: boolean
}

const batchMax = 1000

/** The deadline of calls, and the engine's callbacks. */
export type WorkerCallsOptions = {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Sends a batch to the worker. */
  readonly send: (operations: readonly Operation[]) => void
  /** Receives each successful operation. */
  readonly observe: (operation: Operation, value: OperationValue) => void
  /** Called when the first call begins to wait, and when none waits any more. */
  readonly onWaiting: (waiting: boolean) => void
}

/** The calls of one engine. */
export class WorkerCalls {
  readonly #options: WorkerCallsOptions
  #queue: PendingCall[] = []
  #sent: PendingCall[] | undefined
  #flushing = false
  #timer: { readonly timer: Timer; readonly atUs: number } | undefined
  #waiting = 0
  #ended: string | undefined
  #stuck = false
  readonly #idle: (() => void)[] = []

  constructor(options: WorkerCallsOptions) {
    this.#options = options
  }

  /** Whether the worker has let a deadline pass and has not answered since. */
  get stuck(): boolean {
    return this.#stuck
  }

  /** Carries out an operation. A background call does not keep the process alive. */
  call<Name extends Operation['op']>(
    operation: Operation & { readonly op: Name },
    background = false,
  ): Promise<OperationValues[Name]> {
    if (this.#ended !== undefined) return Promise.reject(new FahaoError('UNAVAILABLE', this.#ended))
    return new Promise((settle, reject) => {
      const resolve = settle as (value: OperationValue) => void
      const deadlineUs = this.#options.clock.monoUs() + this.#timeoutMs(operation) * 1000
      this.#queue.push({ operation, deadlineUs, resolve, reject, background, open: true })
      if (!background && this.#waiting++ === 0) this.#options.onWaiting(true)
      this.#arm()
      if (this.#sent !== undefined || this.#flushing) return
      // The batch includes the calls of the same turn of the event loop.
      this.#flushing = true
      queueMicrotask(() => {
        this.#flushing = false
        this.#flush()
      })
    })
  }

  /** Receives the outcomes of the batch that the worker has. */
  done(outcomes: readonly OperationOutcome[]): void {
    const sent = this.#sent
    assert(sent !== undefined && sent.length === outcomes.length, 'the worker answers the batch that it has')
    this.#sent = undefined
    this.#stuck = false
    outcomes.forEach((outcome, index) => {
      if ('value' in outcome) this.#options.observe(sent[index]!.operation, outcome.value)
    })
    outcomes.forEach((outcome, index) => {
      this.#settle(sent[index]!, outcome)
    })
    this.#flush()
  }

  /** Rejects further calls, and fails those that wait: the worker has ended, or never started. */
  end(reason: string): void {
    this.#ended ??= reason
    for (const call of this.#sent ?? []) this.#give(call, 'UNKNOWN', reason)
    for (const call of this.#queue) this.#give(call, 'UNAVAILABLE', reason)
    this.#sent = undefined
    this.#queue = []
    this.#timer?.timer.cancel()
  }

  /** Rejects further calls; resolves when none waits any more. */
  drain(reason: string): Promise<void> {
    this.#ended ??= reason
    if (this.#waiting === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #flush(): void {
    if (this.#sent !== undefined || this.#queue.length === 0) return
    const isAlone = ({ operation }: PendingCall) => operation.op === 'advance'
    const alone = this.#queue.findIndex(isAlone)
    const count = alone < 0 ? this.#queue.length : Math.max(1, alone)
    const batch = this.#queue.splice(0, Math.min(count, batchMax))
    this.#sent = batch
    this.#options.send(batch.map(({ operation }) => operation))
  }

  #settle(call: PendingCall, outcome: OperationOutcome): void {
    if ('code' in outcome) return this.#give(call, outcome.code, outcome.message)
    if (this.#close(call)) call.resolve(outcome.value)
  }

  #give(call: PendingCall, code: FailureCode, message: string): void {
    const applied = code === 'UNKNOWN' && !isWrite(call.operation) ? 'UNAVAILABLE' : code
    if (this.#close(call)) call.reject(new FahaoError(applied, message))
  }

  #close(call: PendingCall): boolean {
    if (!call.open) return false
    call.open = false
    if (!call.background && --this.#waiting === 0) {
      this.#options.onWaiting(false)
      for (const resolve of this.#idle.splice(0)) resolve()
    }
    return true
  }

  #timeoutMs({ op }: Operation): number {
    const { timeoutMs } = this.#options
    return op === 'advance' ? advanceTimeoutMs(timeoutMs) : timeoutMs
  }

  /** Sets one timer for all: deadlines come in the order of the calls, except those of advances. */
  #arm(): void {
    const isOrdinary = ({ operation }: PendingCall) => operation.op !== 'advance'
    const firsts = [this.#sent?.find(({ open }) => open), this.#queue[0], this.#queue.find(isOrdinary)]
    const atUs = Math.min(...firsts.flatMap((call) => (call === undefined ? [] : [call.deadlineUs])))
    if (atUs === Number.POSITIVE_INFINITY || (this.#timer !== undefined && this.#timer.atUs <= atUs)) return
    this.#timer?.timer.cancel()
    const { clock } = this.#options
    const delayMs = Math.max(1, Math.ceil((atUs - clock.monoUs()) / 1000))
    const timer = clock.timer(delayMs, () => {
      this.#timer = undefined
      this.#expire(clock.monoUs())
      this.#arm()
    })
    this.#timer = { timer, atUs }
  }

  #expire(nowUs: number): void {
    const message = 'the store did not answer in time; look at its disk'
    const isLate = ({ deadlineUs }: PendingCall) => deadlineUs <= nowUs
    const late = this.#sent?.filter((call) => call.open && isLate(call)) ?? []
    if (late.length > 0) this.#stuck = true
    for (const call of late) this.#give(call, 'UNKNOWN', message)
    const waited = this.#queue.filter(isLate)
    if (waited.length > 0) this.#queue = this.#queue.filter((call) => !isLate(call))
    for (const call of waited) this.#give(call, 'UNAVAILABLE', message)
  }
}
