/** Texts of many statements or long comments: the work of reading them grows with their length, and pauses. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { columns, read } from './shop.ts'

const insert = 'INSERT INTO orders (id) VALUES (7);'

describe('the work of a text grows with its length, and not with its square', () => {
  test('after a statement that may change the session, the rest is searched once', (t) => {
    const mentions = t.mock.method(columns, 'mentions')
    const reading = read(`${insert} CALL p(); ${'DO 1;'.repeat(1000)}`)
    assert.equal(reading.kind, 'relay')
    assert.equal(mentions.mock.callCount(), 1)
  })

  // The square of these lengths takes many minutes.
  const limit = { timeout: 60_000 }

  test('with a hint of many openings', limit, () => {
    const reading = read(`INSERT ${'/*+ '.repeat(300_000)}*/ INTO orders (a) VALUES (1)`)
    assert.equal(reading.kind, 'fill')
  })

  test('with many definitions in front of many statements', limit, () => {
    const sql = `${'CREATE TABLE x (a INT);'.repeat(100_000)}${insert.repeat(100_000)}`
    assert.equal(read(sql).kind, 'relay')
  })
})

describe("of a long value in an id's place little becomes text", () => {
  const zeros = '0'.repeat(1_000_000)
  const values = {
    'strings that follow each other': `'${'\\0'.repeat(30_000)}' `.repeat(20),
    'a number': zeros,
    'a number with a sign': `-${zeros}`,
    'hexadecimal digits': `0x${zeros}`,
    'a text of hexadecimal digits': `x'${zeros}'`,
    'the names of a default': `DEFAULT(${`${'a'.repeat(60_000)}.`.repeat(20)}id)`,
  }
  for (const [name, value] of Object.entries(values))
    test(name, (t) => {
      const original = Buffer.prototype.toString
      let characters = 0
      t.mock.method(
        Buffer.prototype,
        'toString',
        function (this: Buffer, ...given: Parameters<typeof original>) {
          const text = original.apply(this, given)
          characters += text.length
          return text
        },
      )
      assert.equal(read(`INSERT INTO orders (id, item) VALUES (${value}, 'x')`).kind, 'refuse')
      assert.ok(characters <= 65_536 + 100, `${characters} characters`)
    })
})
