import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { globMatcher, globMatches } from '../../../src/base/glob.ts'

const table: [pattern: string, text: string, matches: boolean][] = [
  ['*', '', true],
  ['*', 'anything', true],
  ['', '', true],
  ['', 'a', false],
  ['order:*', 'order:eu', true],
  ['order:*', 'order', false],
  ['h?llo', 'hello', true],
  ['h?llo', 'hllo', false],
  ['h*llo', 'hllo', true],
  ['h*llo', 'heeeello', true],
  ['h*llo', 'heeeellos', false],
  ['h[ae]llo', 'hallo', true],
  ['h[ae]llo', 'hillo', false],
  ['h[^e]llo', 'hallo', true],
  ['h[^e]llo', 'hello', false],
  ['h[a-b]llo', 'hbllo', true],
  ['h[b-a]llo', 'hallo', true],
  ['h[a-b]llo', 'hcllo', false],
  ['[a-]', '-', true],
  ['[\\]]', ']', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['\\?x', '?x', true],
  ['\\', '\\', true],
  ['a[', 'a[', false],
  ['[ab', 'a', true],
  ['?', '号', true],
  ['?', '😀', true],
  ['[😀-😂]', '😁', true],
  ['a*b*c', 'aXbYbZc', true],
  ['a*b*c', 'aXbYbZ', false],
  ['**a', 'ba', true],
  ['a**', 'a', true],
]

describe('glob patterns', () => {
  for (const [pattern, text, matches] of table) {
    it(`'${pattern}' ${matches ? 'matches' : 'does not match'} '${text}'`, () => {
      assert.equal(globMatches(pattern, text), matches)
    })
  }

  it('agree with the regular expression of the same meaning', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (pattern, text) => {
        const same = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'u')
        assert.equal(globMatches(pattern, text), same.test(text))
      }),
    )
  })

  it('take bounded time, however many stars', () => {
    const startedMs = performance.now()
    assert.equal(globMatches(`${'*a'.repeat(100)}b`, 'a'.repeat(256)), false)
    assert.ok(performance.now() - startedMs < 1000)
  })

  it('is the same for a matcher of one pattern', () => {
    for (const [pattern, text, matches] of table) assert.equal(globMatcher(pattern)(text), matches, pattern)
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '[', ']', '\\', '^', '-') })
    fc.assert(
      fc.property(piece, piece, (pattern, text) => globMatcher(pattern)(text) === globMatches(pattern, text)),
    )
  })
})
