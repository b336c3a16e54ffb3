/**
 * COM_STMT_EXECUTE: the values of a prepared statement's parameters (MySQL's manual, "COM_STMT_EXECUTE" and "Binary Protocol
 * Value").
 */
import { lengthOfInteger, readInteger } from './protocol.ts'

/** One parameter. */
export type Parameter = {
  /** MySQL's number of its type. */
  readonly type: number
  readonly isUnsigned: boolean
  /** Undefined: NULL, or sent as long data. */
  readonly value: Buffer | undefined
  readonly isLong: boolean
}

/** The types of parameters as packets have them: two bytes each. */
export type ParameterTypes = Buffer

/** The statement, the kind of cursor, and the number of iterations. */
const headBytes = 9
const unsignedBit = 0x80
/** Bytes of values of a fixed length, by the number of the type. */
const fixedBytes: Readonly<Record<number, number>> = { 1: 1, 2: 2, 13: 2, 3: 4, 9: 4, 4: 4, 8: 8, 5: 8, 6: 0 }
/** TIMESTAMP, DATE, TIME, DATETIME, and the names that the server itself has for them, have their length in one byte. */
const timeTypes = new Set([7, 10, 11, 12, 14, 17, 18, 19])
/** MariaDB takes a GEOMETRY for NULL, and its bytes for the next value. */
const geometry = 255
const [longlong, varString] = [8, 253]

/** What a client sends. */
export type Execution = {
  readonly head: Buffer
  readonly parameters: readonly Parameter[]
  readonly types: ParameterTypes
}

/**
 * Reads the body of a command for a statement with `count` parameters; undefined: it is malformed.
 * @param known the types that the client has sent before, which stay in force until it sends others.
 * @param isLong whether a parameter was sent as long data.
 */
export function readExecution(
  body: Buffer,
  count: number,
  known: ParameterTypes | undefined,
  isLong: (parameter: number) => boolean,
): Execution | undefined {
  const head = body.subarray(0, headBytes)
  if (body.length < headBytes) return undefined
  if (count === 0) return { head, parameters: [], types: Buffer.alloc(0) }
  const nullBytes = (count + 7) >> 3
  const flagAt = headBytes + nullBytes
  if (body.length <= flagAt) return undefined
  const hasTypes = body[flagAt] !== 0
  const types = hasTypes ? body.subarray(flagAt + 1, flagAt + 1 + 2 * count) : known
  if (types === undefined || types.length !== 2 * count) return undefined
  let at = flagAt + 1 + (hasTypes ? 2 * count : 0)
  const parameters: Parameter[] = []
  for (let index = 0; index < count; index++) {
    const type = types[2 * index]!
    const isUnsigned = (types[2 * index + 1]! & unsignedBit) !== 0
    const isNull = (body[headBytes + (index >> 3)]! & (1 << (index & 7))) !== 0 || type === 6
    if (isNull || isLong(index)) {
      parameters.push({ type, isUnsigned, value: undefined, isLong: isLong(index) })
      continue
    }
    if (at >= body.length || type === geometry) return undefined
    const end = at + lengthOfValue(body, at, type)
    if (end > body.length) return undefined
    parameters.push({ type, isUnsigned, value: body.subarray(at, end), isLong: false })
    at = end
  }
  return { head, parameters, types: Buffer.from(types) }
}

/** The body of a command with these parameters. */
export function writeExecution(head: Buffer, parameters: readonly Parameter[]): Buffer {
  if (parameters.length === 0) return head
  const nulls = Buffer.alloc((parameters.length + 7) >> 3)
  const types = Buffer.alloc(1 + 2 * parameters.length)
  types[0] = 1
  const values = [head, nulls, types]
  parameters.forEach(({ type, isUnsigned, value, isLong }, index) => {
    types[1 + 2 * index] = type
    types[2 + 2 * index] = isUnsigned ? unsignedBit : 0
    if (value !== undefined) values.push(value)
    else if (!isLong) nulls[index >> 3]! |= 1 << (index & 7)
  })
  return Buffer.concat(values)
}

/** Ids as parameters. They share a buffer: a statement may have tens of thousands, and each buffer takes long. */
export function idParameters(ids: readonly string[], isText: boolean): Parameter[] {
  if (isText)
    return ids.map((id) => ({
      type: varString,
      isUnsigned: false,
      value: withLength(Buffer.from(id)),
      isLong: false,
    }))
  const all = Buffer.allocUnsafe(8 * ids.length)
  const view = new DataView(all.buffer, all.byteOffset)
  return ids.map((id, index) => {
    view.setBigUint64(8 * index, BigInt(id), true)
    const value = all.subarray(8 * index, 8 * index + 8)
    return { type: longlong, isUnsigned: true, value, isLong: false }
  })
}

/** NULL in an id's place. */
export const noId: Parameter = { type: longlong, isUnsigned: true, value: undefined, isLong: false }

/** A number in decimal, or a text; null; or undefined for dates and long data. */
export function textOf({ type, isUnsigned, value, isLong }: Parameter): string | null | undefined {
  if (isLong || timeTypes.has(type)) return undefined
  if (value === undefined) return null
  // Clients in JavaScript send all numbers as doubles.
  if (type === 4) return `${value.readFloatLE()}`
  if (type === 5) return `${value.readDoubleLE()}`
  const bytes = fixedBytes[type]
  if (bytes === undefined) return value.toString('latin1', lengthOfInteger(value[0]!))
  const integer = bytes === 8 ? value.readBigUInt64LE() : BigInt(value.readUIntLE(0, bytes))
  return `${isUnsigned ? integer : BigInt.asIntN(8 * bytes, integer)}`
}

/** Infinite: it is malformed. */
function lengthOfValue(body: Buffer, at: number, type: number): number {
  const fixed = fixedBytes[type]
  if (fixed !== undefined) return fixed
  const first = body[at]!
  // Servers take these for markers of an integer of 8 bytes.
  if (first === 0xfb || first === 0xff) return Number.POSITIVE_INFINITY
  if (timeTypes.has(type)) return first < 0xfb ? 1 + first : Number.POSITIVE_INFINITY
  const bytes = lengthOfInteger(first)
  return at + bytes > body.length ? bytes : bytes + readInteger(body, at)
}

function withLength(text: Buffer): Buffer {
  if (text.length < 0xfb) return Buffer.concat([Buffer.from([text.length]), text])
  return Buffer.concat([Buffer.from([0xfc, text.length & 0xff, text.length >> 8]), text])
}
