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

/** Errors of the login of the proxy, which clients would take for one of their own login. */
const loginErrors: ReadonlySet<string> = new Set(['NOAUTH', 'WRONGPASS'])

/** The error of a statement for which there is no id. */
export function errorOfMissingId(error: unknown): MysqlError {
  const registered = error instanceof FahaoError ? error.code : 'ERR'
  return { ...kindOf(error), registered, message: `fahao proxy: ${messageOf(error)}` }
}

function messageOf(error: unknown): string {
  if (!(error instanceof FahaoError)) return describe(error)
  if (!loginErrors.has(error.code)) return error.message
  return `Fahao gives no ids to the proxy (${error.code}), whatever the user of MySQL is; check mysql-proxy-user of the proxy, and its password (FAHAO_PASSWORD) or token`
}

function kindOf(error: unknown): Pick<MysqlError, 'code' | 'state'> {
  if (!(error instanceof FahaoError)) return other
  if (error.code === 'EXHAUSTED') return exhausted
  if (error.code === 'NOPERM' || loginErrors.has(error.code)) return denied
  return error.retryable ? retryable : other
}
