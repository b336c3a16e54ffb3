/**
 * The contract between Fahao and whatever remembers for it: counters, records, and a watch over records.
 * This file is its manual; `test/conformance/describeEngine.ts` is its test, and every engine passes it.
 *
 * What every engine keeps
 *  1. A counter's bound never falls, except by a release, and then only by what the sender of the last reserve
 *     still holds below it.
 *  2. Two reserves of one counter never return overlapping ranges, whatever process, thread or retry sent them.
 *  3. A promise that resolves speaks of something durable: it survives `kill -9` of everything.
 *  4. A promise that rejects with UNAVAILABLE, STALE, EXHAUSTED, REGRESSED or CONFLICT changed nothing.
 *  5. A promise that rejects with UNKNOWN may have been carried out, once at most, now or a little later. The
 *     caller abandons the range, or reads the record, before building anything on it.
 *  6. Every call settles: each has a deadline. No engine retries a write whose outcome it does not know.
 *
 * Names of counters and records, 1 to 300 bytes, are compared as bytes of their UTF-8, with no case folding and
 * no normalisation. Values take up to 32 KiB. Neither holds NUL or half a surrogate pair.
 */

import type { Clock } from '../base/clock.ts'
import type { LogEvent } from '../base/events.ts'
import { max63 } from '../ids/limits.ts'

/** The largest bound of a counter: ids are below 2^63. */
export const boundMax = max63 + 1n

/** A half-open run of raw values `[start, end)`. */
export type Range = {
  readonly start: bigint
  readonly end: bigint
}

/** A range that a reserve opened, with what is needed to give it back. */
export type Reservation = Range & {
  /** The counter's version that this reserve made. */
  readonly version: bigint
}

/** What to reserve, and in whose name. */
export type ReserveRequest = {
  /**
   * How many raw values. 0 opens nothing but still raises the bound to `floor`, and the fence and the
   * incarnation to the given ones: this is how an old leader or incarnation is sealed out, and how a
   * sequence is moved forward.
   */
  readonly size: bigint
  /** The range starts here or above. Default 0. */
  readonly floor?: bigint
  /** The range ends here or below; EXHAUSTED otherwise. Default `boundMax`. */
  readonly max?: bigint
  /**
   * The number of the leadership in whose name this is done. A counter keeps the highest it has seen and
   * refuses lower ones, and refuses a request without one once it has seen one: STALE.
   */
  readonly fence?: bigint
  /** Which life of the generator this belongs to; kept and compared as the fence is. At least 1. */
  readonly incarnation: bigint
}

/** The fence and the incarnation under which a process writes. */
export type WriterIdentity = { readonly fence?: bigint; readonly incarnation: bigint }

/** A counter as stored. */
export type Counter = {
  /** Nothing at or above it has been issued. */
  readonly bound: bigint
  /** Highest fence seen; 0 when none. */
  readonly fence: bigint
  /** Highest incarnation seen; 0 when none. */
  readonly incarnation: bigint
  /** Grows with every reserve and release, never falls; 0 when the counter has never been used. */
  readonly version: bigint
  /** Of a row of another system's table (see `legacyTable`): when it last changed, in Unix µs, where the table tells. */
  readonly updatedUs?: number
}

/** A small versioned value. */
export type StoredRecord = {
  readonly key: string
  readonly value: string
  /** Differs after each write, grows over the life of the key, and across its removal. */
  readonly version: bigint
}

/** Where the counter that a record stands for has to stand after an advance. */
export type RepairedCounter = {
  /** The least bound that it may have had: it is raised from here, or from where it stands if that is higher. */
  readonly from: bigint
  /** By how much; not less than the gap of the advance. */
  readonly gap: bigint
  /** Reserves of earlier incarnations are refused from then on. */
  readonly incarnation: bigint
}

/** What an advance makes of records, and of the counters that they stand for. */
export type Repaired = {
  /** The new values of records, by their keys. A key without a record gets one. */
  readonly records: ReadonlyMap<string, string>
  /** Counters by their names, also those that the store does not have. */
  readonly counters: ReadonlyMap<string, RepairedCounter>
}

/**
 * What becomes of all records of a store that has forgotten, and of the counters that they stand for. Pure: it is asked
 * again when a record has changed meanwhile.
 */
export type Repair = (records: readonly StoredRecord[]) => Repaired

/** When to advance; default: whatever the engine's state. */
export type AdvanceOptions = { readonly ifRegressed?: boolean }

/** What a watch tells: the record as it is now, or that it is gone. */
export type RecordChange = {
  readonly key: string
  readonly record: StoredRecord | undefined
}

/** Which part of a list to read: records after the key `after`, at most `limit`. */
export type Page = { readonly after?: string | undefined; readonly limit?: number | undefined }

/** A running watch. */
export interface Watch {
  /** Stops it; no call of the listener starts afterwards. */
  close(): void
}

/** Who serves strict kinds on this engine without a cluster. */
export type Ownership =
  /** This process alone uses the store, or owns it: for as long as it lives, or where it can end, as `owns` says. */
  | { readonly state: 'owner' }
  /** Another process holds it. `holder` says who, as far as known. */
  | { readonly state: 'other'; readonly holder: string }
  /** The engine is shared and has no owner: strict kinds need group commit or a cluster. */
  | { readonly state: 'shared' }

/**
 * Under which key an engine on another system's table shows a row of it: `legacy/NAME`. The value is JSON, the
 * options of the generator that the row stands for; its counter is `generators/NAME`. Such records change only with
 * the table: a write of one rejects with ERR.
 */
export const legacyPrefix = 'legacy/'

/** How the engine does, for health checks and metrics. */
export type EngineStatus = {
  readonly state: 'up' | 'down'
  /** Why, when down: the last failure in one line. */
  readonly reason?: string
}

/** An open engine. Keep one per process and engine URL. */
export interface Engine {
  /** What people call it: `sqlite`, `memory`, … */
  readonly name: string

  /** What is safe to show of its URL: no password. */
  readonly location: string

  /**
   * The table of another system that this engine works on beside that system; undefined: none. Rows of it are
   * generators that exist already, listed under `legacyPrefix`; their counters are the rows, which know neither
   * fence nor incarnation, and are never released.
   */
  readonly legacyTable?: string

  /**
   * When the newest write known at opening was made, in µs since 1970 by the writer's clock; undefined when
   * nobody remembers. A timeline starts from it when the wall clock is absurdly far beyond.
   */
  readonly lastWriteUs: number | undefined

  /**
   * Within this many ms after a change of a record was acknowledged, the watches of every process that reaches the
   * engine have told of it; 0 where no other process is there. A process that is cut off, or stands still, hears later.
   */
  readonly newsMs: number

  /**
   * How many advances of the engine this process has accepted, its own among them. Grows before `onAdvanced` is told, and
   * before a reserve resolves that was sent after an advance. A record that was read before it grew may be among what was
   * forgotten: it is read anew before ids are issued by it.
   */
  readonly advances: number

  /**
   * Moves a counter's bound up durably, in one step, and returns the range that this opens:
   * `start = max(bound, floor)`, `bound = end = start + size`. An unknown counter starts at bound 0.
   * The version grows by one: two reservations whose versions follow one another had nobody in between. Size 0 gives
   * nothing to hold: a bound that is below it later is no sign of an engine that has forgotten.
   *
   * Rejects with STALE (a newer fence or incarnation has been seen), EXHAUSTED (`end` would pass `max`),
   * REGRESSED (the engine has been found to have forgotten writes: nothing but `advance` writes then, records
   * included), UNAVAILABLE, UNKNOWN.
   * After UNKNOWN the range is a gap: never ask what became of it, reserve another.
   */
  reserve(counter: string, request: ReserveRequest): Promise<Reservation>

  /**
   * Gives back `[from, reservation.end)`, of which nothing has been and nothing will be issued:
   * `bound = from`, if the counter's version is still the reservation's (so that nobody has reserved since)
   * and the fence and the incarnation are not stale. Resolves to whether the bound went down.
   * `reservation` is the caller's newest of this counter; `from` may lie below its start, where the caller
   * holds everything in between, and nobody else has changed the counter since the range in which `from` lies was
   * opened: ranges of several reserves that adjoin, and whose versions follow one another, are given back in one step.
   * A range that adjoins is not enough: somebody may have raised the floor in between to anywhere below its start,
   * which the bound does not show and this would undo.
   *
   * Comparing the bound instead would have an ABA: two reserves and a release can bring the same bound back.
   * Whatever the outcome, and before this is called, the range has left the caller's hands. Sent once, never
   * retried, never while a reserve of the same holder is under way. Another holder in this process, the next leader
   * for one, may reserve from the same counter at the same time, and the version decides: if that reserve is carried
   * out first, this resolves to false; if this is, the reserve begins at `from` or its own floor. Neither is REGRESSED.
   */
  release(counter: string, reservation: Reservation, from: bigint, writer: WriterIdentity): Promise<boolean>

  /**
   * What this process has reserved of a counter from `from` on leaves its hands without being released: another process
   * goes on with it, and may give it back. A bound that falls to `from` is no sign of an engine that has forgotten then.
   */
  transfer(counter: string, from: bigint): void

  /**
   * What another process has left, up to `end`, is in this process's hands now, as if it had reserved it: a bound below
   * `end` is a sign of an engine that has forgotten.
   */
  acquire(counter: string, end: bigint): void

  /** A counter as the last acknowledged write left it (linearizable); all zero when it was never used. */
  counter(name: string): Promise<Counter>

  /**
   * Raises the bound of every counter by `gap`, durably, at most to `boundMax`, and accepts the engine's present
   * state as the truth: the way out of REGRESSED. No bound is left below what this process holds, and the gap.
   * Where the state is of before earlier advances that this process knows of, the gap counts once more for each of them;
   * not on SQLite, whose histories have no order.
   * Reservations made before can no longer be released, and versions go on above all that may have been given out
   * in what was forgotten. Resolves to how many counters were raised.
   *
   * `mend` sees all records, and says in the same step which of them change and which are added, for records which, like bounds, promise
   * something that may have been forgotten; and where the counters that they stand for have to stand. The first
   * reserve of a counter may have been forgotten and the record of its generator not: such a counter is made. Of a
   * counter that neither the store nor `mend` knows nothing can be said: it begins at 0. Rejects with CONFLICT when
   * others keep changing the records.
   *
   * Takes longer than other calls where there are many counters: its deadline is `advanceTimeoutMs` (advance.ts).
   *
   * With `ifRegressed`, changes nothing and resolves to 0 unless the engine is found to have forgotten writes in this
   * very step: of many nodes that advance at once for the same reason, one raises. Rejects with REGRESSED, and changes
   * nothing, where the state is found to be from before the latest advance: all that was reserved since is lost, and
   * only an operator knows how much that is.
   */
  advance(gap: bigint, mend?: Repair, options?: AdvanceOptions): Promise<number>

  /** A record as the last acknowledged write left it (linearizable), or undefined. */
  read(key: string): Promise<StoredRecord | undefined>

  /**
   * All records whose key starts with `prefix`, in byte order of their keys, from `after` (exclusive), at most
   * `limit`. Pages may straddle writes; each record on them is one that was there.
   */
  list(prefix: string, page?: Page): Promise<StoredRecord[]>

  /**
   * Writes a record if its version is still `expected` (undefined: if there is none). Resolves to the record
   * as written, or to undefined if somebody else was faster: nothing was changed then.
   * After UNKNOWN, `read` it: the value tells whose write it was (give it something of your own to know it by).
   */
  write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined>

  /** Removes a record if its version is still `expected`. Resolves to whether it did. */
  remove(key: string, expected: bigint): Promise<boolean>

  /**
   * Tells of every change of records under `prefix` made after the promise has resolved: pushed where the
   * engine can, polled elsewhere, and backed by a full list every minute where events can be lost. Changes of
   * one key come in order; several may be told as the last of them; one may be told twice. A listener never
   * misses the final state, is called in a turn of its own, and must not throw.
   */
  watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch>

  /**
   * Who may serve strict kinds. When another process owned the store, asking tries to take its place, which
   * succeeds once that process is gone.
   */
  ownership(): Promise<Ownership>

  /**
   * Only where an ownership can end while its process lives. Whether this process is the owner at this moment, without
   * asking the store: to be asked in every callback that brings requests, before it issues strict kinds. When it is
   * false, `onDisowned` has been called. Never waits.
   */
  readonly owns?: () => boolean

  /** How it does now, without asking it. */
  status(): EngineStatus

  /** Finishes what is under way and lets go of everything, the owner lock last. */
  close(): Promise<void>
}

/** What an engine takes from its process. */
export type EngineOptions = {
  /** For deadlines and polling. */
  readonly clock: Clock
  /** Deadline of one call. */
  readonly callTimeoutMs: number
  /** Told of what people should know: a failed write, a recovery, a store that went back. */
  readonly onEvent: (event: LogEvent) => void
  /**
   * Told when the engine has been found to have forgotten writes, before the first call rejects with REGRESSED, and
   * again while it stays so and is asked. Whoever can `advance` by itself does.
   */
  readonly onRegressed?: (reason: string) => void
  /**
   * Told when the engine has been found to have been advanced by another process, and this one has accepted that: what
   * it knows of records, and holds by them, may have been forgotten without its having noticed. May be told once too
   * often, also of an advance of its own.
   */
  readonly onAdvanced?: () => void
  /** Told when this process owns the store no longer: nothing of a strict kind may be issued once this has returned. */
  readonly onDisowned?: () => void
  /**
   * Opens servers whose settings may lose acknowledged writes in a crash, and files on a network file system; default:
   * ENGINE, with what to do.
   */
  readonly unsafe?: boolean
  /** What to do where there is no store yet: not make one (ENGINE), or say so in a log. Default: info. */
  readonly newStore?: 'refuse' | 'warn' | 'info'
}
