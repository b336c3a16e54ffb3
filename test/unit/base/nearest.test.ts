/** Suggestions for misspelled words, also where a request has very long or very many of them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nearest, unknownWords } from '../../../src/base/nearest.ts'

const known = ['kind', 'increment', 'leadMax']

describe('the word that may be meant', () => {
  test('is the nearest one, in any spelling of its parts', () => {
    assert.equal(nearest('kidn', known), 'kind')
    assert.equal(nearest('LEAD_MAX', known), 'leadMax')
    assert.equal(nearest('other', known), undefined)
  })

  test('is not looked for among letters that are no word', () => {
    const long = 'increment'.padEnd(65, 't')
    assert.equal(nearest(long, [long.slice(0, -1)]), undefined)
  })

  test('is that of one of the first words, of which a sentence shows a few', () => {
    const many = Array.from({ length: 8000 }, (_, index) => `x${index}`)
    const text = unknownWords('options', ['zzz', 'kidn', ...many], known)
    assert.match(
      text,
      /^unknown options 'zzz', 'kidn', 'x0', .*'x5', …; did you mean kind\? known are kind, /,
    )
    assert.equal(unknownWords('options', [...many, 'kidn'], known).includes('did you mean'), false)
  })
})
