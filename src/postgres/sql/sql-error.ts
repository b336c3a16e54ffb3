/** Errors of SQL: a sentence, and PostgreSQL's code for programs (SQLSTATE; PostgreSQL's manual, appendix A). */
import { type ErrorCode, FahaoError } from '../../base/errors.ts'

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

/** The error for something that PostgreSQL does and this server does not. `thing` opens the sentence. */
export function unsupported(thing: string, at?: number): SqlError {
  return new SqlError(
    '0A000',
    `${thing} is not supported; this server answers sequences and catalogues only`,
    {
      position: positionOf(at),
    },
  )
}

/** The error for a statement that breaks the grammar before `token`; an empty token is the end of the statement. */
export function syntaxError(token: string, at: number): SqlError {
  const where = token === '' ? 'end of input' : `or near "${token}"`
  return new SqlError('42601', `syntax error at ${where}`, {
    position: positionOf(at),
  })
}

/** The position of an error from an index in UTF-16 units. */
export function positionOf(at: number | undefined): number | undefined {
  return at === undefined ? undefined : at + 1
}
