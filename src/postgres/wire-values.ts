/** The forms of values on the wire. Binary forms are those of PostgreSQL's `…send` and `…recv` functions. */
import { protocolViolation } from './errors.ts'
import { binaryOfValue, valueOfBinary } from './query/binary.ts'
import { valueOfText } from './query/text-input.ts'
import { textOfValue } from './query/text-output.ts'
import { refused } from './query/tree.ts'
import { oids, typeOf } from './query/types.ts'
import type { ObjectNames } from './query/values.ts'
import { SqlError } from './sql-error.ts'

/** Types whose binary form is their text; 1042 is bpchar. */
const texts: ReadonlySet<number> = new Set([oids.name, oids.text, oids.unknown, oids.varchar, 1042])
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The size of a type in bytes; −1: it varies. */
export function sizeOfType(type: number): number {
  return typeOf(type)?.length ?? -1
}

/** Text from bytes. 22021 if they are not UTF-8, or hold a zero byte. */
export function textOf(bytes: Uint8Array): string {
  let text: string
  try {
    text = strict.decode(bytes)
  } catch {
    throw new SqlError('22021', 'invalid byte sequence for encoding "UTF8"')
  }
  if (text.includes('\0')) throw new SqlError('22021', 'invalid byte sequence for encoding "UTF8": 0x00')
  return text
}

/** Text from bytes that are written as Latin-1. 22021 as `textOf`. */
export function bytesToText(latin1: string): string {
  return textOf(Buffer.from(latin1, 'latin1'))
}

/** A parameter in the text form of its type, from either form. */
export function parameterOf(bytes: Buffer, format: number, type: number): string {
  if (format === 0 || texts.has(type)) return textOf(bytes)
  return textOfValue(valueOfBinary(bytes, type), type, plainOids)
}

/** Oids are written and read as numbers: a parameter names its object so. */
const plainOids: ObjectNames = {
  nameOf: () => undefined,
  oidOf(_, text) {
    throw refused(`The name "${text.slice(0, 60)}" in the place of an oid`)
  },
}

/** The form of a text value in a format. */
export function encoded(value: string | null, type: number, format: number): string | Uint8Array | null {
  if (value === null || format === 0 || texts.has(type)) return value
  return binaryOfValue(valueOfText(value, type, plainOids), type)
}

/** A whole number from the text form of a parameter. Errors: 22P02, 22003. */
export function integerOf(value: string | null): bigint {
  const text = value?.trim() ?? ''
  if (!/^[+-]?\d{1,40}$/.test(text))
    throw new SqlError('22P02', `invalid input syntax for type bigint: "${text.slice(0, 64)}"`)
  const integer = BigInt(text)
  if (BigInt.asIntN(64, integer) !== integer)
    throw new SqlError('22003', `value "${text}" is out of range for type bigint`)
  return integer
}

/** Whether the text form of a boolean means true. Errors: 22P02. */
export function booleanOf(text: string): boolean {
  return valueOfText(text, oids.bool, plainOids) === true
}

/** The format of a column or a parameter from the codes of Bind: none is text, one is for all. */
export function formatAt(formats: readonly number[], index: number): number {
  return (formats.length === 1 ? formats[0] : formats[index]) ?? 0
}

/** Throws 08P01 unless each code is 0 or 1, and there are none, one, or as many as there are values. */
export function checkFormats(formats: readonly number[], count: number, what: string): void {
  if (formats.length > 1 && formats.length !== count)
    throw protocolViolation(`bind message has ${formats.length} ${what} formats but ${count} ${what}s`)
  const wrong = formats.find((format) => format !== 0 && format !== 1)
  if (wrong !== undefined) throw new SqlError('22023', `unsupported format code: ${wrong}`)
}
