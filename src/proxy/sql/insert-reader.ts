/**
 * Reads one INSERT or REPLACE into a filled table, by the grammars of MariaDB and MySQL (the rules `insert` and `replace`,
 * and `insert_stmt` and `replace_stmt`, of `sql/sql_yacc.yy`).
 *
 * Invariants
 *  1. A statement ends as an `Insert`, or is refused: nothing in it is passed over.
 *  2. The current token of the cursor is always the next one to be read.
 */
import { type Cursor, mark, Refused } from './cursor.ts'
import type { Columns, Insert, ListedId, OnDuplicate, RowId, Rows } from './insert.ts'
import { parametersMax } from './lexer.ts'
import {
  foreignNames,
  notShown,
  readsOwnId,
  rowsOfQuery,
  specifiedTwice,
  tooManyParameters,
} from './refusal.ts'
import { absent, FactsMissing, type RowOptions, RowReader } from './row-reader.ts'
import type { SqlSession } from './session.ts'
import type { Slices } from './slices.ts'
import type { Target } from './targets.ts'
import { isAscii, nameIn, sameColumn, wordOf } from './words.ts'

const queries = new Set(['SELECT', 'WITH', 'TABLE', 'VALUES', 'VALUE'])
const continuations = new Set([
  'UNION',
  'EXCEPT',
  'INTERSECT',
  'MINUS',
  'ORDER',
  'LIMIT',
  'FOR',
  'INTO',
  'PROCEDURE',
])

/** Thrown where rows were not kept whose ids are moved behind LAST_INSERT_ID(), and caught by `readingSlices`. */
export class GivenRowsNeeded extends Error {}

/**
 * Reads a statement into a filled table, from behind the table's name to its end. Throws `Refused`, `FactsMissing`
 * or `GivenRowsNeeded`.
 */
export class InsertReader {
  readonly #cursor: Cursor
  readonly #session: SqlSession
  readonly #target: Target
  readonly #options: RowOptions
  #idCount = 0

  constructor(cursor: Cursor, session: SqlSession, target: Target, options: RowOptions) {
    this.#cursor = cursor
    this.#session = session
    this.#target = target
    this.#options = options
  }

  /** The statement. */
  *read(): Slices<Insert> {
    const cursor = this.#cursor
    const [readsBefore, setsBefore] = [cursor.reads, cursor.sets]
    if (cursor.take('PARTITION')) yield* this.#skipPartitions()
    const rows = new RowReader(cursor, this.#session, this.#target, this.#options)
    const { columns, found } = yield* this.#columnsAndRows(rows)
    const { rows: ids, last, count } = found
    const readsLastInsertId = cursor.reads > readsBefore
    const [readsInValues, setsInValues] = [cursor.reads, cursor.sets]
    const aliasAt = yield* this.#alias()
    const onDuplicate = yield* this.#onDuplicate(setsInValues)
    const isReturning = yield* this.#returning()
    this.#end()
    if (cursor.lexer.parametersAt.length > parametersMax) throw new Refused(tooManyParameters)
    const { verb, isIgnore, column, tableStart, tableEnd } = this.#target
    if (ids.some(({ state }) => state !== 'given')) {
      this.#checkCharset()
      if (cursor.reads > readsInValues || setsInValues > setsBefore) this.#refuseLastInsertId()
      if (readsLastInsertId) this.#checkLateId(columns, ids, aliasAt)
      // A duplicate of one row would change what the next row reads.
      if (readsLastInsertId && onDuplicate?.decidesId === false && count > 1) this.#refuseLastInsertId()
      if (readsLastInsertId && ids.length < count) throw new GivenRowsNeeded()
    }
    return {
      column,
      verb,
      isIgnore,
      isReturning,
      onDuplicate,
      columns,
      rows: ids,
      lastRow: last,
      count,
      tableStart,
      tableEnd,
      aliasAt,
      readsLastInsertId,
      modes: rows.modes,
    }
  }

  *#columnsAndRows(rows: RowReader): Slices<{ columns: Columns; found: Rows }> {
    const cursor = this.#cursor
    if (cursor.take('SET')) return yield* this.#assignments(rows)
    const list = cursor.atMark(mark.leftParen) ? yield* this.#list() : undefined
    if (list) {
      this.#demandValues()
      return { columns: list.columns, found: yield* rows.readAll(list.idIndex, list.count) }
    }
    const listAt = cursor.lexer.start
    this.#demandValues()
    return yield* this.#withoutList(rows, listAt)
  }

  *#withoutList(rows: RowReader, listAt: number): Slices<{ columns: Columns; found: Rows }> {
    if (rows.firstIsEmpty())
      return { columns: { form: 'none', listAt, all: undefined }, found: yield* rows.readAll(-1, 0, true) }
    const all = this.#options.facts?.columns
    if (!all) throw new FactsMissing(this.#target.column, 'columns')
    const idIndex = all.findIndex((name) => sameColumn(name, this.#target.column.column))
    if (idIndex < 0) throw new Refused(notShown(this.#target.column))
    return {
      columns: { form: 'none', listAt, all },
      found: yield* rows.readAll(idIndex, all.length, true),
    }
  }

  #demandValues(): void {
    const cursor = this.#cursor
    const word = wordOf(cursor.lexer)
    if (word === 'VALUES' || word === 'VALUE') cursor.step()
    else if (queries.has(word) || cursor.atMark(mark.leftParen)) this.#refuseQuery()
    else cursor.fail()
  }

  #refuseQuery(): never {
    throw new Refused(rowsOfQuery(this.#target.column))
  }

  *#skipPartitions(): Slices<void> {
    const cursor = this.#cursor
    cursor.demandMark(mark.leftParen)
    yield* this.#skipNames()
    cursor.demandMark(mark.rightParen)
  }

  /** Names with commas between them. */
  *#skipNames(): Slices<void> {
    const cursor = this.#cursor
    do {
      if (cursor.isPause) yield
      cursor.skipName()
    } while (cursor.takeMark(mark.comma))
  }

  /** A list of columns; the token is its parenthesis. */
  *#list(): Slices<{ columns: Columns; idIndex: number; count: number }> {
    const cursor = this.#cursor
    const { lexer } = cursor
    cursor.step()
    if (cursor.atMark(mark.leftParen) || queries.has(wordOf(lexer))) this.#refuseQuery()
    let [idIndex, count] = [-1, 0]
    let id: ListedId | undefined
    while (!cursor.atMark(mark.rightParen)) {
      if (cursor.isPause) yield
      const { start } = lexer
      const isId = this.#isIdColumn()
      const end = lexer.previousEnd
      const comma = cursor.takeMark(mark.comma)
      if (isId) {
        idIndex = count
        id = { start, end, followingAt: comma ? lexer.start : 0 }
      }
      count++
      if (comma ? cursor.atMark(mark.rightParen) : !cursor.atMark(mark.rightParen)) cursor.fail()
    }
    const addAt = lexer.start
    cursor.step()
    return { columns: { form: 'list', id, addAt, isEmpty: count === 0 }, idIndex, count }
  }

  /** Reads a column's name; whether it is the filled one. */
  #isIdColumn(): boolean {
    this.#cursor.skipName()
    if (!this.#namesId()) return false
    if (++this.#idCount > 1) throw new Refused(specifiedTwice(this.#target.column.column))
    return true
  }

  #namesId(): boolean {
    const cursor = this.#cursor
    const { column } = this.#target.column
    const name = nameIn(cursor.lexer.bytes, cursor.nameStart, cursor.nameEnd, cursor.nameKind, cursor.charset)
    if (name !== undefined) return sameColumn(name, column)
    // Characters outside of the proxy's tables are in no ASCII name.
    if (!isAscii(column)) throw new Refused(foreignNames(this.#session.charset.name))
    return false
  }

  *#assignments(rows: RowReader): Slices<{ columns: Columns; found: Rows }> {
    const cursor = this.#cursor
    const { lexer } = cursor
    const isEnd = () => this.#atTail()
    let id: ListedId | undefined
    let row: RowId | undefined
    let addAt = 0
    for (let comma = true; comma; ) {
      const { start } = lexer
      const isId = this.#isIdColumn()
      this.#demandEqual()
      if (isId) row = rows.readId(isEnd)
      else while (!cursor.skipExpression(isEnd)) yield
      const end = lexer.previousEnd
      comma = cursor.takeMark(mark.comma)
      if (isId) id = { start, end, followingAt: comma ? lexer.start : 0 }
      addAt = comma ? 0 : end
    }
    const last = { ...(row ?? absent), addAt }
    return {
      columns: { form: 'set', id },
      found: { rows: last.state === 'given' ? [] : [last], last, count: 1 },
    }
  }

  /** `=`, or `:=` */
  #demandEqual(): void {
    const cursor = this.#cursor
    if (cursor.atMark(mark.colon)) {
      cursor.step()
      if (cursor.lexer.previousEnd !== cursor.lexer.start) cursor.fail()
    }
    cursor.demandMark(mark.equal)
  }

  /** Whether what follows the values begins here. */
  #atTail(): boolean {
    const cursor = this.#cursor
    return (
      cursor.at('ON') || cursor.at('AS') || (this.#session.dialect === 'mariadb' && cursor.at('RETURNING'))
    )
  }

  /** `AS new(a, b)`; where another alias of a column can be added. */
  *#alias(): Slices<number | undefined> {
    const cursor = this.#cursor
    if (!cursor.take('AS')) return undefined
    cursor.skipName()
    if (!cursor.takeMark(mark.leftParen)) return undefined
    yield* this.#skipNames()
    const at = cursor.lexer.start
    cursor.demandMark(mark.rightParen)
    return at
  }

  *#onDuplicate(setsBefore: number): Slices<OnDuplicate | undefined> {
    const cursor = this.#cursor
    if (!cursor.take('ON')) return undefined
    cursor.demand('DUPLICATE')
    cursor.demand('KEY')
    const at = cursor.lexer.end
    cursor.demand('UPDATE')
    let assignsId = false
    const isEnd = () => this.#session.dialect === 'mariadb' && cursor.at('RETURNING')
    do {
      this.#idCount = 0
      if (this.#isIdColumn()) assignsId = true
      this.#demandEqual()
      while (!cursor.skipExpression(isEnd)) yield
    } while (cursor.takeMark(mark.comma))
    return { at, endAt: cursor.lexer.previousEnd, assignsId, decidesId: cursor.sets > setsBefore }
  }

  *#returning(): Slices<boolean> {
    const cursor = this.#cursor
    if (!cursor.take('RETURNING')) return false
    const isEnd = () => false
    do while (!cursor.skipExpression(isEnd)) yield
    while (cursor.takeMark(mark.comma))
    return true
  }

  #end(): void {
    const cursor = this.#cursor
    if (cursor.atEnd) return
    if (continuations.has(wordOf(cursor.lexer))) this.#refuseQuery()
    cursor.fail()
  }

  /** The column's name may have to be written. */
  #checkCharset(): void {
    const { charset } = this.#session
    if (!charset.isUtf8 && !isAscii(this.#target.column.column)) throw new Refused(foreignNames(charset.name))
  }

  /** The id has to be evaluated last: see `fill.ts`. */
  #checkLateId(columns: Columns, ids: readonly RowId[], aliasAt: number | undefined): void {
    const isListed = columns.form !== 'none' || (columns.all?.every(isAscii) ?? true)
    if (aliasAt !== undefined || !isListed || ids.some(({ state }) => state === 'parameter'))
      this.#refuseLastInsertId()
  }

  #refuseLastInsertId(): never {
    throw new Refused(readsOwnId(this.#target.column))
  }
}
