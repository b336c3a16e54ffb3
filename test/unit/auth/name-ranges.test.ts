/** Where the names that match patterns lie. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commonRanges, isBefore, type NameRange, rangesOf } from '../../../src/auth/name-ranges.ts'
import { compareBytes } from '../../../src/base/byte-order.ts'
import { globMatches } from '../../../src/base/glob.ts'

const name = fc.stringMatching(/^[ab:é😀]{0,4}$/u)
const pattern = fc.stringMatching(/^[ab:é😀]{0,3}[*?]?[ab]?$/u)
const patterns = fc.array(pattern, { maxLength: 6 })

function isIn(ranges: readonly NameRange[], text: string): boolean {
  return ranges.some(({ prefix, isExact }) => (isExact ? text === prefix : text.startsWith(prefix)))
}

describe('ranges of names', () => {
  test('hold every name that matches one of the patterns', () => {
    fc.assert(
      fc.property(patterns, name, (some, text) => {
        if (some.some((each) => globMatches(each, text))) assert.ok(isIn(rangesOf(some), text))
      }),
    )
  })

  test('hold together what both of two lists of patterns admit', () => {
    fc.assert(
      fc.property(patterns, patterns, name, (some, others, text) => {
        const common = commonRanges(rangesOf(some), rangesOf(others))
        assert.equal(isIn(common, text), isIn(rangesOf(some), text) && isIn(rangesOf(others), text))
      }),
    )
  })

  test('are in byte order, and none overlaps another', () => {
    fc.assert(
      fc.property(patterns, (some) => {
        const ranges = rangesOf(some)
        for (const [index, { prefix }] of ranges.entries()) {
          const next = ranges[index + 1]
          if (next === undefined) continue
          assert.ok(compareBytes(prefix, next.prefix) < 0)
          assert.ok(!isIn([ranges[index]!], next.prefix))
        }
      }),
    )
  })

  test('are before a name when none of their names is behind it', () => {
    fc.assert(
      fc.property(pattern, name, name, (each, text, other) => {
        for (const range of rangesOf([each]))
          if (isIn([range], other) && compareBytes(other, text) > 0)
            assert.equal(isBefore(range, text), false)
      }),
    )
    assert.equal(isBefore({ prefix: 'a', isExact: true }, 'a'), true)
    assert.equal(isBefore({ prefix: 'a', isExact: false }, 'a'), false)
    assert.equal(isBefore({ prefix: 'a', isExact: false }, 'b'), true)
  })
})
