/**
 * Rows as they are sent: whole DataRow messages, which are made once.
 *
 * Invariants
 *  1. A row is a message; the cells of a row are in the formats that the rows were made with.
 *  2. Rows of cursors have each value twice, as text and in binary form, unless a type has no binary form.
 */

import { Output } from './output.ts'
import { binaryOfValue } from './query/binary.ts'
import type { Column, Row } from './query/expression.ts'
import type { Objects } from './query/objects.ts'
import { textOfValue } from './query/text-output.ts'
import type { Value } from './query/values.ts'
import type { Result } from './result.ts'
import { SqlError } from './sql-error.ts'
import { formatAt, isTextType } from './values.ts'

/** The formats of the columns as Bind has them; `both`: of a cursor, whose FETCH chooses. */
export type Formats = readonly number[] | 'both'

/** Rows of a query, made. */
export type MadeRows = {
  readonly count: number
  readonly chunks: readonly Buffer[]
  /** Whether each value is there twice. */
  readonly isTwice: boolean
}

/** Filled and emptied within one call. */
const output = new Output()
const chunkBytes = 131_072
/** The most that the rows of one statement take, in bytes. */
const bytesMax = 67_108_864

/** Makes the messages of rows. Throws 54000 above the limit, 0A000 for types without a binary form. */
export function encodeRows(
  rows: readonly Row[],
  columns: readonly Column[],
  objects: Objects,
  formats: Formats,
): MadeRows {
  const isTwice = formats === 'both' && rows.length > 0 && hasBinary(rows, columns)
  const own = formats === 'both' ? [] : formats
  output.clear()
  const chunks: Buffer[] = []
  let bytes = 0
  const flush = () => {
    const chunk = output.takeBytes()
    bytes += chunk.length
    if (bytes > bytesMax)
      throw new SqlError(
        '54000',
        `the rows of a statement have at most ${bytesMax} bytes; select fewer rows or columns`,
      )
    chunks.push(chunk)
  }
  for (const row of rows) {
    output.begin('D')
    output.count(isTwice ? columns.length * 2 : columns.length)
    for (let index = 0; index < columns.length; index++)
      output.value(cellOf(row[index]!, columns[index]!.type, formatAt(own, index), objects))
    if (isTwice)
      for (let index = 0; index < columns.length; index++)
        output.value(cellOf(row[index]!, columns[index]!.type, 1, objects))
    output.end()
    if (output.length > chunkBytes) flush()
  }
  if (output.length > 0) flush()
  return { count: rows.length, chunks, isTwice }
}

function cellOf(value: Value, type: number, format: number, objects: Objects): string | Uint8Array | null {
  if (value === null) return null
  return format === 0 ? textOfValue(value, type, objects) : binaryOfValue(value, type)
}

/** Whether the types of all columns have a binary form here. */
function hasBinary(rows: readonly Row[], columns: readonly Column[]): boolean {
  return columns.every(({ type }, index) => {
    const row = rows.find((each) => each[index] !== null)
    try {
      if (row !== undefined) binaryOfValue(row[index]!, type)
      return true
    } catch (error) {
      if (error instanceof SqlError) return false
      throw error
    }
  })
}

/** Rows that are made, as a result. */
export class EncodedRows implements Result {
  readonly tag = 'SELECT'
  readonly count: number
  readonly heldBytes: number
  readonly #chunks: readonly Buffer[]
  readonly #columns: readonly Column[]
  readonly #formats: Formats
  readonly #isTwice: boolean
  /** The chunk of each row, and where in it the row begins. */
  readonly #places: Uint32Array
  #row = -1
  /** The cells of the row that was read last. */
  #cells: (Buffer | null)[] = []

  constructor({ count, chunks, isTwice }: MadeRows, columns: readonly Column[], formats: Formats) {
    this.count = count
    // From another thread they come as plain bytes.
    this.#chunks = chunks.map(({ buffer, byteOffset, length }) => Buffer.from(buffer, byteOffset, length))
    this.#columns = columns
    this.#formats = formats
    this.#isTwice = isTwice
    this.#places = new Uint32Array(count * 2)
    this.heldBytes = chunks.reduce((sum, { length }) => sum + length, 0) + count * 8
    let row = 0
    for (const [index, chunk] of this.#chunks.entries())
      for (let at = 0; at < chunk.length; at += 1 + chunk.readInt32BE(at + 1)) {
        this.#places[row * 2] = index
        this.#places[row * 2 + 1] = at
        row++
      }
  }

  /** The message of a row; undefined: its cells have other formats than those that are sent. */
  message(row: number): Buffer | undefined {
    return this.#formats === 'both' ? undefined : this.#message(row)
  }

  cell(row: number, column: number, format: number): Buffer | null {
    if (row !== this.#row) {
      this.#cells = cellsOf(this.#message(row))
      this.#row = row
    }
    const { type } = this.#columns[column]!
    if (this.#formats !== 'both' || format === 0 || isTextType(type)) return this.#cells[column]!
    if (this.#isTwice) return this.#cells[this.#columns.length + column]!
    throw new SqlError('0A000', 'the rows of this cursor have no binary form; fetch them as text')
  }

  #message(row: number): Buffer {
    const chunk = this.#chunks[this.#places[row * 2]!]!
    const at = this.#places[row * 2 + 1]!
    return chunk.subarray(at, at + 1 + chunk.readInt32BE(at + 1))
  }
}

function cellsOf(message: Buffer): (Buffer | null)[] {
  let at = 7
  return Array.from({ length: message.readUInt16BE(5) }, () => {
    const length = message.readInt32BE(at)
    at += 4
    if (length < 0) return null
    at += length
    return message.subarray(at - length, at)
  })
}
