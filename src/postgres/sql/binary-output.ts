/** The binary form of values, as PostgreSQL's send functions write it (`src/backend/utils/adt/` of PostgreSQL). */
import { SqlError, unsupported } from './sql-error.ts'
import { hasItems, itemType, type ObjectNames, textOfValue } from './text-output.ts'
import { formatType, oids, typeOf } from './types.ts'
import { RowValue, type Value } from './values.ts'

/** Types whose binary form is their text. */
const textTypes: ReadonlySet<number> = new Set([
  oids.name,
  oids.text,
  oids.bpchar,
  oids.varchar,
  oids.json,
  oids.unknown,
  oids.pgNodeTree,
])
/** What the parts of a value in binary form may take until they are put together, and each beside its bytes. */
const costMax = 16_777_216
const partCost = 128
/** Types of 4 bytes without a sign. */
const words: ReadonlySet<number> = new Set([
  oids.oid,
  oids.xid,
  oids.cid,
  oids.regclass,
  oids.regtype,
  oids.regproc,
  oids.regprocedure,
  oids.regoper,
  oids.regoperator,
  oids.regnamespace,
  oids.regrole,
])

/** The binary form of a value that is not null. Throws SqlError 42883 for types that have none, 0A000 for others. */
export function binaryOfValue(value: Value, type: number, names: ObjectNames): Uint8Array {
  if (textTypes.has(type)) return Buffer.from(String(value))
  if (words.has(type)) return sized(4, (bytes) => bytes.writeUInt32BE(Number(value)))
  if (value instanceof RowValue) return rowBytes(value, names)
  if (hasItems(type)) return arrayBytes(value as readonly Value[], type, names)
  switch (type) {
    case oids.bool:
      return Buffer.from([value ? 1 : 0])
    case oids.char:
      return Buffer.from(String(value) || '\0', 'latin1').subarray(0, 1)
    case oids.int2:
      return sized(2, (bytes) => bytes.writeInt16BE(Number(value)))
    case oids.int4:
      return sized(4, (bytes) => bytes.writeInt32BE(Number(value)))
    case oids.date:
      // The infinities are the last numbers.
      return sized(4, (bytes) =>
        bytes.writeInt32BE(Math.min(2 ** 31 - 1, Math.max(-(2 ** 31), Number(value)))),
      )
    case oids.int8:
    case oids.timestamp:
    case oids.timestamptz:
      return sized(8, (bytes) => bytes.writeBigInt64BE(BigInt(value as bigint)))
    case oids.float4:
      return sized(4, (bytes) => bytes.writeFloatBE(Number(value)))
    case oids.float8:
      return sized(8, (bytes) => bytes.writeDoubleBE(Number(value)))
    case oids.numeric:
      return numericBytes(String(value))
    case oids.bytea:
      return value as Uint8Array
    case oids.jsonb:
      return Buffer.concat([Buffer.from([1]), Buffer.from(String(value))])
    case oids.uuid:
      return Buffer.from(String(value).replaceAll('-', ''), 'hex')
    case oids.void:
      return new Uint8Array(0)
    default:
      throw noBinary(type, textOfValue(value, type, names))
  }
}

function noBinary(type: number, text: string): SqlError {
  if (typeOf(type)?.functions[3] === 0)
    return new SqlError('42883', `no binary output function available for type ${formatType(type)}`)
  return unsupported(`The binary form of type ${formatType(type)} (${text.slice(0, 20)})`)
}

function sized(length: number, write: (bytes: Buffer) => void): Uint8Array {
  const bytes = Buffer.alloc(length)
  write(bytes)
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
  const sizes: number[] = []
  for (let level: Value = items; Array.isArray(level) && level.length > 0; level = level[0]!)
    sizes.push(level.length)
  const isVector = type === oids.int2vector || type === oids.oidvector
  // An empty vector has one dimension all the same.
  if (isVector && sizes.length === 0) sizes.push(0)
  const flat = (items as readonly unknown[]).flat(6) as Value[]
  const head = counts(
    sizes.length,
    flat.includes(null) ? 1 : 0,
    element,
    ...sizes.flatMap((size) => [size, isVector ? 0 : 1]),
  )
  return fieldsBehind(head, flat, (item) => field(item, element, names))
}

/** What is made of a head and the fields of values. Throws SqlError 54000 before too much is made. */
function fieldsBehind(
  head: Buffer,
  values: readonly Value[],
  make: (value: Value, index: number) => Uint8Array[],
): Uint8Array {
  const parts: Uint8Array[] = [head]
  let cost = 0
  for (const [index, value] of values.entries())
    for (const part of make(value, index)) {
      cost += part.length + partCost
      if (cost > costMax)
        throw new SqlError(
          '54000',
          'a value is too long for the binary form; ask for it as text, or select less',
        )
      parts.push(part)
    }
  return Buffer.concat(parts)
}

function field(value: Value, type: number, names: ObjectNames): Uint8Array[] {
  if (value === null) return [counts(-1)]
  const bytes = binaryOfValue(value, type, names)
  return [counts(bytes.length), bytes]
}

/** record_send: the number of fields, and of each its type, length and value. */
function rowBytes({ values, types }: RowValue, names: ObjectNames): Uint8Array {
  return fieldsBehind(counts(values.length), values, (value, index) => [
    counts(types[index]!),
    ...field(value, types[index]!, names),
  ])
}

/** numeric_send: digits of base 10,000, the weight of the first, the sign, the digits behind the point. */
function numericBytes(text: string): Uint8Array {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  const padded =
    whole.padStart(Math.ceil(whole.length / 4) * 4, '0') +
    fraction.padEnd(Math.ceil(fraction.length / 4) * 4, '0')
  let digits = (padded.match(/\d{4}/g) ?? []).map(Number)
  let weight = Math.ceil(whole.length / 4) - 1
  while (digits[0] === 0) {
    digits = digits.slice(1)
    weight--
  }
  while (digits.at(-1) === 0) digits.pop()
  const bytes = Buffer.alloc(8 + digits.length * 2)
  bytes.writeInt16BE(digits.length, 0)
  bytes.writeInt16BE(digits.length === 0 ? 0 : weight, 2)
  bytes.writeUInt16BE(sign === '-' ? 0x4000 : 0, 4)
  bytes.writeInt16BE(fraction.length, 6)
  for (const [index, digit] of digits.entries()) bytes.writeInt16BE(digit, 8 + index * 2)
  return bytes
}
