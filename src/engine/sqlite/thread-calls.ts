/**
 * The calls to the thread of the store.
 *
 * Invariants
 *  1. The thread has one batch at a time. Calls that arrive meanwhile share the next batch, and so one fsync.
 *  2. Every call settles by its deadline: a write that was sent as UNKNOWN, all others as UNAVAILABLE. A call
 *     that was not sent by then is never sent.
 *  3. An advance is a batch of its own, with a longer deadline. The other calls keep their deadlines during it.
 *  4. Every write of a record is reported before its call resolves, also one whose call has passed its deadline.
 */
import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { advanceTimeoutMs } from '../advance-rules.ts'
import { Batches } from '../batches.ts'
import type { CallsInFlight } from '../calls-in-flight.ts'
import { Deadlines } from '../deadlines.ts'
import type { Commit, Committed, LookedUp } from '../engine.ts'
import type { RecordState } from '../polled-watch.ts'
import { type PackedLookUps, unpackLookedUp } from './packed-look-ups.ts'
import {
  type CommittedInThread,
  type FailureCode,
  isWrite,
  type Operation,
  type OperationOutcome,
  type Operations,
  type Packed,
  packOperations,
  unpackOutcomes,
} from './thread-messages.ts'

/** What a call resolves to: writes to the records as written, look-ups to what they have found or made. */
type Answer<Name extends keyof Operations> = Name extends 'write'
  ? RecordState | undefined
  : Name extends 'lookUp'
    ? readonly (LookedUp | FahaoError)[]
    : Name extends 'commit'
      ? Committed | undefined
      : ReturnType<Operations[Name]>

/** What the calls of one engine need of it. */
export type ThreadCallsOptions = {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly inFlight: CallsInFlight
  /** Sends a batch to the thread. */
  readonly send: (operations: Packed) => void
  /** Is told of each record that was written or removed. */
  readonly onWrote: (record: RecordState) => void
}

/** A call; it is the operation that it carries out. */
type PendingCall = {
  readonly op: keyof Operations
  readonly args: readonly unknown[]
  readonly resolve: (value: never) => void
  readonly reject: (error: FahaoError) => void
  deadline: Timer | undefined
  isSent: boolean
}

/** Bounds the time of a transaction: some 100 ms. */
const sizeMax = 10_000

/** Calls that do not keep the process alive: polls run as long as there are watches. */
const idle: ReadonlySet<keyof Operations> = new Set(['changes'])

/** The calls of one engine. */
export class ThreadCalls {
  readonly #options: ThreadCallsOptions
  readonly #deadlines: Deadlines
  /** The calls that have not settled. */
  readonly #open = new Set<PendingCall>()
  readonly #batches = new Batches<PendingCall>({
    widthMax: 1,
    sizeMax,
    isAlone: ({ op }) => op === 'advance',
    carryOut: (calls) => this.#carryOut(calls),
  })
  /** Receives the outcomes of the batch that the thread has. */
  #receive: ((outcomes: Packed) => void) | undefined
  #ended: string | undefined
  #stuck = false

  constructor(options: ThreadCallsOptions) {
    this.#options = options
    this.#deadlines = new Deadlines(options.clock, options.timeoutMs)
  }

  /** Whether the thread has let a deadline pass and has not answered since. */
  get stuck(): boolean {
    return this.#stuck
  }

  /** Carries out an operation in the thread. */
  call<Name extends keyof Operations>(
    op: Name,
    ...args: Parameters<Operations[Name]>
  ): Promise<Answer<Name>> {
    const { inFlight } = this.#options
    return new Promise((resolve, reject) => {
      if (!idle.has(op)) inFlight.begin()
      const call: PendingCall = { op, args, resolve, reject, deadline: undefined, isSent: false }
      this.#open.add(call)
      if (this.#ended !== undefined) return this.#fail(call, 'UNAVAILABLE', this.#ended)
      call.deadline = this.#begin(call)
      this.#batches.add(call)
    })
  }

  /** Receives the outcomes of the batch that the thread has. */
  done(outcomes: Packed): void {
    assert(this.#receive !== undefined, 'the thread answers the batch that it has')
    this.#receive(outcomes)
    this.#receive = undefined
  }

  /** Fails all calls, and rejects further ones: the thread has ended. */
  end(reason: string): void {
    this.#ended = reason
    for (const call of this.#open) this.#fail(call, 'UNKNOWN', reason)
  }

  #begin(call: PendingCall): Timer {
    const { clock, timeoutMs } = this.#options
    const onLate = () => this.#expire(call)
    return call.op === 'advance'
      ? clock.timer(advanceTimeoutMs(timeoutMs), onLate)
      : this.#deadlines.begin(onLate)
  }

  async #carryOut(calls: readonly PendingCall[]): Promise<void> {
    for (const call of calls) call.isSent = true
    const answer = Promise.withResolvers<Packed>()
    this.#receive = answer.resolve
    const operations = calls as readonly unknown[] as readonly Operation[]
    this.#options.send(packOperations(operations))
    const outcomes = unpackOutcomes(operations, await answer.promise)
    this.#stuck = false
    for (const [at, call] of calls.entries()) outcomes[at] = this.#reported(call, outcomes[at]!)
    for (const [at, call] of calls.entries()) {
      const outcome = outcomes[at]!
      if ('code' in outcome) this.#fail(call, outcome.code, outcome.message)
      else if (this.#close(call)) call.resolve(outcome.value as never)
    }
  }

  /** The outcome of a call; of one that has written records, these, which are reported. */
  #reported({ op, args }: PendingCall, outcome: OperationOutcome): OperationOutcome {
    if (op === 'lookUp' && !('code' in outcome)) {
      const lookedUp = unpackLookedUp(args[0] as PackedLookUps, outcome.value as Packed)
      for (const each of lookedUp)
        if (!(each instanceof FahaoError) && each.isNew) this.#options.onWrote(each.record!)
      return { value: lookedUp }
    }
    if (op === 'commit' && !('code' in outcome) && outcome.value !== undefined) {
      const { versions, reservation } = outcome.value as CommittedInThread
      const records = (args[0] as Commit).records.map(({ key, value }, at) => {
        return { key, value, version: versions[at]! }
      })
      for (const record of records) this.#options.onWrote(record)
      return { value: { records, reservation } }
    }
    if (op !== 'write' || 'code' in outcome || outcome.value === undefined) return outcome
    const [key, value] = args as Parameters<Operations['write']>
    const record: RecordState = { key, value, version: outcome.value as bigint }
    this.#options.onWrote(record)
    return { value: record }
  }

  #expire(call: PendingCall): void {
    if (call.isSent) this.#stuck = true
    else this.#batches.remove(call)
    this.#fail(call, 'UNKNOWN', 'the store did not answer in time; look at its disk')
  }

  /** Rejects a call. Only a write that was sent has an unknown outcome. */
  #fail(call: PendingCall, code: FailureCode, message: string): void {
    const mayHaveChanged = call.isSent && isWrite(call)
    const known = code === 'UNKNOWN' && !mayHaveChanged ? 'UNAVAILABLE' : code
    if (this.#close(call)) call.reject(new FahaoError(known, message))
  }

  #close(call: PendingCall): boolean {
    call.deadline?.cancel()
    if (!this.#open.delete(call)) return false
    if (!idle.has(call.op)) this.#options.inFlight.end()
    return true
  }
}
