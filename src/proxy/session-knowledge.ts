/**
 * What is known of the server's side of one connection: the facts of the session, and the columns of tables.
 *
 * Invariants
 *  1. The facts of the session are as they are when the server executes the next command of the client; or they are unknown.
 *  2. The columns of a table are asked for each statement that needs them: the table may have been altered.
 */
import { isTextType } from './column-types.ts'
import type { Filling } from './filling.ts'
import { type Ask, askColumns, askSession } from './questions.ts'
import type { FilledColumn, FilledColumns } from './sql/filled-columns.ts'
import type { Insert } from './sql/insert.ts'
import type { TableFacts } from './sql/row-reader.ts'
import { type SqlSession, sqlSession } from './sql/session.ts'
import { sessionChange } from './sql/session-change.ts'

/** Enough to find the verb of a statement. */
const plainSession = sqlSession({ sqlMode: '', charset: 'utf8mb4', database: null, serverVersion: '' })

/** The knowledge of one connection. */
export class SessionKnowledge {
  /** Undefined: the server has to be asked. */
  session: SqlSession | undefined
  columns: FilledColumns
  readonly #filling: Filling
  readonly #ask: Ask
  readonly #serverVersion: string

  constructor(filling: Filling, ask: Ask, serverVersion: string) {
    this.#filling = filling
    this.#ask = ask
    this.#serverVersion = serverVersion
    this.columns = filling.columns(true)
  }

  /** Whether a statement may change the session. */
  isChanging(sql: Buffer): boolean {
    return sessionChange(sql, this.session ?? plainSession) !== 'none'
  }

  /** Takes note of a statement that the server executes. */
  note(sql: Buffer): void {
    if (this.session !== undefined && this.isChanging(sql)) this.session = undefined
  }

  /** Asks for the facts of the session. Rejects with RefusedQuestion. */
  async learnSession(): Promise<void> {
    this.#filling.totals.questions++
    const { session, ignoreCase } = await askSession(this.#ask, this.#serverVersion)
    this.session = session
    this.columns = this.#filling.columns(ignoreCase)
  }

  /** Asks for the columns of a table, and remembers the type of the filled one. Rejects with RefusedQuestion. */
  async learnTable(column: FilledColumn): Promise<TableFacts> {
    this.#filling.totals.questions++
    const { columns, types } = await askColumns(this.#ask, column)
    const at = columns.findIndex((name) => name.toLowerCase() === column.column.toLowerCase())
    const type = types[at]
    if (type !== undefined) this.#filling.setType(column, type)
    return { columns, isText: type !== undefined && isTextType(type) }
  }

  /** The first column whose type has to be known before ids are drawn: the server would store other values than these. */
  untyped(inserts: readonly Insert[]): FilledColumn | undefined {
    const isStrict = this.session?.strict === true
    return inserts.find(
      ({ column, isIgnore }) => (isIgnore || !isStrict) && this.#filling.typeOf(column) === undefined,
    )?.column
  }
}
