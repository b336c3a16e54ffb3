/** The text form of values, as PostgreSQL's output functions write it. */
import { SqlError } from '../sql-error.ts'
import { refused } from './tree.ts'
import { elementOf, oids } from './types.ts'
import type { ObjectNames, Value } from './values.ts'

/** The longest text of one value, in characters. */
export const textLengthMax = 4_194_304

/** The text of a value that is not null, and no row. Throws SqlError 54000 for one that is longer than a value may be. */
export function textOfValue(value: Value, type: number, names: ObjectNames): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (typeof value === 'bigint') return type === oids.timestamptz ? timestampText(value) : String(value)
  if (typeof value === 'number') return numberText(value, type, names)
  return arrayText(value as readonly Value[], type, names)
}

const named: readonly number[] = [oids.regclass, oids.regtype, oids.regproc, oids.regnamespace, oids.regrole]

function numberText(value: number, type: number, names: ObjectNames): string {
  if (type === oids.regprocedure) throw refused('A regprocedure as a text')
  if (!named.includes(type)) return String(value)
  return value === 0 ? '-' : (names.nameOf(type, value) ?? String(value))
}

const epochMs = Date.UTC(2000, 0, 1)

/** A time of the years 1 to 9999, in UTC. */
function timestampText(us: bigint): string {
  const micros = ((us % 1_000_000n) + 1_000_000n) % 1_000_000n
  const date = new Date(epochMs + Number((us - micros) / 1000n))
  const fraction = String(micros).padStart(6, '0').replace(/0+$/, '')
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}${fraction === '' ? '' : `.${fraction}`}+00`
}

/** The text of an array; one of int2vector and oidvector has no braces. */
function arrayText(items: readonly Value[], type: number, names: ObjectNames): string {
  if (isVector(type)) return items.join(' ')
  const element = itemType(type)
  let length = 0
  const texts = items.map((item) => {
    const text = item === null ? null : textOfValue(item, element, names)
    length += 1 + (text?.length ?? 4)
    if (length > textLengthMax) throw tooLong()
    return text === null ? 'NULL' : quoted(text)
  })
  return `{${texts.join(',')}}`
}

function quoted(text: string): string {
  const isPlain = text !== '' && !/[{}"\\, \t\n\v\f\r]/.test(text) && !/^null$/i.test(text)
  return isPlain ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** The error for a value that is too long. */
export function tooLong(): SqlError {
  return new SqlError('54000', `a value has at most ${textLengthMax} characters; select less`)
}

function isVector(type: number): boolean {
  return type === oids.int2vector || type === oids.oidvector
}

/** The type of the elements of an array or a vector, or 0. */
export function itemType(type: number): number {
  if (type === oids.int2vector) return oids.int2
  return type === oids.oidvector ? oids.oid : elementOf(type)
}

/** The first index of an array: those of vectors start at 0. */
export function lowerBound(type: number): number {
  return isVector(type) ? 0 : 1
}
