/** Statements of the binary protocol that the proxy does not send. */
import type { MysqlError } from './protocol.ts'
import type { FilledColumn } from './sql/filled-columns.ts'
import type { Refusal } from './sql/refusal.ts'

/** The id's parameter is a text that is no number, a date, or sent in pieces. */
export function unsupportedValue({ database, table, column }: FilledColumn): MysqlError {
  return refused(
    1235,
    `whether ${database}.${table}.${column} needs an id cannot be read from its parameter; bind a number or NULL`,
  )
}

/** ER_MAX_PREPARED_STMT_COUNT_REACHED. */
export function tooManyStatements(max: number): MysqlError {
  return refused(
    1461,
    `the connection has ${max} prepared statements whose ids are filled in, as many as proxy-statements-max allows; close some`,
  )
}

/** ER_MAX_PREPARED_STMT_COUNT_REACHED. */
export function tooLongStatements(bytesMax: number): MysqlError {
  return refused(
    1461,
    `the connection's prepared statements whose ids are filled in take more than ${bytesMax >> 20} MiB of memory; close some`,
  )
}

/** The generator's format was added or removed after the statement was prepared. */
export function changedFormat({ generator }: FilledColumn): MysqlError {
  return refused(1235, `the format of ${generator} was altered; prepare the statement again`)
}

/** The text asked for other ids when it was prepared. */
export function changedMode({ database, table, column }: FilledColumn): MysqlError {
  return refused(
    1235,
    `the SQL mode has changed since the statement was prepared, and with it whether ${database}.${table}.${column} needs an id; prepare it again`,
  )
}

/** MariaDB's bulk operations, which the proxy has not offered. */
export const bulkExecution: MysqlError = refused(
  1235,
  'ids cannot be filled into bulk executions; execute the statement row by row',
)

/** ER_MALFORMED_PACKET. */
export const malformedExecution: MysqlError = refused(1835, 'malformed communication packet', 'HY000')

/** What a client gets for a statement that is refused. */
export function asError({ code, state, message }: Refusal): MysqlError {
  return refused(code, message, state)
}

function refused(code: number, message: string, state = '42000'): MysqlError {
  return { code, state, message: `fahao proxy: ${message}` }
}
