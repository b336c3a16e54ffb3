import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FilledColumns, parseFilledColumn } from '../../../../src/proxy/sql/configured-columns.ts'
import { isSingle } from '../../../../src/proxy/sql/verbs.ts'
import { bytes, columns } from './shop.ts'

const order = parseFilledColumn('shop.orders.id=order')

describe('a filled column', () => {
  test('is read from database.table.column=generator', () => {
    assert.deepEqual(order, { database: 'shop', table: 'orders', column: 'id', generator: 'order' })
    assert.deepEqual(parseFilledColumn('`a.b`.`c``=d`.é=x.y:z'), {
      database: 'a.b',
      table: 'c`=d',
      column: 'é',
      generator: 'x.y:z',
    })
  })

  for (const text of [
    '',
    'orders.id=order',
    'shop.orders.id',
    'shop.orders.id=',
    'a.b.c.d=x',
    'a.`b.c=x',
    'a. b.c=x',
    'a.b.c=x=y',
  ])
    test(`is not '${text}'`, () => {
      assert.throws(() => parseFilledColumn(text), { code: 'CONFIG' })
    })

  test('is the only one of its table', () => {
    const other = { ...order, column: 'other' }
    assert.throws(() => new FilledColumns([order, other], false), { code: 'CONFIG' })
    assert.throws(() => new FilledColumns([order, { ...order, table: 'ORDERS' }], true), { code: 'CONFIG' })
    assert.ok(new FilledColumns([order, { ...order, table: 'ORDERS' }], false))
  })

  test('is found by database and table, with their case unless the server ignores it', () => {
    assert.equal(new FilledColumns([order], false).find('shop', 'orders'), order)
    assert.equal(new FilledColumns([order], false).find('shop', 'Orders'), undefined)
    assert.equal(new FilledColumns([order], false).find('x', 'orders'), undefined)
    assert.equal(new FilledColumns([order], true).find('SHOP', 'Orders'), order)
  })
})

describe('whether a text may be filled in', () => {
  for (const text of [
    'INSERT INTO orders (id) VALUES (1)',
    'insert ignore into `ORDERS`(id) values (1)',
    `/* ${'a trace '.repeat(80)} */ -- of\n# it\nINSERT INTO orders (n) VALUES (1)`,
    '/* a trace */ REPLACE shop . orders SET n = 1',
    'SELECT 1; INSERT INTO orders (n) VALUES (1)',
    'INSERT INTO t VALUES (";"); INSERT INTO orders (n) VALUES (1)',
    'insert `odd ``name` VALUES ()',
  ])
    test(`is so: ${text}`, () => assert.equal(columns.effectsOf(bytes(text)).mayInsert, true))
  for (const text of [
    '',
    'SELECT * FROM orders',
    'UPDATE orders SET inserted = 1;',
    'INSERT INTO t VALUES (1)',
    'LOAD DATA INFILE "x" INTO TABLE orders',
    'CALL orders()',
  ])
    test(`is not so: ${text}`, () => assert.equal(columns.effectsOf(bytes(text)).mayInsert, false))
})

describe('a statement that leaves the session as it is', () => {
  for (const text of [
    'SELECT * FROM orders',
    '/* of a trace */ select "insert" from orders;',
    'COMMIT',
    'begin work',
    'SET autocommit = 0',
    "SET SESSION time_zone = '+00:00'",
    'set @id := LAST_INSERT_ID()',
    'SET SESSION TRANSACTION READ ONLY',
    'ALTER TABLE orders ADD x INT',
    'DROP TEMPORARY TABLE IF EXISTS x',
  ])
    test(`is ${text}`, () => assert.ok(columns.effectsOf(bytes(text)).keepsSession))
  for (const text of [
    'SET NAMES gbk',
    "SET autocommit = 0, sql_mode = ''",
    "SET @x = 1, sql_mode = 'ANSI_QUOTES'",
    '/*!SET NAMES gbk */',
    '/*! */ SELECT 1',
    'USE shop',
    'DROP DATABASE shop',
    'BEGIN NOT ATOMIC SELECT 1',
    'SET STATEMENT sql_mode = 0 FOR SELECT 1',
    'CALL orders()',
    'SELECTED',
    'SET\xa0autocommit = 1',
  ])
    test(`is not ${text}`, () => assert.equal(columns.effectsOf(bytes(text)).keepsSession, false))
  test('is one statement', () => {
    assert.equal(isSingle(bytes('SELECT 1; SET NAMES gbk')), false)
    assert.equal(isSingle(bytes('SELECT 1;')), true)
  })
})

describe('what a statement may define', () => {
  const defined = (text: string) => columns.effectsOf(bytes(text)).defined.map(({ table }) => table)
  test('are the filled tables that it names', () => {
    assert.deepEqual(defined('CREATE TEMPORARY TABLE Orders (a INT)'), ['orders'])
    assert.deepEqual(defined('ALTER TABLE t RENAME TO `lines`'), ['lines'])
    assert.deepEqual(defined('INSERT INTO t VALUES (1); DROP TABLE orders, `lines`'), ['orders', 'lines'])
    assert.deepEqual(defined('DROP TABLE `odd ``name`'), ['odd `name'])
    const long = `SELECT 1 /* ${'x'.repeat(70_000)} */; DROP TABLE t`
    assert.deepEqual(defined(long), ['orders', 'lines', 'odd `name'], 'to search it would take long')
  })

  test('is nothing where it only reads and writes rows', () => {
    for (const text of [
      'SELECT * FROM orders',
      "INSERT INTO orders (n) VALUES ('drop')",
      'SET @a = (SELECT n FROM orders)',
      'DROP TABLE t',
      'ANALYZE TABLE orders',
    ])
      assert.deepEqual(defined(text), [], text)
  })
})
