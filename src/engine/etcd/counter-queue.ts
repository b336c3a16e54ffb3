/** The steps that wait for a counter, and what one transaction makes of them. */
import type { Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { ReleaseRequest, Step } from '../counter-rules.ts'
import type { Committed, Counter, Reservation } from '../engine.ts'
import { type Seen, unseen } from './counter-value.ts'
import type { CallContext } from './members.ts'
import type { Writing } from './records.ts'
import type { Change } from './store.ts'

/** Undefined: the versions that a commit names are not the present ones. */
export type Answer = Reservation | boolean | undefined

/** The records of a commit, which are written in the transaction that moves the counter from this version. */
export type Along = Writing & { readonly version: bigint }

/** A reserve, a release or a commit that waits. */
export type PendingStep = {
  readonly step: (counter: Counter) => Step<Answer>
  /** Such a step is a transaction of its own. */
  readonly along: Along | undefined
  /** The release, if it is one: unless refused, it ends this process's hold of the range. */
  readonly givesBack: ReleaseRequest | undefined
  readonly resolve: (answer: Answer | Committed) => void
  readonly reject: (error: unknown) => void
  readonly deadlineUs: number
  open: boolean
  /** The call of the transaction that contains it. */
  call: CallContext | undefined
  timer: Timer | undefined
}

/** The pending steps of a counter, its cached value, and what this process holds of it. */
export type CounterQueue = {
  readonly name: string
  readonly key: Buffer
  readonly waiting: PendingStep[]
  /** The answer to the newest step. */
  newest: Promise<unknown>
  running: boolean
  seen: Seen
  /** The time at which this process last lost against another one. */
  lostUs: number
  /** The end of what this process holds, and the history in which it was reserved or acquired. */
  held: bigint
  history: bigint
  /** The number of acquisitions. */
  adoptions: number
}

/** A batch of steps, applied to the cached value. */
export type Plan = {
  readonly change: Change
  /** The revision of the key that `change` compares. */
  readonly revision: bigint
  readonly counter: Counter
  readonly answers: readonly (Answer | FahaoError)[]
  readonly open: readonly PendingStep[]
  readonly history: bigint
}

/** Whether a step has changed the counter. */
export function changes(answer: Answer | FahaoError): boolean {
  return answer !== false && answer !== undefined && !(answer instanceof FahaoError)
}

/** The queue of a counter that no step has waited for. */
export function newQueue(name: string, key: Buffer, seen: Seen = unseen): CounterQueue {
  return {
    name,
    key,
    waiting: [],
    newest: Promise.resolve(),
    running: false,
    seen,
    lostUs: Number.NEGATIVE_INFINITY,
    held: 0n,
    history: 0n,
    adoptions: 0,
  }
}
