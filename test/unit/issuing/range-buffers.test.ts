import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ScrambledBuffer, ShuffledBuffer } from '../../../src/buffers/permuted-buffers.ts'
import { RangeBuffer } from '../../../src/buffers/range-buffer.ts'
import { blockPermutation, permutation } from '../../../src/ids/permutation.ts'
import { Run } from '../../../src/ids/run.ts'

const key = Uint8Array.from({ length: 16 }, (_, index) => index * 7)
const safeEnd = 2n ** 53n

/** Takes up to `count` ids in one step. */
function take(buffer: RangeBuffer, count: number): bigint[] {
  const run = new Run()
  const taken = buffer.take(count, run)
  buffer.assertInvariants()
  return Array.from({ length: taken }, (_, index) => run.at(index))
}

/** Takes exactly `count` contiguous ids. */
function collect(buffer: RangeBuffer, count: number): bigint[] {
  return buffer
    .collect(count, true)!
    .flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
}

/** All that is left. */
function takeAll(buffer: RangeBuffer): bigint[] {
  const ids: bigint[] = []
  while (buffer.available() > 0) ids.push(...take(buffer, 1000))
  return ids
}

function holding<Held extends RangeBuffer>(buffer: Held, ...ranges: [start: bigint, end: bigint][]): Held {
  for (const [start, end] of ranges) buffer.add({ start, end })
  return buffer
}

function shuffled(blockSize = 4, increment = 1, offset = 0n): ShuffledBuffer {
  return new ShuffledBuffer(blockPermutation(key, blockSize), increment, offset)
}

function ordered(increment = 1, offset = 0n): RangeBuffer {
  return new RangeBuffer(increment, offset)
}

describe('a range buffer', () => {
  test('makes one run of adjacent ranges, also across one without ids', () => {
    const buffer = holding(ordered(10, 5n), [1n, 20n], [20n, 24n], [24n, 50n])
    assert.deepEqual(take(buffer, 9), [5n, 15n, 25n, 35n, 45n])
    assert.equal(buffer.untouchedUpTo(50n), undefined)
  })

  test('crosses 2^32, 2^53 and ends at 2^63−1', () => {
    for (const start of [2n ** 32n - 2n, 2n ** 53n - 2n, 2n ** 63n - 4n]) {
      const buffer = holding(ordered(), [start, start + 4n])
      assert.deepEqual(take(buffer, 1), [start])
      assert.deepEqual(take(buffer, 1), [start + 1n])
      assert.deepEqual(take(buffer, 2), [start + 2n, start + 3n])
    }
  })

  test('stays exact with large increments and counts', () => {
    const increment = 10 ** 12
    const buffer = holding(ordered(increment, 7n), [0n, 2n ** 62n])
    take(buffer, 1_234_567)
    assert.deepEqual(take(buffer, 1), [1_234_567n * 10n ** 12n + 7n])
  })

  test('drops the ids before a contiguous run, and only if there is one', () => {
    const buffer = holding(ordered(), [0n, 3n], [10n, 12n], [20n, 30n])
    assert.equal(buffer.collect(11, true), undefined)
    assert.equal(buffer.available(), 15)
    assert.deepEqual(collect(buffer, 3), [0n, 1n, 2n])
    assert.equal(buffer.available(), 12)
    assert.deepEqual(collect(buffer, 5), [20n, 21n, 22n, 23n, 24n])
    assert.equal(buffer.available(), 5)
  })

  test('drops everything below a floor', () => {
    const buffer = holding(ordered(10, 5n), [0n, 100n], [200n, 300n])
    buffer.dropBelow(46n)
    assert.deepEqual(take(buffer, 1), [55n])
    buffer.dropBelow(96n)
    assert.deepEqual(take(buffer, 1), [205n])
    buffer.dropBelow(206n)
    buffer.dropBelow(100n)
    assert.deepEqual(take(buffer, 1), [215n])
    buffer.dropBelow(1000n)
    assert.equal(buffer.available(), 0)
  })

  test('returns the value from which on everything is untouched', () => {
    const buffer = holding(ordered(), [0n, 5n], [10n, 15n], [15n, 20n])
    take(buffer, 2)
    assert.equal(buffer.untouchedUpTo(20n), 10n)
    assert.equal(buffer.untouchedUpTo(15n), undefined)
    take(buffer, 9)
    take(buffer, 2)
    assert.equal(buffer.untouchedUpTo(20n), 12n)
    take(buffer, 99)
    assert.equal(buffer.untouchedUpTo(20n), undefined)
  })

  test('returns the newest id, and undefined when there is none', () => {
    const buffer = ordered(10, 5n)
    assert.equal(buffer.newest(1n, 1n), undefined)
    assert.equal(buffer.newest(100n, 1n), 95n)
    holding(buffer, [100n, 200n])
    assert.equal(buffer.newest(200n, 1n), 95n)
    take(buffer, 1)
    assert.equal(buffer.newest(200n, 1n), 105n)
    take(buffer, 99)
    assert.equal(buffer.newest(200n, 1n), 195n)
  })

  test('returns whether the next id is exact as a number', () => {
    const buffer = holding(ordered(), [safeEnd - 1n, safeEnd + 1n])
    assert.equal(buffer.nextIsSafe(0n), true)
    take(buffer, 1)
    assert.equal(buffer.nextIsSafe(0n), false)
    assert.equal(ordered().nextIsSafe(safeEnd - 1n), true)
    assert.equal(ordered().nextIsSafe(safeEnd), false)
  })

  test('rejects ranges that go back, and drops all', () => {
    const buffer = holding(ordered(), [10n, 20n], [30n, 40n])
    assert.throws(() => buffer.add({ start: 39n, end: 50n }), /increasing order/)
    buffer.clear()
    assert.equal(buffer.available(), 0)
    assert.deepEqual(take(buffer, 1), [])
    assert.equal(buffer.untouchedUpTo(40n), undefined)
  })

  test('issues exactly the ids ≡ offset of the added ranges, whatever is asked for', () => {
    const gaps = fc.array(fc.tuple(fc.bigInt(0n, 30n), fc.bigInt(0n, 60n)), { maxLength: 8 })
    const start = fc.oneof(
      fc.bigInt(0n, 100n),
      fc.bigInt(2n ** 32n - 40n, 2n ** 32n),
      fc.bigInt(safeEnd, 2n ** 62n),
    )
    fc.assert(
      fc.property(
        start,
        gaps,
        fc.integer({ min: 1, max: 12 }),
        fc.nat(),
        fc.array(fc.integer({ min: 1, max: 9 })),
        (from, gaps, increment, shift, counts) => {
          const offset = BigInt(shift % increment)
          const buffer = ordered(increment, offset)
          const expected: bigint[] = []
          let end = from
          for (const [gap, size] of gaps) {
            const start = end + gap
            end = start + size
            buffer.add({ start, end })
            for (let id = start; id < end; id++) if (id % BigInt(increment) === offset) expected.push(id)
          }
          assert.equal(buffer.available(), expected.length)
          const ids = counts.flatMap((count) => take(buffer, count))
          assert.deepEqual([...ids, ...takeAll(buffer)], expected)
        },
      ),
    )
  })
})

describe('a shuffled buffer', () => {
  test('issues every id once, block by block, out of order', () => {
    const buffer = holding(shuffled(16), [100n, 150n], [200n, 216n])
    const ids = takeAll(buffer)
    const sorted = ids.toSorted((a, b) => Number(a - b))
    const expected = [...Array(50).keys()]
      .map((n) => BigInt(n + 100))
      .concat([...Array(16).keys()].map((n) => BigInt(n + 200)))
    assert.deepEqual(sorted, expected)
    assert.notDeepEqual(ids, sorted)
    for (let block = 0; block < 3; block++) {
      for (const id of ids.slice(block * 16, block * 16 + 16)) {
        assert.equal(Number((id - 100n) / 16n), block)
      }
    }
  })

  test('keeps to increment and offset', () => {
    const ids = takeAll(holding(shuffled(4, 10, 5n), [1n, 101n]))
    assert.deepEqual(
      ids.toSorted((a, b) => Number(a - b)),
      [...Array(10).keys()].map((n) => BigInt(n * 10 + 5)),
    )
  })

  test('can release all untouched blocks, over adjacent ranges', () => {
    const buffer = holding(shuffled(4), [0n, 8n], [8n, 16n])
    assert.equal(buffer.untouchedUpTo(16n), 0n)
    take(buffer, 1)
    assert.equal(buffer.untouchedUpTo(16n), 4n)
    for (let id = 0; id < 8; id++) take(buffer, 1)
    assert.equal(buffer.untouchedUpTo(16n), 12n)
    assert.equal(buffer.untouchedUpTo(8n), undefined)
    assert.equal(holding(shuffled(4), [0n, 8n], [9n, 16n]).untouchedUpTo(16n), 9n)
  })

  test('has no contiguous runs, and drops whole blocks below a floor', () => {
    const buffer = holding(shuffled(4), [0n, 8n], [20n, 28n])
    assert.equal(buffer.collect(2, true), undefined)
    assert.equal(collect(buffer, 1).length, 1)
    buffer.dropBelow(3n)
    assert.ok(takeAll(buffer).every((id) => id >= 4n))
  })

  test('returns a bound of the newest id, and whether the whole block is exact', () => {
    const buffer = shuffled(4)
    assert.equal(buffer.newest(1n, 1n), undefined)
    holding(buffer, [safeEnd - 4n, safeEnd + 4n])
    assert.equal(buffer.newest(0n, 1n), safeEnd - 5n)
    assert.equal(buffer.nextIsSafe(0n), true)
    take(buffer, 1)
    assert.equal(buffer.newest(0n, 1n), safeEnd - 1n)
    for (let id = 1; id < 4; id++) take(buffer, 1)
    assert.equal(buffer.nextIsSafe(0n), false)
    take(buffer, 1)
    assert.equal(buffer.nextIsSafe(0n), false)
    buffer.clear()
    assert.equal(buffer.available(), 0)
    assert.equal(buffer.nextIsSafe(safeEnd), false)
  })
})

describe('a scrambled buffer', () => {
  const max = 9999n
  const scrambled = () => new ScrambledBuffer(permutation(key, max + 1n), max, 1, 0n)

  test('maps every value to another of the domain, one to one', () => {
    const ids = takeAll(holding(scrambled(), [0n, 10_000n]))
    assert.equal(new Set(ids).size, 10_000)
    assert.ok(ids.every((id) => id >= 0n && id <= max))
    assert.ok(ids.some((id, index) => id !== BigInt(index)))
  })

  test('takes one id at a time, because neighbours are not contiguous', () => {
    const buffer = holding(scrambled(), [0n, 10n])
    assert.equal(take(buffer, 5).length, 1)
    assert.equal(buffer.available(), 9)
    assert.equal(buffer.collect(2, true), undefined)
    assert.equal(collect(buffer, 1).length, 1)
  })

  test('returns the newest id, not how many there are', () => {
    const buffer = holding(scrambled(), [1n, 10n])
    assert.equal(buffer.newest(0n, 1n), undefined)
    const [id] = take(buffer, 1)
    assert.equal(buffer.newest(0n, 1n), id)
    assert.equal(buffer.nextIsSafe(), true)
    assert.equal(new ScrambledBuffer(permutation(key, 2n ** 54n), 2n ** 54n - 1n, 1, 0n).nextIsSafe(), false)
  })
})

describe('a buffer that permutes ids', () => {
  const max = 999_999n
  const blocks = blockPermutation(key, 1024)
  const whole = permutation(key, max + 1n)
  let computed = 0
  function counted<Result>(result: Result): Result {
    computed++
    return result
  }
  const buffers: Record<string, () => RangeBuffer> = {
    shuffled: () => {
      const forward = (block: bigint, at: number, size?: number) => counted(blocks.forward(block, at, size))
      return new ShuffledBuffer({ blockSize: 1024, forward }, 1, 0n)
    },
    scrambled: () => {
      const forward = (raw: bigint) => counted(whole.forward(raw))
      return new ScrambledBuffer({ size: max + 1n, forward, inverse: () => assert.fail() }, max, 1, 0n)
    },
  }
  for (const [what, make] of Object.entries(buffers)) {
    test(`collects a ${what} batch before its ids are computed, and they are those that it issues one by one`, () => {
      const batch = holding(make(), [0n, 5000n])
      const single = takeAll(holding(make(), [0n, 5000n]))
      computed = 0
      const drawn = [...batch.collect(1)!, ...batch.collect(3000)!, ...batch.collect(999)!]
      assert.ok(computed < 10, `${computed} ids are computed`)
      assert.deepEqual([batch.issued, batch.available()], [4000, 1000])
      const ids = drawn.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
      assert.deepEqual([...ids, ...takeAll(batch)], single)
    })
  }
})
