/** The messages of a server, as clients expect them. Field types: https://www.postgresql.org/docs/15/protocol-error-fields.html */
import type { FahaoError } from '../base/errors.ts'
import { detailsOf, sqlStateOf } from './errors.ts'
import type { Output } from './output.ts'
import type { Column, Formats } from './result.ts'
import type { SqlErrorDetails } from './sql-error.ts'
import { formatAt, sizeOfType } from './wire-values.ts'

/** How serious an error or a notice is. FATAL ends the connection. */
export type Severity = 'ERROR' | 'FATAL' | 'WARNING' | 'NOTICE'

/** ErrorResponse. */
export function writeError(output: Output, error: FahaoError, severity: 'ERROR' | 'FATAL' = 'ERROR'): void {
  writeReport(output, 'E', severity, sqlStateOf(error), error.message, detailsOf(error))
}

/** NoticeResponse. */
export function writeNotice(output: Output, severity: Severity, sqlState: string, message: string): void {
  writeReport(output, 'N', severity, sqlState, message)
}

function writeReport(
  output: Output,
  type: string,
  severity: Severity,
  sqlState: string,
  message: string,
  { detail, hint, position }: SqlErrorDetails = {},
): void {
  output.begin(type)
  const fields = { S: severity, V: severity, C: sqlState, M: message, D: detail, H: hint, P: position }
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) continue
    output.int8(field.charCodeAt(0))
    output.text(String(value))
  }
  output.int8(0)
  output.end()
}

/** RowDescription. */
export function writeColumns(output: Output, columns: readonly Column[], formats: Formats = []): void {
  output.begin('T')
  output.count(columns.length)
  for (const [index, { name, type, modifier = -1, source }] of columns.entries()) {
    output.text(name)
    output.oid(source?.table ?? 0)
    output.int16(source?.number ?? 0)
    output.oid(type)
    output.int16(sizeOfType(type))
    output.int32(modifier)
    output.int16(formatAt(formats, index))
  }
  output.end()
}

/** ParameterDescription. */
export function writeParameters(output: Output, types: readonly number[]): void {
  output.begin('t')
  output.count(types.length)
  for (const type of types) output.oid(type)
  output.end()
}

/** CommandComplete. */
export function writeComplete(output: Output, tag: string): void {
  output.begin('C')
  output.text(tag)
  output.end()
}

/** ReadyForQuery. */
export function writeReady(output: Output, status: string): void {
  output.begin('Z')
  output.int8(status.charCodeAt(0))
  output.end()
}

/** ParameterStatus. */
export function writeSetting(output: Output, name: string, value: string): void {
  output.begin('S')
  output.text(name)
  output.text(value)
  output.end()
}
