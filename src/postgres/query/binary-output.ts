/** The binary form of values, as PostgreSQL's send functions write it (`src/backend/utils/adt/` of PostgreSQL). */
import { SqlError } from '../sql-error.ts'
import { itemType, lowerBound, type ObjectNames, textLengthMax, tooLong } from './text-output.ts'
import { refused } from './tree.ts'
import { formatType, oids, typeOf } from './types.ts'
import type { Value } from './values.ts'

/** Writes numbers of a fixed size. */
const writers: Readonly<
  Record<number, readonly [size: number, write: (bytes: Buffer, value: never) => void]>
> = {
  [oids.bool]: [1, (bytes, value: boolean) => bytes.writeUInt8(value ? 1 : 0)],
  [oids.char]: [1, (bytes, value: string) => bytes.write(value, 'latin1')],
  [oids.int2]: [2, (bytes, value: number) => bytes.writeInt16BE(value)],
  [oids.int4]: [4, (bytes, value: number) => bytes.writeInt32BE(value)],
  [oids.int8]: [8, (bytes, value: bigint) => bytes.writeBigInt64BE(value)],
  [oids.timestamptz]: [8, (bytes, value: bigint) => bytes.writeBigInt64BE(value)],
  [oids.float4]: [4, (bytes, value: number) => bytes.writeFloatBE(value)],
  [oids.uuid]: [16, (bytes, value: string) => bytes.write(value.replaceAll('-', ''), 'hex')],
}
const texts: readonly number[] = [
  oids.name,
  oids.text,
  oids.varchar,
  oids.json,
  oids.unknown,
  oids.pgNodeTree,
]
const words: readonly number[] = [
  oids.oid,
  oids.xid,
  oids.cid,
  oids.regclass,
  oids.regtype,
  oids.regproc,
  oids.regnamespace,
  oids.regrole,
]

/** The binary form of a value that is not null. Throws SqlError 42883 for types that have none, 0A000 for others. */
export function binaryOfValue(value: Value, type: number, names: ObjectNames): Uint8Array {
  if (texts.includes(type)) return Buffer.from(value as string)
  if (words.includes(type)) return counts(value as number)
  if (itemType(type) !== 0) return arrayBytes(value as readonly Value[], type, names)
  if (type === oids.void) return new Uint8Array(0)
  const writer = writers[type]
  if (writer === undefined) {
    if (typeOf(type)?.functions[3] !== 0) throw refused(`The binary form of ${formatType(type)}`)
    throw new SqlError('42883', `no binary output function available for type ${formatType(type)}`)
  }
  const bytes = Buffer.alloc(writer[0])
  writer[1](bytes, value as never)
  return bytes
}

function counts(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 4)
  for (const [index, number] of numbers.entries()) bytes.writeInt32BE(number | 0, index * 4)
  return bytes
}

/** array_send: dimensions, whether there are nulls, the elements' type, lengths and lower bounds, the elements. */
function arrayBytes(items: readonly Value[], type: number, names: ObjectNames): Uint8Array {
  const element = itemType(type)
  const first = lowerBound(type)
  // An empty vector has one dimension all the same.
  const dimensions = items.length > 0 || first === 0 ? [items.length, first] : []
  const parts: Uint8Array[] = [
    counts(dimensions.length / 2, items.includes(null) ? 1 : 0, element, ...dimensions),
  ]
  let length = 0
  for (const item of items) {
    const bytes = item === null ? undefined : binaryOfValue(item, element, names)
    length += 4 + (bytes?.length ?? 0)
    if (length > textLengthMax) throw tooLong()
    parts.push(counts(bytes?.length ?? -1), ...(bytes ? [bytes] : []))
  }
  return Buffer.concat(parts)
}
