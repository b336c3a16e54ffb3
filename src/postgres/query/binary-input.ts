/** Values of parameters from their binary form, as PostgreSQL's receive functions read it. */
import { SqlError } from '../sql-error.ts'
import { shortName } from './text-input.ts'
import { refused } from './tree.ts'
import { elementOf, formatType, oids } from './types.ts'
import type { Value } from './values.ts'

type Reader = readonly [length: number, read: (bytes: Buffer) => Value]

const word: Reader = [4, (bytes) => bytes.readUInt32BE()]
const readers: Readonly<Record<number, Reader>> = {
  [oids.bool]: [1, (bytes) => bytes[0] !== 0],
  [oids.char]: [1, (bytes) => bytes.toString('latin1').replace('\0', '')],
  [oids.int2]: [2, (bytes) => bytes.readInt16BE()],
  [oids.int4]: [4, (bytes) => bytes.readInt32BE()],
  [oids.int8]: [8, (bytes) => bytes.readBigInt64BE()],
  [oids.oid]: word,
  [oids.regclass]: word,
  [oids.regtype]: word,
  [oids.regproc]: word,
  [oids.regnamespace]: word,
  [oids.regrole]: word,
}

/** The value of bytes. Throws SqlError 22P03 for bytes that are no such value, 0A000 for types that are not read here. */
export function valueOfBinary(bytes: Buffer, type: number): Value {
  if (type === oids.name) return shortName(bytes.toString('utf8'))
  if (type === oids.text || type === oids.varchar) return bytes.toString('utf8')
  if (elementOf(type) !== 0) return readArray(bytes, elementOf(type))
  const reader = readers[type]
  if (reader === undefined) throw refused(`The binary form of ${formatType(type)}`)
  if (bytes.length !== reader[0]) throw incorrect()
  return reader[1](bytes)
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
