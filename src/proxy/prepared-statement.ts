/**
 * A prepared INSERT into a filled table: its parameters, and the ids that an execution needs.
 *
 * Invariants
 *  1. Nothing of its text is kept, and nothing of its executions but the types of parameters.
 *  2. What the server has of its long data is known: it has some if and only if `hasLongData`.
 */
import {
  type Execution,
  idParameters,
  noId,
  type Parameter,
  type ParameterTypes,
  readExecution,
  textOf,
} from './execute-packet.ts'
import type { PreparedFill } from './sql/fill-ids.ts'
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
  /** For each row that may need an id: the parameter that is its id; -1: the text gives none. */
  readonly #rows: Int32Array
  /** As `PreparedFill` has them. */
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
    this.#parameters = Int32Array.from(fill.parameters)
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
      const value = parameter < 0 ? null : textOf(parameters[parameter]!)
      const isZero = value === '0'
      if (isZero && zeroIsValue === undefined) return 'ask'
      if (value === null || (isZero && zeroIsValue === false)) rows.push(row)
    }
    return rows
  }

  /** The id of the last row, if it is a positive integer that the execution gives: its digits. */
  lastGiven({ parameters }: Execution): string | undefined {
    const { lastParameter, lastGiven } = this.insert
    const text = lastParameter < 0 ? lastGiven : textOf(parameters[lastParameter]!)
    return this.isText || !/^[1-9]\d{0,19}$/.test(text ?? '') ? undefined : (text ?? undefined)
  }

  /**
   * The server's parameters: the client's, and the ids of `rows`. Where ids are parameters of the client, a hidden one is the
   * id of the first of `rows`, so that it sets the insert id; the others take the place of the client's.
   */
  parametersWith({ parameters }: Execution, rows: readonly number[], ids: readonly string[]): Parameter[] {
    const isBound = (this.#rows[0] ?? -1) >= 0
    const setting = isBound && !this.isText ? rows[0] : undefined
    const own = [...parameters]
    const added = Array<Parameter>(this.#rows.length).fill(noId)
    for (const [at, id] of idParameters(ids, this.isText).entries()) {
      const row = rows[at]!
      if (isBound) own[this.#rows[row]!] = row === setting ? noId : id
      if (!isBound || row === setting) added[row] = id
    }
    const all: Parameter[] = []
    for (const source of this.#parameters) all.push(source < 0 ? added[-1 - source]! : own[source]!)
    return all
  }
}
