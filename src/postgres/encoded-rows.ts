/** Rows of a query as they are sent: whole DataRow messages, which are made once. */

import { Output } from './output.ts'
import type { Column, Row } from './query/analysed.ts'
import { binaryOfValue } from './query/binary.ts'
import type { Objects } from './query/objects.ts'
import { textOfValue } from './query/text-output.ts'
import type { Formats, Result } from './result.ts'
import { SqlError } from './sql-error.ts'
import { formatAt } from './wire-values.ts'

/** Rows of a query as the messages that carry them. */
export type EncodedRows = { readonly count: number; readonly chunks: readonly Buffer[] }

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
): EncodedRows {
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
    output.count(columns.length)
    for (const [index, { type }] of columns.entries()) {
      const value = row[index]!
      if (value === null) output.value(null)
      else if (formatAt(formats, index) === 0) output.value(textOfValue(value, type, objects))
      else output.value(binaryOfValue(value, type))
    }
    output.end()
    if (output.length > chunkBytes) flush()
  }
  if (output.length > 0) flush()
  return { count: rows.length, chunks }
}

/** Rows that are made, as a result. */
export function resultOf({ count, chunks }: EncodedRows): Result {
  // From another thread they come as plain bytes.
  const all = chunks.map(({ buffer, byteOffset, length }) => Buffer.from(buffer, byteOffset, length))
  /** The chunk of each row, and where in it the row begins. */
  const places = new Uint32Array(count * 2)
  let row = 0
  for (const [index, chunk] of all.entries())
    for (let at = 0; at < chunk.length; at += 1 + chunk.readInt32BE(at + 1))
      places.set([index, at], 2 * row++)
  return {
    tag: 'SELECT',
    count,
    heldBytes: all.reduce((sum, { length }) => sum + length, 0) + count * 8,
    write(to, index) {
      const chunk = all[places[index * 2]!]!
      const at = places[index * 2 + 1]!
      to.bytes(chunk.subarray(at, at + 1 + chunk.readInt32BE(at + 1)))
    },
  }
}
