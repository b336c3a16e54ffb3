/**
 * Whether ids fit the column that they are for. A server that is not strict would store another value in their place, and a
 * strict one may do so from the second row of a statement on. Types and limits: MySQL's manual, "Data Types"; the errors are
 * those with which a strict server refuses such a value.
 */
import type { MysqlError } from './protocol.ts'
import type { DrawnIds } from './sql/fill.ts'
import type { FilledColumn } from './sql/filled-columns.ts'

/** What a column can hold. */
export type ColumnType =
  /** Every integer from 0 to `max`; `rounds`: and larger ones roughly. */
  | { readonly holds: 'integers'; readonly max: bigint; readonly rounds?: true }
  /** Every text of so many characters or bytes, of this character set; `''`: of bytes. */
  | {
      readonly holds: 'text'
      readonly max: number
      readonly unit: 'characters' | 'bytes'
      readonly charset: string
    }
  /** Some other values. */
  | { readonly holds: 'others'; readonly name: string }

/** Thrown for ids that their column cannot hold as they are. */
export class UnfitId extends Error {
  /** What the client gets. */
  readonly error: MysqlError

  constructor(code: number, state: string, message: string) {
    super(message)
    this.error = { code, state, message: `fahao proxy: ${message}` }
  }
}

const integerBits: Readonly<Record<string, bigint>> = {
  tinyint: 8n,
  smallint: 16n,
  mediumint: 24n,
  int: 32n,
  integer: 32n,
  bigint: 64n,
}
/** The largest number up to which FLOAT and DOUBLE have every integer. */
const exactMax: Readonly<Record<string, bigint>> = { float: 2n ** 24n, double: 2n ** 53n, real: 2n ** 53n }
/** Bytes of types of a length that is not declared. */
const textBytes: Readonly<Record<string, number>> = {
  tinytext: 2 ** 8 - 1,
  tinyblob: 2 ** 8 - 1,
  text: 2 ** 16 - 1,
  blob: 2 ** 16 - 1,
  mediumtext: 2 ** 24 - 1,
  mediumblob: 2 ** 24 - 1,
  longtext: 2 ** 32 - 1,
  longblob: 2 ** 32 - 1,
}

const shape = /^([a-z]+\d*)(?:\((\d+)(?:,(\d+))?\))?(.*)$/s
const shownCharacters = 40

/** The type of a column, as SHOW FULL COLUMNS has it: `bigint(20) unsigned`, `varchar(40)`. `collation` is '' for bytes. */
export function columnType(declared: string, collation: string): ColumnType {
  const [, name = '', first, second, rest = ''] = shape.exec(declared.toLowerCase()) ?? []
  const [length, decimals] = [Number(first ?? 1), Number(second ?? 0)]
  const bits = integerBits[name]
  if (bits !== undefined) {
    const valueBits = /\bunsigned\b/.test(rest) ? bits : bits - 1n
    return { holds: 'integers', max: 2n ** valueBits - 1n }
  }
  if (name === 'decimal') return { holds: 'integers', max: 10n ** BigInt(length - decimals) - 1n }
  if (name === 'bit') return { holds: 'integers', max: 2n ** BigInt(length) - 1n }
  const exact = exactMax[name]
  if (exact !== undefined && first === undefined) return { holds: 'integers', max: exact, rounds: true }
  const [charset = ''] = collation.toLowerCase().split('_')
  if (name === 'char' || name === 'varchar')
    return { holds: 'text', max: length, unit: 'characters', charset }
  if (name === 'binary' || name === 'varbinary') return { holds: 'text', max: length, unit: 'bytes', charset }
  const bytes = textBytes[name]
  if (bytes !== undefined) return { holds: 'text', max: bytes, unit: 'bytes', charset }
  return { holds: 'others', name: declared.slice(0, shownCharacters) }
}

/** Whether a strict server refuses what the column cannot hold. It takes numbers for members of an ENUM, and rounds a FLOAT. */
export function isChecked(type: ColumnType): boolean {
  return type.holds === 'text' || (type.holds === 'integers' && type.rounds !== true)
}

/** Throws UnfitId for ids that the column cannot hold as they are. */
export function refuseUnfit({ ids, isText }: DrawnIds, column: FilledColumn, type: ColumnType): void {
  const name = `${column.database}.${column.table}.${column.column}`
  if (type.holds === 'others')
    throw new UnfitId(
      1366,
      'HY000',
      `${name} is of the type ${type.name}, which does not hold ids as they are; make it a BIGINT or a VARCHAR`,
    )
  if (type.holds === 'text') {
    const unfit = ids.find((id) => !fitsText(id, type))
    if (unfit === undefined) return
    if (lengthOf(unfit, type) <= type.max)
      throw new UnfitId(
        1366,
        'HY000',
        `the id '${unfit}' has characters that ${name} cannot hold; make it utf8mb4`,
      )
    throw new UnfitId(
      1406,
      '22001',
      `data too long for ${name}: the id '${unfit}' has more than ${type.max} ${type.unit}; make the column longer`,
    )
  }
  if (isText)
    throw new UnfitId(
      1366,
      'HY000',
      `ids of ${column.generator} are texts, and ${name} holds numbers; give the column a text type, or the generator no format`,
    )
  const above = ids.find((id) => BigInt(id) > type.max)
  if (above === undefined) return
  const message = `out of range for ${name}: the id ${above} is above ${type.max}; make the column a BIGINT`
  throw new UnfitId(1264, '22003', message)
}

type TextType = Extract<ColumnType, { holds: 'text' }>

function fitsText(id: string, type: TextType): boolean {
  return lengthOf(id, type) <= type.max && hasCharacters(type, id)
}

function lengthOf(id: string, { unit, charset }: TextType): number {
  if (unit === 'characters') return [...id].length
  // UTF-16 and UTF-32 have at most 4 bytes for a character.
  return /^(?:utf16|utf32|ucs2)/.test(charset) ? 4 * id.length : Buffer.byteLength(id)
}

/** Whether a character set has the characters of an id. Of sets other than Unicode's only ASCII is known to be in them. */
function hasCharacters({ charset }: TextType, id: string): boolean {
  if (/^[\x20-\x7e]*$/.test(id) || charset === '' || charset === 'binary') return true
  if (/^(?:utf8mb4|utf16|utf16le|utf32|gb18030)$/.test(charset)) return true
  return /^(?:utf8|utf8mb3|ucs2)$/.test(charset) && !/[\u{10000}-\u{10ffff}]/u.test(id)
}
