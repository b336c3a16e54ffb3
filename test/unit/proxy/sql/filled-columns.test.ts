import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hasCode } from '../../../../src/base/errors.ts'
import { FilledColumns, isQuiet, parseFilledColumn } from '../../../../src/proxy/sql/filled-columns.ts'
import { sessionChange } from '../../../../src/proxy/sql/session-change.ts'
import { bytes, columns, session } from './shop.ts'

const order = parseFilledColumn('shop.orders.id=order')

describe('a filled column', () => {
  it('is read from database.table.column=generator', () => {
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
    it(`is not '${text}'`, () => {
      assert.throws(
        () => parseFilledColumn(text),
        (error) => hasCode(error, 'CONFIG'),
      )
    })

  it('is the only one of its table', () => {
    const other = { ...order, column: 'other' }
    assert.throws(
      () => new FilledColumns([order, other]),
      (error) => hasCode(error, 'CONFIG'),
    )
    assert.throws(
      () => new FilledColumns([order, { ...order, table: 'ORDERS' }], { ignoreCase: true }),
      (error) => hasCode(error, 'CONFIG'),
    )
    assert.ok(new FilledColumns([order, { ...order, table: 'ORDERS' }]))
  })

  it('is found by database and table, with their case unless the server ignores it', () => {
    assert.equal(new FilledColumns([order]).find('shop', 'orders'), order)
    assert.equal(new FilledColumns([order]).find('shop', 'Orders'), undefined)
    assert.equal(new FilledColumns([order]).find('x', 'orders'), undefined)
    assert.equal(new FilledColumns([order], { ignoreCase: true }).find('SHOP', 'Orders'), order)
  })
})

describe('whether a text may matter', () => {
  const big = 'x'.repeat(65_533)
  const mattering = [
    'insert into ORDERS',
    'x; RePlAcE orders',
    'LOAD DATA INTO TABLE `orders`',
    'insert `odd ``name`',
    `insert '${big} orders`,
    `${big}insert orders`,
    `${'x'.repeat(65_532)}orders insert`,
    'SELECT 1; INSERT INTO orders',
    'select/*!; insert orders*/',
    'CREATE TABLE orders SELECT 1',
    '/*! insert orders */',
    '/* a */ /*!insert orders */',
    '/* a * b */ SELECT "insert" FROM orders',
    'INSERT INTO orders (id) VALUES (1)',
    'insert ignore into `orders`(id) values (1)',
    'REPLACE shop . ORDERS SET n = 1',
    'INSERT INTO t /* a */ . orders (id) VALUES (1)',
    'INSERT INTO t VALUES (";"); INSERT INTO orders (n) VALUES (1)',
    'INSERT INTO "t" VALUES ("orders")',
    'INSERT INTO \xa0 orders (n) VALUES (1)',
    'INSERT INTO t\xa0.orders (n) VALUES (1)',
  ]
  for (const text of mattering)
    it(`is so: ${text.slice(0, 40)}`, () => assert.equal(columns.mayMatter(bytes(text)), true))

  const others = [
    '',
    'SELECT * FROM orders',
    'SELECT "insert" FROM orders',
    'UPDATE orders SET inserted = 1;',
    'INSERT INTO t VALUES (1)',
    'CALL orders()',
    'SET @a = (SELECT created FROM orders)',
    '/* load of an order */ SELECT * FROM orders',
    'INSERT INTO t (a) VALUES ("orders")',
    'insert low_priority ignore into shop.`orders_audit` (n) values (row_count());',
    '/* insert an order */\n REPLACE `shop` . `lines_old` SET orders = 1',
    `${big} insert ${big}`,
  ]
  for (const text of others)
    it(`is not so: ${text.slice(0, 40)}`, () => assert.equal(columns.mayMatter(bytes(text)), false))

  it('is so however the name of a table ends, and whatever stands behind it', () => {
    const names = ['asset', 'attr_values', 'value', 'value_set', 'a$set', 'set_']
    const tails = [
      ' SELECT 0, 1',
      ' /* c */ (n) VALUES (1)',
      ' PARTITION (p0) (n) VALUES (1)',
      '\n-- note\n(n) VALUES (1)',
      ' TABLE old',
      '(n) VALUES (1)',
      ' VALUES (1)',
      ' set n = 1',
    ]
    for (const name of names) {
      const own = new FilledColumns([
        { ...order, table: name },
        { ...order, database: name, table: 'orders' },
      ])
      for (const verb of [
        'INSERT',
        'insert ignore',
        'REPLACE low_priority',
        'INSERT INTO',
        'REPLACE delayed into',
      ])
        for (const table of [
          name,
          `\`${name}\``,
          `x.${name}`,
          `x . ${name}`,
          `${name} .orders`,
          `${name}. orders`,
        ])
          for (const tail of tails) {
            const text = `${verb} ${table}${tail}`
            assert.ok(own.mayMatter(bytes(text)), text)
          }
    }
  })

  it('is so for letters that a server which ignores case takes for ASCII', () => {
    const folding = new FilledColumns([{ ...order, table: 'kinds' }], { ignoreCase: true })
    for (const name of ['\u212ainds', 'k\u0130nds', 'KINDS']) {
      assert.ok(folding.mayMatter(Buffer.from(`INSERT INTO ${name} (n) VALUES (1)`)), name)
      assert.ok(folding.find('shop', name), name)
      assert.equal(folding.defined(Buffer.from(`DROP TABLE ${name}`)).length, 1)
    }
  })

  it('is so for texts that are executed, in which the name of a table may be hidden', () => {
    for (const text of [
      "PREPARE s FROM 'INSERT INTO or\\ders (n) VALUES (1)'",
      "select 1; execute immediate concat('INSERT INTO or', 'ders (n) VALUES (1)')",
      "EXECUTE IMMEDIATE x'494e53455254'",
    ])
      assert.ok(columns.mayMatter(bytes(text)), text)
    const plain = [
      'EXECUTE s USING @a',
      "XA PREPARE 'x'",
      'GRANT EXECUTE ON p TO a',
      "PREPARE s FROM 'SELECT ROW_COUNT()'",
    ]
    for (const text of plain) assert.equal(columns.mayMatter(bytes(text)), false, text)
  })

  it('is so for every INSERT if the name of a table has no ASCII characters, which differ between character sets', () => {
    const foreign = new FilledColumns([{ ...order, table: '订单' }])
    assert.equal(foreign.mayMatter(bytes('INSERT INTO x')), true)
    assert.equal(foreign.hasForeignNames, true)
    assert.equal(new FilledColumns([]).mayMatter(bytes('INSERT INTO x')), false)
  })
})

describe('a text whose first word says that nothing comes of it', () => {
  const quiet = [
    'SELECT * FROM orders',
    '/* of a trace */ select "insert" from orders;',
    'Update orders SET created = 1',
    'START TRANSACTION',
    'COMMIT',
    'SHOW CREATE TABLE orders',
  ]
  for (const text of quiet)
    it(`inserts, defines and changes nothing: ${text}`, () => {
      assert.ok(isQuiet(bytes(text)))
      assert.equal(columns.mayMatter(bytes(text)), false)
      assert.deepEqual(columns.defined(bytes(text)), [])
      assert.equal(sessionChange(bytes(text), session()), 'none')
    })

  for (const text of [
    'SELECT 1; SET NAMES gbk',
    '/*!SET NAMES gbk */',
    '/*! */ SELECT 1',
    'USE shop',
    'BEGIN NOT ATOMIC SELECT 1',
    'CALL orders()',
    'SELECTED',
    'INSERT INTO t VALUES (1)',
    '',
  ])
    it(`is none of these: ${text}`, () => assert.equal(isQuiet(bytes(text)), false))
})

describe('what a statement may define', () => {
  const defined = (text: string) => columns.defined(bytes(text)).map(({ table }) => table)
  it('are the filled tables that it names', () => {
    assert.deepEqual(defined('CREATE TEMPORARY TABLE Orders (a INT)'), ['orders'])
    assert.deepEqual(defined('ALTER TABLE t RENAME TO `lines`'), ['lines'])
    assert.deepEqual(defined('INSERT INTO t VALUES (1); DROP TABLE orders, `lines`'), ['orders', 'lines'])
    assert.deepEqual(defined('DROP TABLE `odd ``name`'), ['odd `name'])
    assert.deepEqual(defined('SET STATEMENT a = 1 FOR CREATE TEMPORARY TABLE orders (a INT)'), ['orders'])
    assert.deepEqual(defined(`SELECT 1 /* ${'x'.repeat(70_000)} */; CREATE TEMPORARY TABLE orders (a INT)`), [
      'orders',
    ])
  })

  it('is nothing where it only reads and writes rows', () => {
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
