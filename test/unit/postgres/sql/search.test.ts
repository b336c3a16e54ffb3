import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indexIn, splitBy } from '../../../../src/postgres/sql/search.ts'

/** Texts of few letters, in which long parts begin again and again. */
const parts = [
  'a'.repeat(20),
  `${'a'.repeat(17)}b`,
  'abaabaabaabaabaab',
  'ab'.repeat(9),
  'abcabcabcabdabcabc',
  'a',
  '',
]
const texts = [
  '',
  'a'.repeat(15),
  'a'.repeat(70),
  `${'a'.repeat(16)}${'a'.repeat(17)}b${'ab'.repeat(30)}`,
  'abaabaab'.repeat(9),
  `${'abcabcab'.repeat(3)}abcabcabcabdabcabcabcabdabcabc`,
]

test('texts are found and split as by JavaScript', () => {
  for (const text of texts)
    for (const part of parts) {
      assert.equal(indexIn(text, part), text.indexOf(part), `${part} in ${text}`)
      if (part !== '') assert.deepEqual(splitBy(text, part), text.split(part), `${text} by ${part}`)
    }
})

test('a long text is searched for a long part in linear time: its product with the part would take an hour', () => {
  const half = 'a'.repeat(1_000_000)
  assert.equal(indexIn(half.repeat(4), `${half}b${half}`), -1)
  assert.equal(splitBy(half.repeat(4), `${half}b${half}`).length, 1)
})
