/**
 * Messages of Protocol Buffers, described by tables in the code. A field that is absent from the bytes has its default:
 * zero, empty, or no message. Fields that a table does not have are skipped.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** The types of single values. Integers of 64 bits are strings of digits; `int32` stands for enums. */
type Scalar = 'bytes' | 'string' | 'bool' | 'int32' | 'int64' | 'uint64'

/** A field: its number in the .proto file, its type, and whether it is a list. */
type Field = readonly [number: number, type: Scalar | Message, repeated?: 'repeated']

/** The fields of a message by the name of the member. Members without a value are left out of the bytes. */
export type Message = { readonly [member: string]: Field }

type Members = { [member: string]: unknown }

/** The bytes of a message. */
export function encode(message: Message, members: object): Buffer {
  const writer = new BinaryWriter()
  write(writer, message, members as Members)
  const { buffer, byteOffset, byteLength } = writer.finish()
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** The message that `bytes` hold. Its buffers share their memory. Throws on bytes that are no message. */
export function decode(message: Message, bytes: Buffer): unknown {
  return read(new BinaryReader(bytes), message, bytes.length)
}

function write(writer: BinaryWriter, message: Message, members: Members): void {
  for (const [member, [number, type, repeated]] of Object.entries(message)) {
    const value = members[member]
    if (value === undefined) continue
    for (const each of repeated ? (value as unknown[]) : [value]) writeField(writer, number, type, each)
  }
}

function writeField(writer: BinaryWriter, number: number, type: Scalar | Message, value: unknown): void {
  if (typeof type === 'object') {
    writer.tag(number, WireType.LengthDelimited).fork()
    write(writer, type, value as Members)
    writer.join()
  } else {
    writer.tag(number, wireTypeOf(type))
    // The type of the value is the one that the table names.
    writer[type](value as never)
  }
}

function wireTypeOf(type: Scalar | Message): WireType {
  return typeof type === 'object' || type === 'bytes' || type === 'string'
    ? WireType.LengthDelimited
    : WireType.Varint
}

function read(reader: BinaryReader, message: Message, end: number): Members {
  const members = defaultsOf(message)
  const fields = Object.entries(message)
  while (reader.pos < end) {
    const [number, wireType] = reader.tag()
    const found = fields.find(([, [each, type]]) => each === number && wireTypeOf(type) === wireType)
    if (found === undefined) {
      // A later etcd may send fields that are not known here. The specification of Protocol Buffers has readers ignore them:
      // `skip` moves the reader past the bytes of this one.
      reader.skip(wireType, number)
      continue
    }
    const [member, [, type, repeated]] = found
    const value = readField(reader, type)
    if (repeated) (members[member] as unknown[]).push(value)
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

function defaultsOf(message: Message): Members {
  const members: Members = {}
  for (const [member, [, type, repeated]] of Object.entries(message)) {
    if (repeated) members[member] = []
    else if (type === 'bytes') members[member] = Buffer.alloc(0)
    else members[member] = typeof type === 'object' ? undefined : zeros[type]
  }
  return members
}
