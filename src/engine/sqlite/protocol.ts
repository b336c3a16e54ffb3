/** The messages between the engine and its worker thread. */
import type { Counter, Repaired, Reservation, ReserveRequest, StoredRecord } from '../engine.ts'
import type { ChangePage } from '../polled-watch.ts'

/** A value for a record, if its version is still `expected`; undefined as the version: if there is no record. */
export type RecordWrite = {
  readonly key: string
  readonly value: string
  readonly expected: bigint | undefined
}

/** One operation of a batch. */
export type Operation =
  /** `claim`: STALE unless it is the one in the store; undefined: this process does not own the store. */
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
  /** A batch of its own. If one of `repaired` is outdated, nothing is changed. */
  | {
      readonly op: 'advance'
      readonly gap: bigint
      readonly repaired: readonly RecordWrite[]
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
  /** Reads the store's revision. */
  | { readonly op: 'revision' }
  /** A page of what was written after a revision by this process or another one. */
  | { readonly op: 'changes'; readonly since: bigint }
  /** Writes the claim of the process that owns the store, if `over` is the present one. */
  | { readonly op: 'own'; readonly claim: string; readonly over: string | undefined }
  /** Reads the present claim. */
  | { readonly op: 'claim' }

const writes: ReadonlySet<Operation['op']> = new Set([
  'reserve',
  'release',
  'advance',
  'write',
  'remove',
  'own',
])

/** Whether the operation may change the store: then its outcome can be unknown. */
export function isWrite(operation: Operation): boolean {
  return writes.has(operation.op)
}

/** The revision of a removal. */
export type Removal = { readonly version: bigint }

/** The number of counters that an advance raised, and the records that it wrote. */
export type Advanced = { readonly raised: number; readonly records: readonly StoredRecord[] }

/** The values of successful operations. */
export type OperationValues = {
  readonly reserve: Reservation
  readonly release: boolean
  readonly transfer: undefined
  readonly acquire: undefined
  readonly counter: Counter
  readonly advance: Advanced | undefined
  readonly read: StoredRecord | undefined
  readonly list: StoredRecord[]
  readonly write: StoredRecord | undefined
  readonly remove: Removal | undefined
  readonly revision: bigint
  readonly changes: ChangePage
  readonly own: boolean
  readonly claim: string | undefined
}

/** The value of some operation. */
export type OperationValue = OperationValues[Operation['op']]

/** The codes of failed operations. */
export type FailureCode = 'STALE' | 'EXHAUSTED' | 'REGRESSED' | 'UNAVAILABLE' | 'UNKNOWN'

/** The outcome of one operation: an error is sent as its code and message. */
export type OperationOutcome =
  | { readonly value: OperationValue }
  | { readonly code: FailureCode; readonly message: string }

/** To the worker: operations for one transaction, and its time; or the end. */
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
      /** The present trouble of the store; undefined: none. */
      readonly trouble: string | undefined
    }

/** The worker's start-up data. */
export type WorkerInput = { readonly file: string; readonly busyTimeoutMs: number }
