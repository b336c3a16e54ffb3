import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { globMatcher, globMatches, matchWork } from '../../../src/base/glob.ts'

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
    test(`'${pattern}' ${matches ? 'matches' : 'does not match'} '${text}'`, () => {
      assert.equal(globMatches(pattern, text), matches)
    })
  }

  test('agree with the regular expression of the same meaning', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (pattern, text) => {
        const same = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'u')
        assert.equal(globMatches(pattern, text), same.test(text))
      }),
    )
  })

  test('agree with it too when they have more items than a word has bits', () => {
    const piece = fc.constantFrom('?', '[ab]', '[^a]', '[^c]')
    const items = fc.array(piece, { minLength: 14, maxLength: 36 }).map((pieces) => pieces.join(''))
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 20, maxLength: 99 })
    fc.assert(
      fc.property(items, items, text, (first, last, text) => {
        const same = new RegExp(`^${`${first}.*${last}`.replaceAll('?', '.')}$`, 'u')
        assert.equal(globMatches(`${first}*${last}`, text), same.test(text))
      }),
    )
  })

  test('match at either end of a word of items, and not beyond', () => {
    for (const count of [31, 32, 33, 63, 64, 65]) {
      const pattern = `?${'[ab]'.repeat(count - 1)}`
      assert.equal(globMatches(pattern, 'a'.repeat(count)), true)
      assert.equal(globMatches(pattern, 'a'.repeat(count - 1)), false)
      assert.equal(globMatches(pattern, 'a'.repeat(count + 1)), false)
      assert.equal(globMatches(`*${pattern}`, 'b'.repeat(count + 1)), true)
    }
  })

  test('take little time, whatever the pattern is', () => {
    const name = 'a'.repeat(256)
    const startedUs = process.cpuUsage().user
    for (const pattern of [
      `*${'?'.repeat(200)}b`,
      `${'*?'.repeat(200)}b`,
      `*[${'a'.repeat(500)}][${'b'.repeat(500)}]`,
    ]) {
      const matches = globMatcher(pattern)
      for (let count = 0; count < 2000; count++) assert.equal(matches(name), false)
    }
    // They take 0.1 s. A matcher that goes back to the latest star takes more than 20 s.
    assert.ok(process.cpuUsage().user - startedUs < 10_000_000)
  })

  test('is the same for a matcher of one pattern', () => {
    for (const [pattern, text, matches] of table) assert.equal(globMatcher(pattern)(text), matches, pattern)
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '[', ']', '\\', '^', '-') })
    fc.assert(
      fc.property(piece, piece, (pattern, text) => globMatcher(pattern)(text) === globMatches(pattern, text)),
    )
  })

  test('count the work of every range of a class, wherever an escaped bracket stands in it', () => {
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    assert.equal(matchWork(`*[\\]${letters}]`), matchWork(`*[${letters}\\]]`))
    assert.equal(matchWork(`*[a-b${letters}]`), matchWork(`*[${letters}a-b]`))
    assert.ok(matchWork(`*[\\]${letters}${letters}]`) > matchWork(`*[\\]${letters}]`))
  })

  test('count the work of every character of the text, also for a short pattern', () => {
    for (const pattern of ['*a', '?', 'a*b', '[a]']) assert.ok(matchWork(pattern) > 256, pattern)
  })
})
