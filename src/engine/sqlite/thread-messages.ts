/**
 * The messages between the engine and the thread of its store. A batch of operations is one flat array, and so are its
 * outcomes: copying an object for each operation would cost more than carrying it out.
 */
import { assert } from '../../base/assert.ts'
import type { Commit, Counter, RecordWrite, Repaired, Reservation, StoredRecord } from '../engine.ts'
import type { ChangePage, RecordState } from '../polled-watch.ts'
import type { PackedLookUps } from './packed-look-ups.ts'

/** What a commit has made: the versions of its records, which the engine knows otherwise, and the range. */
export type CommittedInThread = {
  readonly versions: readonly bigint[]
  readonly reservation: Reservation | undefined
}

/** The operations of a store, as the thread carries them out. */
export type Operations = {
  /** Rejects with STALE unless `claim` is the one in the store; undefined: this process does not own the store. */
  reserve(
    counter: string,
    claim: string | undefined,
    size: bigint,
    floor: bigint,
    max: bigint,
    fence: bigint,
    incarnation: bigint,
  ): Reservation
  release(counter: string, version: bigint, from: bigint, fence: bigint, incarnation: bigint): boolean
  transfer(counter: string, from: bigint): void
  acquire(counter: string, end: bigint): void
  counter(name: string): Counter
  /** A batch of its own. Returns the number of raised counters; undefined, and no change, if one of `repaired` is outdated. */
  advance(
    gap: bigint,
    repaired: readonly RecordWrite[],
    counters: Repaired['counters'],
    ifRegressed: boolean,
  ): number | undefined
  read(key: string): StoredRecord | undefined
  list(prefix: string, after: string, limit: number | undefined): StoredRecord[]
  /** Writes or, if `value` is null, removes a record. Returns the new version; undefined if `expected` is not the present one. */
  write(key: string, value: string | null, expected: bigint | undefined): bigint | undefined
  /** Looks up names, and writes and reserves what new ones get. `claim`: as in `reserve`. */
  lookUp(lookUps: PackedLookUps, claim: string | undefined): Packed
  /** See `Engine.commit`. `claim`: as in `reserve`, of a commit that reserves. */
  commit(commit: Commit, claim: string | undefined): CommittedInThread | undefined
  /** Reads the store's revision. */
  revision(): bigint
  /** Reads a page of the records that this process or another one wrote after a revision. */
  changes(since: bigint): ChangePage
  /** Writes the claim of the process that owns the store, if `over` is the present one. Returns whether it did. */
  own(claim: string, over: string | undefined): boolean
  /** Reads the present claim. */
  claim(): string | undefined
}

/** One operation of a batch. */
export type Operation = {
  [Name in keyof Operations]: { readonly op: Name; readonly args: Parameters<Operations[Name]> }
}[keyof Operations]

const writes: ReadonlySet<keyof Operations> = new Set([
  ...(['reserve', 'release', 'advance', 'write', 'commit', 'own'] as const),
])

/** Whether the operation may change the store: then its outcome can be unknown. */
export function isWrite({
  op,
  args,
}: {
  readonly op: keyof Operations
  readonly args: readonly unknown[]
}): boolean {
  return op === 'lookUp' ? (args[0] as PackedLookUps).firsts.length > 0 : writes.has(op)
}

/** The codes of failed operations. */
export type FailureCode = 'STALE' | 'EXHAUSTED' | 'REGRESSED' | 'UNAVAILABLE' | 'UNKNOWN'

/** The outcome of one operation: an error is sent as its code and message. */
export type OperationOutcome =
  | { readonly value: unknown }
  | { readonly code: FailureCode; readonly message: string }

/** The outcomes of a batch, in the order of its operations, and the records that an advance wrote. */
export type BatchOutcome = {
  readonly outcomes: readonly OperationOutcome[]
  readonly repaired: readonly RecordState[]
}

/** Operations, or their outcomes, one after the other; see `packOperations` and `packOutcomes`. */
export type Packed = readonly unknown[]

/** Each operation as its name, the number of its arguments, and these. */
export function packOperations(operations: readonly Operation[]): Packed {
  const packed: unknown[] = []
  for (const { op, args } of operations) packed.push(op, args.length, ...args)
  return packed
}

/** The operations that were packed. */
export function unpackOperations(packed: Packed): Operation[] {
  const operations: Operation[] = []
  for (let at = 0; at < packed.length; ) {
    const from = at + 2
    at = from + (packed[at + 1] as number)
    operations.push({ op: packed[from - 2], args: packed.slice(from, at) } as unknown as Operation)
  }
  return operations
}

/** Marks the outcome of an operation that has not failed. */
const ok = ''

/** Each outcome as the code of its failure and the message, or as `ok` and the value: of a reserve, its three numbers. */
export function packOutcomes(
  operations: readonly Operation[],
  outcomes: readonly OperationOutcome[],
): Packed {
  const packed: unknown[] = []
  for (const [at, outcome] of outcomes.entries()) {
    if ('code' in outcome) packed.push(outcome.code, outcome.message)
    else if (operations[at]!.op === 'reserve') {
      const { start, end, version } = outcome.value as Reservation
      packed.push(ok, start, end, version)
    } else packed.push(ok, outcome.value)
  }
  return packed
}

/** The outcomes of these operations. */
export function unpackOutcomes(operations: readonly Operation[], packed: Packed): OperationOutcome[] {
  let at = 0
  const outcomes = operations.map(({ op }): OperationOutcome => {
    const code = packed[at++] as FailureCode | typeof ok
    if (code !== ok) return { code, message: packed[at++] as string }
    if (op !== 'reserve') return { value: packed[at++] }
    return { value: { start: packed[at++], end: packed[at++], version: packed[at++] } }
  })
  assert(at === packed.length, 'each operation has an outcome')
  return outcomes
}

/** To the thread: operations for one transaction, and its time; or the end. */
export type ThreadRequest =
  | { readonly type: 'batch'; readonly nowUs: number; readonly operations: Packed }
  | { readonly type: 'close' }

/** From the thread, once it has opened the store. */
export type OpenedReply = {
  readonly type: 'opened'
  readonly lastWriteUs: number | undefined
  readonly trouble: string | undefined
  /** What the log should say if the tables were of an earlier version. */
  readonly converted: string | undefined
}

/** From the thread: first `opened`, then one `done` for each batch, in order; and `trouble` that no batch has met. */
export type ThreadReply =
  | OpenedReply
  | { readonly type: 'trouble'; readonly trouble: string | undefined }
  | {
      readonly type: 'done'
      readonly outcomes: Packed
      /** The records that an advance wrote. */
      readonly repaired: readonly RecordState[]
      /** See `Store.advances`. */
      readonly advances: number
      /** The present trouble of the store; undefined: none. */
      readonly trouble: string | undefined
    }

/** The thread's start-up data. */
export type ThreadInput = { readonly file: string; readonly busyTimeoutMs: number }
