/**
 * Fills ids into the prepared statements of one connection.
 *
 * Invariants
 *  1. The client sees its own parameters only. The server's statement has one more for each id that the text lacks.
 *  2. `#newest` is the statement that the client has prepared last, unless it is not filled in, or was refused.
 *  3. The connection has at most `statementsMax` such statements, which take at most `statementsBytesMax`.
 *  4. The insert id of a reply is the first id of its execution, unless a row was there before; or, if it got no id, the
 *     given id of its last row.
 *  5. While the server has not numbered a filled statement, no command that names a number unknown here is sent.
 *  6. After an execution that the proxy has answered by itself, the server has no long data of it.
 */
import type { HeldCommand } from './client-commands.ts'
import { type ColumnType, refuseUnfit } from './column-types.ts'
import { type Execution, writeExecution } from './execute-packet.ts'
import type { FillerHost } from './filler-host.ts'
import { firstIdFilter, givenIdFilter } from './insert-ids.ts'
import { NewestStatement, newestStatement } from './newest-statement.ts'
import { paced } from './pacing.ts'
import { prepareFilter } from './prepare-reply.ts'
import { PreparedStatement } from './prepared-statement.ts'
import { commands } from './protocol.ts'
import {
  asError,
  bulkExecution,
  changedFormat,
  malformedExecution,
  tooLongStatements,
  tooManyStatements,
} from './refusals.ts'
import { canNameColumns, type DrawnIds, preparedSlices } from './sql/fill.ts'
import type { Insert } from './sql/insert.ts'
import { foreignNames } from './sql/refusal.ts'
import type { SqlSession } from './sql/session.ts'

/** Swallows the reply to a command of the proxy. */
const swallowed = { receives: 'all', bytesMax: 65_536, packet: () => undefined } as const

/** The filled statements of one connection. */
export class PreparedFiller {
  /** What all of its statements take, in bytes. */
  bytes = 0
  readonly #host: FillerHost
  /** By the server's numbers. */
  readonly #statements = new Map<number, PreparedStatement>()
  /** Those, and what the server has not numbered yet. */
  readonly #all = new Set<PreparedStatement>()
  /** Those whose PREPARE the server has not answered yet, also if they are closed. */
  readonly #unnumbered = new Set<PreparedStatement>()
  /** Takes a command that waits for the next of their numbers. */
  #numberedNext: (() => void) | undefined
  #newest: PreparedStatement | undefined
  readonly #meaning = new NewestStatement()

  constructor(host: FillerHost) {
    this.#host = host
  }

  /** The filled statement that a command names. */
  find(statement: number): PreparedStatement | undefined {
    return statement === newestStatement ? this.#newest : this.#statements.get(statement)
  }

  /** Whether the server may be about to give this number to a filled statement, which the client can only guess. */
  mayBecome(statement: number): boolean {
    const isKnown = statement === newestStatement || this.#statements.has(statement)
    return !isKnown && this.#unnumbered.size > 0
  }

  /** Resolves when the server has answered one more PREPARE of a filled statement. */
  nextNumber(): Promise<void> {
    return new Promise((resolve) => {
      this.#numberedNext = resolve
    })
  }

  /** The server's number of the statement that a command of the client names. */
  numberOf(statement: number): number {
    return this.#meaning.numberOf(statement)
  }

  /** A statement that is not filled in is prepared. */
  preparesOther(): void {
    this.#newest = undefined
    this.#meaning.sent()
  }

  /** The server has numbered a statement of the client, or has refused it. */
  prepared(number: number | undefined): void {
    this.#meaning.answered(number)
  }

  /** The proxy prepares a statement. */
  asked(): void {
    this.#meaning.asked()
  }

  /** The server forgets all statements. */
  clear(): void {
    this.#statements.clear()
    this.#all.clear()
    this.#unnumbered.clear()
    this.bytes = 0
    this.#newest = undefined
    this.#meaning.none()
  }

  /** The client closes a statement. */
  close(statement: number): void {
    const found = this.find(statement)
    if (found === undefined) return
    if (found === this.#newest) this.#newest = undefined
    for (const number of statement === newestStatement ? [...this.#statements.keys()] : [statement])
      if (this.#statements.get(number) === found) this.#statements.delete(number)
    this.#forget(found)
  }

  /** The server does not receive a command of the client, which the proxy answers by itself. */
  withheld({ command, body }: HeldCommand): void {
    if (command === commands.statementPrepare) {
      this.#newest = undefined
      this.#meaning.none()
    }
    if (command !== commands.statementExecute && command !== commands.statementBulkExecute) return
    const statement = this.find(body.readUInt32LE())
    if (statement?.hasLongData !== true) return
    statement.reset()
    const number = this.#named(body.subarray(0, 4))
    this.#host.ask(commands.statementReset, number, { form: 'packet', ...swallowed })
  }

  /** Prepares an INSERT that may need ids. `parametersAt`: where the client's parameters are in its text. */
  async prepare(
    command: HeldCommand,
    insert: Insert,
    parametersAt: readonly number[],
    { charset }: SqlSession,
  ): Promise<void> {
    const { filling, signal, statementsMax, statementsBytesMax } = this.#host
    if (!canNameColumns(insert, charset))
      return this.#host.answer(command, asError(foreignNames(charset.name)))
    if (this.#all.size >= statementsMax) return this.#host.answer(command, tooManyStatements(statementsMax))
    const isText = await filling.supply.isText(insert.column.generator, signal)
    const slices = preparedSlices(command.body, insert, parametersAt, isText)
    const fill = await paced(slices, command.body.length, signal)
    const statement = new PreparedStatement(insert, command.body, fill, isText, parametersAt.length)
    if (this.bytes + statement.bytes > statementsBytesMax)
      return this.#host.answer(command, tooLongStatements(statementsBytesMax))
    this.#newest = statement
    this.#all.add(statement)
    this.#unnumbered.add(statement)
    this.bytes += statement.bytes
    this.#meaning.sent()
    const isShown = fill.parameters.map((source) => source >= 0)
    const filter = prepareFilter(isShown, !this.#host.deprecatesEof, (number) =>
      this.#answered(statement, number),
    )
    this.#host.send(command, fill.sql, filter)
  }

  /** Executes a filled statement. `type` is the column's, as far as it is known. */
  execute(
    command: HeldCommand,
    statement: PreparedStatement,
    session: SqlSession,
    type: ColumnType | undefined,
  ): Promise<void> | undefined {
    if (command.command === commands.statementBulkExecute) {
      this.#host.answer(command, bulkExecution)
      return undefined
    }
    const execution = statement.read(command.body)
    if (execution === undefined) {
      this.#host.answer(command, malformedExecution)
      return undefined
    }
    const needs = statement.needs(execution, session)
    if ('error' in needs) {
      this.#host.filling.totals.refused++
      this.#host.answer(command, needs.error)
      return undefined
    }
    const { rows } = needs
    if (rows.length === 0) {
      this.#send(command, statement, execution, rows, [])
      return undefined
    }
    const { supply } = this.#host.filling
    const drawn = supply.take(statement.insert.column.generator, rows.length, this.#host.signal)
    if (!(drawn instanceof Promise)) {
      this.#executeWith(command, statement, execution, rows, drawn, type)
      return undefined
    }
    return drawn.then((ids) => this.#executeWith(command, statement, execution, rows, ids, type))
  }

  #executeWith(
    command: HeldCommand,
    statement: PreparedStatement,
    execution: Execution,
    rows: readonly number[],
    drawn: DrawnIds,
    type: ColumnType | undefined,
  ): void {
    const { filling } = this.#host
    const { column } = statement.insert
    if (drawn.isText !== statement.isText) return this.#host.answer(command, changedFormat(column))
    if (type !== undefined) refuseUnfit(drawn, column, type)
    filling.totals.filled++
    filling.totals.ids += drawn.ids.length
    this.#send(command, statement, execution, rows, drawn.ids)
  }

  #send(
    command: HeldCommand,
    statement: PreparedStatement,
    execution: Execution,
    rows: readonly number[],
    ids: readonly string[],
  ): void {
    const { ask, send } = this.#host
    const [first] = ids
    const firstId = first === undefined || statement.isText ? undefined : first
    if (firstId !== undefined && !statement.setsInsertId)
      ask(commands.query, Buffer.from(`SET last_insert_id = ${first}`), { form: 'results', ...swallowed })
    const head = this.#named(execution.head)
    const body = writeExecution(head, statement.parametersWith(execution, rows, ids))
    statement.reset()
    send(command, body, this.#filterOf(statement, execution, firstId))
  }

  #answered(statement: PreparedStatement, number: number | undefined): void {
    this.#unnumbered.delete(statement)
    this.#numbered(statement, number)
    this.#numberedNext?.()
    this.#numberedNext = undefined
  }

  #numbered(statement: PreparedStatement, number: number | undefined): void {
    // Otherwise the server has forgotten it.
    if (!this.#all.has(statement)) return
    if (number === undefined) {
      if (statement === this.#newest) this.#newest = undefined
      return this.#forget(statement)
    }
    const other = this.#statements.get(number)
    if (other !== undefined) this.#forget(other)
    this.#statements.set(number, statement)
  }

  #forget(statement: PreparedStatement): void {
    if (this.#all.delete(statement)) this.bytes -= statement.bytes
  }

  /** The number of a statement in front of `body`, as the server knows it now. */
  #named(body: Buffer): Buffer {
    const named = Buffer.from(body)
    named.writeUInt32LE(this.numberOf(body.readUInt32LE()))
    return named
  }

  #filterOf(statement: PreparedStatement, execution: Execution, firstId: string | undefined) {
    // Only the server knows whether the row was there before.
    if (statement.insert.onDuplicate !== undefined) return undefined
    if (firstId !== undefined) return firstIdFilter(statement.insert, firstId)
    const given = statement.lastGiven(execution)
    return given === undefined ? undefined : givenIdFilter(statement.insert, given)
  }
}
