/**
 * Reads the statements of a packet, and finds those that insert rows into filled tables.
 *
 * Invariants
 *  1. A text is filled in only where it is an INSERT or a REPLACE into a filled table that was read to its end.
 *  2. A text that inserts into a filled table in a form that cannot be filled in is refused, as far as its words say so:
 *     what runs inside the server (triggers, procedures, views, statements in variables) is not seen.
 *  3. A text with executable comments is refused if it may insert into a filled table, whichever of them are executed.
 */
import { Cursor, mark, Refused } from './cursor.ts'
import { Definitions, definesRoutine } from './definitions.ts'
import { mayInsertByVersion } from './executable-comments.ts'
import type { FilledColumn } from './filled-columns.ts'
import { literalText } from './id-values.ts'
import { type Insert, lastGiven } from './insert.ts'
import { GivenRowsNeeded, InsertReader } from './insert-reader.ts'
import { Lexer, token } from './lexer.ts'
import { isFollowedBy, isLabelled, isTemporary } from './lookahead.ts'
import type { Reading, ReadingContext } from './reading.ts'
import {
  createdWithRows,
  idForced,
  preparedForTemporary,
  tooManyRows,
  unclearHint,
  unreadable,
  unsupported,
} from './refusal.ts'
import { skipRoutine } from './routines.ts'
import { FactsMissing, rowsMax } from './row-reader.ts'
import { type SqlSession, withDatabase } from './session.ts'
import { changeOfStatement } from './session-change.ts'
import { atOnce, type Slices } from './slices.ts'
import { textEnd } from './spans.ts'
import { createdTable, hasRowsOfQuery, hidesInsert, insertsWithin, readTarget } from './targets.ts'
import { compounds, definitions, inserting, plain, wrappers } from './verbs.ts'
import { latin1, sameColumn, wordOf } from './words.ts'

const relay: Reading = { kind: 'relay' }
/** Read the text again, and keep the rows whose ids it gives. */
const givenRowsNeeded: Reading = { kind: 'relay' }
/** Reads a text for which `FilledColumns.mayMatter` is true. Never throws. */
export function readStatements(sql: Buffer, context: ReadingContext): Reading {
  return atOnce(readingSlices(sql, context))
}

/** The same in slices, for a long text. */
export function* readingSlices(sql: Buffer, context: ReadingContext): Slices<Reading> {
  const text = sql.subarray(0, textEnd(sql))
  const reader = new StatementsReader(text, context, 'read')
  const reading = yield* reader.read()
  if (reading === givenRowsNeeded) return yield* readingSlices(sql, { ...context, keepsGiven: true })
  const { session, columns } = context
  if (reading === relay && reader.sawHint && (yield* hidesInsert(text, columns)))
    return { kind: 'refuse', refusal: unclearHint }
  if (!reader.sawExecutable) return reading
  const isSure = reading === relay && !(yield* mayInsertByVersion(text, session, columns))
  if (isSure && (yield* new StatementsReader(text, context, 'leave').read()) === relay) return relay
  return {
    kind: 'refuse',
    refusal: unsupported(
      'a text with executable comments inserts into a table whose ids are filled in; send the comments in statements of their own',
    ),
  }
}

class StatementsReader {
  readonly #sql: Buffer
  readonly #context: ReadingContext
  readonly #lexer: Lexer
  readonly #cursor: Cursor
  readonly #inserts: Insert[] = []
  /** The definitions so far. */
  readonly #definitions = new Definitions()
  /** An insert that gives all ids. */
  #given: Insert | undefined
  #session: SqlSession
  /** Whether the session is still as the context says. */
  #isSessionKnown = true
  /** Whether the text may have an insert behind a change of the session. */
  #mayInsertLater = true
  #statements = 0
  /** The rest of the statement says nothing. */
  #isSkipping = false
  /** It defines a table, or another object. */
  #isDefinition = false
  /** The filled table that it creates. */
  #created: FilledColumn | undefined
  /** Rows of all statements that may need ids. */
  #rows = 0

  constructor(sql: Buffer, context: ReadingContext, executable: 'read' | 'leave') {
    this.#sql = sql
    this.#context = context
    this.#session = context.session
    this.#lexer = new Lexer(sql, context.session, { executable, parameters: context.prepared })
    this.#cursor = new Cursor(this.#lexer, context.session.charset)
  }

  get sawExecutable(): boolean {
    return this.#lexer.sawExecutable
  }

  get sawHint(): boolean {
    return this.#lexer.sawHint
  }

  *read(): Slices<Reading> {
    try {
      yield* this.#readAll()
    } catch (error) {
      if (error instanceof GivenRowsNeeded) return givenRowsNeeded
      if (error instanceof Refused) return { kind: 'refuse', refusal: error.refusal }
      if (error instanceof FactsMissing) return { kind: 'ask', column: error.column, fact: error.fact }
      throw error
    }
    const inserts = this.#inserts
    if (inserts.length === 0) return this.#givenId() ?? relay
    const isAlone = this.#statements === 1
    return { kind: 'fill', inserts, parametersAt: this.#lexer.parametersAt, isAlone }
  }

  #givenId(): Reading | undefined {
    const insert = this.#given
    if (insert === undefined || this.#context.prepared || this.#statements > 1 || this.#lexer.sawExecutable)
      return undefined
    const id = lastGiven(insert, this.#sql)
    return id === undefined ? undefined : { kind: 'relay', given: { insert, id } }
  }

  *#readAll(): Slices<void> {
    const cursor = this.#cursor
    cursor.step()
    while (this.#lexer.kind !== token.end) {
      if (cursor.isPause) yield
      if (cursor.takeMark(mark.semicolon)) continue
      const { start } = this.#lexer
      this.#lexer.sawOdd = false
      if (!this.#isSessionKnown) this.#refuseAfterChange(start)
      this.#statements++
      if (inserting.has(wordOf(this.#lexer))) yield* this.#insert()
      else yield* this.#statement(start)
      if (this.#isSkipping) yield* this.#skipped(start)
      if (cursor.atEnd) continue
      if (this.#mentions(start)) cursor.fail()
      return
    }
    if (this.#context.prepared && this.#statements > 1 && this.#inserts.length > 0)
      throw new Refused(unreadable('several statements cannot be prepared as one; prepare each by itself'))
  }

  /** Reads a statement, whose first token is the current one, to its end, or to a token that ends the reading. */
  *#statement(start: number): Slices<void> {
    const cursor = this.#cursor
    const verb = wordOf(this.#lexer)
    if (wrappers.has(verb)) yield* this.#refuseWithin(verb)
    else if (definitions.has(verb)) yield* this.#definition(start, verb)
    else if (verb === 'SET') yield* this.#set()
    else if (verb === 'PREPARE' || verb === 'EXECUTE') yield* this.#dynamic(start)
    else if (verb === 'BEGIN') yield* this.#begin()
    else if (plain.has(verb) || cursor.atMark(mark.leftParen)) this.#plain()
    else yield* this.#other(verb)
  }

  *#insert(): Slices<void> {
    const cursor = this.#cursor
    const target = readTarget(cursor, this.#session, this.#context.columns)
    if (!target || this.#isHidden(target.column)) return this.#skip()
    if (this.#session.oracle && this.#context.prepared)
      throw new Refused(
        unsupported(
          'in the SQL mode ORACLE parameters may have names, and no ids are filled into prepared statements; send text',
        ),
      )
    const insert = yield* this.#readInsert(target)
    if (this.#lexer.sawOdd)
      throw new Refused(
        unsupported(
          `the statement has bytes outside of its texts that may be spaces or letters in ${this.#session.charset.name}; send it as utf8mb4`,
        ),
      )
    if (insert.rows.every(({ state }) => state === 'given')) {
      this.#given = insert
      // The reply to an execution reports an id, too.
      if (!this.#context.prepared) return
    }
    if (this.#definitions.has(target.column.table)) this.#refuseDefined(target.column)
    if (this.#session.forcedId && !this.#context.prepared) throw new Refused(idForced(target.column))
    this.#rows += insert.rows.length
    if (this.#rows > rowsMax) throw new Refused(tooManyRows(rowsMax))
    this.#inserts.push(insert)
  }

  /** Whether the name is that of a temporary table without the filled column, at this moment. */
  #isHidden(column: FilledColumn): boolean {
    if (!this.#context.isShadowed(column)) return false
    const columns = this.#context.factsOf(column)?.columns
    if (columns === undefined) throw new FactsMissing(column, 'columns')
    const isHidden = !columns.some((name) => sameColumn(name, column.column))
    if (isHidden && this.#context.prepared) throw new Refused(preparedForTemporary(column))
    return isHidden
  }

  *#readInsert(target: NonNullable<ReturnType<typeof readTarget>>): Slices<Insert> {
    const { factsOf, keepsGiven = false } = this.#context
    const isDefined = this.#definitions.has(target.column.table)
    const options = { facts: isDefined ? undefined : factsOf(target.column), keepsGiven }
    try {
      return yield* new InsertReader(this.#cursor, this.#session, target, options).read()
    } catch (error) {
      if (error instanceof FactsMissing && isDefined) this.#refuseDefined(target.column)
      throw error
    }
  }

  #refuseDefined({ database, table }: FilledColumn): never {
    throw new Refused(
      unsupported(
        `the same text defines and fills in ${database}.${table}; send the definition before the INSERT, by itself`,
      ),
    )
  }

  /** A statement that contains another: LOAD, EXPLAIN and ANALYZE. */
  *#refuseWithin(verb: string): Slices<void> {
    const cursor = this.#cursor
    const isExplain = verb !== 'LOAD' && verb !== 'ANALYZE'
    if (verb !== 'LOAD') cursor.step()
    // What is explained is not executed, unless it is analyzed.
    if (isExplain && !cursor.at('ANALYZE')) return this.#skip()
    if (!(yield* insertsWithin(cursor, this.#session, this.#context.columns))) return
    this.#refuseForm(verb)
  }

  #refuseForm(verb: string): never {
    const advice = verb === 'LOAD' ? ', or load rows that have their ids at the MySQL server itself' : ''
    throw new Refused(
      unsupported(`${verb} inserts into a table whose ids are filled in; send an INSERT by itself${advice}`),
    )
  }

  *#definition(start: number, verb: string): Slices<void> {
    const cursor = this.#cursor
    if ((verb === 'CREATE' || verb === 'ALTER') && (yield* definesRoutine(cursor)))
      return yield* this.#routine(start)
    if (verb === 'DROP' && changeOfStatement(cursor) !== 'none') this.#isSessionKnown = false
    if (verb === 'CREATE' && !isTemporary(this.#sql, this.#session, start))
      this.#created = createdTable(cursor, this.#session, this.#context.columns)
    this.#isDefinition = true
    this.#skip()
  }

  *#routine(start: number): Slices<void> {
    if (yield* skipRoutine(this.#cursor)) return
    const rest = new Lexer(this.#sql, this.#session, { executable: 'leave', parameters: false }, start)
    const cursor = new Cursor(rest, this.#session.charset)
    cursor.step()
    // $$…$$ is a string of MySQL.
    const isQuoted = this.#sql.includes('$', start) && this.#mentions(start)
    if (isQuoted || (yield* insertsWithin(cursor, this.#session, this.#context.columns, true)))
      this.#refuseForm('the text behind a definition')
    yield* this.#finish()
  }

  /** SET STATEMENT … FOR runs another statement. */
  *#set(): Slices<void> {
    const cursor = this.#cursor
    if (!isFollowedBy(this.#sql, this.#session, this.#lexer.start, 'STATEMENT')) return this.#plain()
    this.#isSessionKnown = false
    if (yield* insertsWithin(cursor, this.#session, this.#context.columns)) this.#refuseForm('SET STATEMENT')
  }

  /** A statement in a text; in a variable, or put together by functions, it is not seen. */
  *#dynamic(start: number): Slices<void> {
    const isExecuted = wordOf(this.#lexer) === 'EXECUTE'
    if (isExecuted && !isFollowedBy(this.#sql, this.#session, start, 'IMMEDIATE')) return this.#plain()
    let text = ''
    for (; !this.#cursor.atEnd && this.#lexer.kind !== token.broken; this.#cursor.step()) {
      if (this.#cursor.isPause) yield
      text += literalText(this.#lexer, this.#session)
    }
    if (isExecuted) this.#isSessionKnown = false
    if (this.#context.columns.mentions(Buffer.from(text, 'latin1'))) this.#refuseForm('a statement in a text')
  }

  *#begin(): Slices<void> {
    const cursor = this.#cursor
    cursor.step()
    if (cursor.atEnd || cursor.at('WORK')) return this.#skip()
    yield* this.#compound('BEGIN')
  }

  /** The statements up to the end of the text may belong to a compound statement. */
  *#compound(verb: string): Slices<void> {
    if (yield* insertsWithin(this.#cursor, this.#session, this.#context.columns, true)) this.#refuseForm(verb)
    yield* this.#finish()
  }

  #plain(): void {
    const change = changeOfStatement(this.#cursor)
    this.#skip()
    if (change === 'unknown') this.#isSessionKnown = false
    else if (change !== 'none') this.#session = withDatabase(this.#session, change.database)
  }

  *#other(verb: string): Slices<void> {
    this.#isSessionKnown = false
    const isBlock = compounds.has(verb) || isLabelled(this.#sql, this.#session, this.#lexer.start)
    if (isBlock) return yield* this.#compound('a compound statement')
    if (yield* insertsWithin(this.#cursor, this.#session, this.#context.columns))
      this.#refuseForm('a statement of an unknown form')
  }

  #skip(): void {
    this.#isSkipping = true
  }

  /** Goes to the end of a statement. */
  *#skipped(start: number): Slices<void> {
    const cursor = this.#cursor
    this.#isSkipping = false
    if (this.#created && (yield* hasRowsOfQuery(cursor))) throw new Refused(createdWithRows(this.#created))
    this.#created = undefined
    for (; !cursor.atEnd && this.#lexer.kind !== token.broken; cursor.step()) if (cursor.isPause) yield
    if (this.#isDefinition) this.#definitions.add(latin1(this.#sql, start, this.#lexer.start))
    this.#isDefinition = false
  }

  /** Nothing of the rest matters. */
  *#finish(): Slices<void> {
    for (; this.#lexer.kind !== token.end && this.#lexer.kind !== token.broken; this.#cursor.step())
      if (this.#cursor.isPause) yield
  }

  #refuseAfterChange(start: number): void {
    // What is not in the rest of the text is not behind the next statement either.
    this.#mayInsertLater &&= this.#mentions(start)
    if (this.#mayInsertLater)
      throw new Refused(
        unsupported(
          'a statement that may change the session stands in front of one that may need ids; send them one after the other',
        ),
      )
  }

  #mentions(start: number): boolean {
    return this.#context.columns.mentions(this.#sql.subarray(start))
  }
}
