import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { charsetOf } from '../../../../src/proxy/sql/charsets.ts'
import { canNameColumns, fillPrepared } from '../../../../src/proxy/sql/fill.ts'
import { bytes, filled, type Given, prepared, read } from './shop.ts'

type Case = readonly [statement: string, expected: string, given?: Given]

/** Tests each statement; `=` expects that it stays as it is. */
function table(cases: readonly Case[]): void {
  for (const [statement, expected, given] of cases) {
    const shown = Object.entries(given ?? {}).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    it(
      [`${expected === 'relay' ? 'leaves' : 'reads'} ${JSON.stringify(statement)}`, ...shown].join(', '),
      () => {
        assert.equal(filled(statement, given), expected)
      },
    )
  }
}

const mysql = { serverVersion: '8.4.2' }
const lax = { sqlMode: '' }
const text = { isText: true }

describe('an INSERT that lacks ids', () => {
  table([
    [
      "INSERT INTO orders (name) VALUES ('a')",
      "INSERT INTO orders (name, `id`) VALUES ('a', LAST_INSERT_ID(1001))",
    ],
    [
      "insert orders(name)value('a'),('b')",
      "insert orders(name, `id`)value('a', LAST_INSERT_ID(1001)),('b', 1002)",
    ],
    [
      "INSERT INTO shop.orders (name) VALUES ('a')",
      "INSERT INTO shop.orders (name, `id`) VALUES ('a', LAST_INSERT_ID(1001))",
      { database: 'x' },
    ],
    [
      'INSERT INTO `shop` . `orders` (`name`) VALUES (1)',
      'INSERT INTO `shop` . `orders` (`name`, `id`) VALUES (1, LAST_INSERT_ID(1001))',
    ],
    ['INSERT INTO .orders (n) VALUES (1)', 'INSERT INTO .orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))'],
    [
      'INSERT INTO "orders" ("n") VALUES (1)',
      'INSERT INTO "orders" ("n", `id`) VALUES (1, LAST_INSERT_ID(1001))',
      { sqlMode: 'ANSI_QUOTES' },
    ],
    ['INSERT INTO orders () VALUES ()', 'INSERT INTO orders (`id`) VALUES (LAST_INSERT_ID(1001))'],
    ['INSERT INTO orders VALUES (), ( )', 'INSERT INTO orders (`id`) VALUES (LAST_INSERT_ID(1001)), ( 1002)'],
    ['INSERT orders SET n = 1', 'INSERT orders SET n = 1, `id` = LAST_INSERT_ID(1001)'],
    [
      'INSERT orders SET .orders.id = NULL, n = 1',
      'INSERT orders SET .orders.id = LAST_INSERT_ID(1001), n = 1',
    ],
    [
      'INSERT orders SET n = (SELECT 1), name := DEFAULT',
      'INSERT orders SET n = (SELECT 1), name := DEFAULT, `id` = LAST_INSERT_ID(1001)',
    ],
    [
      'INSERT INTO orders PARTITION (p0, p1) (n) VALUES (1)',
      'INSERT INTO orders PARTITION (p0, p1) (n, `id`) VALUES (1, LAST_INSERT_ID(1001))',
    ],
    [
      'INSERT LOW_PRIORITY IGNORE INTO orders (n) VALUES (1)',
      'INSERT LOW_PRIORITY IGNORE INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))',
    ],
    [
      'INSERT HIGH_PRIORITY orders (n) VALUES (1)',
      'INSERT HIGH_PRIORITY orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))',
    ],
    [
      'INSERT DELAYED orders (n) VALUES (1)',
      'INSERT DELAYED orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))',
    ],
    ['REPLACE INTO orders (n) VALUES (1)', 'REPLACE INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))'],
    [
      'INSERT INTO orders (n) VALUES ROW(1), ROW(2)',
      'INSERT INTO orders (n, `id`) VALUES ROW(1, LAST_INSERT_ID(1001)), ROW(2, 1002)',
      mysql,
    ],
    [
      'INSERT INTO orders (n) VALUES (1) RETURNING id, n',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) RETURNING id, n',
    ],
    ['INSERT INTO orders (n) VALUES ((1 + (2)), f(3, 4))', '1136'],
    [
      'INSERT INTO orders (n, m) VALUES ((1 + (2)), f(3, 4))',
      'INSERT INTO orders (n, m, `id`) VALUES ((1 + (2)), f(3, 4), LAST_INSERT_ID(1001))',
    ],
    [
      "INSERT INTO orders (name) VALUES ('),('), (');')",
      "INSERT INTO orders (name, `id`) VALUES ('),(', LAST_INSERT_ID(1001)), (');', 1002)",
    ],
    [
      "INSERT INTO orders (name) VALUES ('it''s \\' (')",
      "INSERT INTO orders (name, `id`) VALUES ('it''s \\' (', LAST_INSERT_ID(1001))",
    ],
    [
      "INSERT INTO orders (name) VALUES ('\\'), ('b')",
      "INSERT INTO orders (name, `id`) VALUES ('\\', LAST_INSERT_ID(1001)), ('b', 1002)",
      { sqlMode: 'NO_BACKSLASH_ESCAPES' },
    ],
    [
      "INSERT INTO orders (name) VALUES ('\xbf\\'), ('b')",
      "INSERT INTO orders (name, `id`) VALUES ('\xbf\\', LAST_INSERT_ID(1001)), ('b', 1002)",
      { charset: 'gbk' },
    ],
    ["INSERT INTO orders (name) VALUES (_latin1'\xe9', N'a' 'b', x'41', 0x42)", '1136'],
    [
      "INSERT INTO orders (n, name) VALUES (_latin1'\xe9', N'a' 'b')",
      "INSERT INTO orders (n, name, `id`) VALUES (_latin1'\xe9', N'a' 'b', LAST_INSERT_ID(1001))",
    ],
    [
      'INSERT INTO `odd ``name` (n) VALUES (1)',
      'INSERT INTO `odd ``name` (n, `the id`) VALUES (1, LAST_INSERT_ID(1001))',
    ],
    [
      '/* a */ INSERT /* b */ INTO -- c\n orders # d\n (n /* e */) VALUES (1 -- f\n) -- g',
      '/* a */ INSERT /* b */ INTO -- c\n orders # d\n (n /* e */, `id`) VALUES (1 -- f\n, LAST_INSERT_ID(1001)) -- g',
    ],
    [
      "INSERT orders SET name = 'x'ON DUPLICATE KEY UPDATE n = 1",
      "INSERT orders SET name = 'x', `id` = LAST_INSERT_ID(1001)ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = 1",
    ],
  ])
})

describe('an INSERT that names the id', () => {
  table([
    [
      "INSERT INTO orders (id, name) VALUES (NULL, 'a'), (7, 'b'), (0, 'c')",
      "INSERT INTO orders (id, name) VALUES (LAST_INSERT_ID(1001), 'a'), (7, 'b'), (1002, 'c')",
    ],
    [
      "INSERT INTO orders (name, `ID`) VALUES ('a', DEFAULT)",
      "INSERT INTO orders (name, `ID`) VALUES ('a', LAST_INSERT_ID(1001))",
    ],
    [
      'INSERT INTO orders (orders.id) VALUES (NULL)',
      'INSERT INTO orders (orders.id) VALUES (LAST_INSERT_ID(1001))',
    ],
    [
      'INSERT INTO orders (shop . orders . id) VALUES (DEFAULT(id))',
      'INSERT INTO orders (shop . orders . id) VALUES (LAST_INSERT_ID(1001))',
    ],
    ["INSERT INTO orders VALUES (NULL, 'a', 1)", "INSERT INTO orders VALUES (LAST_INSERT_ID(1001), 'a', 1)"],
    ['INSERT orders SET orders.id = 1, n = 2', 'relay'],
    ['INSERT orders SET id=NULL', 'INSERT orders SET id=LAST_INSERT_ID(1001)'],
    ['INSERT orders SET id=0, n=1', 'INSERT orders SET id=LAST_INSERT_ID(1001), n=1'],
    ['INSERT INTO orders (id) VALUES (5), (-1), (TRUE), (0x1)', 'relay'],
    [
      'INSERT INTO orders (id) VALUES (5), (0), (NULL)',
      'INSERT INTO orders (id) VALUES (5), (LAST_INSERT_ID(1001)), (1002)',
    ],
  ])

  // Each was tried on MariaDB 10.11 with AUTO_INCREMENT; MySQL's manual says the same of all but x'30'.
  const asking = [
    '0',
    '00',
    '0.0',
    '.0',
    '0.',
    '0e5',
    '0.4',
    '4e-1',
    '5e-1',
    '50e-2',
    '-5e-1',
    '0.49999999999999999999',
    '1e-400',
    "'4.99e-1'",
    '-0',
    '- 0',
    '+0',
    '-0.4',
    '(0)',
    '((NULL))',
    'null',
    '\\N',
    'FALSE',
    '0x0',
    '0x00',
    "b'0'",
    "b''",
    '0b0',
    "'0'",
    '"0"',
    "' 0'",
    "'0 '",
    "'0.0'",
    "'-0'",
    "'0.4'",
    "'\\t0'",
    "'0\\n'",
    "N'0'",
    "_utf8mb4'0'",
    "'' '0'",
    "x'30'",
    'DEFAULT',
    'default(id)',
    'DEFAULT ( orders.`ID` )',
    'IGNORE',
    '/*x*/ NULL /*y*/',
  ]
  for (const value of asking)
    it(`gives an id for ${value}`, () => {
      const before = `INSERT INTO orders (n, id) VALUES (1,${value})`
      assert.equal(
        filled(before),
        before.replace(
          /(?<=VALUES \(1,)(.*)(?=\)$)/,
          value.startsWith('/*x') ? '/*x*/ LAST_INSERT_ID(1001) /*y*/' : 'LAST_INSERT_ID(1001)',
        ),
      )
    })

  const staying = [
    '1',
    '0.5',
    '-0.5',
    '5.1e-1',
    "'5e-1'",
    "'0.05e1'",
    "'-50e-2'",
    '1e0',
    "'1'",
    "'0.5'",
    "'1abc'",
    'TRUE',
    '0x30',
    "b'1'",
    "'00001'",
    '18446744073709551615',
    "''",
    "'abc'",
    "'0abc'",
    "x'00'",
  ]
  for (const value of staying)
    it(`keeps ${value} on a strict server`, () => {
      assert.equal(filled(`INSERT INTO orders (id) VALUES (${value})`), 'relay')
    })

  const unclear = ["''", "'abc'", "'0abc'", "'.4x'", "'-'", "x'00'", "x''"]
  for (const value of unclear)
    it(`takes ${value} for 0 in an integer column where the server is not strict`, () => {
      const before = `INSERT INTO orders (id) VALUES (${value})`
      const after = 'INSERT INTO orders (id) VALUES (LAST_INSERT_ID(1001))'
      assert.equal(filled(before, lax), after)
      assert.equal(
        filled(before.replace('INSERT', 'INSERT IGNORE')),
        after.replace('INSERT', 'INSERT IGNORE'),
      )
      assert.equal(filled(before, { ...lax, facts: { columns: ['id'], isText: true } }), 'relay')
      assert.equal(filled(before, { ...lax, facts: undefined }), 'ask')
    })

  const expressions = [
    '1 + 0',
    'UUID_SHORT()',
    '(SELECT 1)',
    '@a',
    'n',
    'NULL + 1',
    '-(-0)',
    "'a' COLLATE utf8mb4_bin",
    '(DEFAULT)',
    'DEFAULT(n)',
    'LAST_INSERT_ID(5)',
    'NOT 0',
    "DATE '2020-01-01'",
    'NULLIF(0, 0)',
    '!0',
    // A byte that is a space in latin1.
    "'\xa00'",
    "'0' '\xa0'",
    "_latin1 '0\xa0\xa0'",
    "x'A030'",
  ]
  for (const value of expressions)
    it(`refuses ${value}, which may be NULL or 0`, () => {
      assert.equal(filled(`INSERT INTO orders (id) VALUES (${value})`), '1235')
      assert.equal(filled(`INSERT INTO orders SET id = ${value}`), '1235')
    })

  table([
    ['INSERT INTO orders (id) VALUES (0)', 'relay', { sqlMode: 'NO_AUTO_VALUE_ON_ZERO' }],
    [
      'INSERT INTO orders (id) VALUES (NULL), (0)',
      'INSERT INTO orders (id) VALUES (LAST_INSERT_ID(1001)), (0)',
      { sqlMode: 'NO_AUTO_VALUE_ON_ZERO' },
    ],
    [
      'INSERT INTO orders (id) VALUES (DEFAULT), (DEFAULT(id))',
      'relay',
      { sqlMode: 'NO_AUTO_VALUE_ON_ZERO' },
    ],
    [
      'INSERT INTO orders (id) VALUES (DEFAULT)',
      'INSERT INTO orders (id) VALUES (LAST_INSERT_ID(1001))',
      { ...mysql, sqlMode: 'NO_AUTO_VALUE_ON_ZERO' },
    ],
    [
      "INSERT INTO orders (id) VALUES ('')",
      'INSERT INTO orders (id) VALUES (LAST_INSERT_ID(1001))',
      { sqlMode: 'EMPTY_STRING_IS_NULL' },
    ],
    ["INSERT INTO orders (id) VALUES (x'30')", 'relay', mysql],
    [
      "INSERT INTO orders (id) VALUES (x'00')",
      'INSERT INTO orders (id) VALUES (LAST_INSERT_ID(1001))',
      mysql,
    ],
    ['INSERT INTO orders (id) VALUES (\\N)', '1235', mysql],
    ['INSERT INTO orders (id) VALUES (IGNORE)', '1235', mysql],
    ['INSERT INTO orders (id, name, id) VALUES (1, 2, 3)', '1110'],
    ['INSERT INTO orders SET id = 1, ID = 2', '1110'],
  ])
})

describe('an INSERT without a list of columns', () => {
  table([
    [
      "INSERT INTO orders VALUES ('a', NULL)",
      "INSERT INTO orders VALUES ('a', LAST_INSERT_ID(1001))",
      { facts: { columns: ['name', 'Id'], isText: false } },
    ],
    ['INSERT INTO orders VALUES (1)', 'ask', { facts: undefined }],
    [
      'INSERT INTO orders VALUES ()',
      'INSERT INTO orders (`id`) VALUES (LAST_INSERT_ID(1001))',
      { facts: undefined },
    ],
    ['INSERT INTO orders VALUES (1), (2)', '1235', { facts: { columns: ['name'], isText: false } }],
    ['INSERT INTO orders VALUES (NULL, 2)', '1136'],
    ['INSERT INTO orders VALUES (NULL, 2, 3), (NULL, 2)', '1136'],
    ['INSERT INTO orders VALUES (), (1, 2, 3)', '1136'],
    ['INSERT INTO orders VALUES (1, 2, 3), ()', '1136'],
  ])
})

describe('an INSERT into a table whose name a temporary table may have', () => {
  const isShadowed = true
  table([
    ['INSERT INTO orders (n) VALUES (1)', 'ask', { isShadowed, facts: undefined }],
    ['INSERT INTO orders (n) VALUES (1)', 'relay', { isShadowed, facts: { columns: ['n', 'ids'] } }],
    ['INSERT INTO orders (n) VALUES (1)', '1235', { prepared: true, isShadowed, facts: { columns: ['n'] } }],
    [
      'INSERT INTO orders (n) VALUES (1)',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))',
      { isShadowed, facts: { columns: ['n', 'ID'] } },
    ],
  ])
})

describe('an INSERT behind SET insert_id', () => {
  table([
    ['INSERT INTO orders (n) VALUES (1)', '1235', { forcedId: true }],
    ['INSERT INTO orders (id) VALUES (1)', 'relay', { forcedId: true }],
    ['SET insert_id = 5; INSERT INTO orders (n) VALUES (1)', '1235'],
  ])
})

describe('the end of a text', () => {
  table([
    [
      'INSERT INTO orders (n) VALUES (1)\0',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))\0',
    ],
    [
      'INSERT INTO orders (n) VALUES (1)\0 ;\n; ',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))\0 ;\n; ',
    ],
    [
      'INSERT INTO orders (n) VALUES (1) --; ',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) --; ',
    ],
    ['INSERT INTO orders (n) VALUES (1)\0\0', '1064'],
    ['INSERT INTO orders (n) VALUES (1)\0, (2)', '1064'],
  ])
})

describe('the insert id', () => {
  table([
    [
      'INSERT INTO orders (n) VALUES (1) ON DUPLICATE KEY UPDATE n = n + 1',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = n + 1',
    ],
    [
      'INSERT INTO shop.`orders` (n) VALUES (1) ON DUPLICATE KEY UPDATE/**/n=1',
      'INSERT INTO shop.`orders` (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) ON DUPLICATE KEY UPDATE `orders`.`id` = LAST_INSERT_ID(`orders`.`id`),/**/n=1',
    ],
    [
      'INSERT INTO orders (n) VALUES (1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = 2',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = 2',
    ],
    [
      'INSERT INTO orders (n) VALUES (1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n)',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(n)',
    ],
    [
      'INSERT INTO orders (n) VALUES (1) ON DUPLICATE KEY UPDATE id = id',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) ON DUPLICATE KEY UPDATE id = id, orders.`id` = LAST_INSERT_ID(orders.`id`)',
    ],
    [
      'INSERT INTO orders (n) VALUES (1) ON DUPLICATE KEY UPDATE orders.id = 7, n = 2 /* x */ RETURNING id',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) ON DUPLICATE KEY UPDATE orders.id = 7, n = 2, orders.`id` = LAST_INSERT_ID(orders.`id`) /* x */ RETURNING id',
    ],
    ['INSERT INTO orders (id, n) VALUES (5, 1) ON DUPLICATE KEY UPDATE n = 2', 'relay'],
    [
      'INSERT INTO orders (n) VALUES (1) AS new ON DUPLICATE KEY UPDATE n = new.n',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) AS new ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = new.n',
      mysql,
    ],
    [
      'INSERT INTO orders (n) VALUES (1) AS new(m) ON DUPLICATE KEY UPDATE n = m',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) AS new(m, _fahao_id) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = m',
      mysql,
    ],
    [
      'INSERT INTO orders SET n = 1 AS new(m) ON DUPLICATE KEY UPDATE n = m',
      'INSERT INTO orders SET n = 1, `id` = LAST_INSERT_ID(1001) AS new(m, _fahao_id) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = m',
      mysql,
    ],
    [
      'INSERT INTO orders (n) VALUES (1) ON DUPLICATE KEY UPDATE n = 1 RETURNING id',
      'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001)) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = 1 RETURNING id',
    ],
    // LAST_INSERT_ID() is the id of an earlier statement in every row.
    [
      'INSERT INTO lines (n) VALUES (LAST_INSERT_ID())',
      'INSERT INTO lines (n, `id`) VALUES (LAST_INSERT_ID(), LAST_INSERT_ID(1001))',
    ],
    [
      'INSERT INTO lines (id, n) VALUES (NULL, LAST_INSERT_ID())',
      'INSERT INTO lines (n, id) VALUES (LAST_INSERT_ID(), LAST_INSERT_ID(1001))',
    ],
    [
      'INSERT INTO lines (n) VALUES (LAST_INSERT_ID()), (last_insert_id( ))',
      'INSERT INTO lines (n, `id`) VALUES (LAST_INSERT_ID(), 1001), (last_insert_id( ), IF(LAST_INSERT_ID(1001) >= 0, 1002, NULL))',
    ],
    [
      'INSERT INTO lines (id, n) VALUES (NULL, @@last_insert_id), (7, @@identity)',
      'INSERT INTO lines (n, id) VALUES (@@last_insert_id, 1001), (@@identity, IF(LAST_INSERT_ID(1001) >= 0, 7, NULL))',
    ],
    [
      "INSERT INTO lines VALUES (NULL, '\xe9', LAST_INSERT_ID())",
      "INSERT INTO lines (`name`, `n`, `id`) VALUES ('\xe9', LAST_INSERT_ID(), LAST_INSERT_ID(1001))",
    ],
    [
      'INSERT INTO lines SET id = NULL, n = LAST_INSERT_ID()',
      'INSERT INTO lines SET n = LAST_INSERT_ID(), `id` = LAST_INSERT_ID(1001)',
    ],
    [
      'INSERT INTO lines SET n = LAST_INSERT_ID(), id = NULL',
      'INSERT INTO lines SET n = LAST_INSERT_ID(), id = LAST_INSERT_ID(1001)',
    ],
    ['INSERT INTO lines (id, n) VALUES (7, LAST_INSERT_ID())', 'relay'],
    ...[
      '@@`identity`',
      '@@session.`last_insert_id`',
      '@@`session`.`Identity`',
      '@@session . last_insert_id',
      '@@LOCAL/* c */./* c */identity',
    ].flatMap((variable): (readonly [string, string])[] => [
      [
        `INSERT INTO lines (id, n) VALUES (NULL, 1 + ${variable})`,
        `INSERT INTO lines (n, id) VALUES (1 + ${variable}, LAST_INSERT_ID(1001))`,
      ],
      [`INSERT INTO lines (n) VALUES (1) RETURNING id, ${variable}`, '1235'],
    ]),
    [
      'INSERT INTO lines (id, n) VALUES (NULL, @@wait_timeout + @identity + @@sql_mode.`x` + identity)',
      'INSERT INTO lines (id, n) VALUES (LAST_INSERT_ID(1001), @@wait_timeout + @identity + @@sql_mode.`x` + identity)',
    ],
    ['INSERT INTO lines (n) VALUES (1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID(LAST_INSERT_ID())', '1235'],
    [
      'INSERT INTO lines VALUES (NULL, LAST_INSERT_ID(), 1)',
      '1235',
      { facts: { columns: ['id', '\u540d', 'n'], isText: false } },
    ],
    ['INSERT INTO lines (id, n) VALUES (NULL, LAST_INSERT_ID()) AS new(a, b)', '1235', mysql],
    [
      'INSERT INTO lines (n) VALUES (LAST_INSERT_ID()) ON DUPLICATE KEY UPDATE n = 2',
      'INSERT INTO lines (n, `id`) VALUES (LAST_INSERT_ID(), LAST_INSERT_ID(1001)) ON DUPLICATE KEY UPDATE lines.`id` = LAST_INSERT_ID(lines.`id`), n = 2',
    ],
    ['INSERT INTO lines (n) VALUES (1), (LAST_INSERT_ID()) ON DUPLICATE KEY UPDATE n = 2', '1235'],
    ['INSERT INTO lines (n) VALUES (LAST_INSERT_ID(5))', '1235'],
    ['INSERT INTO lines (n) VALUES (1) ON DUPLICATE KEY UPDATE n = LAST_INSERT_ID()', '1235'],
    ['INSERT INTO lines (n) VALUES (1) RETURNING `LAST_INSERT_ID`()', '1235'],
    // Formatted ids have no insert id.
    [
      'INSERT INTO orders (n) VALUES (1), (2)',
      "INSERT INTO orders (n, `id`) VALUES (1, 'sms_1001'), (2, 'sms_1002')",
      text,
    ],
    [
      'INSERT INTO orders (n) VALUES (1) ON DUPLICATE KEY UPDATE n = 1',
      "INSERT INTO orders (n, `id`) VALUES (1, 'sms_1001') ON DUPLICATE KEY UPDATE n = 1",
      text,
    ],
    [
      'INSERT INTO lines (id, n) VALUES (NULL, LAST_INSERT_ID())',
      "INSERT INTO lines (id, n) VALUES ('sms_1001', LAST_INSERT_ID())",
      text,
    ],
  ])
})

describe('a prepared INSERT', () => {
  const cases: readonly (readonly [string, readonly [string, ...number[]], Given?])[] = [
    [
      'INSERT INTO orders (name) VALUES (?)',
      ['INSERT INTO orders (name, `id`) VALUES (?, LAST_INSERT_ID(?))', 0, -1],
    ],
    [
      'INSERT INTO orders (name) VALUES (?), (?)',
      ['INSERT INTO orders (name, `id`) VALUES (?, LAST_INSERT_ID(?)), (?, ?)', 0, -1, 1, -2],
    ],
    [
      'INSERT INTO orders (id, n) VALUES (NULL, ?), (5, ?), (0, ?)',
      ['INSERT INTO orders (id, n) VALUES (LAST_INSERT_ID(?), ?), (5, ?), (?, ?)', -1, 0, 1, -2, 2],
    ],
    ['INSERT INTO orders (id, n) VALUES (?, ?)', ['INSERT INTO orders (id, n) VALUES (?, ?)', 0, 1]],
    [
      'INSERT INTO orders (n, id) VALUES (?, (?)), (?, DEFAULT)',
      ['INSERT INTO orders (n, id) VALUES (?, (?)), (?, ?)', 0, 1, 2, -2],
    ],
    ['INSERT INTO orders SET n = ?', ['INSERT INTO orders SET n = ?, `id` = LAST_INSERT_ID(?)', 0, -1]],
    ['INSERT INTO orders SET n = ?, id = ?', ['INSERT INTO orders SET n = ?, id = ?', 0, 1]],
    [
      'INSERT INTO orders (n) VALUES (?) ON DUPLICATE KEY UPDATE n = ?',
      [
        'INSERT INTO orders (n, `id`) VALUES (?, LAST_INSERT_ID(?)) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = ?',
        0,
        -1,
        1,
      ],
    ],
    [
      'INSERT INTO orders (id, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = 1',
      [
        'INSERT INTO orders (id, n) VALUES (IFNULL(?, LAST_INSERT_ID(?)), ?) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = 1',
        0,
        -1,
        1,
      ],
    ],
    [
      'INSERT INTO orders SET n = ?, id =(?) ON DUPLICATE KEY UPDATE n = ?',
      [
        'INSERT INTO orders SET n = ?, id =IFNULL((?), LAST_INSERT_ID(?)) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = ?',
        0,
        1,
        -1,
        2,
      ],
    ],
    [
      'INSERT INTO orders (id) VALUES (?), (7), (?) ON DUPLICATE KEY UPDATE n = ?',
      [
        'INSERT INTO orders (id) VALUES (IFNULL(?, LAST_INSERT_ID(?))), (7), (IFNULL(?, LAST_INSERT_ID(?))) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = ?',
        0,
        -1,
        1,
        -2,
        2,
      ],
    ],
    [
      'INSERT INTO orders (id) VALUES (?), (NULL) ON DUPLICATE KEY UPDATE n = 1',
      [
        'INSERT INTO orders (id) VALUES (?), (?) ON DUPLICATE KEY UPDATE orders.`id` = LAST_INSERT_ID(orders.`id`), n = 1',
        0,
        -2,
      ],
    ],
    [
      'INSERT INTO orders (id) VALUES (?) ON DUPLICATE KEY UPDATE n = 1',
      ['INSERT INTO orders (id) VALUES (?) ON DUPLICATE KEY UPDATE n = 1', 0],
      text,
    ],
    [
      'INSERT INTO lines (id, n) VALUES (NULL, LAST_INSERT_ID() + ?), (NULL, ?)',
      [
        'INSERT INTO lines (n, id) VALUES (LAST_INSERT_ID() + ?, ?), (?, IF(LAST_INSERT_ID(?) >= 0, ?, NULL))',
        0,
        -1,
        1,
        -1,
        -2,
      ],
    ],
    // The columns have their order of now, also when the table is altered.
    [
      'INSERT INTO orders VALUES (NULL, ?, 1)',
      ['INSERT INTO orders (`id`, `name`, `n`) VALUES (LAST_INSERT_ID(?), ?, 1)', -1, 0],
    ],
    [
      'REPLACE orders VALUES (?, ?, 1), (7, ?, 1)',
      ['REPLACE orders (`id`, `name`, `n`) VALUES (?, ?, 1), (7, ?, 1)', 0, 1, 2],
    ],
    ['INSERT orders VALUES (7, ?, 1)', ['INSERT orders (`id`, `name`, `n`) VALUES (7, ?, 1)', 0]],
    ['INSERT INTO orders VALUES ()', ['INSERT INTO orders (`id`) VALUES (LAST_INSERT_ID(?))', -1]],
    ['INSERT INTO orders VALUES (?, LAST_INSERT_ID(), 1)', ['1235']],
    [
      'INSERT INTO orders VALUES (NULL, LAST_INSERT_ID(), ?)',
      ['INSERT INTO orders (`name`, `n`, `id`) VALUES (LAST_INSERT_ID(), ?, LAST_INSERT_ID(?))', 0, -1],
    ],
    ['INSERT INTO lines (id, n) VALUES (?, LAST_INSERT_ID())', ['1235']],
    ['INSERT INTO orders (id, n) VALUES (? + 0, 1)', ['1235']],
    ['INSERT INTO orders SET id=0/**/', ['INSERT INTO orders SET id=LAST_INSERT_ID(?)/**/', -1]],
    [
      "INSERT orders SET id='0'ON DUPLICATE KEY UPDATE n=1",
      ['INSERT orders SET id=? ON DUPLICATE KEY UPDATE n=1', -1],
      text,
    ],
    [
      'INSERT INTO orders (n) VALUES (?), (?)',
      ['INSERT INTO orders (n, `id`) VALUES (?, ?), (?, ?)', 0, -1, 1, -2],
      text,
    ],
    [
      'INSERT INTO orders (n) VALUES (1);',
      ['INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(?));', -1],
    ],
    ['INSERT INTO orders (n) VALUES (1); SELECT 1', ['1064']],
    ['INSERT INTO lines SET id = NULL, name = LAST_INSERT_ID(), n = ?RETURNING id', ['1064']],
    ['INSERT INTO other (n) VALUES (?)', ['relay']],
    ['INSERT INTO orders (n) VALUES (:n)', ['1235'], { sqlMode: 'ORACLE' }],
    ['SELECT ?', ['relay']],
  ]
  for (const [statement, expected, given] of cases)
    it(`has parameters of its own for ids in ${statement}${given?.isText ? ', of texts' : ''}`, () => {
      assert.deepEqual(prepared(statement, given), expected)
    })

  it('names columns only in a character set that has them', () => {
    const columns = ['id', '\u540d', 'n']
    const reading = read('INSERT INTO orders VALUES (NULL, ?, 1)', { prepared: true, facts: { columns } })
    assert.ok(reading.kind === 'fill')
    const [insert] = reading.inserts
    assert.equal(canNameColumns(insert!, charsetOf('latin1')), false)
    assert.equal(canNameColumns(insert!, charsetOf('utf8mb4')), true)
    const { sql } = fillPrepared(bytes('INSERT INTO orders VALUES (NULL, ?, 1)'), insert!, [], false)
    assert.match(sql.toString(), /\(`id`, `\u540d`, `n`\)/)
  })
})
