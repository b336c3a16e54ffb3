/** Statements that read what the one before them has left in the session. */
import { latin1 } from './words.ts'

const functions = /\b(?:row_count|found_rows)\b/i
/** Their scope and their name may be quoted, and stand apart. */
const variables = /\b(?:warning_count|error_count)\b/i

/** Whether a text may read the count of rows, warnings or errors of an earlier statement. */
export function readsDiagnostics(sql: Buffer): boolean {
  const text = latin1(sql, 0, sql.length)
  return functions.test(text) || (text.includes('@@') && variables.test(text))
}
