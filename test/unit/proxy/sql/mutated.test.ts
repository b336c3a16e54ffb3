/**
 * Generated and mutated statements. Of a generated one it is known which ids its rows need, and what the edited text has to be.
 * Of a mutated one: nothing throws, nothing but values of ids is changed, and no row needs an id afterwards.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Lexer, token } from '../../../../src/proxy/sql/lexer.ts'
import { bytes, filled, prepared, read, session } from './shop.ts'

const runs = { numRuns: 3000, seed: 26 }

/** What may stand between two tokens. */
const gap = fc.constantFrom(' ', '\n', ' /* VALUES (1), ( */ ', " /* it's */ ", ' -- ; (\n', ' # `\n')
const value = fc.constantFrom(
  '1',
  "'it''s'",
  "'\\'), (NULL'",
  '"a;b"',
  "''",
  'f(1, (2), NULL)',
  "'--' '#'",
  'NULL',
  'DEFAULT',
  'NOW(6)',
  '-1.5e-3',
  "x'41'",
  '@a',
  '(SELECT MAX(id) FROM orders)',
  'CASE WHEN 1 THEN 2 END',
)
const [asking, given] = [
  fc.constantFrom('NULL', 'default', '0', "'0'", '(NULL)', '0.0', 'FALSE'),
  fc.constantFrom('7', "'x'", 'f(1)', '-1', '@id', '1 + 1'),
]
const id = fc.oneof(
  asking.map((text) => ({ text, asks: true })),
  given.map((text) => ({ text, asks: false })),
)
const verb = fc.constantFrom('INSERT INTO', 'insert', 'REPLACE', 'INSERT IGNORE INTO', 'INSERT LOW_PRIORITY')
const table = fc.constantFrom('orders', '`orders`', 'shop.orders', '`shop` . orders')
const rows = fc.array(fc.tuple(value, id, value), { minLength: 1, maxLength: 4 })

/** A statement, and what it has to become. */
const generated = fc
  .tuple(verb, table, rows, fc.constantFrom('list', 'none', 'absent', 'set'), gap, gap)
  .map(([verb, table, rows, form, before, between]) => {
    const write = (isEdited: boolean) => {
      let last = 1000
      const idOf = (own: { readonly text: string; readonly asks: boolean }) => {
        if (!isEdited || !(own.asks || form === 'absent')) return own.text
        return ++last === 1001 ? 'LAST_INSERT_ID(1001)' : String(last)
      }
      const [[a, own, b]] = rows as [(typeof rows)[number]]
      const head = `${verb}${before}${table}${between}`
      if (form === 'set') return `${head}SET name = ${a}, id =${before}${idOf(own)}, n = ${b}`
      const listed = { list: '(name, id, n) ', none: '', absent: '(name, n) ' }[form]
      const added = { list: listed, none: '(`id`, `name`, `n`) ', absent: '(name, n, `id`) ' }[form]
      const values = rows.map(([a, own, b]) => {
        if (form === 'none') return `(${idOf(own)}, ${a}, ${b})`
        if (form === 'list') return `(${a},${between}${idOf(own)}${before},${b})`
        return isEdited ? `(${a}, ${b}, ${idOf(own)})` : `(${a}, ${b})`
      })
      return `${head}${isEdited ? added : listed}VALUES${between}${values.join(`,${before}`)}`
    }
    return { text: write(false), edited: write(true) }
  })

const fragments = [
  "'",
  '"',
  '`',
  '\\',
  '(',
  ')',
  ',',
  ';',
  '/*',
  '*/',
  '/*!',
  '-- ',
  '#',
  '\n',
  '?',
  '@',
  'NULL',
  '0',
  'id',
  'orders',
  'INSERT ',
  'VALUES',
  '\xbf',
  '\0',
  '.',
  'LAST_INSERT_ID()',
  ' ON DUPLICATE KEY UPDATE ',
  ' AS new ',
  'SET NAMES gbk;',
]
const mutated = fc
  .tuple(
    fc.array(generated, { minLength: 1, maxLength: 2 }),
    fc.array(fc.tuple(fc.nat(), fc.nat(6), fc.constantFrom('', ...fragments)), { maxLength: 4 }),
  )
  .map(([statements, changes]) =>
    changes.reduce(
      (text, [at, length, fragment]) => {
        const start = at % (text.length + 1)
        return text.slice(0, start) + fragment + text.slice(start + length)
      },
      statements.map(({ text }) => text).join(';'),
    ),
  )
const facts = fc.record({
  charset: fc.constantFrom('utf8mb4', 'latin1', 'gbk'),
  sqlMode: fc.constantFrom('', 'ANSI_QUOTES', 'NO_BACKSLASH_ESCAPES', 'NO_AUTO_VALUE_ON_ZERO'),
})

/** The texts of the tokens, up to what servers may read differently. */
function tokens(text: string, given: Parameters<typeof session>[0]): string[] {
  const lexer = new Lexer(bytes(text), session(given), true)
  const found: string[] = []
  for (lexer.step(); lexer.kind > token.unsure; lexer.step()) found.push(text.slice(lexer.start, lexer.end))
  return found
}

/** Whether all of `part` is in `whole`, in order. */
function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0
  for (const each of whole) if (each === part[at]) at++
  return at === part.length
}

test('a generated INSERT gets ids in place of those that it lacks, and is the same apart from them', () => {
  fc.assert(
    fc.property(generated, ({ text, edited }) => {
      const after = filled(text)
      assert.equal(after === 'as it came' ? text : after, edited.includes('1001') ? edited : text)
    }),
    runs,
  )
})

describe('a mutated text', () => {
  test('is read without a fault, and only ids are changed in it', () => {
    fc.assert(
      fc.property(mutated, facts, (text, given) => {
        const after = filled(text, given)
        if (after === 'as it came') return
        const { inserts } = read(text, given)
        if (!inserts.some(({ readsLastInsertId }) => readsLastInsertId)) {
          const values = new Set(
            inserts.flatMap(({ rows }) =>
              rows.flatMap(({ start, end }) => tokens(text.slice(start, end), given)),
            ),
          )
          const kept = tokens(text, given).filter((each) => !values.has(each))
          assert.ok(
            isSubsequence(kept, tokens(after, given)),
            `${JSON.stringify(text)} became ${JSON.stringify(after)}`,
          )
        }
        assert.deepEqual(
          read(after, given).inserts.filter(({ rows }) => rows.length > 0),
          [],
          'no row needs an id afterwards',
        )
      }),
      runs,
    )
  })

  test('keeps the parameters of the client, in order, and has one of its own for each row without an id', () => {
    fc.assert(
      fc.property(mutated, facts, fc.boolean(), (text, given, isText) => {
        const [sql, ...parameters] = prepared(text, { ...given, isText })
        if (sql === 'as it came') return
        const { parametersAt, inserts } = read(text, { ...given, isPrepared: true })
        const own = parameters.filter((each) => typeof each === 'number')
        assert.deepEqual(own, [...parametersAt.keys()])
        assert.equal(tokens(sql, given).filter((each) => each === '?').length, parameters.length)
        const hidden = new Set(
          parameters.filter((each) => typeof each !== 'number').map((each) => each.split(' ')[1]),
        )
        const needing = isText ? inserts[0]!.rows.filter(({ parameter }) => parameter < 0) : inserts[0]!.rows
        assert.equal(hidden.size, needing.length)
      }),
      runs,
    )
  })
})
