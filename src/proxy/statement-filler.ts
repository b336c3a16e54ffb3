/**
 * Fills ids into the statements of one connection.
 *
 * Invariants
 *  1. A statement that inserts into a filled table is sent with its ids, or it is not sent, and the client gets an error.
 *  2. A statement is read with the facts of the session as they are when the server executes it: after anything that may
 *     have changed them, and before the first such statement, the server is asked.
 *  3. While a statement waits for the server or for ids, the client's next command is not judged.
 *  4. The insert id of a reply is never the id of a row that was not inserted.
 */
import assert from 'node:assert/strict'
import { describe, FahaoError } from '../base/errors.ts'
import { type HeldCommand, isExecution, type StatementReader } from './client-commands.ts'
import { type ColumnType, refuseUnfit, UnfitId } from './column-types.ts'
import type { FillerHost } from './filler-host.ts'
import { aloneFilter, givenIdFilter, ignoreFilter } from './insert-ids.ts'
import { errorOfMissingId } from './mysql-errors.ts'
import { paced } from './pacing.ts'
import { PreparedFiller } from './prepared-filler.ts'
import type { PreparedStatement } from './prepared-statement.ts'
import { commands, headerBytes } from './protocol.ts'
import { type Ask, RefusedQuestion } from './questions.ts'
import { SessionKnowledge } from './session-knowledge.ts'
import { readingBehindQuestion } from './sql/behind-question.ts'
import { type DrawnIds, fillSlices } from './sql/fill.ts'
import { type FilledColumn, isQuiet } from './sql/filled-columns.ts'
import { type Insert, idsNeeded } from './sql/insert.ts'
import type { Reading } from './sql/reading.ts'
import { diagnosticsLost, notReadable, notSeen, type Refusal } from './sql/refusal.ts'
import type { TableFact, TableFacts } from './sql/row-reader.ts'
import { type Slices, sliceRows } from './sql/slices.ts'
import { readingSlices } from './sql/statements.ts'

type Given = { readonly insert: Insert; readonly id: bigint }

type Fill = Extract<Reading, { kind: 'fill' }>

/** What was learned for one command. */
type Learned = {
  /** The columns of tables; undefined: of none. */
  columns: Map<FilledColumn, readonly string[]> | undefined
  /** Whether the server has been asked for anything. */
  hasAsked: boolean
}

/** About how much memory the ids of a row take, with what is known of the row, and an INSERT without them. */
const [rowBytes, insertBytes] = [150, 1000]

/** The types of columns, of those that are known. */
type Types = ReadonlyMap<FilledColumn, ColumnType | undefined>

/** The text with its ids. Throws UnfitId for an id that its column cannot hold. */
function* checkedSlices(
  sql: Buffer,
  inserts: readonly Insert[],
  types: Types,
  drawn: readonly DrawnIds[],
): Slices<Buffer> {
  for (const [at, { column }] of inserts.entries()) {
    const type = types.get(column)
    if (type !== undefined) refuseUnfit(drawn[at]!, column, type)
    if (at % sliceRows === sliceRows - 1) yield
  }
  return yield* fillSlices(sql, inserts, drawn)
}

/** Reads the statements of one connection. */
export class StatementFiller implements StatementReader {
  readonly #host: FillerHost
  readonly #knowledge: SessionKnowledge
  readonly #prepared: PreparedFiller
  /** The text that is held was whole when it was judged. */
  #isJudged = false
  /** A prepared statement may change the session, or a table, whenever one is executed. */
  #preparesChanges = false

  constructor(host: FillerHost) {
    this.#host = host
    this.#prepared = new PreparedFiller(host)
    const ask: Ask = (command, body, reply) => {
      if (command === commands.statementPrepare) this.#prepared.asked()
      host.ask(command, body, reply)
    }
    this.#knowledge = new SessionKnowledge(host.filling, ask, host.serverVersion)
  }

  /** Memory of prepared statements, in bytes. */
  get preparedBytes(): number {
    return this.#prepared.bytes
  }

  numberOf(statement: number): number {
    return this.#prepared.numberOf(statement)
  }

  /** The server has numbered a statement of the client, or has refused it. */
  prepared(number: number | undefined): void {
    this.#prepared.prepared(number)
  }

  /** The server does not receive a command of the client, which the proxy answers by itself. */
  withheld(command: HeldCommand): void {
    this.#prepared.withheld(command)
  }

  holdsText(command: number, sql: Buffer | undefined): boolean {
    this.#isJudged = sql !== undefined
    if (sql !== undefined && isQuiet(sql)) {
      if (command === commands.statementPrepare) this.#prepared.preparesOther()
      return false
    }
    if (sql === undefined || this.#knowledge.columns.mayMatter(sql)) return true
    this.#note(command, sql)
    return false
  }

  awaitsNumber(statement: number): boolean {
    return this.#prepared.mayBecome(statement)
  }

  holdsExecution(statement: number): boolean {
    if (this.#preparesChanges) this.#knowledge.forget()
    return this.#prepared.find(statement) !== undefined
  }

  positionOfLongData(statement: number, parameter: number): number {
    const found = this.#prepared.find(statement)
    found?.addLongData(parameter)
    return found?.positionOf(parameter) ?? parameter
  }

  passes(command: number, statement: number): void {
    if (command === commands.statementReset) this.#prepared.find(statement)?.reset()
    else if (command === commands.statementClose) this.#prepared.close(statement)
    else if (command === commands.initDb) this.#knowledge.session = undefined
    else if (command === commands.changeUser || command === commands.resetConnection) {
      this.#prepared.clear()
      this.#preparesChanges = false
      this.#knowledge.reset()
    }
  }

  take(command: HeldCommand): Promise<void> | undefined {
    try {
      const waiting = this.#take(command, { columns: undefined, hasAsked: false })
      if (waiting === undefined) return undefined
      this.#weigh(command)
      return waiting.catch((error) => this.#failed(command, error)).finally(() => this.#host.waits(0))
    } catch (error) {
      this.#failed(command, error)
      return undefined
    }
  }

  /** Takes a command, with what was learned for it. */
  #take(command: HeldCommand, learned: Learned): Promise<void> | undefined {
    const { session, columns } = this.#knowledge
    const isStatement = command.command === commands.query || command.command === commands.statementPrepare
    if (!isStatement && this.#prepared.mayBecome(command.body.readUInt32LE()))
      return this.#prepared.nextNumber().then(() => this.#take(command, learned))
    const statement = isStatement ? undefined : this.#executed(command)
    if (!isStatement && statement === undefined) return this.#relayNamed(command)
    if (isStatement && !this.#isJudged && !columns.mayMatter(command.body)) return this.#relay(command)
    // The server uses the forced id up without a word.
    if (session === undefined || (session.forcedId && !learned.hasAsked)) {
      learned.hasAsked = true
      return this.#knowledge.learnSession().then(() => this.#take(command, learned))
    }
    if (statement !== undefined) return this.#execute(command, statement, learned)
    const slicesOf = learned.hasAsked ? readingBehindQuestion : readingSlices
    const slices = slicesOf(command.body, {
      session,
      columns,
      prepared: command.command === commands.statementPrepare,
      factsOf: (column) => this.#factsOf(column, learned),
      isShadowed: (column) => this.#knowledge.isShadowed(column),
    })
    const reading = paced(slices, command.body.length, this.#host.signal)
    if (reading instanceof Promise) return reading.then((read) => this.#follow(command, read, learned))
    return this.#follow(command, reading, learned)
  }

  /** The filled statement that a command executes. */
  #executed({ command, body }: HeldCommand): PreparedStatement | undefined {
    return isExecution(command) ? this.#prepared.find(body.readUInt32LE()) : undefined
  }

  /** Relays a command that names a statement, now that all of the client's are numbered. */
  #relayNamed(command: HeldCommand): undefined {
    const { body, packet } = command
    const at = headerBytes + 1
    const number = this.numberOf(body.readUInt32LE())
    packet.writeUInt32LE(number, at)
    if (command.command !== commands.statementLongData) this.passes(command.command, number)
    else if (body.length >= 6)
      packet.writeUInt16LE(this.positionOfLongData(number, body.readUInt16LE(4)), at + 4)
    this.#host.relay(command)
  }

  #factsOf(column: FilledColumn, learned: Learned): TableFacts {
    const type = this.#knowledge.typeOf(column)
    return { columns: learned.columns?.get(column), isText: type && type.holds === 'text' }
  }

  /** Counts the memory of a command that waits. */
  #weigh({ packet }: HeldCommand, inserts: readonly Insert[] = []): void {
    const rows = inserts.reduce((sum, insert) => sum + insert.rows.length, 0)
    this.#host.waits(packet.length + insertBytes * inserts.length + rowBytes * rows)
  }

  #follow(command: HeldCommand, reading: Reading, learned: Learned): Promise<void> | undefined {
    if (reading.kind === 'ask') return this.#learn(command, reading.column, reading.fact, learned)
    if (reading.kind === 'refuse') return this.#refuse(command, reading.refusal)
    if (reading.kind === 'relay')
      return reading.given ? this.#sendGiven(command, reading.given) : this.#relay(command)
    if (command.command === commands.query) return this.#fill(command, reading, learned)
    const { inserts, parametersAt } = reading
    return this.#prepared.prepare(command, inserts[0]!, parametersAt, this.#knowledge.session!)
  }

  #refuse(command: HeldCommand, { code, state, message }: Refusal): undefined {
    this.#host.filling.totals.refused++
    this.#host.answer(command, { code, state, message: `fahao proxy: ${message}` })
  }

  #relay(command: HeldCommand): undefined {
    this.#note(command.command, command.body)
    this.#host.relay(command)
  }

  /** Takes note of a text that the server receives as it is. */
  #note(command: number, sql: Buffer): void {
    if (command === commands.query) return this.#knowledge.note(sql)
    this.#prepared.preparesOther()
    if (this.#knowledge.notePrepared(sql) || this.#knowledge.isChanging(sql)) this.#preparesChanges = true
  }

  /** Asks for a fact of a table, and takes the command again. */
  async #learn(command: HeldCommand, column: FilledColumn, fact: TableFact, learned: Learned): Promise<void> {
    learned.hasAsked = true
    if (fact === 'type') {
      if ((await this.#knowledge.learnType(column)) === undefined)
        return this.#refuse(command, notSeen(column))
    } else {
      const wasShadowed = this.#knowledge.isShadowed(column)
      const columns = await this.#knowledge.learnColumns(column)
      if (columns !== undefined) learned.columns = new Map(learned.columns).set(column, columns)
      else if (!wasShadowed) return this.#refuse(command, notReadable(column))
    }
    await this.#take(command, learned)
  }

  #execute(command: HeldCommand, statement: PreparedStatement, learned: Learned): Promise<void> | undefined {
    const untyped = this.#knowledge.untyped([statement.insert])
    if (untyped !== undefined) return this.#learn(command, untyped, 'type', learned)
    if (learned.hasAsked && statement.readsDiagnostics) return this.#refuse(command, diagnosticsLost)
    const type = this.#knowledge.typeOf(statement.insert.column)
    return this.#prepared.execute(command, statement, this.#knowledge.session!, type)
  }

  #fill(command: HeldCommand, reading: Fill, learned: Learned): Promise<void> | undefined {
    const { inserts } = reading
    const untyped = this.#knowledge.untyped(inserts)
    if (untyped !== undefined) return this.#learn(command, untyped, 'type', learned)
    const types = new Map<FilledColumn, ColumnType | undefined>()
    for (const { column } of inserts)
      if (!types.has(column)) types.set(column, this.#knowledge.typeOf(column))
    const { signal, filling } = this.#host
    const draws = inserts.map((insert) => ({
      generator: insert.column.generator,
      count: idsNeeded(insert),
    }))
    const [first, ...others] = draws
    assert(first, 'a text that is filled has an INSERT')
    if (others.length > 0) {
      this.#weigh(command, inserts)
      const drawn = filling.supply.takeEach(draws, signal)
      return drawn.then((ids) => this.#write(command, reading, types, ids))
    }
    const drawn = filling.supply.take(first.generator, first.count, signal)
    if (!(drawn instanceof Promise)) return this.#write(command, reading, types, [drawn])
    this.#weigh(command, inserts)
    return drawn.then((ids) => this.#write(command, reading, types, [ids]))
  }

  #write(
    command: HeldCommand,
    reading: Fill,
    types: Types,
    drawn: readonly DrawnIds[],
  ): Promise<void> | undefined {
    const { body } = command
    const sql = paced(checkedSlices(body, reading.inserts, types, drawn), body.length, this.#host.signal)
    if (sql instanceof Promise) return sql.then((text) => this.#send(command, reading, drawn, text))
    return this.#send(command, reading, drawn, sql)
  }

  #send(
    command: HeldCommand,
    { inserts, isAlone }: Fill,
    drawn: readonly DrawnIds[],
    sql: Buffer,
  ): undefined {
    const { filling } = this.#host
    filling.totals.filled++
    for (const { ids } of drawn) filling.totals.ids += ids.length
    // An INSERT itself changes nothing that is known.
    if (!isAlone) this.#knowledge.note(command.body)
    const filter = isAlone ? aloneFilter(inserts[0]!, drawn[0]!) : ignoreFilter(inserts, drawn)
    this.#host.send(command, sql, filter)
  }

  /** Sends a text as it is. */
  #sendGiven(command: HeldCommand, { insert, id }: Given): undefined {
    this.#knowledge.note(command.body)
    this.#host.send(command, command.body, givenIdFilter(insert, id))
  }

  /** The statement is not sent. */
  #failed(command: HeldCommand, error: unknown): void {
    if (error instanceof RefusedQuestion) return this.#host.answerWith(command, error.packet)
    if (error instanceof UnfitId) {
      this.#host.filling.totals.refused++
      return this.#host.answer(command, error.error)
    }
    // What comes after the end of the connection is no fault.
    if (!this.#host.signal.aborted) {
      this.#host.filling.missed(describe(error))
      if (!(error instanceof FahaoError)) this.#host.report(error)
    }
    this.#host.answer(command, errorOfMissingId(error))
  }
}
