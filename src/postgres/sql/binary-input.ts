/** Values of parameters from their binary form, as PostgreSQL's receive functions read it. */
import { SqlError, unsupported } from './sql-error.ts'
import { itemsMax, tooManyItems } from './text-input.ts'
import { itemType } from './text-output.ts'
import { baseOf, formatType, oids, typeOf } from './types.ts'
import type { Value } from './values.ts'

/** The value of bytes. Throws SqlError 22P03 for bytes that are no such value, 0A000 for types that are not read here. */
export function valueOfBinary(bytes: Buffer, type: number): Value {
  const base = baseOf(type)
  if (typeOf(base)?.category === 'S' || base === oids.unknown || base === oids.json)
    return bytes.toString('utf8')
  if (itemType(base) !== 0) return readArray(bytes, itemType(base))
  const reader = readers[base]
  if (!reader) throw unsupported(`The binary form of type ${formatType(type)}`)
  const [length, read] = reader
  if (bytes.length !== length) throw incorrect()
  return read(bytes)
}

type Reader = readonly [length: number, read: (bytes: Buffer) => Value]

const word: Reader = [4, (bytes) => bytes.readUInt32BE()]
const long: Reader = [8, (bytes) => bytes.readBigInt64BE()]

const readers: Readonly<Record<number, Reader>> = {
  [oids.bool]: [1, (bytes) => bytes[0] !== 0],
  [oids.char]: [1, (bytes) => bytes.toString('latin1').replace('\0', '')],
  [oids.int2]: [2, (bytes) => bytes.readInt16BE()],
  [oids.int4]: [4, (bytes) => bytes.readInt32BE()],
  [oids.int8]: long,
  [oids.timestamp]: long,
  [oids.timestamptz]: long,
  [oids.float4]: [4, (bytes) => bytes.readFloatBE()],
  [oids.float8]: [8, (bytes) => bytes.readDoubleBE()],
  [oids.oid]: word,
  [oids.xid]: word,
  [oids.cid]: word,
  [oids.regclass]: word,
  [oids.regtype]: word,
  [oids.regproc]: word,
  [oids.regnamespace]: word,
  [oids.regrole]: word,
}

function incorrect(): SqlError {
  return new SqlError('22P03', 'incorrect binary data format in bind parameter')
}

/** array_recv, of at most one dimension. */
function readArray(bytes: Buffer, element: number): Value {
  if (bytes.length < 12) throw incorrect()
  const dimensions = bytes.readInt32BE(0)
  if (dimensions === 0) return []
  if (dimensions !== 1) throw unsupported('A parameter with an array of several dimensions')
  if (bytes.length < 20) throw incorrect()
  if (bytes.readInt32BE(12) > itemsMax) throw tooManyItems()
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
