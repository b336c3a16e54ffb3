/** Each statement of fill.txt, and what the proxy sends in its place. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { filled, type Given, prepared } from './shop.ts'

const [, ...sections] = readFileSync(join(import.meta.dirname, 'fill.txt'), 'utf8').split(/^# /m)
const form = /^(.+)\n= (.+)(?:\n: (.+))?(?:\n\? (.+))?\n/gm
const valuesOf = (title: string) =>
  sections
    .find((section) => section.startsWith(title))!
    .trim()
    .split('\n')
    .slice(1)

for (const section of sections.filter((each) => !each.startsWith('values'))) {
  const [title = '', ...lines] = section.trim().split('\n')
  const text = `${lines.join('\n')}\n`
  describe(title, () => {
    let read = 0
    for (const [whole, ...parts] of text.matchAll(form)) {
      read += whole.length
      const [statement = '', expected = '', parameters, given] = parts.map((part) =>
        part?.replaceAll('␤', '\n'),
      )
      const facts: Given = JSON.parse(given ?? '{}')
      test(`${expected === 'as it came' ? 'leaves' : 'reads'} ${JSON.stringify(statement)} ${given ?? ''}`, () => {
        if (title !== 'a prepared INSERT') return assert.equal(filled(statement, facts), expected)
        const [sql, ...own] = prepared(statement, facts)
        assert.deepEqual([sql, own.join(', ')], [expected, parameters ?? ''])
      })
    }
    test('is read to its end', () => assert.equal(read, text.replace(/\n(?=\n)/g, '').length))
  })
}

// Each was tried on MariaDB 10.11 with AUTO_INCREMENT; MySQL's manual says the same of all but x'30'.
describe('a value in the place of an id', () => {
  for (const value of valuesOf('values that ask'))
    test(`gets an id for ${value}`, () => {
      const written = 'INSERT INTO orders (n, id) VALUES (1,LAST_INSERT_ID(1001))'
      assert.equal(filled(`INSERT INTO orders (n, id) VALUES (1,${value})`), written)
    })
  for (const value of valuesOf('values that stay'))
    test(`leaves ${value} to the server`, () => {
      assert.equal(filled(`INSERT INTO orders (id) VALUES (${value})`), 'as it came')
      assert.equal(filled(`INSERT INTO orders SET id = ${value}`), 'as it came')
    })
})
