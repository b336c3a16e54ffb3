import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { AssertionError } from '../../../src/base/assert.ts'
import { blockPermutation, Chaskey12, permutation } from '../../../src/ids/permutation.ts'

const key = Uint8Array.from({ length: 16 }, (_, index) => index * 17)
const anyKey = fc.uint8Array({ minLength: 16, maxLength: 16 })
const anySize = fc.oneof(
  fc.bigInt({ min: 1n, max: 1n << 63n }),
  fc.integer({ min: 0, max: 63 }).map((bits) => 1n << BigInt(bits)),
  fc.integer({ min: 1, max: 62 }).map((bits) => (1n << BigInt(bits)) + 1n),
)

test('the round function is Chaskey-12, by its reference implementation', () => {
  const message = new DataView(Uint8Array.from({ length: 16 }, (_, index) => index).buffer)
  const words = [0, 4, 8, 12].map((at) => message.getInt32(at, true)) as [number, number, number, number]
  assert.equal(new Chaskey12(key).word(...words) >>> 0, 0xd77039d1)
})

test('every small domain is permuted one-to-one, forwards and back', () => {
  fc.assert(
    fc.property(anyKey, fc.integer({ min: 1, max: 1100 }), (secret, count) => {
      const whole = permutation(secret, BigInt(count))
      const seen = new Set<bigint>()
      for (let x = 0n; x < count; x++) {
        const y = whole.forward(x)
        assert(y >= 0n && y < count)
        assert.equal(whole.inverse(y), x)
        seen.add(y)
      }
      assert.equal(seen.size, count)
    }),
    { numRuns: 40 },
  )
})

test('domains of any size are permuted within themselves, and back', () => {
  fc.assert(
    fc.property(
      anyKey,
      anySize.chain((size) => fc.tuple(fc.constant(size), fc.bigInt({ min: 0n, max: size - 1n }))),
      (secret, [size, x]) => {
        const whole = permutation(secret, size)
        for (const it of [x, 0n, size - 1n]) {
          const y = whole.forward(it)
          assert(y >= 0n && y < size)
          assert.equal(whole.inverse(y), it)
          assert.equal(whole.forward(whole.inverse(it)), it)
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('every block, whole or partial, is permuted one-to-one', () => {
  const blocks = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })
  fc.assert(
    fc.property(
      anyKey,
      blocks,
      fc.integer({ min: 1, max: 600 }),
      fc.nat(),
      (secret, block, blockSize, cut) => {
        const each = blockPermutation(secret, blockSize)
        const size = 1 + (cut % blockSize)
        const seen = new Set<number>()
        for (let offset = 0; offset < size; offset++) {
          const place = each.forward(block, offset, size)
          assert(place >= 0 && place < size)
          seen.add(place)
        }
        assert.equal(seen.size, size)
        assert.equal(each.forward(block, 0), each.forward(block, 0, blockSize))
      },
    ),
    { numRuns: 60 },
  )
})

test('the largest blocks work too', () => {
  const each = blockPermutation(key, 2 ** 32)
  for (const size of [2 ** 32, 2 ** 32 - 1, 2 ** 31 + 1, 2 ** 31]) {
    const places = [0, 1, 2 ** 30, size - 1].map((offset) => each.forward(7n, offset, size))
    assert(places.every((place) => place >= 0 && place < size))
    assert.equal(new Set(places).size, 4)
  }
})

test('answers never change: ids already issued depend on them', () => {
  const whole = (size: bigint) => [0n, 1n, size - 1n].map((x) => permutation(key, size).forward(x))
  assert.deepEqual(whole(3n), [0n, 2n, 1n])
  assert.deepEqual(whole(1000n), [194n, 224n, 316n])
  assert.deepEqual(whole(100_000_000n), [18603095n, 91054866n, 54095590n])
  assert.deepEqual(whole(1n << 53n), [5485074269006174n, 5125960391788081n, 2318410711771115n])
  assert.deepEqual(whole(1n << 63n), [2121413878934225133n, 9062700573966384601n, 5450934805523756726n])
  assert.equal(permutation(key.toReversed(), 1n << 63n).forward(0n), 7630090365679113266n)
  const each = blockPermutation(key, 1000)
  assert.deepEqual(
    [0, 1, 999].map((offset) => each.forward(0n, offset)),
    [73, 69, 469],
  )
  assert.deepEqual(
    [0, 1, 999].map((offset) => each.forward(1n << 62n, offset)),
    [789, 146, 864],
  )
  assert.deepEqual(
    [0, 1, 16].map((offset) => each.forward(1n, offset, 17)),
    [7, 1, 13],
  )
  assert.deepEqual(
    [0, 1].map((offset) => blockPermutation(key, 2 ** 32).forward(5n, offset)),
    [1048527509, 2656878442],
  )
})

test('one changed bit of number, key or block changes about half of the bits', () => {
  const changed = (a: number, b: number) => (a ^ b).toString(2).replace(/[^1]/g, '').length
  const each = blockPermutation(key, 2 ** 32)
  let [byNumber, byKey, byBlock] = [0, 0, 0]
  const rounds = 256
  for (let at = 0; at < rounds; at++) {
    const x = Math.imul(at, 0x9e3779b1) >>> 0
    const y = each.forward(0n, x)
    byNumber += changed(y, each.forward(0n, (x ^ (1 << (at % 32))) >>> 0))
    byBlock += changed(y, each.forward(1n << BigInt(at % 64), x))
    const other = key.slice()
    other[at % 16]! ^= 1 << (at % 8)
    byKey += changed(y, blockPermutation(other, 2 ** 32).forward(0n, x))
  }
  // 256 × 32 fair coins: 4096 heads, give or take 45; seven of those are never seen by chance.
  for (const bits of [byNumber, byKey, byBlock]) assert(Math.abs(bits - 4096) < 320, `${bits} bits`)
})

test('where the first of a block goes is spread evenly over blocks', () => {
  const each = blockPermutation(key, 10)
  const counts = new Array<number>(10).fill(0)
  for (let block = 0n; block < 10_000n; block++) counts[each.forward(block, 0)]!++
  for (const count of counts) assert(Math.abs(count - 1000) < 200, `${counts}`)
})

test('whole and block permutations of one key have nothing in common', () => {
  const whole = permutation(key, 1n << 32n)
  const each = blockPermutation(key, 2 ** 32)
  const same = Array.from({ length: 100 }, (_, x) => whole.forward(BigInt(x)) === BigInt(each.forward(0n, x)))
  assert(!same.includes(true))
})

test('the key is copied, and never shown', () => {
  const secret = key.slice()
  const whole = permutation(secret, 1000n)
  const each = blockPermutation(secret, 1000)
  const before = whole.forward(5n)
  secret.fill(0)
  assert.equal(whole.forward(5n), before)
  for (const it of [whole, each, new Chaskey12(key)]) {
    const shown = inspect(it, { showHidden: true, depth: 9 })
    assert.match(shown, /^\w+ \{( (size|blockSize): 1000n? )?\}$/)
    assert.deepEqual(
      Object.keys(it),
      Object.keys(it).filter((name) => /size$/i.test(name)),
    )
  }
  assert.equal(JSON.stringify(each), '{"blockSize":1000}')
})

test('impossible domains, keys and numbers are refused', () => {
  for (const size of [0n, -1n, (1n << 63n) + 1n]) assert.throws(() => permutation(key, size), { code: 'ERR' })
  for (const size of [0, 1.5, 2 ** 32 + 1, Number.NaN]) {
    assert.throws(() => blockPermutation(key, size), { code: 'ERR' })
  }
  for (const bad of [key.subarray(1), new Uint8Array(17), 'secret-secret-16'] as Uint8Array[]) {
    assert.throws(() => permutation(bad, 10n), { code: 'ERR', message: /^a key has 16 bytes/ })
  }
  for (const x of [-1n, 10n]) {
    assert.throws(() => permutation(key, 10n).forward(x), { code: 'ERR' })
    assert.throws(() => permutation(key, 10n).inverse(x), { code: 'ERR' })
  }
  const each = blockPermutation(key, 10)
  for (const [offset, size] of [
    [10, 10],
    [5, 5],
    [-1, 10],
    [0.5, 10],
    [0, 0],
    [0, 11],
  ] as const) {
    assert.throws(() => each.forward(0n, offset, size), AssertionError)
  }
})
