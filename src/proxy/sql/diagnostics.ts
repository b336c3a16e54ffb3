/** Statements that read what the one before them has left in the session. */
import { latin1 } from './words.ts'

const reads = /\b(?:row_count|found_rows)\b|@@(?:(?:session|local)\.)?[`'"]?(?:warning_count|error_count)\b/i

/** Whether a text may read the count of rows, warnings or errors of an earlier statement. */
export function readsDiagnostics(sql: Buffer): boolean {
  return reads.test(latin1(sql, 0, sql.length))
}
