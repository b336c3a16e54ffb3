/** The messages of a server, as clients expect them. Field types: https://www.postgresql.org/docs/15/protocol-error-fields.html */
import type { FahaoError } from '../base/errors.ts'
import { detailsOf, sqlStateOf } from './errors.ts'
import type { Output } from './output.ts'
import type { Column } from './result.ts'
import { sizeOfType } from './values.ts'

/** How serious an error or a notice is. FATAL ends the connection. */
export type Severity = 'ERROR' | 'FATAL' | 'WARNING' | 'NOTICE'

/** ErrorResponse. */
export function writeError(output: Output, error: FahaoError, severity: 'ERROR' | 'FATAL' = 'ERROR'): void {
  const { detail, hint, position } = detailsOf(error)
  output.begin('E')
  writeFields(output, severity, sqlStateOf(error), error.message)
  writeField(output, 'D', detail)
  writeField(output, 'H', hint)
  writeField(output, 'P', position === undefined ? undefined : String(position))
  output.int8(0)
  output.end()
}

/** NoticeResponse. */
export function writeNotice(output: Output, severity: Severity, sqlState: string, message: string): void {
  output.begin('N')
  writeFields(output, severity, sqlState, message)
  output.int8(0)
  output.end()
}

function writeFields(output: Output, severity: Severity, sqlState: string, message: string): void {
  writeField(output, 'S', severity)
  writeField(output, 'V', severity)
  writeField(output, 'C', sqlState)
  writeField(output, 'M', message)
}

function writeField(output: Output, field: string, text: string | undefined): void {
  if (text === undefined) return
  output.int8(field.charCodeAt(0))
  output.text(text)
}

/** RowDescription. `formatOf`: 0 is text, 1 is binary. */
export function writeColumns(
  output: Output,
  columns: readonly Column[],
  formatOf: (index: number) => number,
): void {
  output.begin('T')
  output.count(columns.length)
  for (const [index, { name, type, modifier = -1, source }] of columns.entries()) {
    output.text(name)
    output.oid(source?.table ?? 0)
    output.int16(source?.number ?? 0)
    output.oid(type)
    output.int16(sizeOfType(type))
    output.int32(modifier)
    output.int16(formatOf(index))
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
