import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyedHash } from '../../../src/base/keyed-hash.ts'

/** HalfSipHash-c-d of 32 bits as the reference describes it, on bigints. */
function halfSipHash(c: number, d: number, key: Uint8Array, bytes: Uint8Array): number {
  const word = (from: Uint8Array, at: number) =>
    [0, 1, 2, 3].reduce((sum, index) => sum | (BigInt(from[at + index] ?? 0) << BigInt(8 * index)), 0n)
  const low = (value: bigint) => BigInt.asUintN(32, value)
  const rotated = (value: bigint, by: bigint) => low(value << by) | (value >> (32n - by))
  const [k0, k1] = [word(key, 0), word(key, 4)]
  let [v0, v1, v2, v3] = [k0, k1, 0x6c796765n ^ k0, 0x74656462n ^ k1]
  const rounds = (count: number) => {
    for (let round = 0; round < count; round++) {
      v0 = low(v0 + v1)
      v1 = rotated(v1, 5n) ^ v0
      v0 = rotated(v0, 16n)
      v2 = low(v2 + v3)
      v3 = rotated(v3, 8n) ^ v2
      v0 = low(v0 + v3)
      v3 = rotated(v3, 7n) ^ v0
      v2 = low(v2 + v1)
      v1 = rotated(v1, 13n) ^ v2
      v2 = rotated(v2, 16n)
    }
  }
  const whole = bytes.length & ~3
  for (let at = 0; at <= whole; at += 4) {
    const m = at < whole ? word(bytes, at) : word(bytes, at) | (BigInt(bytes.length & 0xff) << 24n)
    v3 ^= m
    rounds(c)
    v0 ^= m
  }
  v2 ^= 0xffn
  rounds(d)
  return Number(BigInt.asIntN(32, v1 ^ v3))
}

const key = Uint8Array.from([0, 1, 2, 3, 4, 5, 6, 7])
const counting = (length: number) => Uint8Array.from({ length }, (_, index) => index)

test('the model is HalfSipHash: it has the first vectors of the reference', () => {
  const hex = [0, 1, 2, 3].map((length) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(halfSipHash(2, 4, key, counting(length)))
    return bytes.toString('hex')
  })
  assert.deepEqual(hex, ['a9359f5b', '27475ab8', 'fa62a603', '8afee704'])
})

test('every length up to 300 bytes, anywhere in a buffer, has the hash of the model with 1 and 3 rounds', () => {
  const view = new DataView(key.buffer)
  for (let length = 0; length <= 300; length++) {
    const bytes = counting(length)
    const placed = new Uint8Array(length + 7).fill(255)
    placed.set(bytes, 5)
    assert.equal(
      keyedHash(new DataView(placed.buffer), 5, length, view.getInt32(0, true), view.getInt32(4, true)),
      halfSipHash(1, 3, key, bytes),
      `${length} bytes`,
    )
  }
})
