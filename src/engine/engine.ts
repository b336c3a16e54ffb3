/**
 * The contract between Fahao and its stores. An engine keeps two kinds of values, counters and records, reports changes
 * of records, and detects the loss of acknowledged writes. `test/conformance/describeEngine.ts` tests every engine
 * against it.
 *
 * Invariants of every engine
 *  1. A counter's bound never falls, except by a release, and then only by a range
 *     that the sender of the last reserve still holds.
 *  2. Two reserves of one counter never return overlapping ranges, whichever process, thread or retry sent them.
 *  3. The effect of a promise that resolves is durable: it survives `kill -9` of every process.
 *  4. A promise that rejects with UNAVAILABLE, STALE, EXHAUSTED, REGRESSED or CONFLICT changed nothing. A commit changes all that
 *     it names, or nothing.
 *  5. The call of a promise that rejects with UNKNOWN is carried out once or not at all, now or a little later. The caller
 *     abandons the range, or reads the record, before it relies on either outcome.
 *  6. Every call settles by its deadline. No engine retries a write whose outcome is unknown.
 *
 * Names of counters and records are 1 to 300 bytes, compared as bytes of their UTF-8, with no case folding and no
 * normalisation. Values take up to 32 KiB. Neither contains NUL or half a surrogate pair.
 */

import type { FahaoError } from '../base/errors.ts'
import type { Parts } from '../base/turns.ts'
import { max63 } from '../ids/limits.ts'
import type { Range } from '../ids/run.ts'

/** The largest bound of a counter: ids are below 2^63. */
export const boundMax = max63 + 1n

/**
 * A range that a reserve opened, and the counter's version that this reserve made. A release names it; or the version that the
 * release of everything above the range has made.
 */
export type Reservation = Range & { readonly version: bigint }

/** The fence and the incarnation under which a process writes. */
export type WriterIdentity = { readonly fence?: bigint; readonly incarnation: bigint }

/** The size of a range to reserve, its limits, and the identity of the writer. */
export type ReserveRequest = {
  /**
   * The number of raw values. 0 opens no range but raises the bound to `floor`, the fence and the incarnation: this seals
   * out an old leader or an old incarnation, and moves a sequence forward.
   */
  readonly size: bigint
  /** The range starts here or above. Default 0. */
  readonly floor?: bigint
  /** The range ends here or below; EXHAUSTED otherwise. Default `boundMax`. */
  readonly max?: bigint
  /**
   * The number of the leadership that reserves. A counter stores the highest fence that it has seen and rejects lower
   * ones with STALE, and requests without a fence once it has seen one.
   */
  readonly fence?: bigint
  /** The generator's incarnation, stored and compared as the fence is. At least 1. */
  readonly incarnation: bigint
}

/** A counter as stored. */
export type Counter = {
  /** No value at or above it has been issued. */
  readonly bound: bigint
  /** The highest fence seen; 0 if none. */
  readonly fence: bigint
  /** The highest incarnation seen; 0 if none. */
  readonly incarnation: bigint
  /** Grows with every reserve and release, never falls; 0 if the counter was never used. */
  readonly version: bigint
}

/** A small versioned value. */
export type StoredRecord = {
  readonly key: string
  readonly value: string
  /**
   * Changes with each write and grows as long as the store exists, across the removal of the record too. Records that were
   * written at once may have the same one.
   */
  readonly version: bigint
}

/** A value for a record, if its version is still `expected`; undefined as the version: if there is no record. */
export type RecordWrite = {
  readonly key: string
  readonly value: string
  readonly expected: bigint | undefined
}

/** The maximum number of records in a commit: etcd limits the operations of a transaction. */
export const commitMax = 60

/** The maximum number of bytes in the values of a commit: MySQL accepts messages of at least 1 MiB, and gets hexadecimal digits. */
export const commitBytesMax = 2 ** 18

/** Writes of records and a reserve that are carried out together or not at all. */
export type Commit = {
  /** At most `commitMax`, each of another key, with at most `commitBytesMax` in their values. */
  readonly records: readonly RecordWrite[]
  /** A reserve, if the counter's version is still this one; 0 of a counter that was never used. */
  readonly counter?:
    | { readonly name: string; readonly request: ReserveRequest; readonly version: bigint }
    | undefined
}

/** What a commit has made. */
export type Committed = {
  /** The records as written, in their order. */
  readonly records: readonly StoredRecord[]
  /** The range, if one was asked for. */
  readonly reservation?: Reservation | undefined
}

/** What a name gets that was never used: its record, and a range of the counter with the record's name. */
export type First = {
  readonly value: string
  /** Undefined: nothing is reserved. */
  readonly reserve?: ReserveRequest | undefined
}

/** One of several look-ups. */
export type LookUp = {
  /** Of the record, and the name of its counter. */
  readonly key: string
  /** Undefined: the name is looked up only. */
  readonly first?: First | undefined
}

/** What a look-up has found, or made. */
export type LookedUp = {
  /** The record as it was found, or as it was written. */
  readonly record: StoredRecord | undefined
  /** The counter as it was found; of a record that was written, its counter before the reserve: unused. */
  readonly counter: Counter
  /** Whether `first` was carried out: the record was written, and the range reserved, if one was asked for. */
  readonly isNew: boolean
  /** The range; undefined: none was asked for, or its reserve has failed after the write, and may be a gap. */
  readonly reservation?: Reservation | undefined
}

/** Which part of a list to read: records after the key `after`, at most `limit`. */
export type Page = { readonly after?: string | undefined; readonly limit?: number | undefined }

/** The counter of a record, as an advance has to leave it. */
export type RepairedCounter = {
  /** The least bound that the counter may have had: it is raised from here, or from its present bound if that is higher. */
  readonly from: bigint
  /** The distance by which it is raised; not less than the gap of the advance. */
  readonly gap: bigint
  /** Reserves of earlier incarnations are rejected from then on. */
  readonly incarnation: bigint
}

/** The changes that a repair makes to records and to their counters. */
export type Repaired = {
  /** The new values of records, by key. A key without a record gets one. */
  readonly records: ReadonlyMap<string, string>
  /** Counters by name, also those that the store lacks. */
  readonly counters: ReadonlyMap<string, RepairedCounter>
}

/**
 * Computes the repair of a store that lost writes from all its records, in parts between which others may run. Pure: it runs
 * again if a record changed meanwhile.
 */
export type Repair = (records: readonly StoredRecord[]) => Parts<Repaired>

/** `ifRegressed`: advance only if the engine finds lost writes. Default: advance in any case. */
export type AdvanceOptions = { readonly ifRegressed?: boolean }

/** A change of a record: its present state, or undefined after its removal. */
export type RecordChange = {
  readonly key: string
  readonly record: StoredRecord | undefined
}

/** What is known of the records that are watched. */
export type WatchOptions = {
  /** They are never removed, so an engine need not keep their keys to notice that. There may be millions. */
  readonly neverRemoved?: boolean
}

/** A running watch. */
export interface Watch {
  /** Stops the watch; no call of the listener starts afterwards. */
  close(): void
}

/** Which process serves strict kinds on this engine without a cluster. */
export type StoreOwnership =
  /** This process owns the store or is its only user, until it ends or until `owns` returns false. */
  | { readonly state: 'owner' }
  /** Another process owns the store: `holder` describes that process, as far as known. */
  | { readonly state: 'other'; readonly holder: string }
  /** The engine is shared and has no owner: strict kinds need group commit or a cluster. */
  | { readonly state: 'shared' }

/** The engine's condition, for health checks and metrics. */
export type EngineStatus = {
  readonly state: 'up' | 'down'
  /** The last failure in one line, when down. */
  readonly reason?: string
}

/** The first primitive: numbers that move up. */
export interface CounterStore {
  /**
   * Moves a counter's bound up durably, in one step, and returns the range that this opens:
   * `start = max(bound, floor)`, `bound = end = start + size`. An unused counter starts at bound 0. The version grows by
   * one: between two reservations with consecutive versions no other write changed the counter. A reserve of size 0
   * returns no range to hold, so a bound that is below it later is no sign of lost writes.
   *
   * Rejects with STALE (the counter has seen a newer fence or incarnation), EXHAUSTED (`end` would pass `max`), REGRESSED
   * (the engine has found lost writes: only `advance` writes then, records included), UNAVAILABLE, UNKNOWN.
   *
   * Unknown outcome: the range is a gap. Never ask for its outcome; reserve another range.
   */
  reserve(counter: string, request: ReserveRequest): Promise<Reservation>

  /**
   * Gives back `[from, reservation.end)`, no value of which has been or will be issued: sets `bound = from` if the
   * counter's version is still the reservation's, so that no reserve came after it, and neither the fence nor the
   * incarnation is stale. Resolves to whether the bound went down. `reservation` is the caller's newest of this counter.
   * Like a reserve, a release makes the version grow by one: once all above an older reservation has gone back, that one can go
   * back with the version of the last of these releases, if no other write lies between.
   *
   * `from` may lie below the reservation's start if the caller holds everything in between and no other process changed
   * the counter since the range that contains `from` was reserved: adjoining ranges of several reserves with consecutive
   * versions are given back in one step. Adjoining ranges alone do not suffice: another process may have raised the floor
   * in between to any value below the start, which the bound does not show and this release would undo.
   *
   * Comparing the bound instead of the version would have an ABA problem: two reserves and a release can bring the same
   * bound back. The caller gives up the range before this call and whatever its outcome. It is sent once, never retried,
   * and never while a reserve of the same holder is in flight. Another holder in this process, such as the next leader,
   * may reserve from the same counter at the same time, and the version decides: if that reserve is carried out first,
   * this resolves to false; if this release is, the reserve begins at `from` or at its own floor. Neither is REGRESSED.
   *
   * Unknown outcome: nothing to do, since the caller has given up the range already.
   */
  release(counter: string, reservation: Reservation, from: bigint, writer: WriterIdentity): Promise<boolean>

  /**
   * Reads a counter as the last acknowledged write left it (linearizable); all zero if it was never used.
   *
   * Unknown outcome: none; a read that fails rejects with UNAVAILABLE.
   */
  counter(name: string): Promise<Counter>
}

/** The second primitive: small values that change only under a version; and a watch over them. */
export interface RecordStore {
  /** Reads a record as the last acknowledged write left it (linearizable). Fails with UNAVAILABLE. */
  read(key: string): Promise<StoredRecord | undefined>

  /**
   * Reads the records whose key starts with `prefix`, in byte order of their keys. A list may span several reads, with
   * writes in between; each record in it existed during the call. Fails with UNAVAILABLE.
   */
  list(prefix: string, page?: Page): Promise<StoredRecord[]>

  /**
   * Writes a record if its version is still `expected` (undefined: if there is none). Resolves to the record as
   * written, or to undefined if another write came first and nothing was changed.
   *
   * Unknown outcome: `read` the record. Its value tells whose write it was, so include one that only this caller writes.
   */
  write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined>

  /**
   * Removes a record if its version is still `expected`. Resolves to whether it did.
   *
   * Unknown outcome: `read` the record; the same version means that the removal may still happen.
   */
  remove(key: string, expected: bigint): Promise<boolean>

  /**
   * Reports every change of records under `prefix` that is made after the promise has resolved: pushed if the engine can,
   * polled otherwise, and backed by lists if events can be lost, one a minute, or slower where records are many. Changes of one
   * key are reported in order; several may be reported as the last of them; one may be reported twice. The listener never misses
   * the final state, runs in a turn of its own, and must not throw. Fails with UNAVAILABLE.
   */
  watch(prefix: string, listener: (change: RecordChange) => void, options?: WatchOptions): Promise<Watch>
}

/** Both primitives at once. */
export interface NameStore {
  /**
   * Writes records and reserves from a counter in one durable step, if the version of each is the expected one. Resolves to what
   * it made, or to undefined if another write came first and nothing was changed: the caller reads again and decides anew.
   * With a reserve of size 0 the records change only under the counter's fence and incarnation, so an old leader writes none.
   *
   * Rejects as `reserve` does. Where a version differs and the counter also refuses, either is the outcome.
   *
   * Unknown outcome: `read` one of the records, whose value tells whose write it was, and with it the outcome of all; a commit
   * without records leaves a gap, as `reserve` does. The call may still be carried out after a read that does not show it,
   * until another write has changed one of the versions.
   */
  commit(commit: Commit): Promise<Committed | undefined>

  /**
   * Looks up many names: the record of each, and the counter of the same name, as the last acknowledged writes left them.
   * If a name has no record, its counter was never used, and it comes with `first`, the record is written and the range
   * reserved: in one step where the store can, otherwise the record first. So no counter is used that has no record.
   * Names are alone in their fates: another name may have failed. Each is once among those of a call.
   *
   * Resolves to the outcomes, in their order: an error is one of `read`, `counter`, `write` and `reserve`. A rejection is the
   * outcome of all. None of them rejects because another process was faster: that one's record is found then.
   *
   * Unknown outcome: of a look-up with `first` only. The record is read before it is used, and the range is a gap.
   */
  lookUp(lookUps: readonly LookUp[]): Promise<readonly (LookedUp | FahaoError)[]>
}

/**
 * The ranges that this process holds below each counter's bound. A bound below the end of a held range means that the
 * store has lost writes (REGRESSED). A reserve adds to what this process holds and a release removes from it; these members
 * do so without either.
 */
export interface RangeOwnership {
  /**
   * Ends this process's ownership of its reserved range from `from` on without a release: another process continues
   * with the range and may release it. A bound that falls to `from` is no sign of lost writes then. Local: no outcome.
   */
  transfer(counter: string, from: bigint): void

  /**
   * Begins this process's ownership of a range that another process has transferred, up to `end`, as if this process
   * had reserved it: a bound below `end` is a sign of lost writes. Local: no outcome.
   */
  acquire(counter: string, end: bigint): void

  /**
   * Raises the bound of every counter by `gap`, durably, at most to `boundMax`, and accepts the engine's present state:
   * the way out of REGRESSED. No bound stays below the end of what this process holds plus the gap. If the state lacks
   * earlier advances that this process knows of, the gap counts once more for each of them; not on SQLite, whose
   * histories have no order. No earlier reservation can be released afterwards, and versions continue above all that
   * the lost writes may have used. Resolves to the number of counters raised.
   *
   * `repair` receives all records and returns, for the same step, the records to change or add: records which, like
   * bounds, promise something that may be lost. It also returns where their counters have to stand. The first reserve of
   * a counter may be lost while its generator's record is not: such a counter is created. A counter that neither the store
   * nor `repair` names begins at 0. Rejects with CONFLICT if other processes keep changing the records.
   *
   * Takes longer than other calls if there are many counters: its deadline is `advanceTimeoutMs` (advance-rules.ts).
   *
   * With `ifRegressed`, it changes nothing and resolves to 0 unless the engine finds lost writes in this very step: of
   * many nodes that advance at once for the same reason, one raises. It rejects with REGRESSED, and changes nothing, if
   * the state precedes the latest advance: all reserves since are lost, and only an operator knows how many.
   *
   * Unknown outcome: advance again. A second advance leaves a larger gap and is otherwise harmless.
   */
  advance(gap: bigint, repair?: Repair, options?: AdvanceOptions): Promise<number>

  /**
   * The number of advances that this process has accepted, its own among them. It grows before `onAdvanced` is called,
   * and before a reserve or a commit resolves that was carried out after an advance. A record that was read before it
   * grew may be among the lost writes: read it again before issuing ids by it.
   */
  readonly advances: number
}

/** An open engine. Keep one per process and engine URL. */
export interface Engine extends CounterStore, RecordStore, NameStore, RangeOwnership {
  /** The name of its kind: `sqlite`, `memory`, … */
  readonly name: string

  /** The store's URL without the password. */
  readonly location: string

  /**
   * The time of the newest write known at opening, in µs since 1970 by the writer's clock; undefined if not stored. A
   * timeline starts from it if the wall clock is absurdly far beyond.
   */
  readonly lastWriteUs: number | undefined

  /**
   * Within this many ms after the acknowledgement of a record's change, the watches of every process that reaches the
   * engine have reported it; 0 if there is no other process. A process that is cut off or paused reports it later.
   */
  readonly watchDelayMs: number

  /**
   * Returns which process may serve strict kinds. If another process owned the store, this call tries to take the
   * ownership over, which succeeds once that process has ended.
   */
  ownership(): Promise<StoreOwnership>

  /**
   * Present only if an ownership can end while its process runs. Returns whether this process is the owner now, without
   * asking the store: call it in every callback that brings requests, before it issues strict kinds. Once it has returned
   * false, `onOwnershipLost` has been called. Never waits.
   */
  readonly owns?: () => boolean

  /** Returns the condition as of the last call, without a call to the store. */
  status(): EngineStatus

  /** Completes the calls in flight and releases every resource, the owner lock last. */
  close(): Promise<void>
}
