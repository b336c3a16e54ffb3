/**
 * What is known of the server's side of one connection: the facts of the session, and the types of columns.
 *
 * Invariants
 *  1. The facts of the session are as they are when the server executes the next command of the client; or they are unknown.
 *  2. The columns of a table are asked for each statement that needs them: the table may have been altered.
 *  3. A type is as this connection sees the table, which may be a temporary one. It is forgotten when the connection may
 *     have altered the table, and after `typeTtlUs`, because other connections may alter it.
 */
import { systemClock } from '../base/clock.ts'
import { type ColumnType, isChecked } from './column-types.ts'
import type { Filling } from './filling.ts'
import { type Ask, askColumns, askSession, askType, RefusedQuestion } from './questions.ts'
import { type FilledColumn, type FilledColumns, isQuiet } from './sql/filled-columns.ts'
import type { Insert } from './sql/insert.ts'
import type { SqlSession } from './sql/session.ts'
import { sessionChange } from './sql/session-change.ts'
import { latin1 } from './sql/words.ts'

/** How long a type of a column is believed, in µs. */
const typeTtlUs = 10_000_000

/** ER_TABLEACCESS_DENIED_ERROR and ER_COLUMNACCESS_DENIED_ERROR. */
const accessDenied = [1142, 1143]

const insertingVerb = /^(?:insert|replace)\s/i
const [semicolon, longestVerb] = [59, 8]

/** The knowledge of one connection. */
export class SessionKnowledge {
  /** Undefined: the server has to be asked. */
  session: SqlSession | undefined
  columns: FilledColumns
  readonly #filling: Filling
  readonly #ask: Ask
  readonly #serverVersion: string
  readonly #types = new Map<FilledColumn, { readonly type: ColumnType; readonly readUs: number }>()
  /** Tables whose name may be that of a temporary table. */
  readonly #shadowed = new Set<FilledColumn>()
  /** Tables that prepared statements define when they are executed, and whether such a table may be temporary. */
  readonly #prepared = new Map<FilledColumn, boolean>()

  constructor(filling: Filling, ask: Ask, serverVersion: string) {
    this.#filling = filling
    this.#ask = ask
    this.#serverVersion = serverVersion
    this.columns = filling.columns(true)
  }

  /** Whether a statement may change the session. In an unknown one it may mean anything, unless its first word says enough. */
  isChanging(sql: Buffer): boolean {
    if (this.session === undefined) return !isQuiet(sql) && !isSingleInsert(sql)
    return sessionChange(sql, this.session) !== 'none'
  }

  /** Takes note of a statement that the server executes. */
  note(sql: Buffer): void {
    if (this.session !== undefined && this.isChanging(sql)) this.session = undefined
    this.noteDefinitions(sql)
  }

  /** Takes note of the tables that a statement defines. */
  noteDefinitions(sql: Buffer): void {
    for (const column of this.columns.defined(sql)) this.#define(column, mayHide(sql))
  }

  /** Takes note of a statement that may be executed at any time. Returns whether it defines a table. */
  notePrepared(sql: Buffer): boolean {
    const defined = this.columns.defined(sql)
    for (const column of defined)
      this.#prepared.set(column, mayHide(sql) || this.#prepared.get(column) === true)
    return defined.length > 0
  }

  /** Forgets what a prepared statement, whichever it is, may change. */
  forget(): void {
    this.session = undefined
    this.#types.clear()
    for (const [column, isTemporary] of this.#prepared) this.#define(column, isTemporary)
  }

  /** The session begins anew, without temporary tables. */
  reset(): void {
    this.#prepared.clear()
    this.forget()
    this.#shadowed.clear()
  }

  #define(column: FilledColumn, isTemporary: boolean): void {
    this.#types.delete(column)
    this.#filling.checked.delete(column)
    if (isTemporary) this.#shadowed.add(column)
  }

  /** Whether another table may hide this one from the connection. */
  isShadowed(column: FilledColumn): boolean {
    return this.#shadowed.has(column)
  }

  /** The type of a column, unless it is unknown or was read too long ago. */
  typeOf(column: FilledColumn): ColumnType | undefined {
    if (this.#types.size === 0) return undefined
    const known = this.#types.get(column)
    return known && systemClock.monoUs() - known.readUs < typeTtlUs ? known.type : undefined
  }

  /** Asks for the facts of the session. Rejects with RefusedQuestion. */
  async learnSession(): Promise<void> {
    this.#filling.totals.questions++
    const { session, ignoreCase } = await askSession(this.#ask, this.#serverVersion)
    this.session = session
    this.columns = this.#filling.columns(ignoreCase)
  }

  /**
   * Asks for the columns of a table, in order; undefined: the user may not read them. Rejects with RefusedQuestion.
   */
  async learnColumns(column: FilledColumn): Promise<readonly string[] | undefined> {
    this.#filling.totals.questions++
    const columns = await askColumns(this.#ask, column).catch(unlessDenied)
    // A temporary table can be read by the user that has created it.
    if (columns === undefined) this.#shadowed.delete(column)
    return columns
  }

  /** Asks for the type of a column; undefined: the user may not see it. Rejects with RefusedQuestion. */
  async learnType(column: FilledColumn): Promise<ColumnType | undefined> {
    this.#filling.totals.questions++
    const type = await askType(this.#ask, column).catch(unlessDenied)
    if (type === undefined) return undefined
    this.#types.set(column, { type, readUs: systemClock.monoUs() })
    if (isChecked(type)) this.#filling.checked.add(column)
    return type
  }

  /**
   * The first column whose type has to be known before ids are drawn: the server may store other values than these. In
   * STRICT_TRANS_TABLES it refuses only the first row where a table without transactions is written to.
   */
  untyped(inserts: readonly Insert[]): FilledColumn | undefined {
    const { strict = false, strictAll = false } = this.session ?? {}
    const { checked } = this.#filling
    const isSafe = ({ column, isIgnore, count }: Insert) =>
      checked.has(column) && !isIgnore && (strictAll || (strict && count === 1))
    return inserts.find((insert) => !isSafe(insert) && this.typeOf(insert.column) === undefined)?.column
  }
}

/** Whether a table that the statement defines may be a temporary one, or have had another name. */
function mayHide(sql: Buffer): boolean {
  return /temporary|rename/i.test(latin1(sql, 0, sql.length))
}

/** Whether the text is one INSERT or REPLACE in every session. */
function isSingleInsert(sql: Buffer): boolean {
  const at = sql.indexOf(semicolon)
  return (at < 0 || at === sql.length - 1) && insertingVerb.test(latin1(sql, 0, longestVerb))
}

/** A privilege that only the proxy needs is not the client's error. */
function unlessDenied(error: unknown): undefined {
  if (error instanceof RefusedQuestion && accessDenied.includes(error.code)) return undefined
  throw error
}
