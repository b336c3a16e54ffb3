import assert from 'node:assert/strict'
import { it } from 'node:test'
import { shortText } from '../../../../src/proxy/sql/short-texts.ts'

const textOf = (text: string) => {
  const bytes = Buffer.from(`<${text}>`, 'latin1')
  return shortText(bytes, 1, bytes.length - 1)
}

it('finds a text only for its own bytes, also where texts share a slot', () => {
  const sharing = ['Aa', 'AaOo', 'Aa', 'BB', '\0Aa', '\0\0BB', 'AaAa', 'AaBB', 'BBAa', 'BBBB']
  for (let round = 0; round < 2; round++)
    for (const text of [...sharing, '', 'caf\xe9', 'a-name-of-16-byte', 'a-name-of-more-than-16-bytes'])
      assert.equal(textOf(text), text)
})
