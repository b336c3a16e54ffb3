/**
 * Whether ids fit the column that they are for. A server that is not strict would store another value in their place.
 * The numbers of types and their limits: MySQL's manual, "Column Definition" and "Integer Types".
 */
import { FahaoError } from '../base/errors.ts'
import type { DrawnIds } from './sql/fill.ts'
import type { FilledColumn } from './sql/filled-columns.ts'

/** The type of a column. */
export type ColumnType = { readonly type: number; readonly isUnsigned: boolean }

/** Bits of integers, by the number of the type. */
const integerBits: Readonly<Record<number, bigint>> = { 1: 8n, 2: 16n, 9: 24n, 3: 32n, 8: 64n }
/** The largest number up to which FLOAT and DOUBLE have every integer. */
const exactMax: Readonly<Record<number, bigint>> = { 4: 2n ** 24n, 5: 2n ** 53n }
/** VARCHAR, the BLOB and TEXT types, VARBINARY, CHAR. */
const texts = new Set([15, 249, 250, 251, 252, 253, 254])

/** Whether the column holds text. */
export function isTextType({ type }: ColumnType): boolean {
  return texts.has(type)
}

/** Throws a FahaoError `UNSAFE` for ids that the column cannot hold as they are. */
export function refuseUnfit({ ids, isText }: DrawnIds, column: FilledColumn, type: ColumnType): void {
  const name = `${column.database}.${column.table}.${column.column}`
  if (isTextType(type)) return
  if (isText) {
    throw new FahaoError(
      'UNSAFE',
      `ids of ${column.generator} are texts, and ${name} holds numbers; give the column a text type, or the generator no format`,
    )
  }
  const max = maxOf(type)
  const above = max === undefined ? undefined : ids.find((id) => BigInt(id) > max)
  if (above === undefined) return
  throw new FahaoError('UNSAFE', `the id ${above} is too large for ${name}; make the column a BIGINT`)
}

function maxOf({ type, isUnsigned }: ColumnType): bigint | undefined {
  const bits = integerBits[type]
  return bits === undefined ? exactMax[type] : 2n ** (isUnsigned ? bits : bits - 1n) - 1n
}
