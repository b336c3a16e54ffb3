import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileFormat } from '../../../src/ids/format.ts'
import type { Template } from '../../../src/ids/template.ts'
import { AvoidedIds, Words } from '../../../src/ids/words.ts'

/** The letters of a text, as the words of a list have them. */
function letters(text: string): string {
  const plain = text.toLowerCase().replace(/[^0-9a-z]/g, '')
  return plain.replace(/[0-9lu]/g, (char) => 'oizeasgtbgiv'['0123456789lu'.indexOf(char)]!)
}

test('words are found without case, through look-alikes and across hyphens', () => {
  const words = new Words(['boob', 'cunt', 'ass', 'sos', 'asset'])
  for (const [text, end] of [
    ['B0OB', 4],
    ['x8o-0b', 6],
    ['CVN7', 4],
    ['4-5S', 4],
    ['505', 3],
    ['assets', 3],
    ['boo', -1],
    ['b.oo', -1],
    ['', -1],
    ['号', -1],
    ['zasz', -1],
  ] as const)
    assert.equal(words.endIn(text), end, text)
})

test('a word is found where it ends first, whatever the list', () => {
  const list = fc.array(fc.stringMatching(/^[a-d05]{2,4}$/), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(
      list,
      fc.string({ unit: fc.constantFrom(...'abcdABCD05os-'), maxLength: 14 }),
      (words, text) => {
        const found = new Words(words).endIn(text)
        const contains = (part: string) => words.some((word) => letters(part).includes(letters(word)))
        const ends = Array.from({ length: text.length + 1 }, (_, end) => end)
        const end = ends.find((each) => contains(text.slice(0, each)))
        assert.equal(found, end ?? -1)
      },
    ),
    { numRuns: 1000 },
  )
})

test('an id that is avoided leads to the next one that may not be, and none between is good', () => {
  for (const template of [
    'x{id:4:base36}',
    '{id::base36:group=2}',
    '{id:4:crockford}{check:mod37-36}',
    '{check:mod37-2}{id:4:base36}',
  ]) {
    const format = compileFormat(template) as Template
    const avoided = new AvoidedIds(['as', 'fox', 'e4'], format)
    const words = new Words(['as', 'fox', 'e4'])
    for (let id = 0n, seen = 0; id < 400_000n && seen < 30_000; seen++) {
      const next = avoided.from(id)
      assert.equal(next === id, words.endIn(format.codeOf(id).code) < 0, `${template} ${id}`)
      if (next > id)
        for (const between of [id + 1n, (id + next) / 2n, next - 1n])
          if (between > id && between < next) assert.notEqual(avoided.from(between), between, template)
      id = next === id ? id + 7n : next
    }
  }
  assert.equal(new AvoidedIds(['ass'], compileFormat('{id:8:base36}') as Template).from(0n), 0n)
  const format = compileFormat('{id:8:base36}') as Template
  assert.equal(new AvoidedIds(['ass'], format).from(format.parse('00assabc')), format.parse('00ast000'))
})

test('a word of the text around an id is none of the id', () => {
  const format = compileFormat('sos-{id:6:crockford}') as Template
  assert.equal(new AvoidedIds(['sos'], format).from(5n), 5n)
})
