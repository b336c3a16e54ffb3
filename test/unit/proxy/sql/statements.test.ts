import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { diagnosticsSlices } from '../../../../src/proxy/sql/diagnostics.ts'
import { fillSlices, fillText } from '../../../../src/proxy/sql/fill.ts'
import { atOnce, type Slices } from '../../../../src/proxy/sql/slices.ts'
import { readingSlices, readStatements } from '../../../../src/proxy/sql/statements.ts'
import { bytes, columns, facts, filled, type Given, read, session } from './shop.ts'

type Case = readonly [statement: string, expected: string, given?: Given]
const insert = 'INSERT INTO orders (n) VALUES (1)'
const insertFilled = 'INSERT INTO orders (n, `id`) VALUES (1, LAST_INSERT_ID(1001))'
const second = insertFilled.replace('1001', '1002')

function table(cases: readonly Case[]): void {
  for (const [statement, expected, given] of cases)
    it(`${/^\d+$/.test(expected) ? 'refuses' : 'reads'} ${JSON.stringify(statement)} ${given ? JSON.stringify(given) : ''}`, () => {
      assert.equal(filled(statement, given), expected)
    })
}

describe('statements that are left as they are', () => {
  table(
    [
      '',
      ';;',
      'SELECT * FROM orders',
      "SELECT INSERT('a', 1, 1, 'b'), REPLACE(name, 'a', 'b') FROM orders",
      `SELECT '${insert}' FROM orders`,
      `/* ${insert} */ SELECT 1`,
      `-- ${insert}\nSELECT 1`,
      'INSERT INTO other (orders) VALUES (NULL)',
      'INSERT INTO x.orders (n) VALUES (1)',
      'INSERT INTO Orders (n) VALUES (1)',
      'INSERT INTO `orders ` (n) VALUES (1)',
      'INSERT INTO other SELECT * FROM orders',
      `EXPLAIN ${insert}`,
      `DESC ${insert}`,
      `CREATE TABLE t (orders INT, inserted INT)`,
      'CREATE TABLE t SELECT * FROM orders',
      'CREATE TABLE x.orders SELECT 1',
      "CREATE TABLE orders (id INT, `select` INT COMMENT 'select') PARTITION BY LIST (id) (PARTITION a VALUES IN (1), PARTITION b VALUES LESS THAN (2))",
      'CREATE TABLE IF NOT EXISTS orders LIKE old',
      'CREATE TEMPORARY TABLE orders SELECT 1 AS id',
      'CREATE OR REPLACE TEMPORARY TABLE orders AS SELECT 1 AS id',
      'CREATE VIEW orders AS SELECT 1 AS id',
      `CREATE TRIGGER x BEFORE INSERT ON orders FOR EACH ROW SET NEW.n = 1`,
      `CREATE PROCEDURE p() ${insert}`,
      `CREATE PROCEDURE p() BEGIN ${insert}; IF a THEN ${insert}; END IF; END`,
      `CREATE DEFINER = 'a'@'b' FUNCTION f() RETURNS INT BEGIN CASE a WHEN 1 THEN ${insert}; END CASE; RETURN CASE WHEN 1 THEN 2 END; END;`,
      `CREATE PROCEDURE p() IF a THEN ${insert}; ${insert}; END IF`,
      `CREATE OR REPLACE PROCEDURE p() l: LOOP ${insert}; LEAVE l; END LOOP l;`,
      `CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN ${insert}; ${insert}; END`,
      `CREATE PROCEDURE p() BEGIN SELECT 1 end; ${insert}; END`,
      `CREATE PROCEDURE p() BEGIN SELECT start, end FROM slots; SET end = 1; ${insert}; END`,
      `CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR 1062, SQLSTATE VALUE '23000', NOT FOUND SET @v = IF(@a, 1, 2); ${insert}; END`,
      `CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SET @e = REPEAT('-', 3); ${insert}; END`,
      `CREATE PROCEDURE p() BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND IF @a THEN ${insert}; END IF; ${insert}; END`,
      'CREATE TABLE orders (id BIGINT, payload JSON) /*!50100 PARTITION BY HASH (id) */',
      'ALTER TABLE orders ADD COLUMN payload JSON /*!80023 INVISIBLE */',
      '/*!50001 DROP VIEW IF EXISTS `orders_payload`*/',
      'UPDATE /*! IGNORE */ orders SET a = REPLACE(a, ";", 2), b = INSERT(a, 1, 1, 2)',
      'WITH x AS (SELECT /*+ MERGE(`y`) */ 1) SELECT replace(n, 1, 2) FROM orders',
      'INSERT INTO other (a) SELECT /*+ QB_NAME(`y`) */ replace(n, ";", 2) FROM orders',
      'INSERT INTO other SELECT /*+ SET_VAR(sort_buffer_size = 1) */ * FROM orders',
      'GRANT INSERT ON orders TO a',
      'LOCK TABLES orders WRITE',
      "LOAD DATA INFILE 'orders' INTO TABLE other",
      'PREPARE s FROM @insert_orders',
      'EXECUTE insert_orders',
      'ANALYZE TABLE orders, load_x',
      'SET @a = (SELECT REPLACE(name, 1, 2) FROM orders)',
      'INSERT INTO',
      'INSERT INTO (SELECT 1) orders',
      '/*!40000 ALTER TABLE `orders` DISABLE KEYS */; SELECT "inser"',
      '/*!50106 CREATE*/ /*!50117 DEFINER=`a`@`b`*/ /*!50106 EVENT e ON SCHEDULE EVERY 1 DAY DO INSERT INTO orders (n) VALUES (1) */ ;',
      '/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50013 SQL SECURITY DEFINER */ /*!50001 VIEW v AS SELECT REPLACE(n, 1, 2) FROM orders */;',
      '/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`b`*/ /*!50003 TRIGGER x BEFORE INSERT ON orders FOR EACH ROW BEGIN INSERT INTO orders (n) VALUES (1); END */',
    ].map((statement) => [statement, 'relay']),
  )
})

describe('forms in which ids cannot be filled in', () => {
  table(
    [
      'INSERT INTO orders SELECT * FROM old',
      'INSERT INTO orders (id, n) SELECT 1, 2',
      'INSERT INTO orders (SELECT 1, 2, 3)',
      'INSERT INTO orders ((SELECT 1, 2, 3))',
      'INSERT INTO orders (n) (SELECT 1)',
      'INSERT INTO orders (n) TABLE old',
      'INSERT INTO orders WITH a AS (SELECT 1) SELECT * FROM a',
      'INSERT INTO orders (n) VALUES (1) UNION SELECT 2',
      'INSERT INTO orders (n) VALUES ROW(1) ORDER BY 1 LIMIT 1',
      "LOAD DATA LOCAL INFILE 'x' IGNORE INTO TABLE shop.orders (n)",
      "LOAD XML INFILE 'x' INTO TABLE orders",
      "LOAD DATA INFILE 'x' REPLACE INTO TABLE orders",
      `SET STATEMENT max_statement_time = 1 FOR ${insert}`,
      `ANALYZE FORMAT=JSON ${insert}`,
      `EXPLAIN ANALYZE ${insert}`,
      `BEGIN NOT ATOMIC ${insert}; END`,
      `IF 1 THEN ${insert}; END IF`,
      `l: LOOP ${insert}; END LOOP`,
      `FOR i IN 1..2 DO ${insert}; END FOR`,
      `PREPARE s FROM '${insert}'`,
      `EXECUTE IMMEDIATE '${insert}'`,
      "PREPARE s FROM 'INSERT INTO or\\ders (n) VALUES (1)'",
      'EXECUTE IMMEDIATE CONCAT(\'INSERT INTO or\', "ders (n) VALUES (1)")',
      `/*!50000 ${insert} */`,
      `/*!50000 SELECT */ ${insert}`,
      `INSERT /*!50000 IGNORE */ INTO orders (n) VALUES (1)`,
      `/*M!100000 ${insert} */`,
      `/*!99999 SELECT '*/ ${insert} -- '`,
      `SET sql_mode = ''; ${insert}`,
      `SET NAMES gbk; ${insert}`,
      `CALL p(); ${insert}`,
      `DROP DATABASE x; ${insert}`,
      `EXECUTE s; ${insert}`,
      `FROBNICATE ${insert}`,
      `CREATE TABLE orders (id INT); ${insert}`,
      'CREATE TABLE orders SELECT 1 AS n',
      'CREATE OR REPLACE TABLE shop.orders AS SELECT 1 AS n',
      'CREATE TABLE IF NOT EXISTS `orders` (id BIGINT NULL, n INT) ENGINE = InnoDB IGNORE (SELECT 1 AS n)',
      'CREATE /* TEMPORARY */ TABLE orders AS VALUES (1)',
      'CREATE TABLE orders TABLE old',
      'CREATE TABLE orders /*!99999 LIKE old; CREATE TABLE t */ SELECT 1 AS n',
      `ALTER TABLE shop.orders ADD x INT; INSERT INTO orders VALUES (NULL, 1, 2)`,
      `CREATE PROCEDURE p() BEGIN IF a THEN SELECT 1; END LOOP; ${insert}; END`,
      `EXECUTE IMMEDIATE N'${insert}'`,
      `EXECUTE IMMEDIATE x'${Buffer.from(insert).toString('hex')}'`,
      `EXECUTE IMMEDIATE 0x${Buffer.from(insert).toString('hex')}`,
      `EXECUTE IMMEDIATE b'${[...Buffer.from(insert)].map((byte) => byte.toString(2).padStart(8, '0')).join('')}'`,
      `CREATE PROCEDURE p() BEGIN ${insert}`,
      `CREATE PACKAGE p AS PROCEDURE a; END; ${insert}`,
      `CREATE FUNCTION f() RETURNS INT LANGUAGE JAVASCRIPT AS $$ /* $$; ${insert} /* */`,
      'INSERT INTO /*!999999 other (n) VALUES (1), */ /*!50000 orders */ (n) VALUES (1)',
      'INSERT INTO /*!50000 /*!50000 orders */ (n) VALUES (2*/**/3)',
      'SET /*!50000 STATEMENT */ max_statement_time = 1 FOR INSERT INTO orders (n) VALUES (1)',
      "EXECUTE /*!50000 IMMEDIATE */ 'INSERT INTO orders (n) VALUES (1)'",
      '/*!99999 CREATE TABLE t (a INT); */ INSERT INTO /*!50000 orders */ (n) VALUES (1)',
      '/*!99999 CREATE */ /*!50000 INSERT INTO orders (n) VALUES (1) */',
      '/*!99999 CREATE */ /*!50000 /*!50000 */ INSERT INTO orders (n) VALUES (1) */',
      '/*!50000 */ CREATE TRIGGER a BEFORE INSERT ON orders FOR EACH ROW SET a = 1',
      'INSERT /*!99999 ( */ /*!50000 INTO orders */ (n) VALUES (1)',
      "/*!99999 SELECT ' */ INSERT INTO /*!50000 orders */ (n) VALUES (1) /* ' */",
      "INSERT /*+ SET_VAR(sql_mode = '') */ INTO orders (n) VALUES (1)",
      "INSERT /*+ X('*/ INTO other') */ INTO orders (n) VALUES (1)",
      "SELECT /*+ QB_NAME(`x */ '`) */ 1; INSERT INTO orders (n) VALUES (1); -- '",
    ].map((statement) => [statement, '1235']),
  )
  table([
    ['INSERT INTO orders (n) VALUES (1', '1064'],
    ["INSERT INTO orders (n) VALUES ('a)", '1064'],
    ['INSERT INTO orders (n) VALUES (1,)', '1064'],
    ['INSERT INTO orders (n) VALUES (,1)', '1064'],
    ['INSERT INTO orders (n,) VALUES (1)', '1064'],
    ['INSERT INTO orders (n) VALUES (1),', '1064'],
    ['INSERT INTO orders (n) VALUES (1) (2)', '1064'],
    ['INSERT INTO orders (n) VALUES (1;2)', '1064'],
    ['INSERT INTO orders (n) VALUES', '1064'],
    ['INSERT INTO orders (orders.*) VALUES (1)', '1064'],
    ['INSERT INTO orders', '1064'],
    ['INSERT INTO orders SET', '1064'],
    ['INSERT INTO orders SET n', '1064'],
    ['INSERT INTO orders SET n : = 1', '1064'],
    ['INSERT INTO orders (n) VALUES (1) ON DUPLICATE KEY UPDATE', '1064'],
    ['INSERT INTO orders (n) VALUES (1) ON DUPLICATE UPDATE n = 1', '1064'],
    ['INSERT INTO orders (n) VALUES (1)) ', '1064'],
    [`SELECT 'unterminated; ${insert}`, '1064'],
    ['INSERT INTO orders (n) VALUES (?)', 'INSERT INTO orders (n, `id`) VALUES (?, LAST_INSERT_ID(1001))'],
  ])

  it('names the place that it cannot read', () => {
    const reading = read('INSERT INTO orders (n) VALUES (1) FROBNICATE \xff')
    assert.equal(reading.kind === 'refuse' && reading.refusal.state, '42000')
    assert.match(
      reading.kind === 'refuse' ? reading.refusal.message : '',
      /cannot be read near 'FROBNICATE \?'/,
    )
  })
})

describe('several statements in one text', () => {
  table([
    [`${insert}; ${insert};`, `${insertFilled}; ${second};`],
    [`SELECT 'a;b'; ${insert}`, `SELECT 'a;b'; ${insertFilled}`],
    [`USE shop; ${insert}`, `USE shop; ${insertFilled}`, { database: 'x' }],
    [`USE x; ${insert}`, 'relay'],
    [
      `USE \`shop\`; ${insert}; USE x; ${insert}`,
      `USE \`shop\`; ${insertFilled}; USE x; ${insert}`,
      { database: 'x' },
    ],
    [`BEGIN; ${insert}; COMMIT`, `BEGIN; ${insertFilled}; COMMIT`],
    [`BEGIN WORK; ${insert}`, `BEGIN WORK; ${insertFilled}`],
    [`SET autocommit = 0, @x = 1; ${insert}`, `SET autocommit = 0, @x = 1; ${insertFilled}`],
    [`CREATE TABLE t (a INT); ${insert}`, `CREATE TABLE t (a INT); ${insertFilled}`],
    [`CREATE PROCEDURE p() SELECT 1; ${insert}`, `CREATE PROCEDURE p() SELECT 1; ${insertFilled}`],
    [
      `CREATE PROCEDURE p() BEGIN ${insert}; END; ${insert}`,
      `CREATE PROCEDURE p() BEGIN ${insert}; END; ${insertFilled}`,
    ],
    ...[
      'CREATE PROCEDURE p() IF a THEN SELECT 1; END IF',
      'CREATE PROCEDURE p() SELECT 1 AS begin',
      'CREATE PROCEDURE p() BEGIN DECLARE `begin` CONDITION FOR SQLSTATE "02000"; DECLARE EXIT HANDLER FOR begin SELECT 1; END',
      'CREATE PROCEDURE p() SELECT o.begin FROM other o',
      'CREATE PROCEDURE begin() SELECT 1 begin',
      'CREATE FUNCTION f(a ENUM("x"), b INT) RETURNS VARCHAR(5) CHARACTER SET latin1 DETERMINISTIC RETURN CASE a WHEN 1 THEN 2 END',
      'CREATE FUNCTION f RETURNS STRING SONAME "f.so"',
      'ALTER PROCEDURE p SQL SECURITY INVOKER',
      'CREATE TRIGGER begin BEFORE UPDATE ON other FOR EACH ROW FOLLOWS x SET NEW.begin = 1',
      'CREATE EVENT begin ON SCHEDULE EVERY 1 DAY ON COMPLETION PRESERVE DO DELETE FROM other',
      'CREATE PROCEDURE p() l: BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN END; m: REPEAT SET x = CASE WHEN a THEN b END; UNTIL CASE x WHEN 1 THEN 2 END END REPEAT m; END l',
      'CREATE PROCEDURE p() BEGIN FOR i IN 1..2 DO IF a THEN SELECT 1; ELSEIF b THEN BEGIN END; ELSE CASE a WHEN 1 THEN SELECT IF(1, 2, 3) begin; ELSE SELECT o.end FROM o; END CASE; END IF; END FOR; END',
    ].map(
      (routine): Case => [
        `${routine}; ${insert}; SELECT 1 AS end`,
        `${routine}; ${insertFilled}; SELECT 1 AS end`,
      ],
    ),
    [`${insert}; SELECT 'open`, `${insertFilled}; SELECT 'open`],
    [`${insert}; SET sql_mode = ''`, `${insertFilled}; SET sql_mode = ''`],
    [`SELECT 1; INSERT INTO orders SELECT 1`, '1235'],
    [
      `${insert}; INSERT INTO other VALUES (1); REPLACE lines SET n = 1`,
      `${insertFilled}; INSERT INTO other VALUES (1); REPLACE lines SET n = 1, \`id\` = LAST_INSERT_ID(1002)`,
    ],
    ['CREATE TABLE orders (id INT); INSERT INTO orders (id) VALUES (1)', 'relay'],
  ])
})

describe('character sets', () => {
  table([
    ['INSERT\xa0INTO orders (n) VALUES (1)', '1235', { charset: 'latin1' }],
    ['INSERT\xa0INTO orders (n) VALUES (1)', '1235', { charset: 'cp850' }],
    [
      "INSERT INTO orders (n) VALUES ('\xa0')",
      "INSERT INTO orders (n, `id`) VALUES ('\xa0', LAST_INSERT_ID(1001))",
      { charset: 'latin1' },
    ],
    [insert, '1235', { charset: 'unheard' }],
    ['INSERT INTO other (n) VALUES (1)', 'relay', { charset: 'unheard' }],
    [insert, '1235', { charset: 'swe7' }],
    [insert, insertFilled, { charset: 'sjis' }],
    [insert, insertFilled, { charset: 'ascii' }],
    [insert, insertFilled, { charset: 'utf8mb3' }],
  ])
})

describe('a statement of many rows', () => {
  const ofRows = (count: number, row: string) =>
    `INSERT INTO orders (id, n) VALUES ${Array(count).fill(row).join(',')}`

  it('is read up to 100,000 rows that need ids, and any number that have theirs', () => {
    assert.notEqual(filled(ofRows(100_000, '(0,2)')), '1235')
    assert.equal(filled(ofRows(100_001, '(0,2)')), '1235')
    assert.equal(filled(ofRows(100_001, '(1,2)')), 'relay')
  })

  it('counts the rows of all statements in its text', () => {
    assert.equal(filled(`${ofRows(60_000, '(0,2)')}; ${ofRows(60_000, '(0,2)')}`), '1235')
  })

  it('keeps nothing of rows that give their ids', () => {
    const reading = read(`${ofRows(1000, '(1,2)')}, (NULL, 3), (4, 5)`)
    assert.equal(reading.kind === 'fill' && reading.inserts[0]?.rows.length, 1)
  })

  it('has its ids moved in all rows where one of the later rows reads LAST_INSERT_ID()', () => {
    assert.equal(
      filled('INSERT INTO orders (id, n) VALUES (7, 1), (NULL, LAST_INSERT_ID())'),
      'INSERT INTO orders (n, id) VALUES (1, 7), (LAST_INSERT_ID(), LAST_INSERT_ID(1001))',
    )
  })

  it('is read and written in slices, with the same result', () => {
    const text = bytes(
      `${ofRows(30_000, "(NULL, CONCAT('a', ('b')))")} ON DUPLICATE KEY UPDATE n = ${'1+'.repeat(50_000)}1; SELECT ${'1+'.repeat(50_000)}1`,
    )
    const context = {
      session: session(),
      columns,
      prepared: false,
      factsOf: () => facts,
      isShadowed: () => false,
    }
    const whole = readStatements(text, context)
    const [reading, readSlices] = counted(readingSlices(text, context))
    assert.deepEqual(reading, whole)
    // Of some 32 KiB each.
    assert.ok(readSlices > 20, `${readSlices} slices`)
    assert.ok(reading.kind === 'fill')
    const drawn = [{ ids: Array.from({ length: 30_000 }, (_, at) => String(at + 1)), isText: false }]
    const [sql, writeSlices] = counted(fillSlices(text, reading.inserts, drawn))
    assert.ok(fillText(text, reading.inserts, drawn).equals(sql))
    assert.ok(writeSlices > 20, `${writeSlices} slices`)
  })

  const long = 100_000
  const names = Array.from({ length: long }, (_, at) => `c${at}`).join(', ')
  const forms: Readonly<Record<string, string>> = {
    'columns of an INSERT': `INSERT INTO orders (${names}) VALUES (1)`,
    partitions: `INSERT INTO orders PARTITION (${names}) (n) VALUES (1)`,
    'columns of an alias': `INSERT INTO orders (n) VALUES (1) AS new (${names})`,
    'a routine': `CREATE PROCEDURE p() BEGIN ${'SELECT 1; '.repeat(long)} END; ${insert}`,
    'words in front of what is created': `CREATE ${'x '.repeat(long)} orders; ${insert}`,
    'a statement of an unknown form': `FROB ${'x '.repeat(long)} ${insert}`,
    'a compound statement': `BEGIN NOT ATOMIC ${'x; '.repeat(long)} END; ${insert}`,
    'what is explained': `EXPLAIN ANALYZE ${'x '.repeat(long)} ${insert}`,
    'SET STATEMENT': `SET STATEMENT a = 1 FOR ${'x '.repeat(long)} ${insert}`,
    'a statement in a text': `EXECUTE IMMEDIATE ${"'x' ".repeat(long)}; ${insert}`,
    semicolons: `${';'.repeat(long)} ${insert}`,
  }
  for (const [name, text] of Object.entries(forms))
    it(`with long ${name} are read in slices`, () => {
      const sql = bytes(text)
      const [reading, slices] = counted(
        readingSlices(sql, {
          session: session(),
          columns,
          prepared: false,
          factsOf: () => facts,
          isShadowed: () => false,
        }),
      )
      assert.notEqual(reading.kind, 'relay')
      assert.ok(slices > sql.length / 70_000, `${slices} slices`)
    })

  for (const text of [
    `INSERT INTO orders (${'/**/'.repeat(long)} n) VALUES (1)`,
    `INSERT INTO orders (id) VALUES (${"'0' ".repeat(long)})`,
    `INSERT INTO orders (id) VALUES (${'('.repeat(long)}0${')'.repeat(long)})`,
    `INSERT INTO orders (id) VALUES (${'+ '.repeat(long)}0)`,
    `INSERT INTO orders (id) VALUES ('${'0'.repeat(long)}')`,
    `INSERT INTO orders (id) VALUES (${'0'.repeat(long)})`,
    `INSERT INTO orders (id) VALUES (-${'0'.repeat(long)})`,
    `INSERT INTO orders (id) VALUES (0x${'0'.repeat(long)})`,
    `INSERT INTO orders (id) VALUES (x'${'0'.repeat(long)}')`,
    `INSERT INTO orders (id) VALUES ('0' ${`'${'0'.repeat(40_000)}' `.repeat(2)})`,
    `INSERT INTO orders (id) VALUES (_utf8 '0' /*${'*'.repeat(long)}*/ '0')`,
    `INSERT INTO orders (id) VALUES (((0 /*${'*'.repeat(long)}*/ ) ) )`,
    `INSERT INTO orders (id) VALUES (DEFAULT(/*${'*'.repeat(long)}*/ id))`,
    `INSERT INTO orders (${'n'.repeat(long)}) VALUES (1)`,
    `INSERT ${'IGNORE '.repeat(long)} orders (n) VALUES (1)`,
  ])
    it(`that no program writes is refused: ${text.slice(0, 50)} …`, () => {
      assert.match(filled(text), /^\d+$/)
    })
})

function counted<Result>(slices: Slices<Result>): [Result, number] {
  for (let count = 1; ; count++) {
    const step = slices.next()
    if (step.done) return [step.value, count]
  }
}

describe('what an earlier statement has left', () => {
  for (const text of [
    'SELECT ROW_COUNT()',
    'SELECT `found_rows`()',
    'SELECT @@warning_count',
    'SELECT @@session . `error_count`',
    'SELECT @@local/**/.warning_count',
  ])
    it(`is read by ${text}`, () => {
      assert.equal(atOnce(diagnosticsSlices(bytes(text))), true)
    })

  it('is not read by columns of such names', () => {
    assert.equal(atOnce(diagnosticsSlices(bytes('SELECT error_count, rows FROM log'))), false)
  })
})
