/** Long texts: the work of reading them grows with their length, and not with its square. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { Lexer, parametersMax } from '../../../../src/proxy/sql/lexer.ts'
import { filled, prepared, read } from './shop.ts'

/** What reading a text takes: tokens, bytes that are searched, and characters that become texts. */
function workOf(t: TestContext, text: string): readonly number[] {
  const original = { text: Buffer.prototype.toString, search: Buffer.prototype.indexOf }
  let [searched, characters] = [0, 0]
  const mocks = [
    t.mock.method(Buffer.prototype, 'toString', function (this: Buffer, ...given: []) {
      const result = original.text.apply(this, given)
      characters += result.length
      return result
    }),
    t.mock.method(Buffer.prototype, 'indexOf', function (this: Buffer, value: number, from = 0) {
      const result = original.search.call(this, value, from)
      searched += (result < 0 ? this.length : result) - from
      return result
    }),
  ]
  const steps = t.mock.method(Lexer.prototype, 'step')
  read(text)
  for (const mock of [...mocks, steps]) mock.mock.restore()
  return [steps.mock.callCount(), searched, characters]
}

const insert = 'INSERT INTO orders (n) VALUES (1);'
const texts: Record<string, (count: number) => string> = {
  'many statements': (count) => insert.repeat(count),
  'many rows': (count) => `INSERT INTO orders (n) VALUES ${Array(count).fill('(1)').join()}`,
  'many rows that give their ids': (count) =>
    `INSERT INTO orders (id) VALUES ${Array(count).fill('(7)').join()}`,
  'many columns': (count) => `INSERT INTO orders (${Array(count).fill('n').join()}) VALUES (1)`,
  'many assignments': (count) => `INSERT INTO orders SET ${Array(count).fill('n = 1').join()}`,
  'many definitions in front': (count) => 'CREATE TABLE x (a INT);'.repeat(count) + insert,
  'many comments': (count) => `${'/* c */'.repeat(count)}${insert}`,
  'many openings of hints in a comment': (count) =>
    `INSERT ${'/*+ '.repeat(count)}*/ INTO orders (n) VALUES (1)`,
  'many stars in a comment': (count) => `INSERT /*${' *'.repeat(count)}*/ INTO orders (n) VALUES (1)`,
  'many parentheses': (count) => `INSERT INTO orders (n) VALUES (${'('.repeat(count)}1${')'.repeat(count)})`,
  'many escapes in a string': (count) => `INSERT INTO orders (n) VALUES ('${"\\'''".repeat(count)}')`,
  'escapes behind many plain bytes': (count) =>
    `INSERT INTO orders (n) VALUES ('${`${'x'.repeat(100)}\\'`.repeat(count)}')`,
  'many strings in the place of an id': (count) => `INSERT INTO orders (id) VALUES (${"'0' ".repeat(count)})`,
  'a long number in the place of an id': (count) => `INSERT INTO orders (id) VALUES (${'0'.repeat(count)})`,
  'a long name': (count) => `INSERT INTO orders (\`${'a'.repeat(count)}\`) VALUES (1)`,
  'many calls of LAST_INSERT_ID': (count) =>
    `INSERT INTO orders (n) VALUES (${Array(count).fill('LAST_INSERT_ID()').join('+')})`,
}

describe('a text that is twice as long takes no more than twice the work', () => {
  for (const [name, textOf] of Object.entries(texts))
    test(name, (t) => {
      const [short, long] = [workOf(t, textOf(1000)), workOf(t, textOf(2000))]
      for (const [at, what] of ['tokens', 'searched bytes', 'characters'].entries())
        assert.ok(long[at]! <= 2 * short[at]! + 500, `${short[at]} and ${long[at]} ${what}`)
    })
})

describe('a text that is too long', () => {
  test('of more than 100,000 rows that need ids is left as it is', () => {
    const rows = (count: number) => `INSERT INTO orders (n) VALUES ${Array(count).fill('(1)').join()}`
    assert.match(filled(rows(100_000)), / 101000\)$/)
    assert.equal(filled(rows(100_001)), 'as it came')
  })
  test('of more parameters than servers accept is left as it is', () => {
    const row = (count: number) => `INSERT INTO orders (n) VALUES (0${' + ?'.repeat(count)})`
    assert.match(prepared(row(parametersMax))[0], /`id`/)
    assert.deepEqual(prepared(row(parametersMax + 1)), ['as it came'])
  })
})
