/**
 * The statements that all databases understand, and the tables. `last` is bound − 1, the largest value that can have
 * been issued: a bound of 2^63 does not fit a signed integer of 64 bits. A removed record stays as a row without a
 * value. `fahao_about` has one row: see history.ts. It is the first of them by name, since dumps are restored table by
 * table in this order: whoever reserves meanwhile meets the old state before old bounds.
 *
 * Each write asks in its own statement whether the history is sound; asked before, a restored dump or an advance
 * could slip in between.
 */
import { least, named } from '../advance.ts'
import { boundMax, type Repaired, type ReserveRequest, type StoredRecord } from '../engine.ts'
import type { Row, SqlCommand } from './driver.ts'
import { historyJump, type Known, type StorePosition } from './history.ts'

/** Of the tables; what is newer was made by a newer Fahao. */
export const schemaVersion = 1

/** Puts a value into a statement, as a literal or as a parameter. */
export type PutValue = (value: bigint | string) => string

/** What a reserve needs beyond its request. */
export type ReserveArguments = Required<ReserveRequest> & {
  readonly counter: string
  readonly known: Known
  /** The highest end that this process holds of it, and the history in which it came to hold it. */
  readonly held: { readonly end: bigint; readonly history: string }
}

/** See `Engine.release`. */
export type ReleaseArguments = {
  readonly counter: string
  readonly known: Known
  /** In which the reservation was made. */
  readonly history: string
  readonly version: bigint
  readonly from: bigint
  readonly fence: bigint
  readonly incarnation: bigint
}

/** See `Engine.write`; a value of undefined removes. */
export type RecordArguments = {
  readonly key: string
  readonly value: string | undefined
  readonly expected: bigint | undefined
  readonly known: Known
  readonly nowUs: number
}

/** See `Engine.advance`. */
export type AdvanceArguments = {
  readonly gap: bigint
  readonly known: Known
  readonly ifRegressed: boolean
  /** The position at which `mended` was computed. */
  readonly at: StorePosition
  /** The id of the new history. */
  readonly history: string
  readonly nowUs: number
  /** Counters that are raised further than by the gap, or have to be made. */
  readonly raises: readonly Raise[]
  /** Records as they shall be. */
  readonly mended: readonly StoredRecord[]
}

/** What an advance does to a counter before all are raised by the gap: `last` becomes at least `last` + `extra`. */
export type Raise = {
  readonly counter: string
  readonly extra: bigint
  /** And at least this, also where there was no counter. */
  readonly last: bigint
  readonly incarnation: bigint
}

/** Which counters are raised further than by the gap, or made, because of what records and this process say of them. */
export function raisesOf(
  gap: bigint,
  mended: Repaired['counters'],
  held: ReadonlyMap<string, bigint>,
): Raise[] {
  return named(mended, held).map((counter) => {
    const of = mended.get(counter)
    const extra = smaller((of?.gap ?? gap) - gap, boundMax - 1n)
    const last = smaller(least(of, held.get(counter)) - 1n + extra, boundMax - 1n)
    return { counter, extra, last, incarnation: of?.incarnation ?? 0n }
  })
}

/**
 * Several calls in one message. Rows answer those that were carried out: of a move the state, `name`, `done_last` and
 * `done_version`. What has no row was not carried out, for whatever reason.
 */
export type BatchDialect = {
  reserve(requests: readonly ReserveArguments[]): SqlCommand
  release(releases: readonly ReleaseArguments[]): SqlCommand
  /** Makes the rows of those that have none, if the history is sound. In the order of bytes: others may make them, too. */
  addCounters(names: readonly string[], known: Known): SqlCommand
  counters(names: readonly string[]): SqlCommand
  records(keys: readonly string[]): SqlCommand
}

/** What a kind of database has of its own. */
export interface Dialect {
  /** The engine's name. */
  readonly name: string
  /** Undefined: every call goes alone. */
  readonly batch?: BatchDialect | undefined
  /** The settings of the server that durability depends on, in one row. */
  readonly conditions: SqlCommand
  /** Which of them may lose acknowledged writes, each with what to do. */
  readonly objections: (row: Row) => string[]
  /** What happens to the server that this engine cannot notice, in one sentence; undefined: nothing that it should. */
  readonly unnoticed?: string
  /** Why the database cannot be used at all, with what to do. */
  readonly obstacle: (row: Row) => string | undefined
  /** Makes what is missing, unless there are counters or records without a state: a half restored dump. */
  create(history: string): SqlCommand
  /** The state row. */
  state(): SqlCommand
  /** One row: the state, and `done_…` of it if the pulse was raised, for which the history must be sound. */
  pulse(known: Known, nowUs: number): SqlCommand
  /** Marks the store as one that has lost writes, if it is still in this history. */
  suspect(reason: string, history: string): SqlCommand
  counter(name: string): SqlCommand
  /** Throws where a counter that has no row is not ours to make. */
  readonly refuseAbsent?: (name: string) => void
  /** Makes the row of a counter that has none. */
  addCounter(name: string): SqlCommand
  /** One row: the state, the counter, and `done_last` and `done_version` if it was carried out. */
  reserve(request: ReserveArguments): SqlCommand
  /** One row: the state, the counter, and `done_version` if it was carried out. */
  release(release: ReleaseArguments): SqlCommand
  record(key: string): SqlCommand
  /** Records whose key is above `after`, and from `from` to `to`. */
  list(range: {
    readonly from: string
    readonly to: string
    readonly after: string
    readonly limit: number
  }): SqlCommand
  /** Records, also removed ones, of later revisions. */
  since(revision: bigint, limit: number): SqlCommand
  /** One row: the state, and if it was carried out `done_version` and `done_…` of the state. */
  revise(write: RecordArguments): SqlCommand
  /**
   * To be asked in this order on one connection. The last alone changes the store, and answers one row: the state, and
   * if it was carried out `raised` and `done_…` of the state.
   */
  advance(advance: AdvanceArguments): readonly SqlCommand[]
}

/** Statements with their places filled in. */
export class Statements {
  readonly #put: PutValue
  readonly #identity: string

  /** @param identity an expression that names the server which evaluates it, and that no other server equals. */
  constructor(put: PutValue, identity: string) {
    this.#put = put
    this.#identity = identity
  }

  /** The columns of the state row `s`. */
  get stateColumns(): string {
    return `s.schema_version, s.lineage, s.pulse, s.revision, s.last_write_us, s.suspect, s.server,
      ${this.#identity} AS identity`
  }

  /** Whether the position in the state row `s` comes after the accepted one, or in a later history, and is not marked. */
  sound({ accepted: { history, progress }, suspected }: Known): string {
    const put = this.#put
    const { pulse, revision } = progress
    // While a regression is suspected, only a later history is sound. No history has an empty id.
    const lineage = suspected === undefined ? history : ''
    return `s.suspect IS NULL AND s.server = ${this.#identity}
      AND ((s.lineage = ${put(lineage)} AND s.pulse >= ${put(pulse)} AND s.revision >= ${put(revision)})
        OR s.pulse >= ${put(pulse + historyJump / 2n)})`
  }

  /** Moves the counter `c`. A size of 2^63 and a bound of 2^63 fit on the way, in this order. */
  reserve(request: ReserveArguments): string {
    const { counter, size, floor, max, fence, incarnation, known, held } = request
    const put = this.#put
    const below = put((floor > held.end ? floor : held.end) - 1n)
    const room = max - 1n - size
    return `UPDATE fahao_counters AS c
      SET last = (GREATEST(last, ${below}) + ${put(size - 1n)}) + 1,
        fence = ${put(fence)}, incarnation = ${put(incarnation)}, version = version + 1
      WHERE c.name = ${put(counter)} AND c.fence <= ${put(fence)} AND c.incarnation <= ${put(incarnation)}
        AND GREATEST(c.last, ${below}) <= ${put(room < -2n ? -2n : room)}
        AND EXISTS (SELECT 1 FROM fahao_about AS s WHERE s.one = 1 AND ${this.sound(known)}
          AND (c.last >= ${put(held.end - 1n)} OR s.lineage <> ${put(held.history)}))`
  }

  /** Moves the counter `c` back. A version says nothing about another history. */
  release({ counter, known, history, version, from, fence, incarnation }: ReleaseArguments): string {
    const put = this.#put
    return `UPDATE fahao_counters AS c SET last = ${put(from - 1n)}, version = version + 1
      WHERE c.name = ${put(counter)} AND c.version = ${put(version)}
        AND c.fence <= ${put(fence)} AND c.incarnation <= ${put(incarnation)}
        AND EXISTS (SELECT 1 FROM fahao_about AS s WHERE s.one = 1 AND ${this.sound(known)}
          AND s.lineage = ${put(history)})`
  }

  /** Raises the pulse of `s`. */
  pulse(known: Known, nowUs: number): string {
    return `UPDATE fahao_about AS s SET pulse = pulse + 1, last_write_us = ${this.#put(BigInt(nowUs))}
      WHERE s.one = 1 AND ${this.sound(known)}`
  }

  /** Marks `s`. */
  suspect(reason: string, history: string): string {
    const put = this.#put
    return `UPDATE fahao_about AS s SET suspect = ${put(reason)}
      WHERE s.one = 1 AND s.suspect IS NULL AND s.lineage = ${put(history)}`
  }

  /** What a changed counter `c` is, as `last` and `version`, where a statement can return it. */
  returned(_counter: string): string {
    return 'c.last, c.version'
  }

  /** The state and the counter `c`, each if it is there. */
  stateAndCounter(counter: string): string {
    return `fahao_about AS s LEFT JOIN fahao_counters AS c ON c.name = ${this.#put(counter)}`
  }

  /** A counter. */
  counter(name: string): string {
    return `SELECT ${counterColumns} FROM fahao_counters AS c WHERE c.name = ${this.#put(name)}`
  }

  /** The rows of counters that were never used, under the names that `asked` selects, if the history is sound. */
  addCounters(asked: string, known: Known): string {
    return `INSERT INTO fahao_counters (name, last, fence, incarnation, version)
      SELECT a.name, -1, 0, 0, 0 FROM (${asked}) AS a
      WHERE EXISTS (SELECT 1 FROM fahao_about AS s WHERE s.one = 1 AND ${this.sound(known)})`
  }

  /** Those of these counters that are there, each with its `name`. */
  counters(names: readonly string[]): string {
    return `SELECT c.name, ${counterColumns} FROM fahao_counters AS c WHERE c.name IN (${this.#list(names)})`
  }

  /** Those of these records that have not been removed. */
  records(keys: readonly string[]): string {
    return `SELECT name, value, version FROM fahao_records WHERE name IN (${this.#list(keys)}) AND value IS NOT NULL`
  }

  /** A record that has not been removed. */
  record(key: string): string {
    return `SELECT name, value, version FROM fahao_records WHERE name = ${this.#put(key)} AND value IS NOT NULL`
  }

  /** See `Dialect.list`. */
  list({ from, to, after, limit }: Parameters<Dialect['list']>[0]): string {
    const put = this.#put
    return `SELECT name, value, version FROM fahao_records
      WHERE name > ${put(after)} AND name >= ${put(from)} AND name <= ${put(to)} AND value IS NOT NULL
      ORDER BY name LIMIT ${limit}`
  }

  /** See `Dialect.since`. */
  since(revision: bigint, limit: number): string {
    return `SELECT name, value, version FROM fahao_records WHERE version > ${this.#put(revision)}
      ORDER BY version LIMIT ${limit}`
  }

  /**
   * Raises the rows of another system's table in an advance, for each of which `done` must hold; none where there is no
   * such table. `rowsMax`: how many counters one statement may name.
   */
  raiseRows(_advance: AdvanceArguments, _done: string, _rowsMax: number): string[] {
    return []
  }

  /** Which counters of an advance are no rows of another system's table. */
  ownRaises({ raises }: AdvanceArguments): readonly Raise[] {
    return raises
  }

  /** Begins a new history in the state row `s`, with a position above that row's and above the accepted one. */
  advance({ known, ifRegressed, at, history, nowUs, mended }: AdvanceArguments): string {
    const put = this.#put
    const { pulse, revision } = known.accepted.progress
    return `UPDATE fahao_about AS s SET lineage = ${put(history)}, suspect = NULL, server = ${this.#identity},
        pulse = GREATEST(pulse, ${put(pulse)}) + ${historyJump},
        revision = GREATEST(revision, ${put(revision)}) + ${historyJump + BigInt(mended.length)},
        last_write_us = ${put(BigInt(nowUs))}
      WHERE s.one = 1 AND s.lineage = ${put(at.history)} AND s.revision = ${put(at.progress.revision)}
        ${ifRegressed ? `AND NOT (${this.sound(known)})` : ''}`
  }

  #list(names: readonly string[]): string {
    return names.map((name) => this.#put(name)).join(', ')
  }
}

/** Makes the statements of a dialect. */
export type MakeStatements = (put: PutValue, identity: string) => Statements

/** The statements on Fahao's own tables. */
export const ownStatements: MakeStatements = (put, identity) => new Statements(put, identity)

/** The columns of a counter `c`. */
export const counterColumns = 'c.last, c.fence, c.incarnation, c.version'

/** The most that a `last` may be, so that the gap still fits above it. */
export function lastMaxBelow(gap: bigint): bigint {
  return boundMax - 1n - gap
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
