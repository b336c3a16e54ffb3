/** Statements that read what the one before them has left in the session. */
import { type Slices, sliceBytes } from './slices.ts'
import { latin1 } from './words.ts'

const reads = /\b(?:row_count|found_rows)\b|@@(?:(?:session|local)\.)?[`'"]?(?:warning_count|error_count)\b/gi

/** Bytes that are searched in about a millisecond; and more than what is searched for has. */
const [pieceBytes, overlapBytes] = [8 * sliceBytes, 64]

/** Whether a text may read the count of rows, warnings or errors of an earlier statement. In slices, for a long text. */
export function* diagnosticsSlices(sql: Buffer): Slices<boolean> {
  for (let from = 0; ; from += pieceBytes) {
    const end = from + pieceBytes + overlapBytes
    const piece = latin1(sql, from, Math.min(end, sql.length))
    // What begins or ends where the piece does may be a part of a longer word: the pieces beside this one have it, too.
    reads.lastIndex = Math.min(from, 1)
    const found = reads.exec(piece)
    const isLast = end >= sql.length
    if (found && (isLast || found.index + found[0].length < piece.length)) return true
    if (isLast) return false
    yield
  }
}
