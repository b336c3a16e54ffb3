/** The tables into which statements insert. */
import { type Cursor, mark, Refused } from './cursor.ts'
import type { FilledColumn, FilledColumns } from './filled-columns.ts'
import { token } from './lexer.ts'
import { foreignNames, unclearHint } from './refusal.ts'
import type { SqlSession } from './session.ts'
import { type Slices, sliceBytes } from './slices.ts'
import { isName, latin1, nameOf, wordOf } from './words.ts'

/** The start of an INSERT or REPLACE into a filled table, up to the table. */
export type Target = {
  readonly verb: 'insert' | 'replace'
  readonly isIgnore: boolean
  readonly column: FilledColumn
  /** The table as the statement names it, without its database. */
  readonly tableStart: number
  readonly tableEnd: number
}

const modifiers = new Set(['LOW_PRIORITY', 'DELAYED', 'HIGH_PRIORITY', 'IGNORE'])
/** No statement has more of them. */
const modifiersMax = 8
/** What changes a variable in a hint, or has its end elsewhere for some servers. */
const unclear = /set_var|['"`]/i
/** A word that inserts, and more than its length. */
const [inserting, wordBytes] = [/\b(?:insert|load)\b|\breplace\b(?!\s*\()/i, 64]

/**
 * Reads on from INSERT or REPLACE, the current token, to behind the table. Undefined if the table is none that is filled
 * in; the cursor is then at any token of the statement. Throws `Refused` where the table is not certain.
 */
export function readTarget(cursor: Cursor, session: SqlSession, columns: FilledColumns): Target | undefined {
  const { lexer } = cursor
  const { start } = lexer
  const verb = wordOf(lexer) === 'REPLACE' ? 'replace' : 'insert'
  cursor.step()
  let isIgnore = false
  let count = 0
  for (let word = wordOf(lexer); modifiers.has(word); word = wordOf(lexer)) {
    if (++count > modifiersMax) cursor.fail()
    isIgnore ||= word === 'IGNORE'
    cursor.step()
  }
  // LOAD DATA … REPLACE INTO TABLE: no statement has TABLE there but LOAD.
  if (cursor.take('INTO')) cursor.take('TABLE')
  const table = readTable(cursor, session, columns)
  if (!table) return undefined
  const { column, tableStart, tableEnd } = table
  if (lexer.sawHint && hasUnclearHint(latin1(lexer.bytes, start, tableEnd)) && columns.mentions(lexer.bytes))
    throw new Refused(unclearHint)
  return column && { verb, isIgnore, column, tableStart, tableEnd }
}

type Table = {
  readonly column: FilledColumn | undefined
  readonly tableStart: number
  readonly tableEnd: number
}

/** Reads the name of a table; undefined if there is none. */
export function readTable(cursor: Cursor, session: SqlSession, columns: FilledColumns): Table | undefined {
  const { lexer } = cursor
  // `.t` is the table of the current database.
  const isCurrent = cursor.takeMark(mark.dot)
  if (!isName(lexer)) return undefined
  let { start, end } = lexer
  let database: string | undefined = session.database
  let table = nameOf(lexer, session.charset)
  cursor.step()
  if (!isCurrent && cursor.takeMark(mark.dot)) {
    if (!isName(lexer)) return undefined
    ;({ start, end } = lexer)
    database = table
    table = nameOf(lexer, session.charset)
    cursor.step()
  }
  if (database === undefined || table === undefined) {
    if (columns.hasForeignNames) throw new Refused(foreignNames(session.charset.name))
    return { column: undefined, tableStart: start, tableEnd: end }
  }
  const column = columns.find(database, table)
  if (column && !session.charset.isKnown) throw new Refused(foreignNames(session.charset.name))
  return { column, tableStart: start, tableEnd: end }
}

/**
 * Whether a hint with quotes may end elsewhere for a server, which then reads an INSERT into a filled table behind the start of
 * the hint. REPLACE with a parenthesis is a function.
 */
export function* hidesInsert(sql: Buffer, columns: FilledColumns): Slices<boolean> {
  for (let at = sql.indexOf('/*+'); at >= 0; ) {
    const end = sql.indexOf('*/', at + 3)
    if (/['"`]/.test(latin1(sql, at, end < 0 ? sql.length : end))) {
      const rest = sql.subarray(at)
      return columns.mentions(rest) && (yield* hasInsertingWord(rest))
    }
    at = end < 0 ? -1 : sql.indexOf('/*+', end)
  }
  return false
}

function* hasInsertingWord(sql: Buffer): Slices<boolean> {
  for (let from = 0; from < sql.length; from += sliceBytes) {
    if (inserting.test(latin1(sql, from, Math.min(from + sliceBytes + wordBytes, sql.length)))) return true
    yield
  }
  return false
}

function hasUnclearHint(text: string): boolean {
  for (let at = text.indexOf('/*+'); at >= 0; ) {
    const end = text.indexOf('*/', at + 3)
    if (unclear.test(text.slice(at, end < 0 ? text.length : end))) return true
    at = end < 0 ? -1 : text.indexOf('/*+', end)
  }
  return false
}

/**
 * Whether a statement inside of the current one, or of those behind it, inserts into a filled table. Goes to the end of
 * the statement, or with `beyond` to the end of the text.
 */
export function* insertsWithin(
  cursor: Cursor,
  session: SqlSession,
  columns: FilledColumns,
  beyond = false,
): Slices<boolean> {
  const { lexer } = cursor
  while (lexer.kind !== token.end && lexer.kind !== token.broken && (beyond || !cursor.atEnd)) {
    if (cursor.isPause) yield
    const word = wordOf(lexer)
    if (word === 'INSERT' || word === 'REPLACE') {
      if (readTarget(cursor, session, columns)) return true
    } else if (word === 'INTO') {
      cursor.step()
      if (cursor.take('TABLE') && readTable(cursor, session, columns)?.column) return true
    } else cursor.step()
  }
  return false
}

/**
 * The filled table that a CREATE makes; undefined: it makes another one, or none. The current token is the one that tells what
 * is created. Goes behind the name of the table.
 */
export function createdTable(
  cursor: Cursor,
  session: SqlSession,
  columns: FilledColumns,
): FilledColumn | undefined {
  if (!cursor.take('TABLE')) return undefined
  if (cursor.take('IF')) {
    cursor.take('NOT')
    cursor.take('EXISTS')
  }
  return readTable(cursor, session, columns)?.column
}

/** Whether the rest of a CREATE TABLE has a query, whose rows the table gets. Goes to any token of the statement. */
export function* hasRowsOfQuery(cursor: Cursor): Slices<boolean> {
  const { lexer } = cursor
  for (; !cursor.atEnd && lexer.kind !== token.broken; cursor.step()) {
    const word = wordOf(lexer)
    if (word === 'SELECT' || word === 'TABLE') return true
    // PARTITION … VALUES IN, VALUES LESS THAN are no rows.
    if (word === 'VALUES') {
      cursor.step()
      if (cursor.atMark(mark.leftParen) || cursor.at('ROW')) return true
    }
    if (cursor.isPause) yield
  }
  return false
}
