import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { idParameters, readExecution, textOf, writeExecution } from '../../../src/proxy/execute-packet.ts'
import { readOk, withInsertId } from '../../../src/proxy/insert-id-replies.ts'
import { commandPackets, partBytesMax } from '../../../src/proxy/protocol.ts'

const bytes = (...values: number[]) => Buffer.from(values)

describe('an execution of a prepared statement', () => {
  const head = bytes(1, 0, 0, 0, 0, 1, 0, 0, 0)
  /** Type, and a value of it as packets have it. */
  const value = fc.oneof(
    fc.constant([1, bytes(7)] as const),
    fc.constant([2, bytes(7, 0)] as const),
    fc.constant([3, bytes(7, 0, 0, 0)] as const),
    fc.constant([8, bytes(7, 0, 0, 0, 0, 0, 0, 0)] as const),
    fc.constant([5, bytes(0, 0, 0, 0, 0, 0, 4, 64)] as const),
    fc.constant([6, undefined] as const),
    fc.constant([12, bytes(0)] as const),
    fc.constant([12, bytes(4, 232, 7, 5, 6)] as const),
    fc.constant([253, undefined] as const),
    fc.nat(700).map((length) => {
      const long = bytes(0xfc, length & 255, length >> 8)
      return [253, Buffer.concat([length < 0xfb ? bytes(length) : long, Buffer.alloc(length, 97)])] as const
    }),
  )

  test('is written as it was read, with its types and without them', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 20 }), (given) => {
        const parameters = given.map(([type, value]) => ({ type, isUnsigned: false, value, isLong: false }))
        const body = writeExecution(head, parameters)
        const read = readExecution(body, given.length, undefined, () => false)!
        assert.deepEqual(writeExecution(read.head, read.parameters), body)
        const nullBytes = (given.length + 7) >> 3
        const untyped = Buffer.concat([
          body.subarray(0, 9 + nullBytes),
          bytes(0),
          body.subarray(9 + nullBytes + 1 + 2 * given.length),
        ])
        const again = readExecution(untyped, given.length, read.types, () => false)!
        assert.deepEqual(writeExecution(again.head, again.parameters), body)
      }),
    )
  })

  test('that is cut off or has no types is malformed, and no bytes throw', () => {
    const body = writeExecution(head, [...idParameters(['5'], false), ...idParameters(['text'], true)])
    assert.equal(
      readExecution(body.subarray(0, -1), 2, undefined, () => false),
      undefined,
    )
    assert.equal(
      readExecution(Buffer.concat([head, bytes(0, 0, 5)]), 1, undefined, () => false),
      undefined,
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(20), (junk, count) => {
        readExecution(Buffer.from(junk), count, undefined, () => false)
      }),
    )
  })

  test('without all of its head is malformed, also if it has no parameters', () => {
    for (let length = 0; length < head.length; length++)
      assert.equal(
        readExecution(head.subarray(0, length), 0, undefined, () => false),
        undefined,
      )
    assert.ok(readExecution(head, 0, undefined, () => false))
    const types = bytes(6, 0)
    assert.equal(
      readExecution(head, 1, types, () => false),
      undefined,
    )
  })

  test('brings its types with any flag but 0, as servers read it', () => {
    const read = readExecution(Buffer.concat([head, bytes(0, 2, 1, 0, 7)]), 1, bytes(8, 0), () => false)
    assert.equal(read?.parameters[0]?.type, 1)
  })

  test('with a value whose end servers find elsewhere is malformed', () => {
    for (const [type, length] of [
      [255, 1],
      [253, 0xfb],
      [253, 0xff],
      [12, 0xfc],
    ] as const) {
      const body = Buffer.concat([head, bytes(0, 1, type, 0, length), Buffer.alloc(300, 1)])
      assert.equal(
        readExecution(body, 1, undefined, () => false),
        undefined,
      )
    }
  })

  test('shows whether an id is NULL, 0, or a value', () => {
    const plain = (type: number, value: Buffer | undefined) =>
      textOf({ type, isUnsigned: false, value, isLong: false })
    assert.equal(plain(3, bytes(0, 0, 0, 0)), '0')
    assert.equal(plain(3, bytes(0, 1, 0, 0)), '256')
    assert.equal(plain(1, bytes(255)), '-1')
    assert.equal(plain(8, undefined), null)
    assert.equal(plain(253, bytes(1, 48)), '0')
    assert.equal(plain(12, bytes(0)), undefined)
    assert.equal(plain(5, bytes(0, 0, 0, 0, 0, 0, 0, 128)), '0')
  })
})

describe('an OK packet', () => {
  const ok = (id: Buffer, info = '') => {
    const payload = Buffer.concat([bytes(0, 3), id, bytes(2, 0, 0, 0), Buffer.from(info)])
    return Buffer.concat([bytes(payload.length, 0, 0, 1), payload])
  }

  test('keeps everything but the insert id, of every length', () => {
    const ids = [0n, 250n, 251n, 65_535n, 65_536n, 2n ** 24n, 2n ** 63n - 1n, 2n ** 64n - 1n]
    for (const before of ids)
      for (const after of ids) {
        const packet = withInsertId(ok(bytes(0), 'Records: 3  Duplicates: 1  Warnings: 0'), before)
        const edited = withInsertId(packet, after)
        assert.equal(edited.readUIntLE(0, 3), edited.length - 4)
        assert.deepEqual(readOk(edited, false), { affectedRows: 3, insertId: after, duplicates: 1 })
      }
  })

  test('without an info text has no duplicates', () => {
    for (const tracksSession of [false, true])
      assert.deepEqual(readOk(ok(bytes(5)), tracksSession), { affectedRows: 3, insertId: 5n, duplicates: 0 })
  })

  test('has no duplicates in what it tells of changes of the session', () => {
    const change = '\x0e\x00\x0c\x09last_gtid\x010-1-22'
    assert.equal(readOk(ok(bytes(5), `\0${change}`), true)?.duplicates, 0)
    const info = 'Records: 2  Duplicates: 1  Warnings: 0'
    assert.equal(
      readOk(ok(bytes(5), `${String.fromCharCode(info.length)}${info}${change}`), true)?.duplicates,
      1,
    )
  })
})

test('a command is sent in as many parts as it needs, the last one shorter than a full one', () => {
  for (const [length, parts] of [
    [0, 1],
    [partBytesMax - 2, 1],
    [partBytesMax - 1, 2],
    [partBytesMax, 2],
    [2 * partBytesMax - 1, 3],
  ] as const) {
    const sent = Buffer.concat(commandPackets(3, Buffer.alloc(length, 97)))
    assert.equal(sent.length, 4 * parts + 1 + length)
    let at = 0
    for (let part = 0; part < parts; part++) {
      const size = sent.readUIntLE(at, 3)
      assert.equal(sent[at + 3], part)
      assert.equal(size === partBytesMax, part < parts - 1)
      at += 4 + size
    }
    assert.equal(at, sent.length)
  }
})
