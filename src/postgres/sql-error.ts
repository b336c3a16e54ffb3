/** Errors of SQL: a sentence, and PostgreSQL's code for programs (SQLSTATE; PostgreSQL's manual, appendix A). */
import { type ErrorCode, FahaoError } from '../base/errors.ts'

/** What PostgreSQL shows beside the message of an error. */
export type SqlErrorDetails = {
  /** Where in the statement, in characters from 1. */
  readonly position?: number | undefined
  readonly detail?: string | undefined
  readonly hint?: string | undefined
}

/** A statement that fails. The message is in PostgreSQL's words where PostgreSQL has the same error. */
export class SqlError extends FahaoError {
  /** PostgreSQL's code, such as `42P01`. */
  readonly sqlState: string
  readonly details: SqlErrorDetails

  constructor(sqlState: string, message: string, details: SqlErrorDetails = {}) {
    super(codeOf(sqlState), message)
    this.sqlState = sqlState
    this.details = details
  }
}

function codeOf(sqlState: string): ErrorCode {
  if (sqlState.startsWith('54')) return 'LIMIT'
  return sqlState === '57014' ? 'ABORTED' : 'ERR'
}
