/** The errors that clients get from the proxy itself. */
import { type Address, addressText } from '../base/address.ts'
import { describe, FahaoError } from '../base/errors.ts'
import type { Guard } from './guard-rules.ts'
import { type MysqlError, noServerCode } from './protocol.ts'
import type { FilledColumn } from './sql/configured-columns.ts'
import type { DrawnIds } from './sql/fill-ids.ts'

/** Thrown for a statement that is not sent because its ids do not fit, or its table has no guard. */
export class Refused extends Error {
  /** What the client gets. */
  readonly error: MysqlError

  constructor(code: number, state: string, message: string) {
    super(message)
    this.error = refused(code, message, state)
  }
}

/** ER_MAX_PREPARED_STMT_COUNT_REACHED. */
export const tooManyStatements: MysqlError = refused(
  1461,
  "the connection's prepared statements whose ids are filled in are more than proxy-statements-max, or take more than 32 MiB of memory; close some",
)

/** ER_MALFORMED_PACKET. */
export const malformedExecution: MysqlError = refused(1835, 'malformed communication packet', 'HY000')

/** ER_NOT_SUPPORTED_YET. */
export const executionTooLong: MysqlError = refused(
  1235,
  'no ids are filled into the execution of a prepared statement that is longer than proxy-statement-max; raise it, or send the statement as text with its ids',
)

/** ER_UNKNOWN_STMT_HANDLER: −1 names the newest statement, which the proxy has refused. */
export const unknownStatement: MysqlError = refused(
  1243,
  'the statement that was prepared last was refused; prepare it again',
  'HY000',
)

/** ER_SERVER_SHUTDOWN. */
export const shuttingDown: MysqlError = {
  registered: 'SHUTDOWN',
  code: 1053,
  state: '08S01',
  message: 'fahao proxy: it is stopping; connect again',
}

/** Throws Refused unless a guard stands and the column holds the ids as they are. */
export function refuseUnguarded({ database, table, column }: FilledColumn, { missing, ddl }: Guard): void {
  if (missing.length === 0) return
  const statements = ddl.length === 0 ? '' : `, or run: ${ddl.join(' ')}`
  throw new Refused(
    1235,
    '42000',
    `no ids are filled into ${database}.${table}.${column}: ${missing.join('; ')}; see \`fahao proxy check\`${statements}`,
  )
}

/** Throws Refused for ids that the column cannot hold as they are; the errors are those of a strict server. */
export function refuseUnfit({ ids, isText }: DrawnIds, column: FilledColumn, { type }: Guard): void {
  const name = `${column.database}.${column.table}.${column.column}`
  if (type === undefined) return
  if (type.holds === 'texts') {
    const isPlain = (id: string) => type.isUnicode || /^[\x20-\x7e]*$/.test(id)
    const unfit = ids.find((id) => [...id].length > type.max || !isPlain(id))
    if (unfit === undefined) return
    const message = `data too long for ${name}: the id '${unfit}' is not among the texts of ${type.max} characters that the column holds; make it longer, and its character set utf8mb4`
    throw new Refused(1406, '22001', message)
  }
  if (isText) {
    const message = `ids of ${column.generator} are texts, and ${name} holds numbers; give the column a text type, or the generator no format`
    throw new Refused(1366, 'HY000', message)
  }
  // No id is larger.
  if (type.max >= 2n ** 63n - 1n) return
  const above = ids.find((id) => BigInt(id) > type.max)
  if (above === undefined) return
  const message = `out of range for ${name}: the id ${above} is above ${type.max}; make the column a BIGINT`
  throw new Refused(1264, '22003', message)
}

/** Errors of the login of the proxy, which clients would take for one of their own login. */
const loginErrors: ReadonlySet<string> = new Set(['NOAUTH', 'WRONGPASS'])

/** The error of a statement for which there is no id. */
export function errorOfMissingId(error: unknown): MysqlError {
  // ER_UNKNOWN_ERROR.
  if (!(error instanceof FahaoError)) return { ...refused(1105, describe(error), 'HY000'), registered: 'ERR' }
  const { code: registered } = error
  const isLogin = loginErrors.has(registered)
  const message = isLogin
    ? `Fahao gives no ids to the proxy (${registered}), whatever the user of MySQL is; check mysql-proxy-user of the proxy, and its password (FAHAO_PASSWORD) or token`
    : error.message
  // ER_TABLEACCESS_DENIED_ERROR.
  if (registered === 'NOPERM' || isLogin) return { ...refused(1142, message), registered }
  // ER_AUTOINC_READ_FAILED, ER_LOCK_WAIT_TIMEOUT, which clients retry, and ER_UNKNOWN_ERROR.
  const code = registered === 'EXHAUSTED' ? 1467 : error.retryable ? 1205 : 1105
  return { ...refused(code, message, 'HY000'), registered }
}

/** Why a connection ends. */
export const unclear = 'and the client have exchanged packets that cannot be understood'

/** The server is gone, or unfit. `what`: what it has done. */
export function noServer(address: Address, what: string): MysqlError {
  return ofServer(`the MySQL server at ${addressText(address)} ${what}; connect again`)
}

/** The connection to the server has failed before the end of the login. */
export function failed(address: Address, reason: string): MysqlError {
  return ofServer(`the connection to the MySQL server at ${addressText(address)} failed: ${reason}`)
}

/** The server has not greeted. */
export function unreachable(address: Address, reason: string): MysqlError {
  return ofServer(
    `cannot connect to the MySQL server at ${addressText(address)}: ${reason}; check upstream, and that the server runs`,
  )
}

function ofServer(message: string): MysqlError {
  return { ...refused(noServerCode, message, 'HY000'), registered: 'UNAVAILABLE' }
}

function refused(code: number, message: string, state = '42000'): MysqlError {
  return { code, state, message: `fahao proxy: ${message}` }
}
