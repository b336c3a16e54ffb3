/** The binary form of values, as PostgreSQL's send and receive functions have it (`src/backend/utils/adt/` of PostgreSQL). */
import { SqlError } from '../sql-error.ts'
import { shortName } from './text-input.ts'
import { itemType, lowerBound, textLengthMax, tooLong } from './text-output.ts'
import { refused } from './tree.ts'
import { formatType, oids, typeOf } from './types.ts'
import type { Value } from './values.ts'

/** Values of a fixed size. */
type Form = {
  readonly size: number
  /** Undefined: no parameter has this type. */
  readonly read?: (bytes: Buffer) => Value
  readonly write: (bytes: Buffer, value: never) => void
}

const word: Form = {
  size: 4,
  read: (bytes) => bytes.readUInt32BE(),
  write: (bytes, value: number) => bytes.writeUInt32BE(value),
}
const { oid, xid, cid, regclass, regtype, regproc, regnamespace, regrole } = oids
const forms: Readonly<Record<number, Form>> = {
  ...Object.fromEntries(
    [oid, xid, cid, regclass, regtype, regproc, regnamespace, regrole].map((type) => [type, word]),
  ),
  [oids.bool]: {
    size: 1,
    read: (bytes) => bytes[0] !== 0,
    write: (bytes, value: boolean) => bytes.writeUInt8(value ? 1 : 0),
  },
  [oids.char]: {
    size: 1,
    read: (bytes) => bytes.toString('latin1').replace('\0', ''),
    write: (bytes, value: string) => bytes.write(value, 'latin1'),
  },
  [oids.int2]: {
    size: 2,
    read: (bytes) => bytes.readInt16BE(),
    write: (bytes, value: number) => bytes.writeInt16BE(value),
  },
  [oids.int4]: {
    size: 4,
    read: (bytes) => bytes.readInt32BE(),
    write: (bytes, value: number) => bytes.writeInt32BE(value),
  },
  [oids.int8]: {
    size: 8,
    read: (bytes) => bytes.readBigInt64BE(),
    write: (bytes, value: bigint) => bytes.writeBigInt64BE(value),
  },
  [oids.timestamptz]: { size: 8, write: (bytes, value: bigint) => bytes.writeBigInt64BE(value) },
  [oids.float4]: { size: 4, write: (bytes, value: number) => bytes.writeFloatBE(value) },
  [oids.uuid]: { size: 16, write: (bytes, value: string) => bytes.write(value.replaceAll('-', ''), 'hex') },
  [oids.void]: { size: 0, write: () => {} },
}
const { name, text, varchar, json, unknown, pgNodeTree } = oids
const texts: readonly number[] = [name, text, varchar, json, unknown, pgNodeTree]

/** The value of bytes. Throws SqlError 22P03 for bytes that are no such value, 0A000 for types that are not read here. */
export function valueOfBinary(bytes: Buffer, type: number): Value {
  if (type === name) return shortName(bytes.toString('utf8'))
  if (type === text || type === varchar) return bytes.toString('utf8')
  if (lowerBound(type) === 1 && itemType(type) !== 0) return readArray(bytes, itemType(type))
  const { size, read } = forms[type] ?? {}
  if (read === undefined) throw refused(`The binary form of ${formatType(type)}`)
  if (bytes.length !== size) throw incorrect()
  return read(bytes)
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
  const form = forms[type]
  if (form === undefined) {
    if (typeOf(type)?.functions[3] !== 0) throw refused(`The binary form of ${formatType(type)}`)
    throw new SqlError('42883', `no binary output function available for type ${formatType(type)}`)
  }
  const bytes = Buffer.alloc(form.size)
  form.write(bytes, value as never)
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
