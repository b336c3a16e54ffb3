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
import type { PreparedFill } from './sql/fill.ts'
import type { Insert } from './sql/insert.ts'

/** What a statement takes, each of its rows, and each parameter, in bytes. */
const [statementCost, rowCost, parameterCost] = [2000, 4, 8]
/** A statement has at most 65,535 parameters, whose numbers start at 0. */
const noParameter = 0xffff

/** One statement of one connection. */
export class PreparedStatement {
  /** Without its rows. */
  readonly insert: Insert
  /** Memory that it takes, in bytes. */
  readonly bytes: number
  /** Whether its ids are texts. */
  readonly isText: boolean
  /** How many parameters the client knows. */
  readonly #count: number
  /** Of each row that may need an id the parameter that is its id; -1: the text gives none. */
  readonly #rows: Int32Array
  /** What each parameter of the server is: the client's n; -1 - 2r: the id of row r; -2 - 2r: the same where that sets the insert id. */
  readonly #parameters: Int32Array
  /** A bit for each of the client's parameters: whether it was sent as long data since the last execution. */
  readonly #long: Uint8Array
  #hasLong = false
  #types: ParameterTypes | undefined

  constructor(insert: Insert, fill: PreparedFill, isText: boolean, count: number) {
    this.insert = { ...insert, rows: [], columns: { form: 'set', id: undefined } }
    this.isText = isText
    this.#count = count
    this.#rows = Int32Array.from(insert.rows, ({ parameter }) => parameter)
    this.#parameters = Int32Array.from(fill.parameters, (source) =>
      'client' in source ? source.client : (source.sets ? -2 : -1) - 2 * source.row,
    )
    this.#long = new Uint8Array((count + 7) >> 3)
    this.bytes = statementCost + rowCost * this.#rows.length + parameterCost * this.#parameters.length
  }

  /** Whether the client has sent long data that no execution has used. */
  get hasLongData(): boolean {
    return this.#hasLong
  }

  /** For each parameter of the server whether the client knows it. */
  get shown(): boolean[] {
    return Array.from(this.#parameters, (source) => source >= 0)
  }

  /** The server's number of a parameter of the client; of one that the client does not have, a number that is none there. */
  positionOf(parameter: number): number {
    const position = this.#parameters.indexOf(parameter)
    return position < 0 ? noParameter : position
  }

  /** A piece of long data for a parameter of the client. */
  addLongData(parameter: number): void {
    if (parameter >= this.#count) return
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
    const isLong = (parameter: number) => (this.#long[parameter >> 3]! & (1 << (parameter & 7))) !== 0
    const execution = readExecution(body, this.#count, this.#types, isLong)
    if (execution === undefined) return undefined
    // A buffer of its own: a short copy would keep a part of a larger one that buffers share.
    this.#types ??= Buffer.alloc(2 * this.#count)
    execution.types.copy(this.#types)
    return execution
  }

  /**
   * The rows of an execution that need ids, in order.
   * @param zeroIsValue whether 0 is a value, by the SQL mode; undefined: that is not known. `ask`: it matters.
   */
  rowsIn({ parameters }: Execution, zeroIsValue: boolean | undefined): number[] | 'ask' {
    const rows: number[] = []
    for (const [row, parameter] of this.#rows.entries()) {
      const value = parameter < 0 ? null : plainValue(parameters[parameter]!)
      const isZero = value === 0 || value === '0'
      if (isZero && zeroIsValue === undefined) return 'ask'
      if (value === null || (isZero && zeroIsValue === false)) rows.push(row)
    }
    return rows
  }

  /** The id of the last row, if it is a positive integer that the execution gives. */
  lastGiven({ parameters }: Execution): bigint | undefined {
    const { lastParameter, lastGiven } = this.insert
    if (this.isText) return undefined
    return lastParameter < 0 ? lastGiven : givenInteger(parameters[lastParameter]!)
  }

  /** The server's parameters: the client's, and the ids of `rows`. The first of them sets the insert id. */
  parametersWith({ parameters }: Execution, rows: readonly number[], ids: readonly string[]): Parameter[] {
    const idOf = new Map(rows.map((row, at) => [row, idParameter(ids[at]!, this.isText)]))
    const setting = this.#parameters.some((source) => source < 0 && source % 2 === 0) ? rows[0] : undefined
    const replaced = new Map<number, Parameter>()
    for (const [row, id] of idOf) replaced.set(this.#rows[row]!, row === setting ? noId : id)
    const all: Parameter[] = []
    for (const source of this.#parameters) {
      if (source >= 0) all.push(replaced.get(source) ?? parameters[source]!)
      else {
        const row = (-1 - source) >> 1
        const sets = source % 2 === 0
        const own = idOf.get(row) ?? noId
        // Where a row has both parameters, one of them is NULL.
        all.push(setting !== undefined && sets !== (row === setting) ? noId : own)
      }
    }
    return all
  }
}
