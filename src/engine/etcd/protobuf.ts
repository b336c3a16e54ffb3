/**
 * Messages of Protocol Buffers, described by tables in the code. A field that is absent from the bytes has its default:
 * zero, empty, or no message. Fields that a table does not have are skipped.
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'

/** The types of single values. Integers of 64 bits are strings of digits; `int32` stands for enums. */
type Scalar = 'bytes' | 'string' | 'bool' | 'int32' | 'int64' | 'uint64'

/** A field: its number in the .proto file, its type, and whether it is a list. */
type Field = readonly [number: number, type: Scalar | Message, repeated?: 'repeated']

/** The fields of a message by the name of the member. Members without a value are left out of the bytes. */
export type Message = { readonly [member: string]: Field }

type Members = { [member: string]: unknown }

/** The bytes of a message. */
export function encode(message: Message, members: object): Buffer {
  const output = new Output()
  write(output, message, members as Members)
  return output.finish()
}

/** The message that `bytes` hold. Its buffers share their memory. Throws on bytes that are no message. */
export function decode(message: Message, bytes: Buffer): unknown {
  return read(new BinaryReader(bytes), message, bytes.length)
}

function write(output: Output, message: Message, members: Members): void {
  for (const [member, number, type, isRepeated] of fieldsOf(message).list) {
    const value = members[member]
    if (value === undefined) continue
    if (isRepeated) for (const each of value as unknown[]) writeField(output, number, type, each)
    else writeField(output, number, type, value)
  }
}

function writeField(output: Output, number: number, type: Scalar | Message, value: unknown): void {
  output.varint(number * 8 + wireTypeOf(type))
  if (typeof type === 'object') {
    const from = output.begin()
    write(output, type, value as Members)
    output.end(from)
  } else if (type === 'bytes') output.bytes(value as Buffer)
  else if (type === 'string') output.bytes(Buffer.from(value as string))
  else output.integer(value as boolean | number | string)
}

/** Bytes that grow. */
class Output {
  #bytes: Buffer = scratch
  #at = 0

  /** Writes an integer that is neither negative nor above 2^53. */
  varint(value: number): void {
    this.#reserve(8)
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = (rest % 0x80) + 0x80
    this.#bytes[this.#at++] = rest
  }

  /** Writes any integer of 64 bits, or a boolean. Negative ones are written as 64 bits. */
  integer(value: boolean | number | string): void {
    const number = Number(value)
    if (number >= 0 && number <= Number.MAX_SAFE_INTEGER) return this.varint(number)
    this.#reserve(10)
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 0x7fn) + 0x80
    this.#bytes[this.#at++] = Number(rest)
  }

  /** Writes a length, and as many bytes. */
  bytes(value: Buffer): void {
    this.varint(value.length)
    this.#reserve(value.length)
    this.#bytes.set(value, this.#at)
    this.#at += value.length
  }

  /** Begins a message whose length is written by `end`. Most take one byte for it. */
  begin(): number {
    this.#reserve(1)
    return ++this.#at
  }

  end(from: number): void {
    const length = this.#at - from
    let more = 0
    for (let rest = length; rest > 0x7f; rest = Math.floor(rest / 0x80)) more++
    this.#reserve(more)
    if (more > 0) this.#bytes.copyWithin(from + more, from, this.#at)
    this.#at = from - 1
    this.varint(length)
    this.#at += length
  }

  /** A copy of what was written. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at))
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (this.#at + bytes))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

/** Where messages are written before they are copied: encoding never waits. */
const scratch = Buffer.allocUnsafeSlow(65_536)

type KnownField = readonly [member: string, number: number, type: Scalar | Message, isRepeated: boolean]
type Fields = { readonly list: readonly KnownField[]; readonly byTag: ReadonlyMap<number, KnownField> }

const known = new WeakMap<Message, Fields>()

function fieldsOf(message: Message): Fields {
  let fields = known.get(message)
  if (fields === undefined) {
    const list = Object.entries(message).map(([member, [number, type, repeated]]): KnownField => {
      return [member, number, type, repeated !== undefined]
    })
    const byTag = new Map(list.map((field) => [field[1] * 8 + wireTypeOf(field[2]), field]))
    fields = { list, byTag }
    known.set(message, fields)
  }
  return fields
}

function wireTypeOf(type: Scalar | Message): WireType {
  return typeof type === 'object' || type === 'bytes' || type === 'string'
    ? WireType.LengthDelimited
    : WireType.Varint
}

function read(reader: BinaryReader, message: Message, end: number): Members {
  const members = defaultsOf(message)
  const { byTag } = fieldsOf(message)
  while (reader.pos < end) {
    const [number, wireType] = reader.tag()
    const found = byTag.get(number * 8 + wireType)
    if (found === undefined) {
      // A later etcd may send fields that are not known here. The specification of Protocol Buffers has readers ignore them:
      // `skip` moves the reader past the bytes of this one.
      reader.skip(wireType, number)
      continue
    }
    const [member, , type, isRepeated] = found
    const value = readField(reader, type)
    if (isRepeated) (members[member] as unknown[]).push(value)
    else members[member] = value
  }
  if (reader.pos !== end) throw new RangeError('a message is longer than its bytes')
  return members
}

function readField(reader: BinaryReader, type: Scalar | Message): unknown {
  switch (type) {
    case 'int64':
    case 'uint64':
      return String(reader[type]())
    case 'bytes': {
      const { buffer, byteOffset, byteLength } = reader.bytes()
      return Buffer.from(buffer, byteOffset, byteLength)
    }
    case 'string':
    case 'bool':
    case 'int32':
      return reader[type]()
    default: {
      const length = reader.uint32()
      return read(reader, type, reader.pos + length)
    }
  }
}

const zeros = { string: '', bool: false, int32: 0, int64: '0', uint64: '0' } as const

const nothing = Buffer.alloc(0)

function defaultsOf(message: Message): Members {
  const members: Members = {}
  for (const [member, , type, isRepeated] of fieldsOf(message).list) {
    if (isRepeated) members[member] = []
    else if (type === 'bytes') members[member] = nothing
    else members[member] = typeof type === 'object' ? undefined : zeros[type]
  }
  return members
}
