import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Run, rangesOf } from '../../../src/ids/run.ts'

function run(first: bigint, count: number, stride = 1): Run {
  const made = new Run()
  made.set(first, count, stride)
  return made
}

describe('ranges of runs', () => {
  it('join runs that touch, across 2^32 and 2^53 as well', () => {
    assert.deepEqual(rangesOf([run(1n, 3), run(4n, 2), run(9n, 1)]), [
      { start: 1n, end: 6n },
      { start: 9n, end: 10n },
    ])
    for (const edge of [2n ** 32n, 2n ** 53n]) {
      assert.deepEqual(rangesOf([run(edge - 2n, 2), run(edge, 5)]), [{ start: edge - 2n, end: edge + 5n }])
    }
  })

  it('never hold an id that is not in the runs, however far apart these are', () => {
    assert.deepEqual(rangesOf([run(10n, 3, 5)]), [
      { start: 10n, end: 11n },
      { start: 15n, end: 16n },
      { start: 20n, end: 21n },
    ])
  })

  it('are none without runs', () => {
    assert.deepEqual(rangesOf([]), [])
  })
})
