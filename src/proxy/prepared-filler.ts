/**
 * Fills ids into the prepared statements of one connection.
 *
 * Invariants
 *  1. The client sees its own parameters only. The server's statement has one more for each id that the text lacks.
 *  2. `#newest` is the statement that the client has prepared last, before the server has numbered it: MariaDB's clients
 *     execute it by a number of its own.
 *  3. The connection has at most `statementsMax` such statements.
 *  4. The insert id of a reply is the first id of its execution, unless a row was there before; or, if it got no id, the
 *     given id of its last row.
 */
import type { HeldCommand } from './client-commands.ts'
import { refuseUnfit } from './column-types.ts'
import { type Execution, writeExecution } from './execute-packet.ts'
import type { FillerHost } from './filler-host.ts'
import { firstIdFilter, givenIdFilter } from './insert-ids.ts'
import { paced } from './pacing.ts'
import { prepareFilter } from './prepare-reply.ts'
import { PreparedStatement } from './prepared-statement.ts'
import { commands } from './protocol.ts'
import { bulkExecution, changedFormat, malformedExecution, tooManyStatements } from './refusals.ts'
import type { ReplyFilter } from './replies.ts'
import { type DrawnIds, preparedSlices } from './sql/fill.ts'
import { type Insert, idsNeeded } from './sql/insert.ts'
import type { SqlSession } from './sql/session.ts'

/** The statement that was prepared last, in MariaDB's protocol. */
const newestStatement = 0xffff_ffff
/** Swallows the reply to a command of the proxy. */
const swallowed: ReplyFilter = { form: 'results', packet: () => undefined }

/** The filled statements of one connection. */
export class PreparedFiller {
  readonly #host: FillerHost
  readonly #statements = new Map<number, PreparedStatement>()
  #newest: PreparedStatement | undefined

  constructor(host: FillerHost) {
    this.#host = host
  }

  /** The filled statement that a command names. */
  find(statement: number): PreparedStatement | undefined {
    return statement === newestStatement ? this.#newest : this.#statements.get(statement)
  }

  /** A statement that is not filled in is prepared. */
  preparesOther(): void {
    this.#newest = undefined
  }

  /** The server has forgotten all statements. */
  clear(): void {
    this.#statements.clear()
    this.#newest = undefined
  }

  /** The client closes a statement. */
  close(statement: number): void {
    this.#statements.delete(statement)
  }

  /** Prepares an INSERT that may need ids. `parametersAt`: where the client's parameters are in its text. */
  async prepare(command: HeldCommand, insert: Insert, parametersAt: readonly number[]): Promise<void> {
    const { filling, signal, statementsMax } = this.#host
    if (this.#statements.size >= statementsMax)
      return this.#host.answer(command, tooManyStatements(statementsMax))
    const isText = await filling.supply.isText(insert.column.generator, signal)
    const slices = preparedSlices(command.body, insert, parametersAt, isText)
    const fill = await paced(slices, command.body.length, signal)
    const statement = new PreparedStatement(insert, command.body, fill, isText, parametersAt.length)
    this.#newest = statement
    const isShown = fill.parameters.map((source) => source >= 0)
    const filter = prepareFilter(isShown, !this.#host.deprecatesEof, (number) =>
      this.#statements.set(number, statement),
    )
    this.#host.send(command.command, fill.sql, filter)
  }

  /** Executes a filled statement. The session is known. */
  execute(
    command: HeldCommand,
    statement: PreparedStatement,
    session: SqlSession,
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
    statement.reset()
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
      this.#executeWith(command, statement, execution, rows, drawn)
      return undefined
    }
    return drawn.then((ids) => this.#executeWith(command, statement, execution, rows, ids))
  }

  #executeWith(
    command: HeldCommand,
    statement: PreparedStatement,
    execution: Execution,
    rows: readonly number[],
    drawn: DrawnIds,
  ): void {
    const { filling } = this.#host
    const { column } = statement.insert
    if (drawn.isText !== statement.isText) return this.#host.answer(command, changedFormat(column))
    const type = filling.typeOf(column)
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
    const { insert, fill, isText } = statement
    const setsByItself = fill.setsInsertId && idsNeeded(insert) > 0
    const firstId = first === undefined || isText ? undefined : BigInt(first)
    if (firstId !== undefined && !setsByItself)
      ask(commands.query, Buffer.from(`SET last_insert_id = ${first}`), swallowed)
    const body = writeExecution(execution.head, statement.parametersWith(execution, rows, ids))
    send(command.command, body, this.#filterOf(statement, execution, firstId))
  }

  #filterOf(statement: PreparedStatement, execution: Execution, firstId: bigint | undefined) {
    if (firstId !== undefined) return firstIdFilter(statement.insert, firstId)
    const given = statement.lastGiven(execution)
    return given === undefined ? undefined : givenIdFilter(statement.insert, given)
  }
}
