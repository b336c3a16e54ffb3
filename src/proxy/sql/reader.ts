/**
 * Reads the statements of a text, and finds those that insert rows into filled tables: INSERT and REPLACE with VALUES or SET, by
 * the grammars of MariaDB and MySQL (`sql/sql_yacc.yy`).
 *
 * What is read means the same to every server. Where that is not certain, the reading ends, and what was read before
 * stays: a server, too, executes a text statement by statement.
 */
import { Cursor, marks, sameColumn, Unsure } from './cursor.ts'
import type { FilledColumn, FilledColumns } from './filled-columns.ts'
import type { Columns, Insert, ListedId, RowId } from './insert.ts'
import { token } from './lexer.ts'
import type { SqlSession } from './session.ts'
import { verbOf } from './verbs.ts'

/** What a text is read with. */
export type ReadingContext = {
  readonly session: SqlSession
  readonly columns: FilledColumns
  /** Whether the text is to be prepared: `?` is a parameter. */
  readonly isPrepared: boolean
  /** The columns of a table, in order; none: they are not known. */
  readonly columnsOf: (column: FilledColumn) => readonly string[]
}

/** What a text has. */
export type Reading = {
  /** Those that were read. */
  readonly inserts: readonly Insert[]
  readonly parametersAt: readonly number[]
  /** Whether the text is one INSERT, and was read to its end. */
  readonly isAlone: boolean
  /** Whether all of it was read, and leaves the session as it is. */
  readonly isQuiet: boolean
  /** Whether a part of it may define a table: it was not read, or begins with such a verb. */
  readonly mayDefine: boolean
  /** A table whose columns have to be known first; undefined: there is none. */
  readonly unknown: FilledColumn | undefined
}

const nothing: Reading = {
  inserts: [],
  parametersAt: [],
  isAlone: false,
  isQuiet: false,
  mayDefine: true,
  unknown: undefined,
}
/** Rows of a text that may need ids. */
const rowsMax = 100_000
const { leftParen, rightParen, comma, dot, semicolon, equal, colon } = marks
const modifiers = new Set(['LOW_PRIORITY', 'DELAYED', 'HIGH_PRIORITY', 'IGNORE'])
const zero = /^[+-]?[ \t-\r]*(?=\.?\d)\d*\.?\d*(?:e[+-]?\d+)?$/i
const zeroText = /^(['"])0\1$/
const zeroBits = /^(?:0[xb]0+|b'0*')$/i
const positive = /^(['"]?)([1-9]\d{0,19})\1$/
/** Longer values are none that ask for an id. */
const valueBytesMax = 64

/** Reads a text. Never throws. */
export function readText(sql: Buffer, context: ReadingContext): Reading {
  return context.session.isReadable ? new Reader(sql, context).read() : nothing
}

class Reader {
  readonly #sql: Buffer
  readonly #context: ReadingContext
  readonly #cursor: Cursor
  readonly #inserts: Insert[] = []
  #database: string
  /** The text changes the current database. */
  #isMoved = false
  #defines = false
  #rows = 0
  #unknown: FilledColumn | undefined

  constructor(sql: Buffer, context: ReadingContext) {
    this.#sql = sql
    this.#context = context
    this.#database = context.session.database
    this.#cursor = new Cursor(sql, context.session, context.isPrepared)
  }

  read(): Reading {
    let [statements, isOver] = [0, false]
    try {
      this.#cursor.next()
      while (this.#cursor.kind !== token.end) {
        if (this.#cursor.takeMark(semicolon)) continue
        statements++
        this.#statement()
      }
      isOver = true
    } catch (error) {
      if (!(error instanceof Unsure)) throw error
    }
    const { parametersAt } = this.#cursor
    // Of a text to prepare, all has to be known.
    if (this.#context.isPrepared && (!isOver || statements > 1)) return { ...nothing, unknown: this.#unknown }
    return {
      inserts: this.#inserts,
      parametersAt,
      isAlone: isOver && statements === 1 && this.#inserts.length === 1,
      isQuiet: isOver && !this.#isMoved,
      mayDefine: !isOver || this.#defines,
      unknown: this.#unknown,
    }
  }

  #statement(): void {
    const { start } = this.#cursor
    const word = this.#cursor.word()
    if (word === 'USE') {
      this.#cursor.next()
      this.#database = this.#cursor.demandName().name
      this.#isMoved = true
      if (!this.#cursor.atEnd) throw new Unsure()
      return
    }
    if (word !== 'INSERT' && word !== 'REPLACE') {
      this.#cursor.skipStatement()
      const { isQuiet, defines } = verbOf(this.#sql.subarray(start, this.#cursor.start), 0)
      if (!isQuiet) throw new Unsure()
      this.#defines ||= defines
      return
    }
    const at = this.#rows
    try {
      const insert = this.#insert(word === 'REPLACE')
      if (insert !== undefined) this.#inserts.push(insert)
    } catch (error) {
      if (!(error instanceof Unsure) || this.#cursor.kind === token.unsure) throw error
      this.#rows = at
    }
    this.#cursor.skipStatement()
  }

  /** The statement, from its verb on; undefined: its table is not filled in. */
  #insert(isReplace: boolean): Insert | undefined {
    this.#cursor.next()
    let isIgnore = false
    for (let word = this.#cursor.word(); modifiers.has(word); word = this.#cursor.word()) {
      isIgnore ||= word === 'IGNORE'
      this.#cursor.next()
    }
    this.#cursor.takeWord('INTO')
    const target = this.#target()
    if (target === undefined) return undefined
    const { column, table } = target
    ;[this.#cursor.reads, this.#cursor.sets] = [0, 0]
    if (this.#cursor.takeWord('PARTITION')) {
      this.#cursor.demandMark(leftParen)
      do this.#cursor.demandName()
      while (this.#cursor.takeMark(comma))
      this.#cursor.demandMark(rightParen)
    }
    const found = this.#columnsAndRows(column)
    const readsInValues = this.#cursor.reads
    const readsLastInsertId = readsInValues > 0
    if (this.#cursor.sets > 0) throw new Unsure()
    if (this.#cursor.takeWord('AS')) {
      this.#cursor.demandName()
      // The id would need an alias too.
      if (this.#cursor.atMark(leftParen)) throw new Unsure()
    }
    const onDuplicateEnd = this.#onDuplicate()
    const decidesId = this.#cursor.sets > 0
    if (this.#cursor.takeWord('RETURNING'))
      for (; !this.#cursor.atEnd; this.#cursor.next()) {
        this.#cursor.noteLastInsertId()
      }
    if (found.rows.length > 0 && !this.#canWriteNames(column, found.columns)) throw new Unsure()
    if (
      !this.#cursor.atEnd ||
      this.#cursor.reads !== readsInValues ||
      (readsLastInsertId && onDuplicateEnd > 0 && found.count > 1)
    )
      throw new Unsure()
    if (readsLastInsertId && found.rows.some(({ parameter }) => parameter >= 0)) throw new Unsure()
    if (readsLastInsertId && found.rows.length > 0 && found.rows.length < found.count) throw new Unsure()
    return {
      column,
      isReplace,
      isIgnore,
      table,
      onDuplicateEnd,
      decidesId,
      readsLastInsertId,
      ...found,
    }
  }

  /** The filled column of the table that is named, and the last part of that name. */
  #target(): { readonly column: FilledColumn; readonly table: string } | undefined {
    let database = this.#database
    let { name, text } = this.#cursor.demandName()
    if (this.#cursor.takeMark(dot)) {
      database = name
      ;({ name, text } = this.#cursor.demandName())
    }
    if (this.#cursor.atMark(dot)) throw new Unsure()
    const column = this.#context.columns.find(database, name)
    return column && { column, table: text }
  }

  /** Names are written as UTF-8. */
  #canWriteNames({ column }: FilledColumn, columns: Columns): boolean {
    const names = columns.form === 'none' ? [column, ...columns.all] : [column]
    return this.#context.session.isUtf8 || names.every((name) => /^[\x20-\x7e]*$/.test(name))
  }

  #columnsAndRows(column: FilledColumn): Found {
    if (this.#cursor.takeWord('SET')) return this.#assignments(column)
    const listAt = this.#cursor.start
    if (this.#cursor.atMark(leftParen)) {
      const { columns, idIndex, count } = this.#list(column)
      this.#demandValues()
      return { columns, ...this.#rowsOf(idIndex, count) }
    }
    this.#demandValues()
    const all = this.#context.columnsOf(column)
    if (all.length === 0) {
      this.#unknown = column
      throw new Unsure()
    }
    const isId = (name: string) => sameColumn(name, column.column)
    const read = this.#rowsOf(all.findIndex(isId), all.length, true)
    return { columns: { form: 'none', listAt, all: read.isEmpty ? [] : all }, ...read }
  }

  #demandValues(): void {
    if (!this.#cursor.takeWord('VALUES') && !this.#cursor.takeWord('VALUE')) throw new Unsure()
  }

  /** A list of columns. */
  #list({ column }: FilledColumn): { columns: Columns; idIndex: number; count: number } {
    this.#cursor.next()
    let [idIndex, count] = [-1, 0]
    let id: ListedId | undefined
    while (!this.#cursor.atMark(rightParen)) {
      const { start } = this.#cursor
      const isId = this.#cursor.takeColumn(column)
      const end = this.#cursor.previousEnd
      const isFollowed = this.#cursor.takeMark(comma)
      if (isFollowed === this.#cursor.atMark(rightParen) || (isId && id !== undefined)) throw new Unsure()
      if (isId) {
        idIndex = count
        id = { start, end, followingAt: isFollowed ? this.#cursor.start : 0 }
      }
      count++
    }
    const addAt = this.#cursor.start
    this.#cursor.next()
    return { columns: { form: 'list', id, addAt, isEmpty: count === 0 }, idIndex, count }
  }

  /** All rows. The id is the value of the index, -1: absent. `mayBeEmpty`: rows may also be without values. */
  #rowsOf(idIndex: number, count: number, mayBeEmpty = false): Omit<Found, 'columns'> & { isEmpty: boolean } {
    const rows: RowId[] = []
    let [total, empty] = [0, 0]
    let last: ReadValue = absent
    do {
      this.#cursor.takeWord('ROW')
      this.#cursor.demandMark(leftParen)
      let values = 0
      let id: ReadValue = absent
      let followingAt = 0
      while (!this.#cursor.atMark(rightParen)) {
        if (values === idIndex) id = this.#value()
        else this.#cursor.skipExpression()
        const isFollowed = this.#cursor.takeMark(comma)
        if (isFollowed === this.#cursor.atMark(rightParen)) throw new Unsure()
        if (values++ === idIndex && isFollowed) followingAt = this.#cursor.start
      }
      const addAt = this.#cursor.start
      const isEmpty = values === 0
      if (isEmpty) empty++
      if (values !== count && !(mayBeEmpty && isEmpty)) throw new Unsure()
      if (id.mayNeed) this.#keep(rows, rowOf(id, followingAt, addAt, isEmpty))
      last = id
      total++
      this.#cursor.next()
    } while (this.#cursor.takeMark(comma))
    // Rows with values would need another list of columns than those without.
    if (mayBeEmpty && empty > 0 && empty < total) throw new Unsure()
    return { rows, count: total, ...lastOf(last), isEmpty: empty > 0 }
  }

  #keep(rows: RowId[], row: RowId): void {
    if (++this.#rows > rowsMax) throw new Unsure()
    rows.push(row)
  }

  #assignments({ column }: FilledColumn): Found {
    let id: ListedId | undefined
    let value: ReadValue = absent
    let addAt = 0
    for (let isFollowed = true; isFollowed; ) {
      const { start } = this.#cursor
      const isId = this.#cursor.takeColumn(column)
      if (this.#cursor.takeMark(colon) && this.#cursor.previousEnd !== this.#cursor.start) throw new Unsure()
      this.#cursor.demandMark(equal)
      if (isId && id !== undefined) throw new Unsure()
      if (isId) value = this.#value()
      else this.#cursor.skipExpression()
      addAt = this.#cursor.previousEnd
      isFollowed = this.#cursor.takeMark(comma)
      if (isId) id = { start, end: addAt, followingAt: isFollowed ? this.#cursor.start : 0 }
    }
    const rows: RowId[] = []
    if (value.mayNeed) this.#keep(rows, rowOf(value, id?.followingAt ?? 0, addAt, false))
    return { columns: { form: 'set', id }, rows, count: 1, ...lastOf(value) }
  }

  /** The value in an id's place. */
  #value(): ReadValue {
    const { start, end: firstEnd } = this.#cursor
    this.#cursor.skipExpression()
    const end = this.#cursor.previousEnd
    const isOne = end === firstEnd
    const raw = end - start <= valueBytesMax ? this.#sql.toString('latin1', start, end) : ''
    const text = raw.replace(/^[( \t-\r]+|[) \t-\r]+$/g, '')
    const parameter = text === '?' ? this.#cursor.parametersAt.length - 1 : -1
    const asks = /^(?:null|false)$/i.test(text) || (isOne && /^default$/i.test(text))
    const isZero = isZeroLiteral(text) && !this.#context.session.noAutoValueOnZero
    const mayNeed = parameter >= 0 || asks || isZero
    return { start, end, parameter, mayNeed, given: isOne && !mayNeed ? positive.exec(text)?.[2] : undefined }
  }

  /** Where the assignments end; 0: there are none. */
  #onDuplicate(): number {
    if (!this.#cursor.takeWord('ON')) return 0
    if (
      !this.#cursor.takeWord('DUPLICATE') ||
      !this.#cursor.takeWord('KEY') ||
      !this.#cursor.takeWord('UPDATE')
    )
      throw new Unsure()
    do this.#cursor.skipExpression()
    while (this.#cursor.takeMark(comma))
    return this.#cursor.previousEnd
  }
}

/** What was read of the columns and the rows. */
type Found = Pick<Insert, 'columns' | 'rows' | 'count' | 'lastGiven' | 'lastParameter'>

/** A value in an id's place. */
type ReadValue = {
  readonly start: number
  readonly end: number
  readonly parameter: number
  readonly mayNeed: boolean
  /** The digits of a positive integer. */
  readonly given: string | undefined
}

const absent: ReadValue = { start: 0, end: 0, parameter: -1, mayNeed: true, given: undefined }

function rowOf(value: ReadValue, followingAt: number, addAt: number, isEmpty: boolean): RowId {
  const { start, end, parameter } = value
  const isAbsent = end === 0
  return {
    start: isAbsent ? addAt : start,
    end: isAbsent ? addAt : end,
    parameter,
    followingAt,
    addAt,
    isEmpty,
  }
}

function lastOf({ given, parameter }: ReadValue): Pick<Insert, 'lastGiven' | 'lastParameter'> {
  return { lastGiven: given === undefined ? undefined : BigInt(given), lastParameter: parameter }
}

/**
 * Whether a number becomes 0 in an integer column, or a text is '0'. Servers round halves of DOUBLE to the even neighbour, 0.
 * Other texts, such as '0e12', are ids in a column of texts; in one of integers, the guard refuses those that become 0.
 */
function isZeroLiteral(text: string): boolean {
  if (!zero.test(text)) return zeroBits.test(text) || zeroText.test(text)
  const value = Math.abs(Number(text.replace(/\s/g, '')))
  return value < 0.5 || (value === 0.5 && /^[\s\d.+-]+e/i.test(text))
}
