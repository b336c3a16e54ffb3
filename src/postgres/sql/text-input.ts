/** Values from their text form, as PostgreSQL's input functions read it. */
import { canonicalDecimal } from './decimals.ts'
import { SqlError, unsupported } from './sql-error.ts'
import { infinity, itemType, minusInfinity } from './text-output.ts'
import { baseOf, formatType, oids, typeNamed, typeOf } from './types.ts'
import type { Value } from './values.ts'

/** Oids behind names, for types such as regclass. */
export interface ObjectOids {
  /** The relation that a text names, as the input of regclass. Throws SqlError 42P01. */
  relation(text: string): number
  /** The function of this name. Throws SqlError 42883. */
  function(text: string): number
  /** The schema of this name. Throws SqlError 3F000. */
  schema(text: string): number
  /** The role of this name. Throws SqlError 42704. */
  role(text: string): number
}

/** The value of a text. Throws SqlError 22P02 for a text that is no such value, 0A000 for types that have no input here. */
export function valueOfText(text: string, type: number, objects: ObjectOids): Value {
  const base = baseOf(type)
  if (typeOf(base)?.category === 'S' || base === oids.unknown) return text
  const read = readers[base]
  if (read) return read(text, base, objects)
  if (itemType(base) !== 0) return readArray(text, base, objects)
  if (typeOf(base)?.category === 'R' || base === oids.json || base === oids.jsonb || base === oids.interval)
    return text
  throw unsupported(`A text for type ${formatType(type)}`)
}

type Reader = (text: string, type: number, objects: ObjectOids) => Value

const integer =
  (min: bigint, max: bigint): Reader =>
  (text, type) => {
    const trimmed = text.trim()
    if (!/^[+-]?\d{1,40}$/.test(trimmed)) throw invalid(text, type)
    const value = BigInt(trimmed.replace('+', ''))
    if (value < min || value > max)
      throw new SqlError('22003', `value "${text}" is out of range for type ${formatType(type)}`)
    return type === oids.int8 ? value : Number(value)
  }

/** An oid may be written as a negative number. */
const word: Reader = (text, type) => {
  const value = integer(-(2n ** 31n), 2n ** 32n - 1n)(text, type, undefined as never) as number
  return value < 0 ? value + 2 ** 32 : value
}

const object =
  (find: (objects: ObjectOids, text: string) => number): Reader =>
  (text, _, objects) => {
    if (text === '-') return 0
    return /^\d+$/.test(text) ? (word(text, oids.oid, objects) as number) : find(objects, text)
  }

const float: Reader = (text, type) => {
  const trimmed = text.trim()
  if (!/^[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf(?:inity)?|nan)$/i.test(trimmed))
    throw invalid(text, type)
  return Number(trimmed.replace(/inf(?:inity)?/i, 'Infinity').replace(/nan/i, 'NaN'))
}

const readers: Readonly<Record<number, Reader>> = {
  [oids.bool]: readBoolean,
  [oids.int2]: integer(-32_768n, 32_767n),
  [oids.int4]: integer(-(2n ** 31n), 2n ** 31n - 1n),
  [oids.int8]: integer(-(2n ** 63n), 2n ** 63n - 1n),
  [oids.oid]: word,
  [oids.xid]: word,
  [oids.cid]: word,
  [oids.float4]: float,
  [oids.float8]: float,
  [oids.char]: (text) => text.slice(0, 1),
  [oids.numeric]: (text, type) => {
    const value = canonicalDecimal(text)
    if (value === undefined) throw invalid(text, type)
    return value
  },
  [oids.bytea]: (text) =>
    text.startsWith('\\x')
      ? new Uint8Array(Buffer.from(text.slice(2), 'hex'))
      : new Uint8Array(Buffer.from(text)),
  [oids.regclass]: object((objects, text) => objects.relation(text)),
  [oids.regproc]: object((objects, text) => objects.function(text)),
  [oids.regprocedure]: object((objects, text) => objects.function(text.split('(', 1)[0]!)),
  [oids.regnamespace]: object((objects, text) => objects.schema(text)),
  [oids.regrole]: object((objects, text) => objects.role(text)),
  [oids.regtype]: object((_, text) => typeOfText(text)),
  [oids.timestamp]: readTimestamp,
  [oids.timestamptz]: readTimestamp,
  [oids.date]: readDate,
  [oids.uuid]: (text, type) => {
    const digits = text.replace(/[{}-]/g, '').toLowerCase()
    if (!/^[0-9a-f]{32}$/.test(digits)) throw invalid(text, type)
    return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  },
  [oids.int2vector]: readVector,
  [oids.oidvector]: readVector,
}

function invalid(text: string, type: number): SqlError {
  return new SqlError('22P02', `invalid input syntax for type ${formatType(type)}: "${text.slice(0, 200)}"`)
}

function readBoolean(text: string, type: number): Value {
  const word = text.trim().toLowerCase()
  if (word !== '' && ['true', 'yes', 'on', '1'].some((each) => each.startsWith(word) && word !== 'o'))
    return true
  if (word !== '' && ['false', 'no', 'off', '0'].some((each) => each.startsWith(word) && word !== 'o'))
    return false
  throw invalid(text, type)
}

const epochMs = Date.UTC(2000, 0, 1)

function readTimestamp(text: string, type: number): Value {
  const infinite = readInfinity(text)
  if (infinite !== undefined) return infinite > 0 ? infinity : minusInfinity
  const { dayMs, us } = readTime(text, type)
  return BigInt(dayMs - epochMs) * 1000n + us
}

/** A date does without its time of day. */
function readDate(text: string, type: number): Value {
  return readInfinity(text) ?? (readTime(text, type).dayMs - epochMs) / 86_400_000
}

function readInfinity(text: string): number | undefined {
  const [, sign] = (text.length < 60 && /^\s*(-?)infinity\s*$/i.exec(text)) || []
  if (sign === undefined) return undefined
  return sign === '' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
}

/** A day in ms since 1970, and the time within it in µs. Throws SqlError 22P02, 22008 for a day or a time that there is not. */
function readTime(text: string, type: number): { readonly dayMs: number; readonly us: bigint } {
  const read =
    text.length < 60 &&
    /^\s*(\d{4,6})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?\s*(?:Z|[+-]00(?::?00)?)?(\s+BC)?\s*$/i.exec(
      text,
    )
  if (!read) throw invalid(text, type)
  const [, ...parts] = read
  const [year, month, day, hour, minute, second] = parts.slice(0, 6).map((part) => Number(part ?? 0)) as [
    number,
    ...number[],
  ]
  const micros = BigInt((parts[6] ?? '').padEnd(6, '0'))
  const us = BigInt((hour! * 60 + minute!) * 60 + second!) * 1_000_000n + micros
  // The year before year 1 is 1 BC.
  const date = new Date(0)
  date.setUTCFullYear(parts[7] === undefined ? year : 1 - year, month! - 1, day)
  const isDay = date.getUTCMonth() === month! - 1 && date.getUTCDate() === day && year > 0
  if (!isDay || minute! > 59 || second! > 60 || us > 86_400_000_000n)
    throw new SqlError('22008', `date/time field value out of range: "${text}"`)
  return { dayMs: date.getTime(), us }
}

/** The type that a text names, as the input of regtype. Throws SqlError 42704. */
export function typeOfText(text: string): number {
  const found = findType(text)
  if (found === 0) throw new SqlError('42704', `type "${text}" does not exist`)
  return found
}

/** As `typeOfText`; 0 if there is none. */
export function findType(text: string): number {
  const read =
    text.length < 300 &&
    /^\s*(?:(\w+)\.)?("[^"]+"|[\w ]+?)\s*(?:\(\s*\d+(?:\s*,\s*\d+)?\s*\))?\s*((?:\[\s*\d*\s*\])*)\s*$/.exec(
      text,
    )
  if (!read) return 0
  const [, schema, word = '', brackets] = read
  const name = word.startsWith('"')
    ? word.slice(1, -1)
    : (longNames[word.toLowerCase()] ?? word.toLowerCase())
  const type = typeNamed(name, schema)
  if (!type) return 0
  return brackets ? type.array : type.oid
}

const longNames: Readonly<Record<string, string>> = {
  bigint: 'int8',
  boolean: 'bool',
  character: 'bpchar',
  char: 'bpchar',
  'character varying': 'varchar',
  decimal: 'numeric',
  'double precision': 'float8',
  float: 'float8',
  int: 'int4',
  integer: 'int4',
  real: 'float4',
  smallint: 'int2',
  'time with time zone': 'timetz',
  'time without time zone': 'time',
  'timestamp with time zone': 'timestamptz',
  'timestamp without time zone': 'timestamp',
}

function readVector(text: string, type: number, objects: ObjectOids): Value {
  const items = text.trim() === '' ? [] : text.trim().split(/\s+/)
  return items.map((item) => valueOfText(item, itemType(type), objects))
}

/** An array of a text or a parameter is read in one go: so many elements take about 5 ms. */
export const itemsMax = 5000

/** The error for a longer one. */
export function tooManyItems(): SqlError {
  return new SqlError(
    '54000',
    `an array that is written as a text or sent as a parameter has at most ${itemsMax} elements; send fewer`,
  )
}

/** array_in: `{a,"b c",NULL,{…}}`. */
function readArray(text: string, type: number, objects: ObjectOids): Value {
  const element = itemType(type)
  const delimiter = typeOf(element)?.delimiter ?? ','
  const token = new RegExp(
    `\\s*(?:([{}${delimiter}])|"((?:[^"\\\\]|\\\\[\\s\\S])*)"|((?:[^{}"\\\\${delimiter}]|\\\\[\\s\\S])+))`,
    'y',
  )
  const open: Value[][] = []
  let items = 0
  const malformed = () => new SqlError('22P02', `malformed array literal: "${text.slice(0, 200)}"`)
  // Whether an element, rather than a delimiter, may come next.
  let wantsItem = true
  let done: Value[] | undefined
  const body = text.trimEnd()
  for (let at = 0; at < body.length; at = token.lastIndex) {
    token.lastIndex = at
    const read = token.exec(body)
    if (!read || done) throw malformed()
    const [, sign, quoted, plain] = read
    const level = open.at(-1)
    if (sign === '{') {
      if (!wantsItem || open.length >= 6) throw malformed()
      open.push([])
    } else if (!level) throw malformed()
    else if (sign === '}') {
      if (wantsItem && level.length > 0) throw malformed()
      open.pop()
      if (open.length === 0) done = level
      else open.at(-1)!.push(level)
      wantsItem = false
    } else if (sign === delimiter) {
      if (wantsItem) throw malformed()
      wantsItem = true
    } else {
      if (!wantsItem) throw malformed()
      if (++items > itemsMax) throw tooManyItems()
      level.push(readItem(quoted, plain, element, objects))
      wantsItem = false
    }
  }
  if (!done) throw malformed()
  return done
}

function readItem(
  quoted: string | undefined,
  plain: string | undefined,
  element: number,
  objects: ObjectOids,
): Value {
  if (quoted === undefined && /^null$/i.test(plain!.trimEnd())) return null
  const text = (quoted ?? plain!.trimEnd()).replace(/\\([\s\S])/g, '$1')
  return valueOfText(text, element, objects)
}
