/** Texts of several statements: each is filled up to the first one that cannot be read with certainty. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { filled, type Given, prepared, read } from './shop.ts'

const insert = 'INSERT INTO orders (n) VALUES (1)'
const withId = (id: number) => `INSERT INTO orders (n, \`id\`) VALUES (1, LAST_INSERT_ID(${id}))`
const same = 'as it came'

describe('a text of several statements', () => {
  const cases: readonly (readonly [text: string, expected: string, given?: Given])[] = [
    [`${insert}; ${insert};`, `${withId(1001)}; ${withId(1002)};`],
    [
      `;;SELECT ';' FROM orders;${insert};INSERT INTO lines SET n = 2`,
      `;;SELECT ';' FROM orders;${withId(1001)};INSERT INTO lines SET n = 2, \`id\` = LAST_INSERT_ID(1002)`,
    ],
    [`SET autocommit = 0; BEGIN; ${insert}; COMMIT`, `SET autocommit = 0; BEGIN; ${withId(1001)}; COMMIT`],
    [
      `USE shop; ${insert}; USE \`other\`; ${insert}`,
      `USE shop; ${withId(1001)}; USE \`other\`; ${insert}`,
      { database: null },
    ],
    // What is behind these may be read by other modes, or may not be executed.
    ...[
      'SET NAMES gbk',
      "SET sql_mode = 'ANSI_QUOTES'",
      'CALL p()',
      'EXECUTE s',
      'USE `a` b',
      'SELECT /*! 1 */',
      "SELECT 'open",
      'IF a THEN SELECT 1',
      'BEGIN NOT ATOMIC SELECT 1',
      'CREATE PROCEDURE p() BEGIN SELECT 1',
      'CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW BEGIN SELECT 1',
      'CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN SELECT 1',
      'PREPARE s FROM @a',
      'XA START "a"',
    ].map((between): readonly [string, string] => [
      `${insert}; ${between}; ${insert}`,
      `${withId(1001)}; ${between}; ${insert}`,
    ]),
    // An INSERT that is left as it is ends nothing: it fails, or gives its ids.
    [`INSERT INTO orders (id) SELECT 1; ${insert}`, `INSERT INTO orders (id) SELECT 1; ${withId(1001)}`],
    [`INSERT INTO orders VALUES (1); ${insert}`, `INSERT INTO orders VALUES (1); ${withId(1001)}`],
    [`INSERT INTO orders (id) VALUES (7); ${insert}`, `INSERT INTO orders (id) VALUES (7); ${withId(1001)}`],
    [`INSERT INTO other (n) VALUES (1); ${insert}`, `INSERT INTO other (n) VALUES (1); ${withId(1001)}`],
  ]
  for (const [text, expected, given] of cases) test(text, () => assert.equal(filled(text, given), expected))
})

describe('an INSERT inside of another statement is left as it is', () => {
  for (const text of [
    `EXPLAIN ${insert}`,
    `ANALYZE FORMAT=JSON ${insert}`,
    `SET STATEMENT sql_mode = '' FOR ${insert}`,
    `BEGIN NOT ATOMIC ${insert}; END`,
    `IF 1 THEN ${insert}; END IF`,
    `CREATE PROCEDURE p() ${insert}`,
    `PREPARE s FROM '${insert}'`,
    `/*! ${insert} */`,
    `${insert} /*!40000 , (2) */`,
    `(${insert})`,
  ])
    test(text, () => assert.equal(filled(text), same))
})

describe('an INSERT is left as it is where its bytes may mean something else', () => {
  for (const charset of ['gbk', 'big5', 'sjis', 'cp932', 'gb18030', 'euckr', 'swe7'])
    test(`in ${charset}`, () => assert.equal(filled(insert, { charset }), same))
  test('in the SQL mode ORACLE', () => assert.equal(filled(insert, { sqlMode: 'ANSI_QUOTES,ORACLE' }), same))
})

describe('what a reading says of its text', () => {
  for (const [text, isAlone, keepsSession] of [
    [insert, true, true],
    [`${insert}; `, true, true],
    [`${insert}; SELECT 1`, false, true],
    [`${insert}; SET NAMES gbk`, false, false],
    [`USE shop; ${insert}`, false, false],
  ] as const)
    test(`${text}: ${isAlone ? 'one INSERT' : 'several'}, ${keepsSession ? 'the session stays' : 'the session may change'}`, () => {
      const reading = read(text)
      assert.deepEqual([reading.isAlone, reading.keepsSession], [isAlone, keepsSession])
    })
  test('a text to prepare is one statement', () => {
    assert.deepEqual(prepared(`${insert}; SELECT ?`), [same])
    assert.deepEqual(prepared(`CALL p(); ${insert}`), [same])
  })
})
