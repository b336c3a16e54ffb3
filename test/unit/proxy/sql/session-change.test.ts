import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sessionChange } from '../../../../src/proxy/sql/session-change.ts'
import { bytes, session } from './shop.ts'

function change(text: string, charset = 'utf8mb4') {
  return sessionChange(bytes(text), session({ charset }))
}

const harmless = [
  '',
  ';',
  'SELECT 1',
  'select 1;',
  'SELECT 1; SELECT 2',
  'INSERT INTO t VALUES (1)',
  'COMMIT',
  'BEGIN',
  'begin work',
  'START TRANSACTION',
  'SET autocommit=0',
  'SET @@session.autocommit = 0, @a = (SELECT 1, 2), @@time_zone := "+00:00"',
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY',
  'SET TRANSACTION READ ONLY',
  'SET GLOBAL sql_mode = ""',
  'SET @@global.sql_mode = ""',
  'SET foreign_key_checks = 0',
  'SET @`a b` = 1',
  "SET @'a' = 1",
  'SET ROLE a',
  'SHOW VARIABLES LIKE "sql_mode"',
  'DROP TABLE t',
  'CREATE TABLE t (a INT)',
  'EXPLAIN SELECT 1',
  '(SELECT 1)',
  '/* SET NAMES x */ SELECT 1',
  "SELECT ';SET NAMES x'",
  'PREPARE s FROM @a',
  'XA START "a"',
  'SET @sql_mode = 1',
]
const unknown = [
  'SET sql_mode = ""',
  'SET SESSION sql_mode = ""',
  'SET @@sql_mode = ""',
  'SET @@local.sql_mode = ""',
  'SET autocommit = 0, sql_mode = ""',
  'SET NAMES utf8',
  'SET CHARACTER SET gbk',
  'SET character_set_client = gbk',
  'SET unheard = 1',
  'SET insert_id = 5',
  'SET @@session.insert_id = 5',
  'SET PASSWORD = "x"',
  'CALL p()',
  'EXECUTE s',
  'SET STATEMENT sql_mode = "" FOR SELECT 1',
  'BEGIN NOT ATOMIC SET NAMES gbk; END',
  'FROBNICATE',
  '/*!40101 SET NAMES utf8 */',
  'SELECT 1; SET NAMES utf8',
  'SELECT /*! 1; */ 2',
  'DROP DATABASE shop',
  'SET autocommit',
  'USE',
  'USE a b',
  "SET autocommit = '",
  'SELECT 1; USE x; CALL p()',
  'IF 1 THEN SET NAMES gbk; END IF',
]

describe('what a statement changes of the session', () => {
  for (const text of harmless) it(`is nothing: ${text}`, () => assert.equal(change(text), 'none'))
  for (const text of unknown) it(`is unknown: ${text}`, () => assert.equal(change(text), 'unknown'))

  it('is the database that USE names', () => {
    assert.deepEqual(change('USE x'), { database: 'x' })
    assert.deepEqual(change(' use `a``b` ;'), { database: 'a`b' })
    assert.deepEqual(change('USE a; SELECT 1; USE b; SELECT 2'), { database: 'b' })
    assert.deepEqual(change('USE \xe9', 'latin1'), { database: 'é' })
    assert.deepEqual(change('USE \xc3\xa9'), { database: 'é' })
    assert.equal(change('USE \xe9', 'cp850'), 'unknown')
  })
})
