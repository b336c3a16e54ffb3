/**
 * Fills ids into the prepared statements of one connection.
 *
 * Invariants
 *  1. The client sees its own parameters only. The server's statement has one more for each id that the text lacks.
 *  2. `#newest` is the statement that the client has prepared last, unless it is not filled in. MariaDB's clients execute
 *     it by the id −1 before they know its id.
 *  3. The connection has at most `statementsMax` such statements, which take at most `statementsBytesMax`.
 *  4. After an execution that the proxy has answered by itself, the server has no long data of it.
 */
import { malformedExecution, refuseUnfit, refuseUnguarded, tooManyStatements } from './errors.ts'
import type { FilledSession, HeldCommand, ReplyFilter } from './exchange.ts'
import { type Execution, writeExecution } from './execute-packet.ts'
import type { Guard } from './guard-rules.ts'
import type { IdSupply } from './id-supply.ts'
import { aloneFilter } from './insert-id-replies.ts'
import type { ProxyLimits } from './limits.ts'
import { PreparedStatement } from './prepared-statement.ts'
import { commands, headerBytes, type MysqlError } from './protocol.ts'
import { type DrawnIds, fillPrepared } from './sql/fill-ids.ts'
import type { Insert } from './sql/insert.ts'
import { parametersMax } from './sql/lexer.ts'
import type { SqlSession } from './sql/session.ts'

/** −1. */
const newestStatement = 0xffff_ffff
/** Swallows the reply to a command of the proxy. */
const swallowed = { receives: 'all', bytesMax: 65_536, packet: () => undefined } as const

/** How many filled statements a connection may have prepared, and how many bytes of memory they may take. */
export type PreparedLimits = Pick<ProxyLimits, 'statementsMax' | 'statementsBytesMax'>

/** The filled statements of one connection. */
export class PreparedFiller {
  /** What all of its statements take, in bytes. */
  bytes = 0
  readonly #session: FilledSession
  readonly #supply: IdSupply
  readonly #limits: PreparedLimits
  /** By the server's numbers. */
  readonly #statements = new Map<number, PreparedStatement>()
  /** `#statements`, and those that the server has given no id yet. */
  readonly #all = new Set<PreparedStatement>()
  #newest: PreparedStatement | 'refused' | undefined

  constructor(session: FilledSession, supply: IdSupply, limits: PreparedLimits) {
    this.#session = session
    this.#supply = supply
    this.#limits = limits
  }

  /** The filled statement that a command names; `refused`: the proxy has refused it. */
  find(statement: number): PreparedStatement | 'refused' | undefined {
    return statement === newestStatement ? this.#newest : this.#statements.get(statement)
  }

  /** A statement that is not filled in is prepared. */
  preparesOther(): void {
    this.#newest = undefined
  }

  /** The server forgets all statements. */
  clear(): void {
    this.#statements.clear()
    this.#all.clear()
    this.bytes = 0
    this.#newest = undefined
  }

  /** The client closes a statement. */
  close(statement: number): void {
    const found = this.find(statement)
    if (!(found instanceof PreparedStatement)) return
    if (found === this.#newest) this.#newest = undefined
    for (const [number, each] of this.#statements) if (each === found) this.#statements.delete(number)
    this.#forget(found)
  }

  /** The client resets a statement. */
  reset(statement: number): void {
    const found = this.find(statement)
    if (found instanceof PreparedStatement) found.reset()
  }

  /** Answers a command of the client, prepared or not, which the server does not receive. */
  answer(held: HeldCommand, error: MysqlError): void {
    this.#session.answer(held, error)
    const { command, body } = held
    if (command === commands.statementPrepare) this.#newest = 'refused'
    if (command !== commands.statementExecute) return
    const statement = this.find(body.readUInt32LE())
    if (!(statement instanceof PreparedStatement) || !statement.hasLongData) return
    statement.reset()
    this.#session.ask(commands.statementReset, body.subarray(0, 4), { form: 'packet', ...swallowed })
  }

  /** Prepares an INSERT that may need ids. `parametersAt`: where the client's parameters are in its text. */
  prepare(command: HeldCommand, insert: Insert, parametersAt: readonly number[], { type }: Guard): void {
    const { statementsMax, statementsBytesMax } = this.#limits
    const isText = type?.holds === 'texts'
    const own = isText ? insert.rows.filter(({ parameter }) => parameter < 0) : insert.rows
    const isTooLong = parametersAt.length + own.length > parametersMax
    const fill = isTooLong ? undefined : fillPrepared(command.body, insert, parametersAt, isText)
    // More parameters than servers accept: the guard judges the rows.
    if (fill === undefined || fill.parameters.length > parametersMax) {
      this.preparesOther()
      return this.#session.send(command, command.body)
    }
    const statement = new PreparedStatement(insert, fill, isText, parametersAt.length)
    if (this.#all.size >= statementsMax || this.bytes + statement.bytes > statementsBytesMax)
      return this.answer(command, tooManyStatements)
    this.#newest = statement
    this.#all.add(statement)
    this.bytes += statement.bytes
    const setId = (id: number | undefined) => this.#setId(statement, id)
    this.#session.send(command, fill.sql, prepareFilter(statement.shown, !this.#session.deprecatesEof, setId))
  }

  /** Executes a filled statement. `ask`: the session has to be known first. */
  execute(
    command: HeldCommand,
    statement: PreparedStatement,
    guard: Guard,
    facts: SqlSession | undefined,
  ): Promise<void> | undefined | 'ask' {
    const { column } = statement.insert
    const execution = statement.read(command.body)
    if (execution === undefined) return void this.answer(command, malformedExecution)
    const rows = statement.rowsIn(execution, facts?.noAutoValueOnZero)
    if (rows === 'ask') return rows
    if (rows.length === 0) return this.#send(command, statement, execution, rows, undefined)
    refuseUnguarded(column, guard)
    const send = (drawn: DrawnIds): undefined => {
      refuseUnfit(drawn, column, guard)
      this.#supply.totals.filled++
      this.#supply.totals.ids += drawn.ids.length
      return this.#send(command, statement, execution, rows, drawn)
    }
    const drawn = this.#supply.take(column.generator, rows.length, this.#session.signal)
    return drawn instanceof Promise ? drawn.then(send) : send(drawn)
  }

  #send(
    command: HeldCommand,
    statement: PreparedStatement,
    execution: Execution,
    rows: readonly number[],
    drawn: DrawnIds | undefined,
  ): undefined {
    const body = writeExecution(execution.head, statement.parametersWith(execution, rows, drawn?.ids ?? []))
    statement.reset()
    const first = drawn?.isText ? undefined : drawn?.ids[0]
    const { tracksSession } = this.#session
    const given = statement.lastGiven(execution)
    this.#session.send(command, body, aloneFilter(statement.insert, first, given, tracksSession))
  }

  #setId(statement: PreparedStatement, id: number | undefined): void {
    // The server has forgotten a statement that is not in `#all`.
    if (!this.#all.has(statement)) return
    if (id === undefined) {
      if (statement === this.#newest) this.#newest = undefined
      return this.#forget(statement)
    }
    const other = this.#statements.get(id)
    if (other !== undefined) this.#forget(other)
    this.#statements.set(id, statement)
  }

  #forget(statement: PreparedStatement): void {
    if (this.#all.delete(statement)) this.bytes -= statement.bytes
  }
}

/** Where the first packet of the reply to COM_STMT_PREPARE says how many parameters there are. */
const parametersAt = headerBytes + 7

/**
 * The reply to COM_STMT_PREPARE without the parameters that the client does not know: 0x00, the statement, how many columns
 * and parameters it has, a zero, warnings; then the definitions of parameters and of columns, each list with an EOF packet
 * unless these are left out (MySQL's manual, "COM_STMT_PREPARE Response").
 * @param parameters for each parameter of the server's statement whether the client knows it.
 * @param prepared called with the number of the statement; undefined: the server has refused it.
 */
function prepareFilter(
  parameters: readonly boolean[],
  hasEofPackets: boolean,
  prepared: (statement: number | undefined) => void,
): ReplyFilter {
  const shown = parameters.filter((isShown) => isShown).length
  let packets = 0
  let dropped = 0
  return {
    form: 'prepare',
    receives: 'all',
    packet(bytes) {
      const index = packets++ - 1
      if (index < 0) {
        const isPrepared = bytes[headerBytes] === 0
        prepared(isPrepared ? bytes.readUInt32LE(headerBytes + 1) : undefined)
        if (isPrepared) bytes.writeUInt16LE(shown, parametersAt)
        return bytes
      }
      // Behind the definitions of parameters, their EOF packet.
      const isListEnd = hasEofPackets && parameters.length > 0 && index === parameters.length
      if (parameters[index] === false || (isListEnd && shown === 0)) {
        dropped++
        return undefined
      }
      bytes[3] = (bytes[3]! - dropped) & 0xff
      return bytes
    },
  }
}
