/**
 * Errors as PostgreSQL's clients see them: a class of five characters, SQLSTATE, by which programs decide what to do.
 * https://www.postgresql.org/docs/15/errcodes-appendix.html
 */
import { type ErrorCode, FahaoError } from '../base/errors.ts'
import { quoteIdentifier } from './query/quoting.ts'
import { SqlError, type SqlErrorDetails } from './sql-error.ts'

/**
 * The SQLSTATE of each code. 57P03 and 08… would make pools drop connections that are sound, so an engine or a leader that
 * is away is 58000; 40001 is what frameworks repeat by themselves; 40003 is an unknown outcome.
 */
const sqlStates: Readonly<Record<ErrorCode, string>> = {
  ERR: '22023',
  WRONGTYPE: '42809',
  NOGENERATOR: '42P01',
  KEYUSED: '22023',
  EXISTS: '42P07',
  CONFLICT: '40001',
  STALE: '40001',
  DRY: '53000',
  BUSY: '53000',
  EXHAUSTED: '2200H',
  NOLEASE: '53400',
  LAPSED: '53400',
  CLOCK: '58000',
  WORKERID: '58000',
  NOTOWNER: '58000',
  MOVED: '58000',
  CLUSTERDOWN: '58000',
  CROSSSLOT: '22023',
  EXECABORT: '25P02',
  REGRESSED: '58030',
  UNAVAILABLE: '58000',
  UNKNOWN: '40003',
  UNSAFE: '22003',
  LIMIT: '54000',
  QUOTA: '53400',
  CONFIG: 'F0000',
  ENGINE: '58000',
  SHUTDOWN: '57P01',
  ABORTED: '57014',
  NOAUTH: '28000',
  WRONGPASS: '28P01',
  NOPERM: '42501',
  NOPROTO: '08P01',
}

/** The SQLSTATE of an error. */
export function sqlStateOf(error: FahaoError): string {
  return error instanceof SqlError ? error.sqlState : sqlStates[error.code]
}

/** What an error says beside its message: of one without parts of its own, what to do about it. */
export function detailsOf(error: FahaoError): SqlErrorDetails {
  if (error instanceof SqlError) return error.details
  const detail = error.code === 'ERR' ? undefined : `The error code of Fahao is ${error.code}.`
  return { detail, hint: hintOf(error) }
}

function hintOf({ code, retryable }: FahaoError): string | undefined {
  if (code === 'NOPERM')
    return 'An administrator can permit it by ACL SETUSER, with +COMMAND for the command and ~PATTERN for the generator.'
  return retryable ? 'The same statement can succeed when it is sent again.' : undefined
}

/** 0A000: what PostgreSQL can do, and this server cannot. */
export function notSupported(message: string, hint?: string): SqlError {
  return new SqlError('0A000', message, { hint })
}

/** 42P01, in PostgreSQL's words. */
export function unknownRelation(generator: string): SqlError {
  return new SqlError('42P01', `relation "${generator}" does not exist`, {
    hint: `This server has sequences and no tables; create one with CREATE SEQUENCE ${quoteIdentifier(generator)}.`,
  })
}

/** 08P01: the client breaks the rules of the protocol. */
export function protocolViolation(message: string): SqlError {
  return new SqlError('08P01', message)
}

/** Why this server ends a connection. */
export const closingErrors = {
  stopping: new FahaoError('SHUTDOWN', 'the server is stopping; connect again'),
  // The class by which pools give a connection up.
  removed: new SqlError(
    '57P01',
    'terminating connection: its user may not connect any more; log in as another one',
  ),
  killed: new SqlError('57P01', 'terminating connection due to administrator command'),
  silent: new SqlError('57P05', 'terminating connection due to idle-session timeout'),
}

/** An error that ends the connection. */
export class FatalError extends Error {
  override readonly cause: FahaoError
  constructor(cause: FahaoError) {
    super(cause.message)
    this.cause = cause
  }
}

/** 53200: a query takes too much memory. */
export function outOfMemory(): SqlError {
  return new SqlError('53200', 'out of memory; narrow the query, as by the name of a sequence')
}
