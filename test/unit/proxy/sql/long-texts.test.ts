/** Long texts: the work of reading them grows with their length, and not with its square. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { fillText } from '../../../../src/proxy/sql/fill-ids.ts'
import { readText } from '../../../../src/proxy/sql/insert-reader.ts'
import { Lexer, parametersMax } from '../../../../src/proxy/sql/lexer.ts'
import { bytes, columns, filled, prepared, read, session } from './shop.ts'

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

/** Does all parts; returns the result, and the most calls of a function of `mocked` in one part. */
function mostOf<Result>(parts: Generator<void, Result, void>, mocked: () => number): [Result, number] {
  for (let most = 0, before = mocked(); ; before = mocked()) {
    const { done, value } = parts.next()
    most = Math.max(most, mocked() - before)
    if (done) return [value, most]
  }
}

describe('others are served while a long text', () => {
  const context = { session: session(), columns, isPrepared: false, columnsOf: () => ['id', 'n'] }
  const long: Record<string, string> = {
    'of many statements': insert.repeat(6000),
    'of many rows': `INSERT INTO orders (n) VALUES ${Array(30_000).fill('(1)').join()}`,
    'of many other statements': `${'SELECT 1;'.repeat(20_000)}${insert}`,
  }
  for (const [name, text] of Object.entries(long))
    test(`${name} is read and filled`, (t) => {
      const { step } = Lexer.prototype
      let steps = 0
      Lexer.prototype.step = function () {
        steps++
        step.call(this)
      }
      t.after(() => {
        Lexer.prototype.step = step
      })
      const sql = bytes(text)
      const [{ inserts }, most] = mostOf(readText(sql, context), () => steps)
      assert.ok(most < 33_000, `${most} tokens in a part`)
      let given = 0
      const ids = () => given
      const drawn = inserts.map(({ rows }) => ({
        isText: false,
        ids: new Proxy([], {
          get: (_, row) => String(row in rows ? ++given : given),
        }),
      }))
      const [whole, filledAtOnce] = mostOf(fillText(sql, inserts, drawn), ids)
      assert.ok(filledAtOnce <= 2048 && whole.length > sql.length, `${filledAtOnce} rows in a part`)
    })

  for (const [name, text] of [
    ['of comments', `INSERT INTO orders (n) ${'#\n'.repeat(300_000)} VALUES (1)`],
    ['of a comment', `INSERT INTO orders (n) /*${' '.repeat(2_200_000)}*/ VALUES (1)`],
    ['of spaces', `INSERT INTO orders (n) ${' '.repeat(2_200_000)} VALUES (1)`],
    ['of a word', `INSERT INTO orders (n) VALUES (${'a'.repeat(2_200_000)})`],
    ['of a number', `INSERT INTO orders (n) VALUES (${'1'.repeat(2_200_000)})`],
    ['of a name', `INSERT INTO orders (\`${'a'.repeat(2000)}\`) VALUES (1)`],
    ['of one value', `INSERT INTO orders (n) VALUES (1${'+1'.repeat(140_000)})`],
  ] as const)
    test(`${name} is left as it came, because its reading could not be interrupted`, () => {
      assert.equal(filled(text), 'as it came')
    })

  test('of a long string is filled', () => {
    assert.match(filled(`INSERT INTO orders (n) VALUES ('${'x'.repeat(12_000_000)}')`).slice(-40), /1001/)
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
