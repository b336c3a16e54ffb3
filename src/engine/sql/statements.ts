/**
 * The statements that all dialects share, and the tables. `last` is bound − 1, the largest value that can have
 * been issued: a bound of 2^63 does not fit a signed integer of 64 bits. A removed record stays as a row without a
 * value. `fahao_about` has one row: see history.ts. It is the first of them by name, since dumps are restored table by
 * table in this order: a reserve during the restore meets the old state before it meets old bounds.
 *
 * Each write checks in its own statement that the history is sound: after an earlier check, a dump could be restored or
 * an advance carried out before the write.
 */
import { least, named } from '../advance-rules.ts'
import { boundMax, type RecordWrite, type Repaired, type StoredRecord } from '../engine.ts'
import {
  type CounterUpdate,
  type ReleaseArguments,
  type ReserveArguments,
  releasing,
  reserving,
} from './counter-updates.ts'
import type { Row, SqlCommand } from './driver.ts'
import { historyJump, type Known, type StorePosition } from './history.ts'

/** The version of the tables. A newer Fahao may have created tables with a higher one. */
export const schemaVersion = 2
/** Ends a conversion of the tables. Fails where they still have their earlier columns. */
export const versionConverted = `UPDATE fahao_about SET schema_version = ${schemaVersion}, history = history WHERE one = 1`

/** Returns the text that stands for a value in a statement: a literal or a parameter. */
export type PutValue = (value: bigint | string) => string

/** A write, or a removal if the value is undefined. */
export type RecordRevision = {
  readonly key: string
  readonly value: string | undefined
  readonly expected: bigint | undefined
}

/** Several writes of records, each of another one. */
export type RecordArguments = {
  readonly writes: readonly RecordRevision[]
  readonly known: Known
  readonly nowUs: number
}

/** What names get that were never used. */
export type FirstRow = {
  /** Of the record. */
  readonly value: string
  /** Of the counter, with its fence and incarnation. Undefined: nothing is reserved. */
  readonly last: bigint | undefined
  readonly fence: bigint
  readonly incarnation: bigint
}

/** Look-ups of several names, each of another one. */
export type LookUpArguments = {
  /** `place` is that of what a name gets, from 1. */
  readonly names: readonly { readonly name: string; readonly place: bigint }[]
  readonly firsts: readonly FirstRow[]
  readonly known: Known
  readonly nowUs: number
}

/** See `Engine.commit`. */
export type CommitArguments = {
  readonly records: readonly RecordWrite[]
  readonly counter: { readonly request: ReserveArguments; readonly version: bigint } | undefined
  readonly known: Known
  readonly nowUs: number
}

/** See `Engine.advance`. */
export type AdvanceArguments = {
  readonly gap: bigint
  readonly known: Known
  readonly ifRegressed: boolean
  /** The position at which `repaired` was computed. */
  readonly at: StorePosition
  /** The id of the new history. */
  readonly history: string
  readonly nowUs: number
  /** Counters that are raised further than by the gap, or have to be added. */
  readonly raises: readonly Raise[]
  /** The repaired records. */
  readonly repaired: readonly StoredRecord[]
}

/** The raise of one counter before all are raised by the gap: `last` becomes at least `last` + `extra`. */
export type Raise = {
  readonly counter: string
  readonly extra: bigint
  /** `last` becomes at least this, also if the counter was absent. */
  readonly last: bigint
  readonly incarnation: bigint
}

/** The counters to raise further than by the gap, or to add, because of repaired records or held ranges. */
export function raisesOf(
  gap: bigint,
  repaired: Repaired['counters'],
  held: ReadonlyMap<string, bigint>,
): Raise[] {
  return named(repaired, held).map((counter) => {
    const of = repaired.get(counter)
    const extra = smaller((of?.gap ?? gap) - gap, boundMax - 1n)
    const last = smaller(least(of, held.get(counter)) - 1n + extra, boundMax - 1n)
    return { counter, extra, last, incarnation: of?.incarnation ?? 0n }
  })
}

/** What differs between kinds of databases. */
export interface Dialect {
  /** The engine's name. */
  readonly name: string
  /**
   * Carries out several reserves or releases. Each that was carried out has a row: `name`, `done_last` and `done_version`, the
   * first of them also the state. A counter without a row was not changed, for whatever reason. Undefined: every call is sent alone.
   */
  readonly updateAll?: ((update: CounterUpdate) => SqlCommand) | undefined
  /**
   * Looks names up, and creates those without a record, and without a row of their counter. Each name of which there was something
   * has a row: `name`, the record's `value` and `record_version`, and the counter; each that was created has one with
   * `done_version`, that of its record, and `begun`, which is null if its range was not reserved. The first row has the state's
   * `done_…`. Undefined: names are looked up in several steps.
   */
  readonly lookUp?: ((lookUps: LookUpArguments) => SqlCommand) | undefined
  /** Reads the settings that durability depends on, in one row. */
  readonly conditions: SqlCommand
  /** The settings that may lose acknowledged writes, each with its remedy. */
  readonly unsafeSettings: (row: Row) => string[]
  /** One sentence about changes of the server that this engine cannot detect; undefined if it detects all. */
  readonly unnoticed?: string
  /** Why the database cannot be used at all, with the remedy. */
  readonly whyUnusable: (row: Row) => string | undefined
  /** Creates missing tables and the state row; not the state row if there are counters or records: a half restored dump. */
  create(history: string): SqlCommand
  /**
   * Converts the tables of an earlier version, in this order. Several nodes may do so at once, and one may end in between: the
   * last command names what the others have made.
   */
  readonly conversion: readonly SqlCommand[]
  /** The command of a statement that all dialects share. */
  command(write: (s: Statements) => string): SqlCommand
  /** Returns one row: the state, and its `done_…` (null: the history is not sound, so the pulse was not raised). */
  pulse(known: Known, nowUs: number): SqlCommand
  /** Throws if the row of this counter belongs to another system and must not be added. */
  readonly refuseAbsent?: (name: string) => void
  /** Adds the rows of counters that lack one, if the history is sound; in byte order, since other processes may add them too. */
  addCounters(names: readonly string[], known: Known): SqlCommand
  /** Returns one row: state, counter, and `done_last` and `done_version` (null: not reserved). */
  reserve(request: ReserveArguments): SqlCommand
  /** Returns one row: state, counter, and `done_version` (null: not released). */
  release(release: ReleaseArguments): SqlCommand
  /**
   * Writes the records whose condition holds, in one commit. Each has a row: `name` and `done_version`, the first of them also
   * the state and its `done_…`. If none was written, the first row has no version; the last one may have none in any case.
   */
  revise(records: RecordArguments): SqlCommand
  /**
   * Writes all records and moves the counter, or nothing. Returns one row: the state, its `done_…` (null: not committed), and
   * `done_last`; if nothing was changed, also the counter, and as `fitting` the number of records that had the expected versions.
   */
  commit(commit: CommitArguments): SqlCommand
  /**
   * Commands to send in this order on one connection. Only the last changes the store; it returns one row: the state,
   * its `done_…`, and `raised` (null: not advanced).
   */
  advance(advance: AdvanceArguments): readonly SqlCommand[]
}

/** Statements with their values filled in. */
export class Statements {
  readonly #put: PutValue
  readonly #identity: string

  /** @param identity an expression that evaluates to a name which no other server has. */
  constructor(put: PutValue, identity: string) {
    this.#put = put
    this.#identity = identity
  }

  /** The columns of the state row `s`. */
  get stateColumns(): string {
    return `s.schema_version, s.history, s.pulse, s.revision, s.last_write_us, s.suspect, s.server,
      ${this.#identity} AS identity`
  }

  /** Whether the position in the state row `s` comes after the accepted one, or in a later history, and is not marked. */
  sound({ accepted: { history, progress }, suspected }: Known): string {
    const put = this.#put
    const { pulse, revision } = progress
    // While a regression is suspected, only a later history is sound. No history has an empty id.
    const expected = suspected === undefined ? history : ''
    return `s.suspect IS NULL AND s.server = ${this.#identity}
      AND ((s.history = ${put(expected)} AND s.pulse >= ${put(pulse)} AND s.revision >= ${put(revision)})
        OR s.pulse >= ${put(pulse + historyJump / 2n)})`
  }

  /** Raises the counter `c`. */
  reserve(request: ReserveArguments): string {
    return this.#update(reserving([request]))
  }

  /** Lowers the counter `c`. */
  release(release: ReleaseArguments): string {
    return this.#update(releasing([release]))
  }

  /** Raises the pulse of `s`. */
  pulse(known: Known, nowUs: number): string {
    return `UPDATE fahao_about AS s SET pulse = pulse + 1, last_write_us = ${this.#put(BigInt(nowUs))}
      WHERE s.one = 1 AND ${this.sound(known)}`
  }

  /** Reads the state row. */
  state(): string {
    return `SELECT ${this.stateColumns} FROM fahao_about AS s WHERE s.one = 1`
  }

  /** Marks the store as one that has lost writes, if it is still in this history. */
  suspect(reason: string, history: string): string {
    const put = this.#put
    return `UPDATE fahao_about AS s SET suspect = ${put(reason)}
      WHERE s.one = 1 AND s.suspect IS NULL AND s.history = ${put(history)}`
  }

  /** The columns `last` and `version` of a changed counter `c`, for statements that can return them. */
  returned(_counter: string): string {
    return 'c.last, c.version'
  }

  /** The state `s`, and the counter `c` if it exists. */
  stateAndCounter(counter: string): string {
    return `fahao_about AS s LEFT JOIN fahao_counters AS c ON c.name = ${this.#put(counter)}`
  }

  /** Adds rows of unused counters under the names that `asked` selects, if the history is sound. */
  addCounters(asked: string, known: Known): string {
    return `INSERT INTO fahao_counters (name, last, fence, incarnation, version)
      SELECT a.name, -1, 0, 0, 0 FROM (${asked}) AS a
      WHERE EXISTS (SELECT 1 FROM fahao_about AS s WHERE s.one = 1 AND ${this.sound(known)})`
  }

  /** Reads those of these counters that exist, each with its `name`. */
  counters(names: readonly string[]): string {
    return `SELECT c.name, ${counterColumns} FROM fahao_counters AS c WHERE c.name IN (${this.#list(names)})`
  }

  /** Reads those of these records that exist. */
  records(keys: readonly string[]): string {
    return `SELECT name, value, version FROM fahao_records WHERE name IN (${this.#list(keys)}) AND value IS NOT NULL`
  }

  /** Reads records whose key is above `after`, and from `from` to `to`. */
  list(from: string, to: string, after: string, limit: number): string {
    const put = this.#put
    return `SELECT name, value, version FROM fahao_records
      WHERE name > ${put(after)} AND name >= ${put(from)} AND name <= ${put(to)} AND value IS NOT NULL
      ORDER BY name LIMIT ${limit}`
  }

  /** Reads records of later revisions, removed ones too. */
  since(revision: bigint, limit: number): string {
    return `SELECT name, value, version FROM fahao_records WHERE version > ${this.#put(revision)}
      ORDER BY version LIMIT ${limit}`
  }

  /**
   * Raises the rows of another system's table in an advance, under the condition `done`; none if there is no such table.
   * `rowsMax`: the maximum number of counters that one statement may name.
   */
  raiseRows(_advance: AdvanceArguments, _done: string, _rowsMax: number): string[] {
    return []
  }

  /** The counters of an advance that are not rows of another system's table. */
  ownRaises({ raises }: AdvanceArguments): readonly Raise[] {
    return raises
  }

  /** Begins a new history in the state row `s`, with a position above that row's and above the accepted one. */
  advance({ known, ifRegressed, at, history, nowUs, repaired }: AdvanceArguments): string {
    const put = this.#put
    const { pulse, revision } = known.accepted.progress
    return `UPDATE fahao_about AS s SET history = ${put(history)}, suspect = NULL, server = ${this.#identity},
        pulse = GREATEST(pulse, ${put(pulse)}) + ${historyJump},
        revision = GREATEST(revision, ${put(revision)}) + ${historyJump + BigInt(repaired.length)},
        last_write_us = ${put(BigInt(nowUs))}
      WHERE s.one = 1 AND s.history = ${put(at.history)} AND s.revision = ${put(at.progress.revision)}
        ${ifRegressed ? `AND NOT (${this.sound(known)})` : ''}`
  }

  #update({ known, rows: [row], set, where }: CounterUpdate): string {
    const a = (column: string) => this.#put(row![column]!)
    return `UPDATE fahao_counters AS c SET ${assignments(set(a))}, version = c.version + 1
      WHERE c.name = ${a('name')} AND EXISTS (SELECT 1 FROM fahao_about AS s
        WHERE s.one = 1 AND ${this.sound(known)} AND ${where(a)})`
  }

  #list(names: readonly string[]): string {
    return names.map((name) => this.#put(name)).join(', ')
  }
}

/** The assignments of an update. @param table the prefix of its columns. */
export function assignments(set: Readonly<Record<string, string>>, table = ''): string {
  return Object.entries(set)
    .map(([column, value]) => `${table}${column} = ${value}`)
    .join(', ')
}

/** Returns the statements of a dialect on the tables of another system. */
export type MakeStatements = (put: PutValue, identity: string) => Statements

/** The columns of a counter `c`. */
export const counterColumns = 'c.last, c.fence, c.incarnation, c.version'

/** The changed columns of the state, as `done_…`. @param whenDone returns an expression: the column, or NULL if the change was not carried out. */
export function doneStateColumns(whenDone: (column: string) => string): string {
  return ['history', 'pulse', 'revision'].map((column) => `${whenDone(column)} AS done_${column}`).join(', ')
}

/** The highest `last` above which the gap still fits. */
export function lastMaxBelow(gap: bigint): bigint {
  return boundMax - 1n - gap
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
