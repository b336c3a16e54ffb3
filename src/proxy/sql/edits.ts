/** Edits of a text: bytes that are replaced or added, and nothing else. */
import { type Slices, sliceRows } from './slices.ts'

/** Replaces the bytes from `at` to `end`; adds bytes where both are the same. */
export type Edit = {
  readonly at: number
  readonly end: number
  /** One character for each byte. */
  readonly text: string
  /** Rows whose ids are the values of the parameters in `text`, in order. */
  readonly hidden: readonly number[]
}

/** The text after the edits, which are in order and do not overlap. */
export function* applyEdits(sql: Buffer, edits: readonly Edit[]): Slices<Buffer> {
  const growth = edits.reduce((sum, { at, end, text }) => sum + text.length - (end - at), 0)
  const result = Buffer.allocUnsafe(sql.length + growth)
  let [from, to, left] = [0, 0, sliceRows]
  for (const { at, end, text } of edits) {
    to += sql.copy(result, to, from, at)
    to += result.write(text, to, 'latin1')
    from = end
    if (--left > 0) continue
    left = sliceRows
    yield
  }
  sql.copy(result, to, from)
  return result
}
