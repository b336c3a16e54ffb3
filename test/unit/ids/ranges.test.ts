import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type IdRun, mergedRuns, Run, rangesOf, ScatteredRun } from '../../../src/ids/run.ts'

function run(first: bigint, count: number, stride = 1): Run {
  const made = new Run()
  made.set(first, count, stride)
  return made
}

describe('ranges of runs', () => {
  test('join runs that touch, across 2^32 and 2^53 as well', () => {
    assert.deepEqual(rangesOf([run(1n, 3), run(4n, 2), run(9n, 1)]), [
      { start: 1n, end: 6n },
      { start: 9n, end: 10n },
    ])
    for (const edge of [2n ** 32n, 2n ** 53n]) {
      assert.deepEqual(rangesOf([run(edge - 2n, 2), run(edge, 5)]), [{ start: edge - 2n, end: edge + 5n }])
    }
  })

  test('never hold an id that is not in the runs, however far apart these are', () => {
    assert.deepEqual(rangesOf([run(10n, 3, 5)]), [
      { start: 10n, end: 11n },
      { start: 15n, end: 16n },
      { start: 20n, end: 21n },
    ])
  })

  test('are none without runs', () => {
    assert.deepEqual(rangesOf([]), [])
  })
})

function idsOf(runs: readonly IdRun[]): bigint[] {
  return runs.flatMap(({ first, stride, count }) =>
    Array.from({ length: count }, (_, at) => first + BigInt(stride) * BigInt(at)),
  )
}

describe('merged runs', () => {
  test('join a run to the one that it continues, across 2^32 and 2^53 as well', () => {
    for (const edge of [100n, 2n ** 32n, 2n ** 53n]) {
      assert.deepEqual(mergedRuns([run(edge - 8n, 2, 4), run(edge, 3, 4), run(edge + 12n, 1, 4)]), [
        { first: edge - 8n, stride: 4, count: 6 },
      ])
    }
  })

  test('keep runs apart that only touch, or count in other steps', () => {
    const apart = [run(1n, 3, 2), run(6n, 2, 2), run(20n, 2, 1), run(22n, 2, 2)]
    assert.equal(mergedRuns(apart).length, 4)
  })

  test('give ids in no order one by one', () => {
    const scattered = new ScatteredRun(3, (index) => [50n, 7n, 8n][index]!)
    assert.deepEqual(mergedRuns([scattered]), [
      { first: 50n, stride: 1, count: 1 },
      { first: 7n, stride: 1, count: 2 },
    ])
  })

  test('are none without runs', () => {
    assert.deepEqual(mergedRuns([]), [])
  })

  test('hold exactly the ids of the runs, in their order', () => {
    const some = fc.record({
      first: fc.oneof(fc.bigInt(0n, 60n), fc.bigInt(2n ** 53n - 60n, 2n ** 53n + 60n)),
      count: fc.integer({ min: 1, max: 6 }),
      stride: fc.constantFrom(1, 2, 3, 2 ** 20),
    })
    fc.assert(
      fc.property(fc.array(some, { maxLength: 8 }), (parts) => {
        const runs = parts.map(({ first, count, stride }) => run(first, count, stride))
        const expected = runs.flatMap((each) => Array.from({ length: each.count }, (_, at) => each.at(at)))
        assert.deepEqual(idsOf(mergedRuns(runs)), expected)
      }),
    )
  })
})
