import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nearTexts } from '../../../src/ids/near-texts.ts'

describe('near texts', () => {
  test('are one error of a person away: a swap, a case, a look-alike, a sign too many or missing', () => {
    const near = [...nearTexts('a5Sx', '0s', [1, 256])]
    for (const text of [
      '5aSx',
      'aS5x',
      'a5xS',
      'A5Sx',
      'a5sx',
      'aSSx',
      'a55x',
      '5Sx',
      'a5S',
      '0a5Sx',
      'a5Sxs',
      'a50Sx',
    ])
      assert.ok(near.includes(text), text)
    assert.ok(!near.includes('a5Sx'))
  })

  test('are each named once, and their number grows with the length alone', () => {
    for (const text of ['', 'a', 'aaaa', '0011', 'K3X9-7QTM', 'ж😀', 'O0Il1'.repeat(20)]) {
      const near = [...nearTexts(text, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', [0, 256])]
      assert.ok(near.length <= text.length * (1 + 8 + 1 + 32) + 32, `${near.length}`)
      if (!/[OIl01]/.test(text)) assert.equal(new Set(near).size, near.length, text)
    }
  })

  test('are none of another length than the format has', () => {
    for (const length of [6, 10, 256])
      assert.deepEqual([...nearTexts('A5'.repeat(length / 2), '01', [8, 8])], [])
    for (const [text, length] of [
      ['A5A5A5A', 8],
      ['A5A5A5A5', 8],
      ['A5A5A5A5A', 8],
    ] as const) {
      const near = [...nearTexts(text, '01', [length, length])]
      assert.ok(near.length > 0 && near.every((each) => each.length === length), text)
    }
  })
})
