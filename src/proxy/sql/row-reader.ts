/** Reads rows of values, and the ids in them. */
import { type Cursor, mark, Refused } from './cursor.ts'
import type { FilledColumn } from './filled-columns.ts'
import { type IdState, readIdValue } from './id-values.ts'
import type { RowId, Rows } from './insert.ts'
import { token } from './lexer.ts'
import { tooManyParameters, tooManyRows, unknownValue, wrongValueCount } from './refusal.ts'
import type { IdMode, SqlSession } from './session.ts'
import type { Slices } from './slices.ts'

/** What the server says of a table; undefined: it has not been asked. */
export type TableFacts = {
  /** All columns that `SELECT *` shows, in order. */
  readonly columns?: readonly string[] | undefined
  /** Whether the filled column holds text rather than numbers. */
  readonly isText?: boolean | undefined
}

/** One of the facts of a table. */
export type TableFact = 'columns' | 'type'

/** Rows of a text that may need ids. */
export const rowsMax = 100_000

/** Thrown while a statement is read whose meaning depends on facts of the table, and caught by `readStatements`. */
export class FactsMissing extends Error {
  readonly column: FilledColumn
  readonly fact: TableFact

  constructor(column: FilledColumn, fact: TableFact) {
    super(`${fact} of ${column.database}.${column.table}`)
    this.column = column
    this.fact = fact
  }
}

/** The id of a row that names none. */
export const absent = {
  state: 'absent',
  start: 0,
  end: 0,
  parameter: -1,
  followingAt: 0,
  addAt: 0,
  isEmpty: false,
} as const satisfies RowId

/** What decides which rows are kept. */
export type RowOptions = {
  readonly facts: TableFacts | undefined
  /** Keep rows whose id the statement gives, too. */
  readonly keepsGiven: boolean
}

/** The modes on which it depends what a state asks for. */
const modesOf: Partial<Record<IdState, readonly IdMode[]>> = {
  null: ['emptyStringIsNull'],
  default: ['noAutoValueOnZero'],
  zero: ['noAutoValueOnZero'],
  unclear: ['noAutoValueOnZero', 'emptyStringIsNull', 'strict'],
}

/** Reads the rows of one statement. Throws `Refused` or `FactsMissing`. */
export class RowReader {
  /** As in `Insert`, of the rows that were read. */
  readonly modes = new Map<IdMode, boolean>()
  readonly #cursor: Cursor
  readonly #session: SqlSession
  readonly #column: FilledColumn
  readonly #isIgnore: boolean
  readonly #facts: TableFacts | undefined
  readonly #keepsGiven: boolean

  constructor(
    cursor: Cursor,
    session: SqlSession,
    target: { readonly column: FilledColumn; readonly isIgnore: boolean },
    { facts, keepsGiven }: RowOptions,
  ) {
    this.#cursor = cursor
    this.#session = session
    this.#column = target.column
    this.#isIgnore = target.isIgnore
    this.#facts = facts
    this.#keepsGiven = keepsGiven
  }

  /** Goes beyond the parenthesis of the first row; whether the row has no values. */
  firstIsEmpty(): boolean {
    this.#open()
    return this.#cursor.atMark(mark.rightParen)
  }

  /** All rows; with `firstIsEmpty` the first has been opened. The id is the value of the index, -1: absent. */
  *readAll(idIndex: number, count: number, opened = false): Slices<Rows> {
    const cursor = this.#cursor
    const isEnd = () => cursor.atMark(mark.rightParen)
    const rows: RowId[] = []
    let last: RowId
    let total = 0
    do {
      if (!opened || total > 0) this.#open()
      total++
      let id: RowId | undefined
      let values = 0
      while (!isEnd()) {
        const found = values === idIndex ? this.readId(isEnd) : undefined
        if (!found) while (!cursor.skipExpression(isEnd)) yield
        values++
        const comma = cursor.takeMark(mark.comma)
        if (comma ? isEnd() : !isEnd()) cursor.fail()
        if (found) id = comma ? { ...found, followingAt: cursor.lexer.start } : found
      }
      if (values !== count) throw new Refused(wrongValueCount(total))
      last = { ...(id ?? absent), addAt: cursor.lexer.start, isEmpty: values === 0 }
      if (this.#keepsGiven || last.state !== 'given') this.#keep(rows, last)
      cursor.step()
      if (cursor.isPause) yield
    } while (cursor.takeMark(mark.comma))
    return { rows, last, count: total }
  }

  #keep(rows: RowId[], row: RowId): void {
    if (rows.length === rowsMax) throw new Refused(tooManyRows(rowsMax))
    rows.push(row)
  }

  #open(): void {
    this.#cursor.take('ROW')
    this.#cursor.demandMark(mark.leftParen)
  }

  /** The value of the id at the current token. */
  readId(isEnd: () => boolean): RowId {
    const cursor = this.#cursor
    const { lexer } = cursor
    const { start } = lexer
    const state = readIdValue(lexer, this.#session, this.#column.column)
    const ends = cursor.atMark(mark.comma) || cursor.atEnd || isEnd()
    if (lexer.kind === token.broken) cursor.fail()
    if (state === 'expression' || !ends) throw new Refused(unknownValue(this.#column))
    this.#noteModes(state)
    const parameter = state === 'parameter' ? this.#parameterAt(start, lexer.previousEnd) : -1
    return {
      state: this.#resolved(state),
      start,
      end: lexer.previousEnd,
      parameter,
      followingAt: 0,
      addAt: 0,
      isEmpty: false,
    }
  }

  #parameterAt(start: number, end: number): number {
    const parameter = this.#cursor.lexer.parametersAt.findLastIndex((at) => at >= start && at < end)
    if (parameter < 0) throw new Refused(tooManyParameters)
    return parameter
  }

  #noteModes(state: IdState): void {
    // NULL is NULL in every mode, '' is not; and DEFAULT asks for an id in every mode of MySQL.
    if (state === 'null' && !this.#session.emptyStringIsNull) return
    if (state === 'default' && this.#session.dialect !== 'mariadb') return
    for (const mode of modesOf[state] ?? []) this.modes.set(mode, this.#session[mode])
  }

  #resolved(state: Exclude<ReturnType<typeof readIdValue>, 'expression'>): RowId['state'] {
    if (state === 'zero' && this.#session.noAutoValueOnZero) return 'given'
    // MariaDB stores the default of an AUTO_INCREMENT column then, which is 0.
    const isKept = this.#session.noAutoValueOnZero && this.#session.dialect === 'mariadb'
    if (state === 'default' && isKept) return 'given'
    if (state !== 'unclear') return state
    // A strict server refuses the text for an integer column.
    if (this.#session.noAutoValueOnZero || (this.#session.strict && !this.#isIgnore)) return 'given'
    if (this.#facts?.isText === undefined) throw new FactsMissing(this.#column, 'type')
    return this.#facts.isText ? 'given' : 'zero'
  }
}
