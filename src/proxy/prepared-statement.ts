/** A prepared INSERT into a filled table: its parameters, and the ids that an execution needs. */
import {
  type Execution,
  givenInteger,
  idParameter,
  type Parameter,
  type ParameterTypes,
  plainValue,
  readExecution,
} from './execute-packet.ts'
import type { MysqlError } from './protocol.ts'
import { unsupportedValue } from './refusals.ts'
import type { PreparedFill } from './sql/fill.ts'
import { stateOfText } from './sql/id-values.ts'
import { type Insert, lastGiven, needsId } from './sql/insert.ts'
import type { SqlSession } from './sql/session.ts'

/** What an execution needs: the rows that get ids, in order; or the error that the client gets. */
export type Needs = { readonly rows: readonly number[] } | { readonly error: MysqlError }

/** One statement of one connection. */
export class PreparedStatement {
  readonly insert: Insert
  readonly fill: PreparedFill
  /** Whether its ids are texts. */
  readonly isText: boolean
  /** How many parameters the client knows. */
  readonly count: number
  /** The id that the text gives to its last row. */
  readonly #given: bigint | undefined
  /** Those that were sent as long data since the last execution. */
  readonly #long = new Set<number>()
  #types: ParameterTypes | undefined

  constructor(insert: Insert, sql: Buffer, fill: PreparedFill, isText: boolean, count: number) {
    this.insert = insert
    this.#given = lastGiven(insert, sql)
    this.fill = fill
    this.isText = isText
    this.count = count
  }

  /** The server's number of a parameter of the client. */
  positionOf(parameter: number): number {
    const position = this.fill.parameters.indexOf(parameter)
    return position < 0 ? parameter : position
  }

  /** A piece of long data for a parameter of the client. */
  addLongData(parameter: number): void {
    this.#long.add(parameter)
  }

  /** Forgets long data, as the server does after an execution and a reset. */
  reset(): void {
    this.#long.clear()
  }

  /** Reads the body of COM_STMT_EXECUTE; undefined: it is malformed. */
  read(body: Buffer): Execution | undefined {
    const execution = readExecution(body, this.count, this.#types, (index) => this.#long.has(index))
    if (execution !== undefined) this.#types = execution.types
    return execution
  }

  /** The rows of an execution that need ids. */
  needs({ parameters }: Execution, session: SqlSession): Needs {
    const rows: number[] = []
    for (const [index, row] of this.insert.rows.entries()) {
      if (row.state !== 'parameter') {
        if (needsId(row)) rows.push(index)
        continue
      }
      const value = plainValue(parameters[row.parameter]!)
      if (value === undefined && parameters[row.parameter]!.isLong)
        return { error: unsupportedValue(this.insert.column) }
      const state = stateOfValue(value, session)
      if (state === 'unclear' && !this.isText) return { error: unsupportedValue(this.insert.column) }
      if (state === 'needed') rows.push(index)
    }
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
    return this.fill.parameters.map((source) =>
      source < 0 ? idOf.get(-1 - source)! : (replaced.get(source) ?? parameters[source]!),
    )
  }
}

/** What a value in an id's place asks for. With `NO_AUTO_VALUE_ON_ZERO`, 0 is a value. */
function stateOfValue(
  value: number | string | null | undefined,
  session: SqlSession,
): 'needed' | 'given' | 'unclear' {
  if (value === null || (value === '' && session.emptyStringIsNull)) return 'needed'
  if (value === undefined) return 'given'
  const zero = session.noAutoValueOnZero ? 'given' : 'needed'
  if (typeof value === 'number') return Math.abs(value) < 0.5 ? zero : 'given'
  const state = stateOfText(value)
  return state === 'zero' ? zero : state
}
