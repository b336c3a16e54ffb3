import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { blockPermutation, permutation } from '../../../src/ids/permutation.ts'
import { Run } from '../../../src/ids/run.ts'
import { OrderedBuffer } from '../../../src/issuing/ordered-buffer.ts'
import type { RangeBuffer } from '../../../src/issuing/range-buffer.ts'
import { ScrambledBuffer } from '../../../src/issuing/scrambled-buffer.ts'
import { ShuffledBuffer } from '../../../src/issuing/shuffled-buffer.ts'

const key = Uint8Array.from({ length: 16 }, (_, index) => index * 7)
const safeEnd = 2n ** 53n

/** Takes up to `count` ids in one step. */
function take(hand: RangeBuffer, count: number): bigint[] {
  const run = new Run()
  const taken = hand.take(count, run)
  return Array.from({ length: taken }, (_, index) => run.at(index))
}

function takeAll(hand: RangeBuffer): bigint[] {
  const ids: bigint[] = []
  while (hand.left > 0) ids.push(...take(hand, 1000))
  return ids
}

function holding<Held extends RangeBuffer>(hand: Held, ...ranges: [start: bigint, end: bigint][]): Held {
  for (const [start, end] of ranges) hand.add({ start, end })
  return hand
}

function shuffled(blockSize = 4, increment = 1, offset = 0n): ShuffledBuffer {
  return new ShuffledBuffer(blockPermutation(key, blockSize), blockSize, increment, offset)
}

function ordered(increment = 1, offset = 0n): OrderedBuffer {
  return new OrderedBuffer(increment, offset)
}

describe('an ordered hand', () => {
  it('gives out what was added, in order and in runs', () => {
    const hand = holding(ordered(), [10n, 13n], [20n, 22n])
    assert.equal(hand.left, 5)
    assert.deepEqual(take(hand, 2), [10n, 11n])
    assert.deepEqual(take(hand, 9), [12n])
    assert.deepEqual(take(hand, 9), [20n, 21n])
    assert.deepEqual(take(hand, 1), [])
  })

  it('makes one run of ranges that adjoin, also across one that holds no id', () => {
    const hand = holding(ordered(10, 5n), [1n, 20n], [20n, 24n], [24n, 50n])
    assert.deepEqual(take(hand, 9), [5n, 15n, 25n, 35n, 45n])
    assert.equal(hand.untouchedUpTo(50n), undefined)
  })

  it('crosses 2^32, 2^53 and ends at 2^63−1', () => {
    for (const start of [2n ** 32n - 2n, 2n ** 53n - 2n, 2n ** 63n - 4n]) {
      const hand = holding(ordered(), [start, start + 4n])
      assert.deepEqual(take(hand, 1), [start])
      assert.deepEqual(take(hand, 1), [start + 1n])
      assert.deepEqual(take(hand, 2), [start + 2n, start + 3n])
    }
  })

  it('loses no bit to large increments and counts', () => {
    const increment = 10 ** 12
    const hand = holding(ordered(increment, 7n), [0n, 2n ** 62n])
    take(hand, 1_234_567)
    assert.deepEqual(take(hand, 1), [1_234_567n * 10n ** 12n + 7n])
  })

  it('drops what stands in the way of a contiguous run, and only if there is one', () => {
    const hand = holding(ordered(), [0n, 3n], [10n, 12n], [20n, 30n])
    assert.equal(hand.align(11), false)
    assert.equal(hand.left, 15)
    assert.equal(hand.align(3), true)
    assert.equal(hand.left, 15)
    assert.equal(hand.align(5), true)
    assert.deepEqual(take(hand, 5), [20n, 21n, 22n, 23n, 24n])
    assert.equal(hand.left, 5)
  })

  it('drops everything below a floor', () => {
    const hand = holding(ordered(10, 5n), [0n, 100n], [200n, 300n])
    hand.dropBelow(46n)
    assert.deepEqual(take(hand, 1), [55n])
    hand.dropBelow(96n)
    assert.deepEqual(take(hand, 1), [205n])
    hand.dropBelow(206n)
    hand.dropBelow(100n)
    assert.deepEqual(take(hand, 1), [215n])
    hand.dropBelow(1000n)
    assert.equal(hand.left, 0)
  })

  it('knows from where on everything is untouched', () => {
    const hand = holding(ordered(), [0n, 5n], [10n, 15n], [15n, 20n])
    take(hand, 2)
    assert.equal(hand.untouchedUpTo(20n), 10n)
    assert.equal(hand.untouchedUpTo(15n), undefined)
    take(hand, 9)
    take(hand, 2)
    assert.equal(hand.untouchedUpTo(20n), 12n)
    take(hand, 99)
    assert.equal(hand.untouchedUpTo(20n), undefined)
  })

  it('tells the newest id, and when there is none', () => {
    const hand = ordered(10, 5n)
    assert.equal(hand.newest(1n, 1n), undefined)
    assert.equal(hand.newest(100n, 1n), 95n)
    holding(hand, [100n, 200n])
    assert.equal(hand.newest(200n, 1n), 95n)
    take(hand, 1)
    assert.equal(hand.newest(200n, 1n), 105n)
    take(hand, 99)
    assert.equal(hand.newest(200n, 1n), 195n)
  })

  it('tells whether the next id is exact as a number', () => {
    const hand = holding(ordered(), [safeEnd - 1n, safeEnd + 1n])
    assert.equal(hand.nextIsSafe(0n), true)
    take(hand, 1)
    assert.equal(hand.nextIsSafe(0n), false)
    assert.equal(ordered().nextIsSafe(safeEnd - 1n), true)
    assert.equal(ordered().nextIsSafe(safeEnd), false)
  })

  it('refuses ranges that go back, and lets go of all', () => {
    const hand = holding(ordered(), [10n, 20n], [30n, 40n])
    assert.throws(() => hand.add({ start: 39n, end: 50n }), /increasing order/)
    hand.clear()
    assert.equal(hand.left, 0)
    assert.deepEqual(take(hand, 1), [])
    assert.equal(hand.untouchedUpTo(40n), undefined)
  })

  it('gives out exactly the ids ≡ offset of what was added, whatever is asked for', () => {
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
          const hand = ordered(increment, offset)
          const expected: bigint[] = []
          let end = from
          for (const [gap, size] of gaps) {
            const start = end + gap
            end = start + size
            hand.add({ start, end })
            for (let id = start; id < end; id++) if (id % BigInt(increment) === offset) expected.push(id)
          }
          assert.equal(hand.left, expected.length)
          const ids = counts.flatMap((count) => take(hand, count))
          assert.deepEqual([...ids, ...takeAll(hand)], expected)
        },
      ),
    )
  })
})

describe('a shuffled hand', () => {
  it('gives out every id once, block by block, out of order', () => {
    const hand = holding(shuffled(16), [100n, 150n], [200n, 216n])
    const ids = takeAll(hand)
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

  it('keeps to increment and offset', () => {
    const ids = takeAll(holding(shuffled(4, 10, 5n), [1n, 101n]))
    assert.deepEqual(
      ids.toSorted((a, b) => Number(a - b)),
      [...Array(10).keys()].map((n) => BigInt(n * 10 + 5)),
    )
  })

  it('can give back all blocks that are untouched, over ranges that adjoin', () => {
    const hand = holding(shuffled(4), [0n, 8n], [8n, 16n])
    assert.equal(hand.untouchedUpTo(16n), 0n)
    take(hand, 1)
    assert.equal(hand.untouchedUpTo(16n), 4n)
    for (let id = 0; id < 8; id++) take(hand, 1)
    assert.equal(hand.untouchedUpTo(16n), 12n)
    assert.equal(hand.untouchedUpTo(8n), undefined)
    assert.equal(holding(shuffled(4), [0n, 8n], [9n, 16n]).untouchedUpTo(16n), 9n)
  })

  it('has no runs, and drops below a floor by blocks', () => {
    const hand = holding(shuffled(4), [0n, 8n], [20n, 28n])
    assert.equal(hand.align(2), false)
    assert.equal(hand.align(1), true)
    take(hand, 1)
    hand.dropBelow(3n)
    assert.ok(takeAll(hand).every((id) => id >= 4n))
  })

  it('tells a bound of the newest id, and whether the whole block is exact', () => {
    const hand = shuffled(4)
    assert.equal(hand.newest(1n, 1n), undefined)
    holding(hand, [safeEnd - 4n, safeEnd + 4n])
    assert.equal(hand.newest(0n, 1n), safeEnd - 5n)
    assert.equal(hand.nextIsSafe(0n), true)
    take(hand, 1)
    assert.equal(hand.newest(0n, 1n), safeEnd - 1n)
    for (let id = 1; id < 4; id++) take(hand, 1)
    assert.equal(hand.nextIsSafe(0n), false)
    take(hand, 1)
    assert.equal(hand.nextIsSafe(0n), false)
    hand.clear()
    assert.equal(hand.left, 0)
    assert.equal(hand.nextIsSafe(safeEnd), false)
  })
})

describe('a scrambled hand', () => {
  const max = 9999n
  const scrambled = () => new ScrambledBuffer(permutation(key, max + 1n), max, 1, 0n)

  it('maps every value to another of the domain, one to one', () => {
    const ids = takeAll(holding(scrambled(), [0n, 10_000n]))
    assert.equal(new Set(ids).size, 10_000)
    assert.ok(ids.every((id) => id >= 0n && id <= max))
    assert.ok(ids.some((id, index) => id !== BigInt(index)))
  })

  it('gives one at a time, for neighbours are none any more', () => {
    const hand = holding(scrambled(), [0n, 10n])
    assert.equal(take(hand, 5).length, 1)
    assert.equal(hand.left, 9)
    assert.equal(hand.align(2), false)
    assert.equal(hand.align(1), true)
  })

  it('tells the newest id, not how many there are', () => {
    const hand = holding(scrambled(), [1n, 10n])
    assert.equal(hand.newest(0n, 1n), undefined)
    const [id] = take(hand, 1)
    assert.equal(hand.newest(0n, 1n), id)
    assert.equal(hand.nextIsSafe(), true)
    assert.equal(new ScrambledBuffer(permutation(key, 2n ** 54n), 2n ** 54n - 1n, 1, 0n).nextIsSafe(), false)
  })
})

describe('a hand that issues in no order', () => {
  const max = 999_999n
  const blocks = blockPermutation(key, 1024)
  const whole = permutation(key, max + 1n)
  let computed = 0
  function counted<Result>(result: Result): Result {
    computed++
    return result
  }
  const hands: Record<string, () => RangeBuffer> = {
    shuffled: () => {
      const forward = (block: bigint, at: number, size?: number) => counted(blocks.forward(block, at, size))
      return new ShuffledBuffer({ blockSize: 1024, forward, inverse: () => assert.fail() }, 1024, 1, 0n)
    },
    scrambled: () => {
      const forward = (raw: bigint) => counted(whole.forward(raw))
      return new ScrambledBuffer({ size: max + 1n, forward, inverse: () => assert.fail() }, max, 1, 0n)
    },
  }
  for (const [what, make] of Object.entries(hands)) {
    it(`collects a ${what} batch before its ids are computed, and they are those that it issues one by one`, () => {
      const batch = holding(make(), [0n, 5000n])
      const single = takeAll(holding(make(), [0n, 5000n]))
      computed = 0
      const drawn = [...batch.collect(1), ...batch.collect(3000), ...batch.collect(999)]
      assert.ok(computed < 10, `${computed} ids are computed`)
      assert.deepEqual([batch.issued, batch.left], [4000, 1000])
      const ids = drawn.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
      assert.deepEqual([...ids, ...takeAll(batch)], single)
    })
  }
})
