/**
 * Reads the statements of a text, and finds those that insert rows into filled tables: INSERT and REPLACE with VALUES or SET, by
 * the grammars of MariaDB and MySQL (`sql/sql_yacc.yy`).
 *
 * What is read means the same to every server. Where that is not certain, the reading ends, and what was read before
 * stays: a server, too, executes a text statement by statement.
 */
import type { Parts } from '../../base/turns.ts'
import type { FilledColumn, FilledColumns } from './configured-columns.ts'
import { Cursor, marks, sameColumn, unsure } from './cursor.ts'
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
  /** The INSERTs that were read. */
  readonly inserts: readonly Insert[]
  readonly parametersAt: readonly number[]
  /** Whether the text is one INSERT, and was read to its end. */
  readonly isAlone: boolean
  /** Whether all of it was read, and leaves the session as it is. */
  readonly keepsSession: boolean
  /** Whether a part of it may define a table: it was not read, or begins with such a verb. */
  readonly mayDefine: boolean
  /** A table whose columns have to be known first; undefined: there is none. */
  readonly unknown: FilledColumn | undefined
}

const nothing: Reading = {
  inserts: [],
  parametersAt: [],
  isAlone: false,
  keepsSession: false,
  mayDefine: true,
  unknown: undefined,
}
/** Rows of a text that may need ids; each statement but the first counts as some. */
const [rowsMax, statementRows] = [100_000, 2]
/** What a statement takes in addition to its tokens. */
const statementWork = 32
const { leftParen, rightParen, comma, dot, semicolon, equal, colon } = marks
const modifiers = ['LOW_PRIORITY', 'DELAYED', 'HIGH_PRIORITY']
const zero = /^[+-]?[ \t-\r]*(?=\.?\d)\d*\.?\d*(?:e[+-]?\d+)?$/i
const zeroText = /^(['"])0\1$/
const zeroBits = /^(?:0[xb]0+|b'0*')$/i
const positive = /^(['"]?)([1-9]\d{0,19})\1$/
/** Longer values are none that ask for an id. */
const valueBytesMax = 64

/** Reads a text, in parts that end between rows or statements. Never throws. */
export function* readText(sql: Buffer, context: ReadingContext): Parts<Reading> {
  return context.session.isReadable ? yield* new Reader(sql, context).read() : nothing
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

  *read(): Parts<Reading> {
    let [statements, isOver] = [0, false]
    try {
      this.#cursor.next()
      while (this.#cursor.kind !== token.end) {
        if (this.#cursor.takeMark(semicolon)) continue
        statements++
        const word = this.#cursor.word()
        if (word === 'INSERT' || word === 'REPLACE') yield* this.#insertOrSkip(word === 'REPLACE')
        else this.#other(word)
        if (this.#cursor.endsPart(statementWork)) yield
      }
      isOver = true
    } catch (error) {
      if (error !== unsure) throw error
    }
    const { parametersAt } = this.#cursor
    // All of a text to prepare has to be known.
    if (this.#context.isPrepared && (!isOver || statements > 1)) return { ...nothing, unknown: this.#unknown }
    return {
      inserts: this.#inserts,
      parametersAt,
      isAlone: isOver && statements === 1 && this.#inserts.length === 1,
      keepsSession: isOver && !this.#isMoved,
      mayDefine: !isOver || this.#defines,
      unknown: this.#unknown,
    }
  }

  /** A statement that inserts nothing. */
  #other(word: string): void {
    const { start } = this.#cursor
    if (word === 'USE') {
      this.#cursor.next()
      this.#database = this.#cursor.demandName().name
      this.#isMoved = true
      if (!this.#cursor.atEnd) throw unsure
      return
    }
    this.#cursor.skipStatement()
    const { keepsSession, defines } = verbOf(this.#sql.subarray(start, this.#cursor.start), 0)
    if (!keepsSession) throw unsure
    this.#defines ||= defines
  }

  *#insertOrSkip(isReplace: boolean): Parts<void> {
    const at = this.#rows
    try {
      yield* this.#insert(isReplace)
    } catch (error) {
      if (error !== unsure || this.#cursor.kind === token.unsure) throw error
      this.#rows = at
    }
    this.#cursor.skipStatement()
  }

  /** The statement, from its verb on. */
  *#insert(isReplace: boolean): Parts<void> {
    const cursor = this.#cursor
    cursor.next()
    let isIgnore = false
    for (let isOpen = true; isOpen; ) {
      const ignores = cursor.takeWord('IGNORE')
      isIgnore ||= ignores
      isOpen = ignores || modifiers.some((word) => cursor.takeWord(word))
    }
    cursor.takeWord('INTO')
    const target = this.#target()
    if (target === undefined) return
    const { column, table } = target
    ;[cursor.reads, cursor.sets] = [0, 0]
    if (cursor.takeWord('PARTITION')) {
      cursor.demandMark(leftParen)
      do cursor.demandName()
      while (cursor.takeMark(comma))
      cursor.demandMark(rightParen)
    }
    const found = cursor.takeWord('SET') ? this.#assignments(column) : this.#columns(column)
    if (found.columns.form !== 'set')
      do {
        this.#row(found)
        if (cursor.endsPart()) yield
      } while (cursor.takeMark(comma))
    this.#count(0)
    this.#inserts.push({ column, isReplace, isIgnore, table, ...this.#behindRows(column, found) })
  }

  /** Reads what follows the rows of an INSERT. */
  #behindRows(column: FilledColumn, { columns, rows, count, last, empty }: Found): Behind {
    const cursor = this.#cursor
    const isListed = columns.form !== 'none'
    // Rows with values would need another list of columns than those without.
    if (!isListed && empty > 0 && empty < count) throw unsure
    const readsInValues = cursor.reads
    const readsLastInsertId = readsInValues > 0
    if (cursor.sets > 0) throw unsure
    if (cursor.takeWord('AS')) {
      cursor.demandName()
      // The id would need an alias too.
      if (cursor.atMark(leftParen)) throw unsure
    }
    const onDuplicateEnd = this.#onDuplicate()
    const decidesId = cursor.sets > 0
    if (cursor.takeWord('RETURNING')) for (; !cursor.atEnd; cursor.next()) cursor.noteLastInsertId()
    const bound = rows.reduce((sum, { parameter }) => (parameter < 0 ? sum : sum + 1), 0)
    const isUnsure =
      !cursor.atEnd ||
      cursor.reads !== readsInValues ||
      (rows.length > 0 && !this.#canWriteNames(column, columns)) ||
      (readsLastInsertId && onDuplicateEnd > 0 && count > 1) ||
      (bound > 0 && (readsLastInsertId || bound < rows.length)) ||
      (readsLastInsertId && rows.length > 0 && rows.length < count)
    if (isUnsure) throw unsure
    return {
      columns: isListed || empty === 0 ? columns : { ...columns, all: [] },
      rows,
      count,
      lastGiven: last.given,
      lastParameter: last.parameter,
      onDuplicateEnd,
      decidesId,
      readsLastInsertId,
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
    if (this.#cursor.atMark(dot)) throw unsure
    const column = this.#context.columns.find(database, name)
    return column && { column, table: text }
  }

  /** Names are written as UTF-8. */
  #canWriteNames({ column }: FilledColumn, columns: Columns): boolean {
    const names = columns.form === 'none' ? [column, ...columns.all] : [column]
    return this.#context.session.isUtf8 || names.every((name) => /^[\x20-\x7e]*$/.test(name))
  }

  /** The columns in front of the rows. */
  #columns(column: FilledColumn): Found {
    const listAt = this.#cursor.start
    if (this.#cursor.atMark(leftParen)) {
      const found = this.#list(column)
      this.#demandValues()
      return found
    }
    this.#demandValues()
    const all = this.#context.columnsOf(column)
    if (all.length === 0) {
      this.#unknown = column
      throw unsure
    }
    const idIndex = all.findIndex((name) => sameColumn(name, column.column))
    return foundIn({ form: 'none', listAt, all }, idIndex, all.length)
  }

  #demandValues(): void {
    if (!this.#cursor.takeWord('VALUES') && !this.#cursor.takeWord('VALUE')) throw unsure
  }

  /** A list of columns. */
  #list({ column }: FilledColumn): Found {
    this.#cursor.next()
    let [idIndex, count] = [-1, 0]
    let id: ListedId | undefined
    while (!this.#cursor.atMark(rightParen)) {
      const { start } = this.#cursor
      const isId = this.#cursor.takeColumn(column)
      const end = this.#cursor.previousEnd
      const isFollowed = this.#cursor.takeMark(comma)
      if (isFollowed === this.#cursor.atMark(rightParen) || (isId && id !== undefined)) throw unsure
      if (isId) {
        idIndex = count
        id = { start, end, followingAt: isFollowed ? this.#cursor.start : 0 }
      }
      count++
    }
    const addAt = this.#cursor.start
    this.#cursor.next()
    return foundIn({ form: 'list', id, addAt, isEmpty: count === 0 }, idIndex, count)
  }

  /** One row. */
  #row(found: Found): void {
    const cursor = this.#cursor
    cursor.takeWord('ROW')
    cursor.demandMark(leftParen)
    let values = 0
    let id: ReadValue = absent
    let followingAt = 0
    while (!cursor.atMark(rightParen)) {
      if (values === found.idIndex) id = this.#value()
      else cursor.skipExpression()
      const isFollowed = cursor.takeMark(comma)
      if (isFollowed === cursor.atMark(rightParen)) throw unsure
      if (values++ === found.idIndex && isFollowed) followingAt = cursor.start
    }
    const isEmpty = values === 0
    if (isEmpty) found.empty++
    if (values !== found.width && !(isEmpty && found.columns.form === 'none')) throw unsure
    this.#keep(found, id, followingAt, cursor.start, isEmpty)
    cursor.next()
  }

  #keep(found: Found, id: ReadValue, followingAt: number, addAt: number, isEmpty: boolean): void {
    found.count++
    found.last = id
    if (!id.mayNeed) return
    this.#count(1)
    const [start, end] = id.end === 0 ? [addAt, addAt] : [id.start, id.end]
    found.rows.push({ start, end, parameter: id.parameter, followingAt, addAt, isEmpty })
  }

  #count(rows: number): void {
    this.#rows += rows
    if (this.#rows + this.#inserts.length * statementRows > rowsMax) throw unsure
  }

  #assignments({ column }: FilledColumn): Found {
    let id: ListedId | undefined
    let value: ReadValue = absent
    let addAt = 0
    for (let isFollowed = true; isFollowed; ) {
      const { start } = this.#cursor
      const isId = this.#cursor.takeColumn(column)
      if (this.#cursor.takeMark(colon) && this.#cursor.previousEnd !== this.#cursor.start) throw unsure
      this.#cursor.demandMark(equal)
      if (isId && id !== undefined) throw unsure
      if (isId) value = this.#value()
      else this.#cursor.skipExpression()
      addAt = this.#cursor.previousEnd
      isFollowed = this.#cursor.takeMark(comma)
      if (isId) id = { start, end: addAt, followingAt: isFollowed ? this.#cursor.start : 0 }
    }
    const found = foundIn({ form: 'set', id }, 0, 0)
    this.#keep(found, value, id?.followingAt ?? 0, addAt, false)
    return found
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
      throw unsure
    do this.#cursor.skipExpression()
    while (this.#cursor.takeMark(comma))
    return this.#cursor.previousEnd
  }
}

/** What was read of the columns, and of the rows until now. */
type Found = {
  readonly columns: Columns
  /** Which of the columns is the id, -1: absent; and how many there are. */
  readonly idIndex: number
  readonly width: number
  readonly rows: RowId[]
  count: number
  /** Rows without values. */
  empty: number
  last: ReadValue
}
type Behind = Omit<Insert, 'column' | 'isReplace' | 'isIgnore' | 'table'>

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

function foundIn(columns: Columns, idIndex: number, width: number): Found {
  return { columns, idIndex, width, rows: [], count: 0, empty: 0, last: absent }
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
