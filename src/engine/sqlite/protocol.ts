/** What travels between the engine and its worker thread. */
import type { Counter, Repaired, Reservation, ReserveRequest, StoredRecord } from '../engine.ts'
import type { ChangePage } from '../polled-watch.ts'

/** A value for a record, if its version is still `expected`; undefined: if there is none. */
export type RecordWrite = {
  readonly key: string
  readonly value: string
  readonly expected: bigint | undefined
}

/** One operation of a batch. */
export type Operation =
  /** `claim`: refused as STALE unless it is the one in the store; undefined: this process does not own it. */
  | {
      readonly op: 'reserve'
      readonly counter: string
      readonly request: ReserveRequest
      readonly claim?: string | undefined
    }
  | {
      readonly op: 'release'
      readonly counter: string
      readonly version: bigint
      readonly from: bigint
      readonly fence: bigint
      readonly incarnation: bigint
    }
  | { readonly op: 'transfer'; readonly counter: string; readonly from: bigint }
  | { readonly op: 'acquire'; readonly counter: string; readonly end: bigint }
  | { readonly op: 'counter'; readonly counter: string }
  /** A batch of its own. One of `mended` that is outdated forbids it all. */
  | {
      readonly op: 'advance'
      readonly gap: bigint
      readonly mended: readonly RecordWrite[]
      readonly counters: Repaired['counters']
      readonly ifRegressed: boolean
    }
  | { readonly op: 'read'; readonly key: string }
  | {
      readonly op: 'list'
      readonly prefix: string
      readonly after: string
      readonly limit: number | undefined
    }
  | ({ readonly op: 'write' } & RecordWrite)
  | { readonly op: 'remove'; readonly key: string; readonly expected: bigint }
  /** The revision that the store has reached. */
  | { readonly op: 'revision' }
  /** A page of what was written after a revision by this process or another one. */
  | { readonly op: 'changes'; readonly since: bigint }
  /** Writes the claim of the process that owns the store, if `over` is the one that stands there. */
  | { readonly op: 'own'; readonly claim: string; readonly over: string | undefined }
  /** The claim that stands there. */
  | { readonly op: 'claim' }

const writes: ReadonlySet<Operation['op']> = new Set([
  'reserve',
  'release',
  'advance',
  'write',
  'remove',
  'own',
])

/** Whether it may change something: then its outcome can be unknown. */
export function isWrite(operation: Operation): boolean {
  return writes.has(operation.op)
}

/** A removal that took place: its revision. */
export type Removal = { readonly version: bigint }

/** An advance that took place: how many counters it raised, and the records as it left them. */
export type Advanced = { readonly raised: number; readonly records: readonly StoredRecord[] }

/** What an operation that worked resolves to. */
export type OperationValue =
  | Reservation
  | Counter
  | ChangePage
  | bigint
  | Removal
  | Advanced
  | StoredRecord
  | readonly StoredRecord[]
  | boolean
  | number
  | string
  | undefined

/** How an operation fails. */
export type FailureCode = 'STALE' | 'EXHAUSTED' | 'REGRESSED' | 'UNAVAILABLE' | 'UNKNOWN'

/** What became of one operation: a registered error travels as its code and message. */
export type OperationOutcome =
  | { readonly value: OperationValue }
  | { readonly code: FailureCode; readonly message: string }

/** To the worker: operations to carry out in one transaction, and the time to stamp on it; or the end. */
export type WorkerRequest =
  | { readonly type: 'batch'; readonly nowUs: number; readonly operations: readonly Operation[] }
  | { readonly type: 'close' }

/** From the worker: first `opened` or `refused`, then one `done` for each batch, in order. */
export type WorkerReply =
  | {
      readonly type: 'opened'
      readonly lastWriteUs: number | undefined
      readonly trouble: string | undefined
    }
  | { readonly type: 'refused'; readonly message: string }
  | {
      readonly type: 'done'
      readonly outcomes: readonly OperationOutcome[]
      /** See `Store.advances`. */
      readonly advances: number
      /** Why the store does not serve as it should now, if it does not. */
      readonly trouble: string | undefined
    }

/** What the worker is started with. */
export type WorkerInput = { readonly file: string; readonly busyTimeoutMs: number }
