/** Errors of Fahao as clients of MySQL know them. */
import { describe, FahaoError } from '../base/errors.ts'
import type { MysqlError } from './protocol.ts'

/** What clients take for an error that may be gone at a retry: ER_LOCK_WAIT_TIMEOUT. */
const retryable = { code: 1205, state: 'HY000' }
/** ER_AUTOINC_READ_FAILED. */
const exhausted = { code: 1467, state: 'HY000' }
/** ER_TABLEACCESS_DENIED_ERROR. */
const denied = { code: 1142, state: '42000' }
/** ER_UNKNOWN_ERROR. */
const other = { code: 1105, state: 'HY000' }

/** The error of a statement for which there is no id. */
export function errorOfMissingId(error: unknown): MysqlError {
  const message = `fahao proxy: ${error instanceof FahaoError ? error.message : describe(error)}`
  return { ...kindOf(error), message }
}

function kindOf(error: unknown): Omit<MysqlError, 'message'> {
  if (!(error instanceof FahaoError)) return other
  if (error.code === 'EXHAUSTED') return exhausted
  if (error.code === 'NOPERM' || error.code === 'NOAUTH' || error.code === 'WRONGPASS') return denied
  return error.retryable ? retryable : other
}
