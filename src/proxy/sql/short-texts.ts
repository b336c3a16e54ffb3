/**
 * Texts of verbs, words and names. The same ones stand in most statements, and to find one costs a fifth of making a string.
 *
 * Invariants
 *  1. At most `slotsMax` texts of at most `bytesMax` bytes are kept, for all connections together.
 *  2. A text is found only for exactly its bytes.
 */

/** A power of two. */
const slotsMax = 512
const bytesMax = 16

const slots: (string | undefined)[] = new Array(slotsMax).fill(undefined)

/** Bytes as text of one character for each byte. For what repeats; `latin1` is for the rest. */
export function shortText(bytes: Buffer, start: number, end: number): string {
  if (end - start > bytesMax) return bytes.toString('latin1', start, end)
  let hash = 0
  for (let at = start; at < end; at++) hash = (hash * 31 + bytes[at]!) | 0
  const slot = hash & (slotsMax - 1)
  const known = slots[slot]
  if (known !== undefined && isText(bytes, start, end, known)) return known
  const text = bytes.toString('latin1', start, end)
  slots[slot] = text
  return text
}

function isText(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (text.length !== end - start) return false
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== bytes[start + at]) return false
  return true
}
