import { describe, test } from 'node:test'
import { follows } from './answers.ts'
import { serve } from './serve.ts'

describe('a transaction', () => {
  test('has the states that drivers expect', async (t) => {
    const { session } = await serve(t)
    await follows(await session(), [
      ['BEGIN', 'BEGIN T'],
      ['BEGIN', 'N25001 BEGIN T'],
      ['COMMIT', 'COMMIT I'],
      ['COMMIT', 'N25P01 COMMIT I'],
      ['ROLLBACK', 'N25P01 ROLLBACK I'],
      ['START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY', 'START TRANSACTION T'],
      ['SHOW transaction_isolation', 'repeatable read T'],
      ['SHOW transaction_read_only', 'on T'],
      ['END', 'COMMIT I'],
      ['SHOW TRANSACTION ISOLATION LEVEL', 'read committed I'],
      ['begin work; nonsense', 'E42601 I'],
      ['BEGIN', 'BEGIN T'],
      ['SHOW nothing', 'E42704 E'],
      ['SHOW timezone', 'E25P02 E'],
      ['SAVEPOINT a', 'E25P02 E'],
      ['COMMIT', 'ROLLBACK I'],
      ['BEGIN; SHOW timezone; COMMIT', 'BEGIN UTC COMMIT I'],
      ['ABORT', 'N25P01 ROLLBACK I'],
      ['BEGIN', 'BEGIN T'],
      ['ROLLBACK AND CHAIN', 'ROLLBACK T'],
      ['COMMIT AND NO CHAIN', 'COMMIT I'],
      ['COMMIT AND CHAIN', 'E25P01 I'],
      ["PREPARE TRANSACTION 'x'", 'E0A000 I'],
      ["COMMIT PREPARED 'x'", 'E0A000 I'],
    ])
  })

  test('goes back to savepoints, also after an error', async (t) => {
    const { session } = await serve(t)
    await follows(await session(), [
      ['SAVEPOINT a', 'E25P01 I'],
      ['ROLLBACK TO a', 'E25P01 I'],
      ['BEGIN; SAVEPOINT a; SAVEPOINT b', 'BEGIN SAVEPOINT SAVEPOINT T'],
      ['nonsense', 'E42601 E'],
      ['ROLLBACK TO SAVEPOINT b', 'ROLLBACK T'],
      ['RELEASE SAVEPOINT a', 'RELEASE T'],
      ['ROLLBACK TO b', 'E3B001 E'],
      ['ROLLBACK', 'ROLLBACK I'],
    ])
  })

  test('undoes what it has set', async (t) => {
    const { session } = await serve(t)
    await follows(await session(), [
      ["SET app.x = 'outside'", 'SET I'],
      [
        "BEGIN; SET app.x = 'inside'; SET LOCAL app.y = 'local'; SET TIME ZONE 'Asia/Tokyo'",
        'BEGIN SET SET SET TimeZone=Asia/Tokyo T',
      ],
      ["SAVEPOINT a; SET app.x = 'deeper'; ROLLBACK TO a; SHOW app.x", 'SAVEPOINT SET ROLLBACK inside T'],
      ['SHOW app.y', 'local T'],
      ['ROLLBACK', 'ROLLBACK TimeZone=UTC I'],
      ['SHOW app.x', 'outside I'],
      ['SHOW app.y', 'E42704 I'],
      ["BEGIN; SET app.x = 'kept'; SET LOCAL timezone = 'Asia/Tokyo'; COMMIT", 'BEGIN SET SET COMMIT I'],
      ['SHOW app.x', 'kept I'],
      ['SHOW TIME ZONE', 'UTC I'],
    ])
  })
})

test('names of what a session has are cut at 63 bytes', async (t) => {
  const { session } = await serve(t)
  const [long, longer] = ['é'.repeat(31), 'é'.repeat(70)]
  await follows(await session(), [
    [
      `PREPARE ${longer} AS SELECT 1; EXECUTE ${long}; DEALLOCATE ${longer}`,
      'PREPARE 1 SELECT 1 DEALLOCATE I',
    ],
    [`DEALLOCATE ${long}`, 'E26000 I'],
    [`BEGIN; SAVEPOINT ${longer}; RELEASE ${long}`, 'BEGIN SAVEPOINT RELEASE T'],
    [
      `DECLARE ${longer} CURSOR FOR SELECT 1; FETCH ${long}; CLOSE ${longer}`,
      'DECLARE CURSOR 1 FETCH 1 CLOSE CURSOR T',
    ],
    [`SET app."${'a'.repeat(50_000)}" = 1; SHOW app.${'a'.repeat(63)}`, 'SET 1 T'],
    [`SELECT set_config('app.${'a'.repeat(100_000)}', '1', false)`, 'E42622 E'],
    ['ROLLBACK', 'ROLLBACK I'],
  ])
})

test('a savepoint closes the cursors that are newer, also those with the name of an older one', async (t) => {
  const { session } = await serve(t)
  await follows(await session(), [
    [
      'BEGIN; DECLARE a CURSOR FOR SELECT 1; DECLARE b CURSOR FOR SELECT 2',
      'BEGIN DECLARE CURSOR DECLARE CURSOR T',
    ],
    ['SAVEPOINT s; CLOSE a; DECLARE a CURSOR FOR SELECT 3', 'SAVEPOINT CLOSE CURSOR DECLARE CURSOR T'],
    ['ROLLBACK TO s; FETCH b; FETCH a', 'ROLLBACK 2 FETCH 1 E34000 E'],
  ])
})

test('settings have the forms that drivers send', async (t) => {
  const { session } = await serve(t)
  await follows(await session(), [
    ["SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE", 'SET TimeZone=<+00>-00 I'],
    ["SET TIME ZONE INTERVAL '-08:30'", 'SET TimeZone=<-08:30>+08:30 I'],
    ["SET TIME ZONE INTERVAL '1 day'", 'E22023 I'],
    ['SET TIME ZONE LOCAL', 'SET TimeZone=UTC I'],
    ["SET client_encoding TO 'utf-8'", 'SET I'],
    ["SET NAMES 'UTF8'", 'SET I'],
    ["SET NAMES 'latin1'", 'E22023 I'],
    ['SET extra_float_digits = 3', 'SET I'],
    ['SHOW extra_float_digits', '3 I'],
    ['SET standard_conforming_strings = on', 'SET I'],
    ['SET standard_conforming_strings = off', 'E22023 I'],
    ["SET DateStyle = 'ISO'", 'SET I'],
    ['SET datestyle TO ISO, DMY', 'SET DateStyle=ISO, DMY I'],
    ['SET search_path = public, "$user"', 'SET I'],
    ['SHOW search_path', 'public, "$user" I'],
    ["SET search_path TO a, 'b c'; SHOW search_path", 'SET a, "b c" I'],
    ["SET SCHEMA 'b c'; SHOW search_path", 'SET "b c" I'],
    ["BEGIN; SET LOCAL SCHEMA 'd'; SHOW search_path; COMMIT; SHOW search_path", 'BEGIN SET d COMMIT "b c" I'],
    ['SET schema.x = 1; SHOW schema.x', 'SET 1 I'],
    ['SET SCHEMA public', 'E42601 I'],
    ['SET search_path TO DEFAULT', 'SET I'],
    ['SHOW search_path', '"$user", public I'],
    ['SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE', 'SET I'],
    ['SHOW transaction_isolation', 'serializable I'],
    ['SET TRANSACTION READ ONLY', 'N25P01 SET I'],
    ['SET LOCAL timezone = 1', 'N25P01 SET I'],
    ['SET SESSION application_name = x', 'SET application_name=x I'],
    ['SET server_version = 1', 'E55P02 I'],
    ['SET nothing = 1', 'E42704 I'],
    ['SET jit = perhaps', 'E22023 I'],
    ["SET statement_timeout = 'abc'", 'E22023 I'],
    ["SET statement_timeout = '5 min'; SET lock_timeout = 100", 'SET SET I'],
    ['SET statement_timeout = 5000; SHOW statement_timeout', 'SET 5s I'],
    ["SET statement_timeout = '.5s'; SHOW statement_timeout", 'SET 500ms I'],
    ["SET statement_timeout = '5.'; SHOW statement_timeout", 'SET 5ms I'],
    ["SET statement_timeout = '1e3'; SHOW statement_timeout", 'SET 1s I'],
    ["SET statement_timeout = '0 h'; SHOW statement_timeout", 'SET 0 I'],
    ['SET statement_timeout = -1', 'E22023 I'],
    ["SET statement_timeout = '25 d'", 'E22023 I'],
    ['SET statement_timeout = 2147483647; SHOW statement_timeout', 'SET 2147483647ms I'],
    ['SET statement_timeout = 2147483648', 'E22023 I'],
    ['SET ROLE NONE', 'SET I'],
    ['SET ROLE admin', 'E0A000 I'],
    ['SET SESSION AUTHORIZATION DEFAULT', 'SET I'],
    ['RESET search_path; RESET ALL', 'RESET RESET application_name= DateStyle=ISO, MDY I'],
    [
      'DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES; UNLISTEN *; CLOSE ALL',
      'DISCARD PLANS DISCARD TEMP DISCARD SEQUENCES UNLISTEN CLOSE CURSOR ALL I',
    ],
    ['DISCARD ALL', 'DISCARD ALL I'],
    ['DEALLOCATE ALL', 'DEALLOCATE ALL I'],
    ['DEALLOCATE PREPARE x', 'E26000 I'],
    ['BEGIN; DISCARD ALL', 'BEGIN E25001 E'],
  ])
})

test('EXECUTE takes constants only', async (t) => {
  const { session } = await serve(t)
  await follows(await session(), [
    ['PREPARE p AS SELECT $1::int', 'PREPARE I'],
    ['EXECUTE p(1+1)', 'E0A000 I'],
    ['EXECUTE p(1 1)', 'E42601 I'],
    ['EXECUTE p(-2)', '-2 SELECT 1 I'],
  ])
})

test('statements of tables are refused, and words that are no statement', async (t) => {
  const { session } = await serve(t)
  await follows(await session(), [
    ['INSERT INTO t VALUES (1)', 'E0A000 I'],
    ['CREATE TABLE t (id int)', 'E0A000 I'],
    ['COPY t FROM STDIN', 'E0A000 I'],
    ['LISTEN x', 'E0A000 I'],
    ['hello', 'E42601 I'],
    ['"select" 1', 'E42601 I'],
    ['BEGIN TRANSACTION nonsense', 'E42601 I'],
    ['SHOW timezone extra', 'E42601 I'],
  ])
})
