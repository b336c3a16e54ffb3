/** Texts of many statements or long comments: the work of reading them grows with their length, and pauses. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Lexer, parametersMax, token } from '../../../../src/proxy/sql/lexer.ts'
import { bytes, columns, prepared, read, session } from './shop.ts'

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

  test('with a comment of many stars, which are not searched one by one', (t) => {
    const searches = t.mock.method(Buffer.prototype, 'indexOf')
    assert.equal(read(`INSERT /*${' *'.repeat(100_000)}*/ INTO orders (a) VALUES (1)`).kind, 'fill')
    assert.ok(searches.mock.callCount() < 1000, `${searches.mock.callCount()} searches`)
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

describe('a prepared statement of more parameters than servers accept', () => {
  const ofParameters = {
    'in its rows': (count: number) => `INSERT INTO orders (n) VALUES ${Array(count).fill('(?)').join()}`,
    'in places of ids': (count: number) =>
      `INSERT INTO orders (id) VALUES ${Array(count).fill('(?)').join()}`,
    'in an expression': (count: number) => `INSERT INTO orders SET n = 0${' + ?'.repeat(count)}`,
  }
  for (const [name, textOf] of Object.entries(ofParameters))
    test(`${name} is refused as by a server`, () => {
      assert.match(prepared(textOf(parametersMax))[0], /^INSERT/)
      assert.deepEqual(prepared(textOf(parametersMax + 1)), ['1390'])
      assert.deepEqual(prepared(textOf(parametersMax + 30_000)), ['1390'])
    })

  test('is remembered no further', () => {
    const text = bytes('?,'.repeat(10 * parametersMax))
    const lexer = new Lexer(text, session(), { executable: 'read', parameters: true })
    while (lexer.next() !== token.end);
    assert.equal(lexer.parametersAt.length, parametersMax + 1)
  })

  test('is left to the server if it is no INSERT', () => {
    assert.deepEqual(prepared(`SELECT ${Array(100_000).fill('?').join()} FROM orders`), ['relay'])
  })
})
