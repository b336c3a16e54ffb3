/** Statements that read what the one before them has left in the session. */
import { type Slices, sliceBytes } from './slices.ts'
import { latin1 } from './words.ts'

const functions = /\b(?:row_count|found_rows)\b/gi
/** Their scope and their name may be quoted, and stand apart. */
const variables = /\b(?:warning_count|error_count)\b/gi

/** Bytes that are searched in about a millisecond; and more than what is searched for has. */
const [pieceBytes, overlapBytes] = [8 * sliceBytes, 64]

/** Whether a text may read the count of rows, warnings or errors of an earlier statement. In slices, for a long text. */
export function* diagnosticsSlices(sql: Buffer): Slices<boolean> {
  let [hasAt, hasVariable] = [false, false]
  for (let from = 0; ; from += pieceBytes) {
    const end = from + pieceBytes + overlapBytes
    const isLast = end >= sql.length
    const piece = latin1(sql, from, Math.min(end, sql.length))
    // What begins or ends where the piece does may be a part of a longer word: the pieces beside this one have it, too.
    const has = (names: RegExp) => {
      names.lastIndex = Math.min(from, 1)
      const found = names.exec(piece)
      return found !== null && (isLast || found.index + found[0].length < piece.length)
    }
    hasAt ||= piece.includes('@@')
    hasVariable ||= has(variables)
    if (has(functions) || (hasAt && hasVariable)) return true
    if (isLast) return false
    yield
  }
}
