/** Edits of a text: bytes that are replaced or added, and nothing else. */

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
export function applyEdits(sql: Buffer, edits: readonly Edit[]): Buffer {
  const growth = edits.reduce((sum, { at, end, text }) => sum + text.length - (end - at), 0)
  const result = Buffer.allocUnsafe(sql.length + growth)
  let [from, to] = [0, 0]
  for (const { at, end, text } of edits) {
    result.set(sql.subarray(from, at), to)
    to += at - from
    to += result.write(text, to, 'latin1')
    from = end
  }
  result.set(sql.subarray(from), to)
  return result
}
