import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyedHash, keyedHash64 } from '../../../src/base/keyed-hash.ts'

/** HalfSipHash-c-d as the reference describes it, on bigints: of 32 bits, or of 64 as two words. */
function halfSipHash(c: number, d: number, key: Uint8Array, bytes: Uint8Array, words = 1): number[] {
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
  if (words === 2) v1 ^= 0xeen
  const whole = bytes.length & ~3
  for (let at = 0; at <= whole; at += 4) {
    const m = at < whole ? word(bytes, at) : word(bytes, at) | (BigInt(bytes.length & 0xff) << 24n)
    v3 ^= m
    rounds(c)
    v0 ^= m
  }
  v2 ^= words === 2 ? 0xeen : 0xffn
  rounds(d)
  const first = v1 ^ v3
  v1 ^= 0xddn
  rounds(d)
  return [first, v1 ^ v3].slice(0, words).map((word) => Number(BigInt.asIntN(32, word)))
}

const key = Uint8Array.from([0, 1, 2, 3, 4, 5, 6, 7])
const counting = (length: number) => Uint8Array.from({ length }, (_, index) => index)

test('the model is HalfSipHash: it has the first vectors of the reference', () => {
  const hex = [0, 1, 2, 3].map((length) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(halfSipHash(2, 4, key, counting(length))[0]!)
    return bytes.toString('hex')
  })
  assert.deepEqual(hex, ['a9359f5b', '27475ab8', 'fa62a603', '8afee704'])
})

test('the model has the vectors of the reference for 64 bits too', () => {
  const hex = [0, 1, 8].map((length) => {
    const bytes = Buffer.alloc(8)
    halfSipHash(2, 4, key, counting(length), 2).forEach((word, at) => void bytes.writeInt32LE(word, 4 * at))
    return bytes.toString('hex')
  })
  assert.deepEqual(hex, ['218d1f59b9b83cc8', 'be552412f8387315', 'edfee820bce4858c'])
})

test('eight bytes have the hash of 64 bits of the model with 1 and 3 rounds', () => {
  for (let seed = 1; seed < 3000; seed++) {
    const bytes = Buffer.alloc(16)
    for (let at = 0; at < 16; at += 4) bytes.writeInt32LE(Math.imul(seed + at, 0x9e3779b1), at)
    const [key0, key1, first, second] = [0, 4, 8, 12].map((at) => bytes.readInt32LE(at))
    const to = new Int32Array(2)
    keyedHash64(first!, second!, key0!, key1!, to)
    assert.deepEqual([...to], halfSipHash(1, 3, bytes.subarray(0, 8), bytes.subarray(8), 2))
  }
})

test('every length up to 300 bytes, anywhere in a buffer, has the hash of the model with 1 and 3 rounds', () => {
  const view = new DataView(key.buffer)
  for (let length = 0; length <= 300; length++) {
    const bytes = counting(length)
    const placed = new Uint8Array(length + 7).fill(255)
    placed.set(bytes, 5)
    assert.equal(
      keyedHash(new DataView(placed.buffer), 5, length, view.getInt32(0, true), view.getInt32(4, true)),
      halfSipHash(1, 3, key, bytes)[0],
      `${length} bytes`,
    )
  }
})
