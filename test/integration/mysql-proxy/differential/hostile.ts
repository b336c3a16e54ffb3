/**
 * Statements that try to get a row without an id past the proxy: in forms that it does not read, in sessions in which a text
 * means something else, and in texts that hide where they end. Each list is sent on one connection, in order.
 */

/** On every server. `‹bf5c›` stands for bytes. */
export const hostile: readonly (readonly string[])[] = [
  // What servers store in place of a missing value.
  ["INSERT INTO orders (id, note) VALUES ('', 'a'), ('x', 'b'), (-1, 'c'), (0.4, 'd'), (-0.5, 'e')"],
  [
    "SET sql_mode = ''",
    'INSERT INTO orders (note) SELECT 1',
    "INSERT INTO orders (id, note) VALUES ('x', 1)",
    'INSERT INTO orders (id) SELECT NULL UNION SELECT 0',
    'INSERT INTO items (name) SELECT 1',
    'INSERT INTO codes (note) SELECT 1',
    "INSERT INTO codes (id) SELECT '' UNION SELECT NULL",
    'INSERT INTO `Group` (Id, `key`) SELECT -1, 2',
    "INSERT INTO orders (id) VALUES (5), (NULL + 1), ('0x')",
    'INSERT IGNORE INTO orders (id, note) VALUES (NULL + 1, 1), (0 * 1, 2), (18, 3), (NOT 1, 4)',
    'REPLACE INTO items (id, name) VALUES (NULL + 1, 1), (0 * 1, 2), (18, 3)',
    'INSERT INTO orders (id) VALUES (20) ON DUPLICATE KEY UPDATE id = 0',
    'INSERT INTO orders (id) VALUES (20) ON DUPLICATE KEY UPDATE id = 0',
    'UPDATE orders SET id = 0',
    'UPDATE IGNORE orders SET id = 0',
    'UPDATE orders SET id = NULL',
  ],
  [
    'INSERT INTO orders (id, note) VALUES (31, 1), (32, 2)',
    'UPDATE orders SET id = id - 31',
    "UPDATE codes SET id = ''",
    'INSERT INTO orders (id) VALUES (DEFAULT(id)), (VALUES(id))',
    'INSERT INTO orders SET id = id, note = 1',
    'INSERT INTO orders SET note = id, id = amount - 7',
  ],
  // Executable comments.
  ...[
    "/*! INSERT INTO orders (note) VALUES ('a') */",
    "INSERT INTO orders (note) VALUES ('a') /*!50000 , ('b') */",
    'INSERT INTO orders (/*!99999 id, */ note) VALUES (/*!99999 0, */ 1)',
    "INSERT INTO orders (note) VALUES ('/*!'), ('*/')",
    'INSERT INTO plain (note) VALUES (1) /*!; INSERT INTO orders (note) VALUES (2) */',
    'INSERT INTO plain (note) VALUES (1) /*M!100000 ; INSERT INTO orders (note) VALUES (2) */',
    'INSERT /*+ SET_VAR(sql_mode = "") */ INTO orders (note) VALUES (1)',
  ].map((each) => [each, "SET sql_mode = ''", each]),
  // Character sets in which a byte of a character looks like a quote or a backslash.
  ...['gbk', 'big5', 'sjis', 'cp932', 'euckr', 'gb18030', 'latin1', 'swe7', 'ucs2', 'utf8mb3'].map(
    (charset) => [
      `SET NAMES ${charset}`,
      "INSERT INTO orders (note) VALUES ('‹bf5c›'), (0) -- ')",
      "INSERT INTO orders (id, note) VALUES (NULL, '‹815c›'), (0, '‹835c›\\'), (NULL, ')",
      "INSERT INTO orders (note) VALUES ('‹bf27›); INSERT INTO orders (note) VALUES (') -- ')",
      'INSERT INTO orders (`‹bf60›) VALUES (1); INSERT INTO orders (note) VALUES (`); -- `)',
    ],
  ),
  [
    'SET character_set_client = gbk; INSERT INTO orders (note) VALUES (1)',
    "INSERT INTO orders (note) VALUES ('‹bf5c›')",
  ],
  ["INSERT INTO orders (note) VALUES ('‹c3›'); INSERT INTO orders (note) VALUES ('‹c3›\\'), ('')"],
  // Modes that decide where a text ends.
  [
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "INSERT INTO orders (note) VALUES ('\\'), (0) -- '), ('",
    "SET sql_mode = 'ANSI_QUOTES'",
    'INSERT INTO "orders" ("id", "note") VALUES (NULL, 1), ("id", 2)',
    'SET sql_mode = \'\'; INSERT INTO orders (note) VALUES ("); INSERT INTO orders (id) VALUES (0) -- ")',
    "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
    "INSERT INTO orders (id, note) VALUES (0, 1), (DEFAULT, 2), (NULL, 3), ('0', 4), (FALSE, 5)",
    "SET sql_mode = 'IGNORE_SPACE,HIGH_NOT_PRECEDENCE,PIPES_AS_CONCAT'",
    "INSERT INTO orders (id, note) VALUES (NOT 1 BETWEEN 0 AND 5, 1), (0 || '', 2)",
  ],
  // Texts that change the session in front of the INSERT, or hide it.
  ...[
    "SET sql_mode = 'ANSI_QUOTES'; INSERT INTO orders (note) VALUES (1)",
    "SET @a = 1, sql_mode = 'NO_BACKSLASH_ESCAPES'; INSERT INTO orders (note) VALUES ('\\'), ('\\')",
    'USE other; INSERT INTO facts (fact) VALUES (1); INSERT INTO orders (note) VALUES (1)',
    'USE nope; INSERT INTO orders (note) VALUES (1)',
    'SELECT 1; INSERT INTO orders (note) VALUES (1); SELECT nope; INSERT INTO orders (note) VALUES (2)',
    "INSERT INTO orders (note) VALUES ('; CREATE TABLE orders'); INSERT INTO orders (note) SELECT 2",
    'INSERT INTO orders (note) VALUES (1);; INSERT INTO items (name) VALUES (1), (2); REPLACE `Group` SET `key` = 3',
    '‹c2a0›INSERT INTO orders (note) VALUES (1)',
    'INSERT INTO orders (note) VALUES (1)‹00›',
    'INSERT INTO orders (note) VALUES (1) /* x',
    'EXPLAIN INSERT INTO orders (note) VALUES (1)',
    'WITH x AS (SELECT 1) INSERT INTO orders (note) SELECT * FROM x',
    'INSERT INTO order_notes (note) VALUES (1)',
    'INSERT INTO order_notes (id, note) VALUES (0, 1)',
    'INSERT INTO orders VALUES ROW(NULL, 1, 2, 3)',
    'INSERT INTO orders (note) VALUES (1) AS new(a) ON DUPLICATE KEY UPDATE note = a',
  ].map((each) => [each, "SET sql_mode = ''", each]),
  // Statements of the server's own: routines, triggers, files, prepared texts.
  [
    "SET sql_mode = ''",
    'DROP PROCEDURE IF EXISTS inserts',
    'CREATE PROCEDURE inserts() BEGIN INSERT INTO orders (note) VALUES (1); INSERT INTO items (name) VALUES (2); END',
    'CALL inserts()',
    'CREATE TRIGGER logged AFTER INSERT ON plain FOR EACH ROW INSERT IGNORE INTO orders (note) VALUES (NEW.note)',
    'INSERT INTO plain (note) VALUES (1)',
    'DROP TRIGGER logged',
    "PREPARE s FROM 'INSERT INTO orders (id, note) VALUES (?, 1)'",
    'SET @zero = 0, @none = NULL',
    'EXECUTE s USING @zero',
    'EXECUTE s USING @none',
    "PREPARE s FROM 'INSERT INTO items (name) VALUES (?)'; EXECUTE s USING @zero",
    "SELECT 0, 'a', 1, 'file' INTO OUTFILE 'FILE'",
    "LOAD DATA INFILE 'FILE' INTO TABLE orders",
    "LOAD DATA INFILE 'FILE' IGNORE INTO TABLE orders (@id, note)",
    "LOAD DATA INFILE 'FILE' REPLACE INTO TABLE items (id, name, @a, @b)",
    'INSERT INTO orders (id, note) VALUES (LAST_INSERT_ID(0), 1)',
    'SELECT LAST_INSERT_ID(0)',
    "INSERT INTO orders (id, note, code) VALUES (41, 1, 'x')",
    "INSERT INTO orders (note, code) VALUES (2, 'x') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(0)",
    "INSERT INTO orders (note, code) VALUES (2, 'x') ON DUPLICATE KEY UPDATE id = id - id",
  ],
  [
    'CREATE TEMPORARY TABLE orders (note TEXT)',
    'INSERT INTO orders (note) VALUES (1)',
    'DROP TEMPORARY TABLE orders',
    'INSERT INTO orders (note) VALUES (1)',
    'SET insert_id = 77',
    'INSERT INTO orders (note) VALUES (1)',
    'INSERT INTO orders (note) SELECT 1',
  ],
  // Not in an XA transaction or with delayed effect either.
  ["XA START 'x'", 'INSERT INTO orders (note) VALUES (1)', "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'"],
]

/** On MariaDB. The trigger of `items` holds where the CHECKs of a session are switched off. */
export const hostileOfMariaDb: readonly (readonly string[])[] = [
  [
    "SET sql_mode = '', check_constraint_checks = 0",
    'INSERT INTO items (name) SELECT 1',
    'INSERT IGNORE INTO items (id, name) VALUES (0 * 1, 1), (NULL + 1, 2)',
    'REPLACE INTO items (id, name) SELECT -1, 1',
  ],
  [
    "SET STATEMENT sql_mode = '' FOR INSERT INTO orders (note) VALUES (1)",
    "SET STATEMENT character_set_client = gbk FOR INSERT INTO orders (note) VALUES ('‹bf5c›')",
    'BEGIN NOT ATOMIC INSERT INTO orders (note) VALUES (1); END',
    "EXECUTE IMMEDIATE 'INSERT INTO orders (note) VALUES (1)'",
    'INSERT DELAYED INTO orders (note) VALUES (1)',
    "SET sql_mode = 'ORACLE'",
    "BEGIN INSERT INTO orders (note) VALUES ('a'); END",
    "INSERT INTO orders (note) VALUES (:1), ('')",
    "SET sql_mode = 'EMPTY_STRING_IS_NULL'",
    "INSERT INTO orders (id, note) VALUES ('', '')",
    "INSERT INTO codes (id, note) VALUES ('', '')",
  ],
]

/** Values that are bound where `id` is a parameter. */
export const boundIds = [
  null,
  0,
  0.4,
  -0.4,
  -1,
  5,
  77n,
  2n ** 60n,
  '',
  '0',
  '0.3',
  ' 0',
  'x',
  '6',
  Buffer.from([0]),
] as const
