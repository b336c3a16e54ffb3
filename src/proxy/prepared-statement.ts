/**
 * A prepared INSERT into a filled table: its parameters, and the ids that an execution needs.
 *
 * Invariants
 *  1. Nothing of its text is kept, and nothing of its executions but the types of parameters.
 *  2. What the server has of its long data is known: it has some if and only if `hasLongData`.
 */
import {
  type Execution,
  givenInteger,
  idParameter,
  noId,
  type Parameter,
  type ParameterTypes,
  plainValue,
  readExecution,
} from './execute-packet.ts'
import type { MysqlError } from './protocol.ts'
import { asError, changedMode, unsupportedValue } from './refusals.ts'
import type { PreparedFill } from './sql/fill.ts'
import { doubleIsZero, stateOfText } from './sql/id-values.ts'
import { type Insert, idsNeeded, lastGiven, needsId, type RowId } from './sql/insert.ts'
import { diagnosticsLost, idForced } from './sql/refusal.ts'
import type { SqlSession } from './sql/session.ts'

/** What an execution needs: the rows that get ids, in order; or the error that the client gets. */
export type Needs = { readonly rows: readonly number[] } | { readonly error: MysqlError }

/**
 * What a statement takes, and each of its rows, ids that are parameters, and parameters of the server, in bytes. A parameter
 * of the client takes two for its type, and a bit for its long data.
 */
const [statementCost, rowCost, idCost, parameterCost] = [2000, 8, 100, 4]

/** A statement has at most 65,535 parameters, whose numbers start at 0. */
const noParameter = 0xffff

/** One statement of one connection. */
export class PreparedStatement {
  /** Without positions in the text. */
  readonly insert: Insert
  /** Memory that it takes, in bytes. */
  readonly bytes: number
  /** Whether its ids are texts. */
  readonly isText: boolean
  /** How many parameters the client knows. */
  readonly count: number
  /** Whether the text itself sets the insert id, or there is none; else SET last_insert_id stands in front. */
  readonly setsInsertId: boolean
  /** As in `PreparedFill`. */
  readonly readsDiagnostics: boolean
  /** Whether each id is a parameter of the client, with one of the proxy behind it that sets the insert id. */
  readonly #bindsId: boolean
  /** The id that the text gives to its last row. */
  readonly #given: bigint | undefined
  /** As in `PreparedFill`. */
  readonly #parameters: Int32Array
  /** A bit for each of the client's parameters: whether it was sent as long data since the last execution. */
  readonly #long: Uint8Array
  #hasLong = false
  #types: ParameterTypes | undefined

  constructor(insert: Insert, sql: Buffer, fill: PreparedFill, isText: boolean, count: number) {
    this.#given = lastGiven(insert, sql)
    this.insert = withoutText(insert)
    this.setsInsertId = isText || fill.setsInsertId
    this.#bindsId = fill.setsInsertId && idsNeeded(insert) === 0
    this.readsDiagnostics = fill.readsDiagnostics
    this.#parameters = Int32Array.from(fill.parameters)
    this.isText = isText
    this.count = count
    this.#long = new Uint8Array((count + 7) >> 3)
    const ids = insert.rows.filter(({ state }) => state === 'parameter').length
    const rows = insert.rows.length
    const own = 2 * count + this.#long.length
    this.bytes = statementCost + rows * rowCost + ids * idCost + fill.parameters.length * parameterCost + own
  }

  /** Whether the server has long data for the next execution. */
  get hasLongData(): boolean {
    return this.#hasLong
  }

  /** The server's number of a parameter of the client; of one that the client does not have, a number that is none there. */
  positionOf(parameter: number): number {
    const position = this.#parameters.indexOf(parameter)
    return position < 0 ? noParameter : position
  }

  /** A piece of long data for a parameter of the client. */
  addLongData(parameter: number): void {
    if (parameter >= this.count) return
    this.#long[parameter >> 3]! |= 1 << (parameter & 7)
    this.#hasLong = true
  }

  /** Forgets long data, as the server does after an execution and a reset. */
  reset(): void {
    if (this.#hasLong) this.#long.fill(0)
    this.#hasLong = false
  }

  /** Reads the body of COM_STMT_EXECUTE; undefined: it is malformed. */
  read(body: Buffer): Execution | undefined {
    const execution = readExecution(body, this.count, this.#types, (index) => this.#isLong(index))
    if (execution === undefined) return undefined
    // A buffer of its own: a short copy would keep a part of a larger one that buffers share.
    this.#types ??= Buffer.alloc(2 * this.count)
    execution.types.copy(this.#types)
    return execution
  }

  #isLong(parameter: number): boolean {
    return (this.#long[parameter >> 3]! & (1 << (parameter & 7))) !== 0
  }

  /** The rows of an execution that need ids. */
  needs({ parameters }: Execution, session: SqlSession): Needs {
    for (const [mode, was] of this.insert.modes)
      if (session[mode] !== was) return { error: changedMode(this.insert.column) }
    const rows: number[] = []
    for (const [index, row] of this.insert.rows.entries()) {
      if (row.state !== 'parameter') {
        if (needsId(row)) rows.push(index)
        continue
      }
      const value = plainValue(parameters[row.parameter]!)
      // Long data, or a date, which may be 0000-00-00.
      if (value === undefined) return { error: unsupportedValue(this.insert.column) }
      const state = stateOfValue(value, session)
      if (state === 'unclear' && !this.isText) return { error: unsupportedValue(this.insert.column) }
      if (state === 'needed') rows.push(index)
    }
    if (rows.length > 0 && session.forcedId) return { error: asError(idForced(this.insert.column)) }
    if (rows.length > 0 && this.readsDiagnostics && !this.setsInsertId)
      return { error: asError(diagnosticsLost) }
    return { rows }
  }

  /** The id of the last row, if it is a positive integer that the execution gives. */
  lastGiven({ parameters }: Execution): bigint | undefined {
    const { parameter } = this.insert.lastRow
    if (this.isText) return undefined
    return parameter < 0 ? this.#given : givenInteger(parameters[parameter]!)
  }

  /** The server's parameters: the client's, and the ids of `rows`. */
  parametersWith({ parameters }: Execution, rows: readonly number[], ids: readonly string[]): Parameter[] {
    const idOf = new Map(rows.map((row, at) => [row, idParameter(ids[at]!, this.isText)]))
    const replaced = new Map<number, Parameter>()
    for (const [row, id] of idOf) {
      const { state, parameter } = this.insert.rows[row]!
      if (state === 'parameter') replaced.set(parameter, id)
    }
    const setting = this.#bindsId ? rows[0] : undefined
    if (setting !== undefined) replaced.set(this.insert.rows[setting]!.parameter, noId)
    const hidden = (row: number) => (this.#bindsId && row !== setting ? noId : idOf.get(row)!)
    const all: Parameter[] = []
    for (const source of this.#parameters)
      all.push(source < 0 ? hidden(-1 - source) : (replaced.get(source) ?? parameters[source]!))
    return all
  }
}

/** The INSERT without what only the writing of its text needs. Rows that are alike are one object. */
function withoutText(insert: Insert): Insert {
  const kept = new Map<RowId['state'], RowId>()
  const rowOf = ({ state, parameter }: RowId): RowId => {
    const known = state === 'parameter' ? undefined : kept.get(state)
    if (known !== undefined) return known
    const row = { state, start: 0, end: 0, parameter, followingAt: 0, addAt: 0, isEmpty: false }
    kept.set(state, row)
    return row
  }
  return {
    ...insert,
    rows: insert.rows.map(rowOf),
    lastRow: rowOf(insert.lastRow),
    columns: { form: 'none', listAt: 0, all: undefined },
  }
}

/** What a value in an id's place asks for. With `NO_AUTO_VALUE_ON_ZERO`, 0 is a value. */
function stateOfValue(value: number | string | null, session: SqlSession): 'needed' | 'given' | 'unclear' {
  if (value === null || (value === '' && session.emptyStringIsNull)) return 'needed'
  const zero = session.noAutoValueOnZero ? 'given' : 'needed'
  if (typeof value === 'number') return doubleIsZero(value) ? zero : 'given'
  const state = stateOfText(value)
  if (state === 'expression') return 'unclear'
  return state === 'zero' ? zero : state
}
