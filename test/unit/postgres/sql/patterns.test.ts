import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '../../../../src/base/clock.ts'
import { Budget, defaultLimits } from '../../../../src/postgres/sql/budget.ts'
import {
  exactText,
  matchesLike,
  matchesPattern,
  replacePattern,
} from '../../../../src/postgres/sql/patterns.ts'

const budget = () => new Budget(systemClock, defaultLimits)

/** Patterns, texts that match, and texts that do not. */
const patterns: readonly (readonly [
  pattern: string,
  matching: readonly string[],
  others: readonly string[],
])[] = [
  ['^pg_toast', ['pg_toast_1'], ['a pg_toast']],
  ['^(order.*)$', ['order', 'order_id'], ['my order']],
  ['a|b|^$', ['a', 'xbx', ''], ['c']],
  ['a{2,3}$', ['aa', 'aaaa'], ['a', 'aab']],
  ['^a{2}$', ['aa'], ['a', 'aaa']],
  ['(ab)+?c', ['ababc'], ['abab']],
  ['[^a-c]', ['abcd'], ['abc']],
  ['[]x-]', [']', '-', 'x'], ['y']],
  ['^[[:upper:]][[:digit:]_]*$', ['A1_2'], ['a1', 'Ab']],
  ['\\d\\s\\w\\.', ['1 a.'], ['1 ab']],
  ['\\mid\\M', ['an id here'], ['idle', 'void']],
  ['^.$', ['😀', 'é'], ['ab']],
  ['(?i)ABC', ['abc'], ['ab']],
  ['^(?:a|bc|)d{2}$', ['add', 'bcdd', 'dd'], ['abcdd', 'bd']],
  ['^(a|b|c)(x{1,2}|y)+$', ['axx', 'cyx'], ['a', 'dx']],
  ['a**'.slice(0, 2), ['', 'b'], []],
]

describe('patterns', () => {
  test('of regular expressions match as in PostgreSQL', () => {
    for (const [pattern, matching, others] of patterns) {
      for (const text of matching)
        assert.ok(matchesPattern(text, pattern, false, budget()), `${text} ~ ${pattern}`)
      for (const text of others)
        assert.ok(!matchesPattern(text, pattern, false, budget()), `${text} !~ ${pattern}`)
    }
    assert.ok(matchesPattern('ORDER', '^o[a-z]+r$', true, budget()))
  })

  test('that are malformed, or not supported, are refused', () => {
    for (const pattern of ['(', ')', '[a', '*a', 'a{3,2}', 'a{999}', '[[:nothing:]]', 'a\\', '[z-a]'])
      assert.throws(() => matchesPattern('', pattern, false, budget()), { sqlState: '2201B' }, pattern)
    for (const pattern of ['(a)\\1', 'a(?=b)'])
      assert.throws(() => matchesPattern('', pattern, false, budget()), { sqlState: '0A000' }, pattern)
    assert.throws(() => matchesPattern('', '((((a{255}){255}){255}){255})', false, budget()), {
      sqlState: '2201B',
    })
  })

  test('replace with what groups have matched', () => {
    assert.equal(replacePattern('a-b a-c', '(a)-(.)', '\\2\\1', 'g', budget()), 'ba ca')
    assert.equal(replacePattern('aXbx', 'x', '', 'i', budget()), 'abx')
  })

  test('of LIKE match as in PostgreSQL', () => {
    for (const [text, pattern] of [
      ['abc', 'a%'],
      ['abc', '%b%'],
      ['abc', '_b_'],
      ['a%', 'a\\%'],
      ['', '%'],
      ['😀', '_'],
    ] as const)
      assert.ok(matchesLike(text, pattern, '\\', budget()), `${text} ${pattern}`)
    for (const [text, pattern] of [
      ['abc', 'b%'],
      ['abc', 'ab'],
      ['ab', 'a\\%'],
      ['', '_'],
      ['abab', '%ba'],
    ] as const)
      assert.ok(!matchesLike(text, pattern, '\\', budget()), `${text} ${pattern}`)
  })

  test('that only one text matches are known as that text', () => {
    assert.equal(exactText('^(order_id)$'), 'order_id')
    assert.equal(exactText('^(Mixed\\.Case)$'), 'Mixed.Case')
    for (const pattern of ['order', '^(order.*)$', '^(a|b)$', '^order'])
      assert.equal(exactText(pattern), undefined)
  })
})
