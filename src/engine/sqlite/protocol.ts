/** What travels between the engine and its worker thread. */
import type { Counter, Reservation, ReserveRequest, StoredRecord } from '../engine.ts'

/** One operation of a batch. */
export type Operation =
  | { readonly op: 'reserve'; readonly counter: string; readonly request: ReserveRequest }
  | {
      readonly op: 'release'
      readonly counter: string
      readonly version: bigint
      readonly from: bigint
      readonly fence: bigint
      readonly incarnation: bigint
    }
  | { readonly op: 'counter'; readonly counter: string }
  | { readonly op: 'advance'; readonly gap: bigint }
  | { readonly op: 'read'; readonly key: string }
  | { readonly op: 'list'; readonly prefix: string; readonly after: string; readonly limit: number }
  | {
      readonly op: 'write'
      readonly key: string
      readonly value: string
      readonly expected: bigint | undefined
    }
  | { readonly op: 'remove'; readonly key: string; readonly expected: bigint }
  | { readonly op: 'changes'; readonly since: bigint }
  | { readonly op: 'own' }

/** Operations that change something: their outcome can be unknown. */
export function isWrite(operation: Operation): boolean {
  return ['reserve', 'release', 'advance', 'write', 'remove'].includes(operation.op)
}

/** Every record written or removed after a revision. */
export type Changes = {
  readonly revision: bigint
  readonly changes: readonly { readonly key: string; readonly record: StoredRecord | undefined }[]
}

/** What an operation that worked resolves to. */
export type Value =
  | Reservation
  | Counter
  | Changes
  | StoredRecord
  | StoredRecord[]
  | boolean
  | number
  | string
  | undefined

/** What became of one operation: a registered error travels as its code and message. */
export type Outcome = { readonly value: Value } | { readonly code: FailureCode; readonly message: string }

/** How an operation can fail. */
export type FailureCode = 'STALE' | 'EXHAUSTED' | 'REGRESSED' | 'UNAVAILABLE' | 'UNKNOWN'

/** To the worker: a batch, carried out in one transaction. */
export type Batch = { readonly id: number; readonly operations: readonly Operation[] }

/** From the worker. */
export type Message =
  | {
      readonly type: 'opened'
      readonly lastWriteUs: number | undefined
      readonly trouble: string | undefined
    }
  | { readonly type: 'refused'; readonly message: string }
  | {
      readonly type: 'done'
      readonly id: number
      readonly outcomes: readonly Outcome[]
      /** Why the store does not work as it should now, if it does not. */
      readonly trouble: string | undefined
    }

/** What the worker is started with. */
export type WorkerInput = {
  readonly file: string
  readonly busyTimeoutMs: number
}
