/** Values from their text form, as PostgreSQL's input functions read it. A text that this code cannot read with certainty is refused. */
import { SqlError } from '../sql-error.ts'
import { numericOf } from './numeric.ts'
import { keywords, splitName } from './quoting.ts'
import { refused } from './tree.ts'
import { baseOf, elementOf, formatType, isArray, oids, sqlNames, typeNamed } from './types.ts'
import type { ObjectNames, Value } from './values.ts'

/** The value of a text. Throws SqlError 22P02 for a text that is no such value, 0A000 for types that have no input here. */
export function valueOfText(text: string, type: number, objects: ObjectNames): Value {
  const read = readers[baseOf(type)]
  if (read !== undefined) return read(text, type, objects)
  if (isArray(type)) return readArray(text, type, objects)
  throw refused(`A text for type ${formatType(type)}`)
}

type Reader = (text: string, type: number, objects: ObjectNames) => Value

const integer =
  (bits: number): Reader =>
  (text, type) => {
    const [, digits] = /^[ \t\n\v\f\r]*([+-]?\d{1,40})[ \t\n\v\f\r]*$/.exec(text) ?? []
    if (digits === undefined) throw invalid(text, type)
    const value = BigInt(digits.replace('+', ''))
    if (BigInt.asIntN(bits, value) !== value)
      throw new SqlError('22003', `value "${text}" is out of range for type ${formatType(type)}`)
    return bits === 64 ? value : Number(value)
  }

function isOid(text: string): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) < 2 ** 32
}

const word: Reader = (text, type) => {
  if (isOid(text)) return Number(text)
  if (/^[^\d]*$/.test(text)) throw invalid(text, type)
  throw refused(`The oid "${text.slice(0, 60)}"`)
}

const object: Reader = (text, type, objects) => {
  if (text === '-') return 0
  return isOid(text) ? Number(text) : objects.oidOf(type, text)
}

const asItIs: Reader = (text) => text

const readers: Readonly<Record<number, Reader>> = {
  [oids.bool]: readBoolean,
  [oids.int2]: integer(16),
  [oids.int4]: integer(32),
  [oids.int8]: integer(64),
  [oids.oid]: word,
  [oids.char]: (text) => {
    if (/[^ -~]/.test(text)) throw refused('A "char" beyond ASCII')
    return text.slice(0, 1)
  },
  [oids.text]: asItIs,
  [oids.varchar]: asItIs,
  [oids.bpchar]: asItIs,
  [oids.numeric]: numericOf,
  [oids.unknown]: asItIs,
  [oids.name]: (text) => shortName(text),
  [oids.regclass]: object,
  [oids.regproc]: object,
  [oids.regprocedure]: object,
  [oids.regnamespace]: object,
  [oids.regrole]: object,
  [oids.regtype]: object,
}

/** Whether texts of this type are read. */
export function isReadable(type: number): boolean {
  return readers[type] !== undefined || readers[elementOf(type)] !== undefined
}

function invalid(text: string, type: number): SqlError {
  return new SqlError('22P02', `invalid input syntax for type ${formatType(type)}: "${text.slice(0, 200)}"`)
}

function readBoolean(text: string, type: number): Value {
  if (text.length > 20) throw text.length > 100 ? refused('A long text as boolean') : invalid(text, type)
  const read = trimmed(text).toLowerCase()
  const isOneOf = (words: readonly string[]) =>
    read !== '' && read !== 'o' && words.some((each) => each.startsWith(read))
  if (isOneOf(['true', 'yes', 'on', '1'])) return true
  if (isOneOf(['false', 'no', 'off', '0'])) return false
  throw invalid(text, type)
}

/** Without the blanks at its ends: PostgreSQL's are those of ASCII. */
function trimmed(text: string): string {
  return text.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, '')
}

/** A name has at most 63 bytes: a longer one is cut between two characters. */
export function shortName(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= 63) return text
  let end = 63
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

const longNames = new Map([
  ...Object.entries(sqlNames).map(([name, long]) => [long, name] as const),
  ['int', 'int4'],
  ['decimal', 'numeric'],
])

/** The type that a text names, as the input of regtype; 0 if there is none. Throws 0A000 for a text that the grammar of PostgreSQL may read otherwise. */
export function findType(text: string): number {
  const isList = text.endsWith('[]')
  const plain = isList ? text.slice(0, -2) : text
  const long = longNames.get(plain.toLowerCase())
  if (long === undefined && !/^(?:[a-z_]\w*|"[^"]+")(?:\.(?:[a-z_]\w*|"[^"]+"))?$/i.test(plain))
    throw refused(`The type "${text.slice(0, 100)}"`)
  const names = splitName(long ?? plain)
  const type = typeNamed(names.at(-1)!, names.at(-2))
  const isOdd =
    long === undefined && /^(?:char|bit|float|dec|character|interval|time\w*|setof)$/.test(names[0]!)
  if ((isOdd && !plain.startsWith('"')) || (type === undefined && keywords.get(names[0]!)?.[0] === 'R'))
    throw refused(`The type "${text}"`)
  if (type === undefined) return 0
  return isList ? type.array : type.oid
}

/** array_in, of one dimension: `{a,"b c",NULL}`. */
function readArray(text: string, type: number, objects: ObjectNames): Value {
  const element = elementOf(type)
  const malformed = () => new SqlError('22P02', `malformed array literal: "${text.slice(0, 200)}"`)
  const [, body] = /^[ \t\n\v\f\r]*\{([\s\S]*)\}[ \t\n\v\f\r]*$/.exec(text) ?? []
  if (body === undefined) {
    if (/^[ \t\n\v\f\r]*\[/.test(text)) throw refused('An array with bounds')
    throw malformed()
  }
  if (trimmed(body) === '') return []
  const item = /(?:[ \t\n\v\f\r]*"((?:[^"\\]|\\[\s\S])*)"[ \t\n\v\f\r]*|((?:[^{}",\\]|\\[\s\S])*))(,|$)/y
  const items: Value[] = []
  for (let sign = ','; sign === ','; ) {
    const [, quoted, plain = '', end] = item.exec(body) ?? []
    if (end === undefined && /[{}]/.test(body)) throw refused('An array of several dimensions')
    if (end === undefined || (quoted === undefined && trimmed(plain) === '')) throw malformed()
    if (/\\[ \t\n\v\f\r]/.test(plain)) throw refused('An array with a blank behind a backslash')
    const isNull = quoted === undefined && /^null$/i.test(trimmed(plain))
    const value = (quoted ?? trimmed(plain)).replace(/\\([\s\S])/g, '$1')
    items.push(isNull ? null : valueOfText(value, element, objects))
    sign = end
  }
  return items
}
