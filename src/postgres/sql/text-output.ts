/** The text form of values, as PostgreSQL's output functions write it. */
import { SqlError } from './sql-error.ts'
import { elementOf, formatType, isArray, oids, typeOf } from './types.ts'
import { RowValue, type Value } from './values.ts'

/** Names behind the oids of types such as regclass. */
export interface ObjectNames {
  /** The name of a relation, qualified and quoted where SQL needs it. */
  relation(oid: number): string | undefined
  /** The name of a function. */
  function(oid: number): string | undefined
  /** The name of a schema. */
  schema(oid: number): string | undefined
  /** The name of a role. */
  role(oid: number): string | undefined
}

/** Of an array or a row. Its elements count for less than their texts: an oid shows the name of its object. */
const textLengthMax = 4_194_304

/** The text of a value that is not null. Throws SqlError 54000 for one that is longer than a value may be. */
export function textOfValue(value: Value, type: number, names: ObjectNames): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (typeof value === 'bigint') return bigintText(value, type)
  if (typeof value === 'number') return numberText(value, type, names)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  if (value instanceof RowValue) return rowText(value, names)
  return arrayText(value as readonly Value[], type, names)
}

function bigintText(value: bigint, type: number): string {
  if (type !== oids.timestamp && type !== oids.timestamptz) return String(value)
  if (value === infinity) return 'infinity'
  return value === minusInfinity ? '-infinity' : timestampText(value, type === oids.timestamptz ? '+00' : '')
}

function numberText(value: number, type: number, names: ObjectNames): string {
  switch (type) {
    case oids.regclass:
      return named(value, names.relation(value))
    case oids.regtype:
      return typeOf(value) ? formatType(value) : named(value, undefined)
    case oids.regproc:
    case oids.regprocedure:
      return named(value, names.function(value))
    case oids.regnamespace:
      return named(value, names.schema(value))
    case oids.regrole:
      return named(value, names.role(value))
    case oids.regoper:
      return value === 0 ? '0' : String(value)
    case oids.date:
      if (Math.abs(value) === Number.POSITIVE_INFINITY) return String(value).toLowerCase()
      return dateText(dateOf(value * 86_400, 'date'))
    case oids.float4:
      return floatText(Number(value.toPrecision(9)) === value ? value : Math.fround(value))
    case oids.float8:
      return floatText(value)
    default:
      return String(value)
  }
}

function named(oid: number, name: string | undefined): string {
  return oid === 0 ? '-' : (name ?? String(oid))
}

function floatText(value: number): string {
  if (Object.is(value, -0)) return '-0'
  const text = Math.abs(value) >= 1e15 && Number.isFinite(value) ? value.toExponential() : String(value)
  return text.replace(/e([+-])(\d)$/, 'e$10$2')
}

const epochMs = Date.UTC(2000, 0, 1)
/** The timestamps of these names; as dates they are the infinities of numbers. */
export const [minusInfinity, infinity] = [-(2n ** 63n), 2n ** 63n - 1n]

/** @param seconds since 2000. Throws SqlError 22008 beyond the years that dates of JavaScript have, up to 275,760. */
function dateOf(seconds: number, type: string): Date {
  const date = new Date(epochMs + seconds * 1000)
  if (Number.isNaN(date.getTime())) throw new SqlError('22008', `${type} out of range`)
  return date
}

/** There is no year 0: the one before year 1 is 1 BC. */
function dateText(date: Date, time = ''): string {
  const year = date.getUTCFullYear()
  const day = date.toISOString().replace(/T.*$/, '').slice(-6)
  const text = `${String(year > 0 ? year : 1 - year).padStart(4, '0')}${day}${time}`
  return year > 0 ? text : `${text} BC`
}

function timestampText(value: bigint, zone: string): string {
  const micros = ((value % 1_000_000n) + 1_000_000n) % 1_000_000n
  const seconds = Number((value - micros) / 1_000_000n)
  const date = dateOf(seconds, 'timestamp')
  const time = date.toISOString().slice(-13, -5)
  const fraction = String(micros).padStart(6, '0').replace(/0+$/, '')
  return dateText(date, ` ${time}${fraction === '' ? '' : `.${fraction}`}${zone}`)
}

/** The text of an array; one of int2vector and oidvector has no braces. */
export function arrayText(items: readonly Value[], type: number, names: ObjectNames): string {
  if (type === oids.int2vector || type === oids.oidvector) return items.join(' ')
  const element = elementOf(type) || oids.text
  const delimiter = typeOf(element)?.delimiter ?? ','
  const texts = limited(items, (item) => {
    if (item === null) return 'NULL'
    if (Array.isArray(item)) return arrayText(item, type, names)
    const text = textOfValue(item, element, names)
    const isPlain =
      text !== '' && !/[{}"\\\s]/.test(text) && !text.includes(delimiter) && !/^null$/i.test(text)
    return isPlain ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
  })
  return `{${texts.join(delimiter)}}`
}

/** The texts of items, as long as they are not too long together. Throws SqlError 54000. */
function limited(items: readonly Value[], text: (item: Value, index: number) => string): string[] {
  let length = 0
  return items.map((item, index) => {
    const each = text(item, index)
    length += each.length + 1
    if (length > textLengthMax)
      throw new SqlError('54000', `the text of a value has at most ${textLengthMax} characters; select less`)
    return each
  })
}

function rowText({ values, types }: RowValue, names: ObjectNames): string {
  const texts = limited(values, (value, index) => {
    if (value === null) return ''
    const text = textOfValue(value, types[index]!, names)
    return text !== '' && !/[(),"\\\s]/.test(text) ? text : `"${text.replace(/["\\]/g, '$&$&')}"`
  })
  return `(${texts.join(',')})`
}

/** Whether a type's values are texts as they stand. */
export function isText(type: number): boolean {
  return typeOf(type)?.category === 'S' || type === oids.unknown
}

/** Whether `isArray` or one of the vectors, whose values are arrays too. */
export function hasItems(type: number): boolean {
  return isArray(type) || type === oids.int2vector || type === oids.oidvector
}

/** The type of the elements of an array or a vector, or 0. */
export function itemType(type: number): number {
  if (type === oids.int2vector) return oids.int2
  return type === oids.oidvector ? oids.oid : elementOf(type)
}
