/** Statements with random changes: none makes the reader throw, and what is edited stays the same around the edits. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fillPrepared, fillText } from '../../../../src/proxy/sql/fill.ts'
import { FilledColumns } from '../../../../src/proxy/sql/filled-columns.ts'
import { idsNeeded } from '../../../../src/proxy/sql/insert.ts'
import { Lexer, token } from '../../../../src/proxy/sql/lexer.ts'
import type { SqlSession } from '../../../../src/proxy/sql/session.ts'
import { sessionChange } from '../../../../src/proxy/sql/session-change.ts'
import { readStatements } from '../../../../src/proxy/sql/statements.ts'
import { bytes, columns, facts, session } from './shop.ts'

const statements = [
  "INSERT INTO orders (name, n) VALUES ('it''s', 1), ('b', 2) ON DUPLICATE KEY UPDATE n = n + 1",
  "INSERT IGNORE INTO shop.orders VALUES (NULL, 'a', 1), (0, \"b\", 2), (7, 'c', 3)",
  'REPLACE `lines` SET id = DEFAULT, n = LAST_INSERT_ID() /* c */ RETURNING id',
  'INSERT lines (id, n) VALUES (NULL, LAST_INSERT_ID()), (?, @@identity) -- x\n',
  'INSERT INTO `odd ``name` () VALUES ()',
  'INSERT INTO orders (name) SELECT name FROM other',
  "CREATE PROCEDURE p() BEGIN INSERT INTO orders VALUES (1); END; INSERT INTO orders SET name = 'x'",
  'SET @a = 1; USE shop; INSERT INTO orders(n)VALUE(?),(?)',
  "/*!40101 SET NAMES utf8 */; /*!50000 INSERT */ INTO orders VALUES ('\\'')",
  'BEGIN NOT ATOMIC INSERT INTO orders (n) VALUES (1); END',
]
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
  '\xa0',
  '\0',
  '.',
  'LAST_INSERT_ID()',
  'ON DUPLICATE KEY UPDATE ',
  ' AS new(a)',
]

const mutated = fc
  .tuple(
    fc.constantFrom(...statements),
    fc.array(fc.tuple(fc.nat(), fc.nat(6), fc.constantFrom('', ...fragments)), { maxLength: 4 }),
  )
  .map(([statement, changes]) =>
    changes.reduce((text, [at, length, fragment]) => {
      const start = at % (text.length + 1)
      return text.slice(0, start) + fragment + text.slice(start + length)
    }, statement),
  )
const noise = fc
  .array(
    fc.oneof(
      fc.constantFrom(...fragments, ' '),
      fc.string({
        unit: fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
        maxLength: 4,
      }),
    ),
  )
  .map((parts) => parts.join(''))
const sessions = fc
  .record({
    charset: fc.constantFrom('utf8mb4', 'latin1', 'gbk', 'sjis', 'gb18030', 'cp850', 'unheard'),
    sqlMode: fc.constantFrom(
      '',
      'STRICT_ALL_TABLES',
      'ANSI_QUOTES',
      'NO_BACKSLASH_ESCAPES',
      'ANSI_QUOTES,NO_AUTO_VALUE_ON_ZERO',
    ),
    serverVersion: fc.constantFrom('10.11.6-MariaDB', '8.4.2'),
  })
  .map(session)

function readAs(text: string, inSession: SqlSession, prepared: boolean, of = columns) {
  return readStatements(bytes(text), {
    session: inSession,
    columns: of,
    prepared,
    factsOf: () => facts,
    isShadowed: () => false,
  })
}

/** The texts of the tokens that mean something. */
function tokens(sql: Buffer, inSession: SqlSession): string[] {
  const lexer = new Lexer(sql, inSession, { executable: 'read', parameters: true })
  const found: string[] = []
  while (lexer.solid() !== token.end) {
    found.push(Buffer.from(sql.subarray(lexer.start, lexer.end)).toString('latin1'))
    if (lexer.kind === token.broken) break
  }
  return found
}

function parametersIn(sql: Buffer, inSession: SqlSession): number {
  const lexer = new Lexer(sql, inSession, { executable: 'read', parameters: true })
  let kind = lexer.solid()
  while (kind !== token.end && kind !== token.broken) kind = lexer.solid()
  return lexer.parametersAt.length
}

/** Whether all of `part` is in `whole`, in order. */
function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0
  for (const each of whole) if (each === part[at]) at++
  return at === part.length
}

const runs = { numRuns: 3000 }

describe('any text', () => {
  for (const [name, texts] of [
    ['mutated', mutated],
    ['random', noise],
  ] as const)
    it(`that is ${name} is read without a fault, and only values of ids are replaced in it`, () => {
      fc.assert(
        fc.property(texts, sessions, (text, inSession) => {
          sessionChange(bytes(text), inSession)
          columns.mayMatter(bytes(text))
          const reading = readAs(text, inSession, false)
          if (reading.kind !== 'fill') return
          assert.ok(columns.mayMatter(bytes(text)), 'the cheap test lets it pass')
          const drawn = reading.inserts.map((insert) => ({
            ids: Array.from({ length: idsNeeded(insert) }, (_, index) => `${index + 90_001}`),
            isText: false,
          }))
          const after = fillText(bytes(text), reading.inserts, drawn)
          if (reading.inserts.some(({ readsLastInsertId }) => readsLastInsertId)) return
          const values = new Set(
            reading.inserts.flatMap(({ rows }) =>
              rows.flatMap(({ start, end }) => tokens(bytes(text.slice(start, end)), inSession)),
            ),
          )
          const [before, now] = [tokens(bytes(text), inSession), tokens(after, inSession)]
          const kept = (all: string[]) => all.filter((each) => !values.has(each))
          assert.ok(
            isSubsequence(kept(before), now),
            `${JSON.stringify(text)} became ${JSON.stringify(after.toString('latin1'))}`,
          )
          const again = readAs(after.toString('latin1'), inSession, false)
          assert.ok(
            again.kind !== 'fill' ||
              again.inserts.every(({ rows }) => rows.every(({ state }) => state === 'parameter')) ||
              again.inserts.every((insert) => idsNeeded(insert) === 0),
            'no row lacks an id afterwards',
          )
        }),
        runs,
      )
    })

  it('has the parameters of the client once and in order, and one of its own for each row without an id', () => {
    fc.assert(
      fc.property(mutated, sessions, fc.boolean(), (text, inSession, isText) => {
        const reading = readAs(text, inSession, true)
        if (reading.kind !== 'fill') return
        const insert = reading.inserts[0]!
        const { sql, parameters } = fillPrepared(bytes(text), insert, reading.parametersAt, isText)
        const own = parameters.filter((each) => each >= 0)
        assert.deepEqual(
          own,
          Array.from(reading.parametersAt, (_, index) => index),
        )
        const hidden = new Set(parameters.filter((each) => each < 0))
        assert.equal(hidden.size, idsNeeded(insert))
        assert.equal(parametersIn(sql, inSession), parameters.length)
      }),
      runs,
    )
  })

  it('is never filled in or refused where no table is configured', () => {
    const none = new FilledColumns([{ database: 'other', table: 'unused', column: 'id', generator: 'x' }])
    fc.assert(
      fc.property(fc.oneof(mutated, noise), sessions, (text, inSession) => {
        assert.equal(none.mayMatter(bytes(text)), false)
        assert.notEqual(readAs(text, inSession, false, none).kind, 'fill')
      }),
      runs,
    )
  })
})
