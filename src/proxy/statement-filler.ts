/**
 * Fills ids into the statements of one connection.
 *
 * Invariants
 *  1. A statement is edited only if it was read with certainty, by the facts of the session as they are when the server
 *     executes it: before the first such statement, and after anything that may have changed them, the server is asked.
 *  2. Ids are written only into tables whose guard stands. Every other text passes as it came.
 *  3. While a statement waits for the server or for ids, the client's next command is not judged.
 *  4. The insert id of a reply is never the id of a row that was not inserted.
 */
import assert from 'node:assert/strict'
import { describe, FahaoError } from '../base/errors.ts'
import { turnBytesMax, turns } from '../listening/turns.ts'
import { askSession } from './ask-session.ts'
import {
  errorOfMissingId,
  executionTooLong,
  Refused,
  refuseUnfit,
  refuseUnguarded,
  unknownStatement,
} from './errors.ts'
import type { FilledSession, HeldCommand } from './exchange.ts'
import type { Guard } from './guard-rules.ts'
import type { IdSupply } from './id-supply.ts'
import { aloneFilter, hintFilter, severalFilter } from './insert-id-replies.ts'
import type { Guards } from './known-guards.ts'
import { PreparedFiller, type PreparedLimits } from './prepared-filler.ts'
import { commands } from './protocol.ts'
import type { FilledColumn, TextEffects } from './sql/configured-columns.ts'
import { type DrawnIds, fillText } from './sql/fill-ids.ts'
import type { Insert } from './sql/insert.ts'
import { type Reading, readText } from './sql/insert-reader.ts'
import type { SqlSession } from './sql/session.ts'

/** What the connections of a proxy share to fill ids in. */
export type Filling = {
  readonly guards: Guards
  readonly supply: IdSupply
  readonly limits: PreparedLimits
  /** Takes an error that is no client's fault, and that has ended no connection. */
  onError(error: unknown): void
}

/** What a question in front of a statement would change. */
const diagnostics = /row_count|found_rows|(?:warning|error)_count/i
/** A part of the reading counts as a reply of a whole turn: it takes about as long. */
const partBytes = turnBytesMax
/** About how much memory the ids of a row take, with what is known of the row. */
const rowBytes = 150

/** Reads the statements of one connection. */
export class StatementFiller {
  readonly #guards: Guards
  readonly #supply: IdSupply
  readonly #session: FilledSession
  readonly #onError: Filling['onError']
  readonly #prepared: PreparedFiller
  /** Undefined: the server has to be asked. */
  #facts: SqlSession | undefined
  #held: 'text' | 'prepare' | 'filled' = 'text'
  /** The effects of the text that comes next. */
  #effects: TextEffects | undefined
  /** The looks at guards that had begun when the command came. */
  #begunBefore = 0
  /** A prepared statement may change the session whenever one is executed, or define these tables. */
  #preparesChanges = false
  readonly #prepares = new Set<FilledColumn>()

  constructor({ guards, supply, limits, onError }: Filling, session: FilledSession) {
    this.#guards = guards
    this.#supply = supply
    this.#session = session
    this.#onError = onError
    this.#prepared = new PreparedFiller(session, supply, limits)
  }

  /** Memory of prepared statements, in bytes. */
  get preparedBytes(): number {
    return this.#prepared.bytes
  }

  /** Whether a text to execute or to prepare has to be held; undefined: it is not complete here. */
  holdsText(command: number, sql: Buffer | undefined): boolean {
    this.#held = command === commands.statementPrepare ? 'prepare' : 'text'
    this.#effects = sql && this.#guards.columns.effectsOf(sql)
    if (this.#effects === undefined || this.#effects.concerns) return true
    this.#passes(command, this.#effects)
    return false
  }

  /** What is held passes unread, because it is too long. Returns whether it may: filled executions would lack parameters. */
  skips(): boolean {
    this.#facts = undefined
    if (this.#held === 'prepare')
      this.#passes(commands.statementPrepare, { keepsSession: false, defined: [] })
    return this.#held !== 'filled'
  }

  /** Refuses the execution of a filled statement: the packet is too long, and only its beginning is kept. */
  refuseTooLong(command: HeldCommand): void {
    this.#prepared.answer(command, executionTooLong)
  }

  /** Whether an execution of a prepared statement has to be held. */
  holdsExecution(statement: number): boolean {
    if (this.#preparesChanges) this.#facts = undefined
    const isFilled = this.#prepared.find(statement) !== undefined
    this.#held = isFilled ? 'filled' : 'text'
    return isFilled || this.#prepares.size > 0
  }

  /** The server's number of a parameter, when the client sends a piece of its value. */
  positionOfLongData(statement: number, parameter: number): number {
    const found = this.#prepared.find(statement)
    if (!(found instanceof Object)) return parameter
    found.addLongData(parameter)
    return found.positionOf(parameter)
  }

  /** Another command passes. */
  passes(command: number, statement: number): void {
    if (command === commands.statementReset) this.#prepared.reset(statement)
    else if (command === commands.statementClose) this.#prepared.close(statement)
    else if (command === commands.initDb) this.#facts = undefined
    else if (command === commands.changeUser || command === commands.resetConnection) {
      this.#prepared.clear()
      this.#prepares.clear()
      this.#preparesChanges = false
      this.#facts = undefined
    }
  }

  /** Takes a whole command, and sends what takes its place. What it returns is waited for. */
  take(command: HeldCommand): Promise<void> | undefined {
    const effects = this.#effects
    this.#effects = undefined
    this.#begunBefore = this.#guards.begun
    try {
      const waiting =
        command.command === commands.statementExecute ? this.#execute(command) : this.#take(command, effects)
      if (waiting === undefined) return undefined
      this.#session.waits(command.packet.length)
      return waiting.catch((error) => this.#failed(command, error)).finally(() => this.#session.waits(0))
    } catch (error) {
      this.#failed(command, error)
      return undefined
    }
  }

  /** The server receives a text as it came. */
  #passes(command: number, { keepsSession, defined }: Pick<TextEffects, 'keepsSession' | 'defined'>): void {
    if (command === commands.statementPrepare) {
      this.#prepared.preparesOther()
      this.#preparesChanges ||= !keepsSession
      for (const column of defined) this.#prepares.add(column)
    } else if (!keepsSession) this.#facts = undefined
  }

  #take(
    command: HeldCommand,
    effects = this.#guards.columns.effectsOf(command.body),
  ): Promise<void> | undefined {
    const { body } = command
    if (!effects.mayInsert) return this.#relay(command, effects)
    if (this.#facts === undefined) {
      if (diagnostics.test(body.toString('latin1'))) return this.#relay(command, effects)
      return this.#ask().then(() => this.#take(command))
    }
    const parts = readText(body, {
      session: this.#facts,
      columns: this.#guards.columns,
      isPrepared: command.command === commands.statementPrepare,
      columnsOf: (column) => this.#guards.of(column)?.columns ?? [],
    })
    const reading = turns.inParts(parts, partBytes)
    return once(reading, (whole) => this.#took(command, effects, whole))
  }

  /** The text has been read. */
  #took(command: HeldCommand, effects: TextEffects, reading: Reading): Promise<void> | undefined {
    if (effects.defined.length > 0 && reading.mayDefine) return this.#relay(command, effects)
    const needing = reading.inserts.filter(({ rows }) => rows.length > 0)
    for (const column of [reading.unknown, ...needing.map((each) => each.column)]) {
      const looking = column && this.#guards.look(column, this.#begunBefore)
      if (looking instanceof Promise) return looking.then(() => this.#take(command))
    }
    const keepsSession = reading.keepsSession || effects.keepsSession
    const [first] = reading.inserts
    if (command.command === commands.statementPrepare)
      return this.#prepare(command, reading, first, keepsSession)
    if (needing.length > 0) return this.#fill(command, needing, reading)
    if (!reading.isAlone || first === undefined) return this.#relay(command, { keepsSession, defined: [] })
    const { tracksSession } = this.#session
    const filter = aloneFilter(first, undefined, first.lastGiven, tracksSession) ?? hintFilter()
    return void this.#session.send(command, command.body, filter)
  }

  async #ask(): Promise<void> {
    this.#supply.totals.questions++
    this.#facts = await askSession(this.#session)
  }

  /** A statement whose ids may be parameters is relayed where no guard stands: executions may give all of them. */
  #prepare(
    command: HeldCommand,
    { parametersAt }: Reading,
    insert: Insert | undefined,
    keepsSession: boolean,
  ): undefined {
    const passing = { keepsSession, defined: [] }
    if (insert === undefined) return this.#relay(command, passing)
    // An INSERT that gives all ids needs no guard.
    const guard = insert.rows.length > 0 ? this.#guardOf(insert.column) : this.#guards.of(insert.column)
    if (guard === undefined) return this.#relay(command, passing)
    if (insert.rows.some(({ parameter }) => parameter < 0)) refuseUnguarded(insert.column, guard)
    if (guard.missing.length > 0) return this.#relay(command, passing)
    this.#prepared.prepare(command, insert, parametersAt, guard)
  }

  #guardOf(column: FilledColumn): Guard {
    const guard = this.#guards.of(column)
    // Another connection has defined the table meanwhile.
    if (guard === undefined)
      throw new FahaoError('UNAVAILABLE', `${column.database}.${column.table} is being defined; try again`)
    return guard
  }

  /** Sends a text as it came, with a hint on errors of a guard. Tables that it may define are looked at again after it. */
  #relay(command: HeldCommand, passing: Pick<TextEffects, 'keepsSession' | 'defined'>): undefined {
    this.#passes(command.command, passing)
    if (command.command === commands.statementPrepare) this.#session.send(command, command.body)
    else this.#sendDefining(command, passing.defined)
    if (passing.defined.length === 0) this.#supply.totals.passed++
  }

  #sendDefining(command: HeldCommand, defined: Iterable<FilledColumn>): undefined {
    const columns = [...defined]
    const forget = () => {
      for (const column of columns) this.#guards.forget(column)
    }
    forget()
    this.#session.send(command, command.body, hintFilter(forget))
  }

  #execute(command: HeldCommand): Promise<void> | undefined {
    const statement = this.#prepared.find(command.body.readUInt32LE())
    if (statement === undefined) return this.#sendDefining(command, this.#prepares)
    if (statement === 'refused') return void this.#prepared.answer(command, unknownStatement)
    const guard = this.#guards.look(statement.insert.column, this.#begunBefore)
    if (guard instanceof Promise) return guard.then(() => this.#execute(command))
    const outcome = this.#prepared.execute(command, statement, guard, this.#facts)
    return outcome === 'ask' ? this.#ask().then(() => this.#execute(command)) : outcome
  }

  #fill(command: HeldCommand, needing: readonly Insert[], reading: Reading): Promise<void> | undefined {
    for (const { column } of needing) refuseUnguarded(column, this.#guardOf(column))
    const draws = needing.map(({ column, rows }) => ({ generator: column.generator, count: rows.length }))
    const drawn = this.#supply.takeEach(draws, this.#session.signal)
    const rows = draws.reduce((sum, { count }) => sum + count, 0)
    if (drawn instanceof Promise) this.#session.waits(command.packet.length + rowBytes * rows)
    return once(drawn, (ids) => {
      for (const [at, { column }] of needing.entries()) refuseUnfit(ids[at]!, column, this.#guardOf(column))
      const filled = turns.inParts(fillText(command.body, needing, ids), partBytes)
      return once(filled, (sql) => this.#sendFilled(command, needing, reading, ids, sql))
    })
  }

  #sendFilled(
    command: HeldCommand,
    inserts: readonly Insert[],
    { keepsSession, isAlone }: Reading,
    drawn: readonly DrawnIds[],
    sql: Buffer,
  ): undefined {
    const { totals } = this.#supply
    totals.filled++
    for (const { ids } of drawn) totals.ids += ids.length
    if (!keepsSession) this.#facts = undefined
    const [insert, own] = [inserts[0], drawn[0]]
    assert(insert && own, 'a text that is filled has an INSERT')
    const { tracksSession } = this.#session
    const id = own.isText ? undefined : own.ids[0]
    const filter = isAlone
      ? aloneFilter(insert, id, undefined, tracksSession)
      : severalFilter(inserts, drawn, tracksSession)
    this.#session.send(command, sql, filter)
  }

  /** Answers a statement that is not sent, with the error. */
  #failed(command: HeldCommand, error: unknown): void {
    if (error instanceof Refused) {
      this.#supply.totals.refused++
      return this.#prepared.answer(command, error.error)
    }
    // What comes after the end of the connection is no fault.
    if (!this.#session.signal.aborted) {
      this.#supply.missed(describe(error))
      if (!(error instanceof FahaoError)) this.#onError(error)
    }
    this.#prepared.answer(command, errorOfMissingId(error))
  }
}

/** Goes on with what is here, or comes. */
function once<Value>(
  value: Value | Promise<Value>,
  next: (value: Value) => Promise<void> | undefined,
): Promise<void> | undefined {
  return value instanceof Promise ? value.then(next) : next(value)
}
