/** The binary form of values, as PostgreSQL's send and receive functions have it (`src/backend/utils/adt/` of PostgreSQL). */
import { SqlError } from '../sql-error.ts'
import { isReadable, shortName } from './text-input.ts'
import { itemType, lowerBound, textLengthMax, tooLong } from './text-output.ts'
import { refused } from './tree.ts'
import { formatType, oids, typeOf } from './types.ts'
import type { Value } from './values.ts'

/** Numbers of a fixed size: how a buffer reads and writes them. */
type Form = readonly [
  size: number,
  method: 'UInt8' | 'Int16BE' | 'Int32BE' | 'UInt32BE' | 'BigInt64BE' | 'FloatBE',
]
const { oid, xid, cid, regclass, regtype, regproc, regnamespace, regrole } = oids
const words = [oid, xid, cid, regclass, regtype, regproc, regnamespace, regrole]
const forms: Readonly<Record<number, Form>> = {
  ...Object.fromEntries(words.map((type) => [type, [4, 'UInt32BE']])),
  [oids.bool]: [1, 'UInt8'],
  [oids.char]: [1, 'UInt8'],
  [oids.int2]: [2, 'Int16BE'],
  [oids.int4]: [4, 'Int32BE'],
  [oids.int8]: [8, 'BigInt64BE'],
  [oids.timestamptz]: [8, 'BigInt64BE'],
  [oids.float4]: [4, 'FloatBE'],
}
const { name, text, varchar, bpchar, json, unknown, pgNodeTree } = oids
const texts: readonly number[] = [name, text, varchar, bpchar, json, unknown, pgNodeTree]

/** The value of bytes. Throws SqlError 22P03 for bytes that are no such value, 0A000 for types that are not read here. */
export function valueOfBinary(bytes: Buffer, type: number): Value {
  if (type === name) return shortName(bytes.toString('utf8'))
  if (type === text || type === varchar || type === bpchar) return bytes.toString('utf8')
  if (lowerBound(type) === 1 && itemType(type) !== 0) return readArray(bytes, itemType(type))
  const [size, method] = forms[type] ?? []
  if (method === undefined || !isReadable(type)) throw refused(`The binary form of ${formatType(type)}`)
  if (bytes.length !== size) throw incorrect()
  const value = bytes[`read${method}`]()
  if (type === oids.char) return value === 0 ? '' : String.fromCharCode(Number(value))
  return type === oids.bool ? value !== 0 : value
}

function incorrect(): SqlError {
  return new SqlError('22P03', 'incorrect binary data format in bind parameter')
}

/** array_recv, of at most one dimension. */
function readArray(bytes: Buffer, element: number): Value {
  if (bytes.length < 12) throw incorrect()
  const dimensions = bytes.readInt32BE(0)
  if (dimensions === 0) return []
  if (dimensions !== 1) throw refused('A parameter with an array of several dimensions')
  if (bytes.length < 20 || bytes.readInt32BE(8) !== element) throw incorrect()
  const items: Value[] = []
  let at = 20
  for (let left = bytes.readInt32BE(12); left > 0; left--) {
    if (at + 4 > bytes.length) throw incorrect()
    const length = bytes.readInt32BE(at)
    at += 4
    if (length > bytes.length - at) throw incorrect()
    items.push(length < 0 ? null : valueOfBinary(bytes.subarray(at, at + length), element))
    at += Math.max(0, length)
  }
  if (at !== bytes.length) throw incorrect()
  return items
}

/** The binary form of a value that is not null. Throws SqlError 42883 for types that have none, 0A000 for others. */
export function binaryOfValue(value: Value, type: number): Uint8Array {
  if (texts.includes(type)) return Buffer.from(value as string)
  if (itemType(type) !== 0) return arrayBytes(value as readonly Value[], type)
  if (type === oids.uuid) return Buffer.from((value as string).replaceAll('-', ''), 'hex')
  if (type === oids.void) return Buffer.alloc(0)
  const [size, method] = forms[type] ?? []
  if (size === undefined || method === undefined) {
    if (typeOf(type)?.send !== 0) throw refused(`The binary form of ${formatType(type)}`)
    throw new SqlError('42883', `no binary output function available for type ${formatType(type)}`)
  }
  const bytes = Buffer.alloc(size)
  const number = type === oids.char ? (value as string).charCodeAt(0) || 0 : value
  bytes[`write${method}`]((type === oids.bool ? Number(number) : number) as never)
  return bytes
}

function counts(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 4)
  for (const [index, number] of numbers.entries()) bytes.writeInt32BE(number, index * 4)
  return bytes
}

/** array_send: dimensions, whether there are nulls, the elements' type, lengths and lower bounds, the elements. */
function arrayBytes(items: readonly Value[], type: number): Uint8Array {
  const element = itemType(type)
  const first = lowerBound(type)
  // An empty vector has one dimension all the same.
  const dimensions = items.length > 0 || first === 0 ? [items.length, first] : []
  const parts: Uint8Array[] = [
    counts(dimensions.length / 2, items.includes(null) ? 1 : 0, element, ...dimensions),
  ]
  let length = 0
  for (const item of items) {
    const bytes = item === null ? undefined : binaryOfValue(item, element)
    length += 4 + (bytes?.length ?? 0)
    if (length > textLengthMax) throw tooLong()
    parts.push(counts(bytes?.length ?? -1), ...(bytes ? [bytes] : []))
  }
  return Buffer.concat(parts)
}
