/** Messages of Protocol Buffers, and the frames of gRPC around them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Frames, frameOf } from '../../../../src/engine/etcd/frames.ts'
import { decode, encode, type Message } from '../../../../src/engine/etcd/protobuf.ts'

const inner: Message = { value: [1, 'bytes'], id: [15, 'uint64'] }
const message: Message = {
  text: [1, 'string'],
  flag: [2, 'bool'],
  number: [3, 'int32'],
  signed: [16, 'int64'],
  unsigned: [5, 'uint64'],
  bytes: [2047, 'bytes'],
  one: [7, inner],
  many: [8, inner, 'repeated'],
}

const bytes = fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each))
const uint64 = fc.bigInt(0n, 2n ** 64n - 1n).map(String)
const anyInner = fc.record({ value: bytes, id: uint64 }, { noNullPrototype: true })
const anyMessage = fc.record(
  {
    text: fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
    flag: fc.boolean(),
    number: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    signed: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(String),
    unsigned: uint64,
    bytes,
    one: fc.option(anyInner, { nil: undefined }),
    many: fc.array(anyInner, { maxLength: 5 }),
  },
  { noNullPrototype: true },
)

describe('the codec of messages', () => {
  test('reads what it writes', () => {
    fc.assert(
      fc.property(anyMessage, (members) =>
        assert.deepEqual(decode(message, encode(message, members)), members),
      ),
    )
  })

  test('writes the bytes of the specification', () => {
    // "Encoding", protobuf.dev: a = 150 is 08 96 01; "testing" in field 2 is 12 07 74 65 73 74 69 6e 67.
    const example: Message = { a: [1, 'int32'], b: [2, 'string'], c: [3, { a: [1, 'int32'] }] }
    assert.equal(
      encode(example, { a: 150, b: 'testing', c: { a: 150 } }).toString('hex'),
      '089601120774657374696e671a03089601',
    )
  })

  test('gives a field that is absent its default, and skips fields that it does not know', () => {
    const defaults = {
      text: '',
      flag: false,
      number: 0,
      signed: '0',
      unsigned: '0',
      bytes: Buffer.alloc(0),
      one: undefined,
      many: [],
    }
    assert.deepEqual(decode(message, Buffer.alloc(0)), defaults)
    const others: Message = { text: [1, 'int32'], other: [9, message], more: [10, 'bytes', 'repeated'] }
    const unknown = encode(others, {
      text: 5,
      other: { flag: true },
      more: [Buffer.from('x'), Buffer.from('y')],
    })
    assert.deepEqual(decode(message, unknown), defaults)
  })

  test('reads any bytes as a message, or throws; it never reads beyond them', () => {
    const known = anyMessage.map((members) => encode(message, members))
    const damaged: fc.Arbitrary<Buffer> = fc
      .record({
        whole: known,
        at: fc.integer({ min: 0, max: 400 }),
        byte: fc.integer({ min: 0, max: 255 }),
      })
      .map(({ whole, at, byte }) => {
        const copy = Buffer.from(whole)
        if (at < copy.length) copy[at] = byte
        return copy.subarray(0, Math.max(at, 1))
      })
    fc.assert(
      fc.property(fc.constant(message), damaged, (shape, each) => {
        try {
          decode(shape, each)
        } catch (error) {
          assert.ok(error instanceof Error && !(error instanceof assert.AssertionError))
        }
      }),
    )
    const inside = Buffer.from('3a050a0441424344', 'hex')
    assert.throws(() => decode(message, inside.subarray(0, 6)))
    // The inner message ends in the middle of its own field.
    assert.throws(() => decode(message, Buffer.from('3a030a0441424344', 'hex')), RangeError)
  })
})

describe('the frames of gRPC', () => {
  test('give the messages of a stream, however it is cut into chunks', () => {
    fc.assert(
      fc.property(
        fc.array(bytes, { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (messages, sizes) => {
          const stream = Buffer.concat(messages.map(frameOf))
          const frames = new Frames()
          const read: Buffer[] = []
          for (let at = 0, turn = 0; at < stream.length; turn++) {
            const size = sizes[turn % sizes.length]!
            read.push(...frames.push(stream.subarray(at, at + size)))
            at += size
          }
          assert.deepEqual(read, messages)
        },
      ),
    )
  })

  test('of a compressed message are refused', () => {
    assert.throws(() => new Frames().push(Buffer.from([1, 0, 0, 0, 0])), /compressed/)
  })
})
