/** DECLARE, FETCH, MOVE and CLOSE; PREPARE, EXECUTE and DEALLOCATE. What PostgreSQL 15 answers was compared. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { answer, follows } from './answers.ts'
import { bind, describeOf, execute, parse, query, serve, serveOrder, sync } from './serve.ts'

const five = 'SELECT generate_series FROM generate_series(1, 5)'

describe('a cursor', () => {
  test('gives its rows in each direction, from where it stands', async (t) => {
    const { session } = await serve(t)
    await follows(await session(), [
      [`BEGIN; DECLARE C SCROLL CURSOR FOR ${five}`, 'BEGIN DECLARE CURSOR T'],
      ['FETCH c; FETCH NEXT FROM c; FETCH FORWARD IN c', '1 FETCH 1 2 FETCH 1 3 FETCH 1 T'],
      ['FETCH 0 c; FETCH PRIOR c; FETCH BACKWARD 2 c', '3 FETCH 1 2 FETCH 1 1 FETCH 1 T'],
      ['FETCH 2 c; FETCH -1 c; FETCH +1 c', '1 2 FETCH 2 1 FETCH 1 2 FETCH 1 T'],
      [
        'FETCH FIRST c; FETCH LAST c; FETCH ABSOLUTE 2 c; FETCH ABSOLUTE -2 c',
        '1 FETCH 1 5 FETCH 1 2 FETCH 1 4 FETCH 1 T',
      ],
      ['FETCH RELATIVE -3 c; FETCH RELATIVE 0 c; FETCH RELATIVE -9 c', '1 FETCH 1 1 FETCH 1 FETCH 0 T'],
      ['MOVE 2 c; MOVE c; FETCH ALL c; FETCH ALL c', 'MOVE 2 MOVE 1 4 5 FETCH 2 FETCH 0 T'],
      [
        'MOVE BACKWARD ALL c; FETCH FORWARD ALL c; FETCH BACKWARD ALL c',
        'MOVE 5 1 2 3 4 5 FETCH 5 5 4 3 2 1 FETCH 5 T',
      ],
      ['CLOSE c; FETCH c', 'CLOSE CURSOR E34000 E'],
    ])
  })

  test('without SCROLL goes forward only', async (t) => {
    const { session } = await serve(t)
    await follows(await session(), [
      [`BEGIN; DECLARE c NO SCROLL CURSOR FOR ${five}; SAVEPOINT a`, 'BEGIN DECLARE CURSOR SAVEPOINT T'],
      ['FETCH 2 c; FETCH ABSOLUTE 4 c', '1 2 FETCH 2 4 FETCH 1 T'],
      ['FETCH BACKWARD c', 'E55000 E'],
      ['ROLLBACK TO a; FETCH ABSOLUTE 1 c', 'ROLLBACK E55000 E'],
      ['ROLLBACK TO a; FETCH c', 'ROLLBACK 5 FETCH 1 T'],
    ])
  })

  test('ends with its transaction or its savepoint, unless it is held', async (t) => {
    const { session } = await serve(t)
    await follows(await session(), [
      ['DECLARE c CURSOR FOR SELECT 1', 'E25P01 I'],
      ['BEGIN; DECLARE c CURSOR FOR SELECT 1; COMMIT; FETCH c', 'BEGIN DECLARE CURSOR COMMIT E34000 I'],
      ['BEGIN; DECLARE c CURSOR FOR SELECT 1; ROLLBACK; FETCH c', 'BEGIN DECLARE CURSOR ROLLBACK E34000 I'],
      [
        'BEGIN; SAVEPOINT a; DECLARE c CURSOR FOR SELECT 1; ROLLBACK TO a; FETCH c',
        'BEGIN SAVEPOINT DECLARE CURSOR ROLLBACK E34000 E',
      ],
      [
        'ROLLBACK; BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT 1; ROLLBACK; FETCH h',
        'ROLLBACK BEGIN DECLARE CURSOR ROLLBACK E34000 I',
      ],
      [
        'BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT 1; COMMIT; FETCH h',
        'BEGIN DECLARE CURSOR COMMIT 1 FETCH 1 I',
      ],
      [
        "BEGIN; CLOSE h; DECLARE h CURSOR WITH HOLD FOR SELECT 'new'; ROLLBACK; FETCH h",
        'BEGIN CLOSE CURSOR DECLARE CURSOR ROLLBACK E34000 I',
      ],
      [
        "DECLARE h CURSOR WITH HOLD FOR SELECT 'x'; DECLARE h CURSOR WITH HOLD FOR SELECT 1",
        'DECLARE CURSOR E42P03 I',
      ],
      ['SELECT name FROM pg_cursors WHERE is_holdable AND is_scrollable', 'h SELECT 1 I'],
      ['SELECT statement FROM pg_cursors', "DECLARE h CURSOR WITH HOLD FOR SELECT 'x' SELECT 1 I"],
      ['CLOSE ALL; FETCH h', 'CLOSE CURSOR ALL E34000 I'],
      ['DECLARE h CURSOR WITH HOLD FOR SELECT 1', 'DECLARE CURSOR I'],
      ['DISCARD ALL', 'DISCARD ALL I'],
      ['FETCH h', 'E34000 I'],
    ])
  })

  test('draws the ids of its query once, when it is declared', async (t) => {
    const { session } = await serveOrder(t)
    await follows(await session(), [
      [
        "BEGIN; DECLARE c CURSOR FOR SELECT nextval('order') FROM generate_series(1, 3)",
        'BEGIN DECLARE CURSOR T',
      ],
      ['FETCH 2 c; MOVE BACKWARD ALL c; FETCH ALL c', '1 2 FETCH 2 MOVE 1 1 2 3 FETCH 3 T'],
      // A name that is taken draws nothing.
      ["DECLARE c CURSOR FOR SELECT nextval('order')", 'E42P03 E'],
      ['ROLLBACK', 'ROLLBACK I'],
      ["SELECT nextval('order')", '4 SELECT 1 I'],
    ])
  })

  test('is described, and gives values in binary', async (t) => {
    const { session } = await serve(t)
    const client = await session()
    client.send(query(`BEGIN; DECLARE "Cu" CURSOR FOR ${five}`))
    assert.equal(await client.types(), 'CCZT')
    client.send(describeOf('P', 'Cu'), parse('f', 'FETCH 2 "Cu"'), describeOf('S', 'f'))
    client.send(bind('', 'f', [], { results: [1] }), describeOf('P', ''), execute(), sync)
    const messages = await client.until('Z')
    assert.equal(messages.map(({ type }) => type).join(''), 'T1tT2TDDCZ')
    const rows = messages.filter(({ type }) => type === 'D').map(({ body }) => body.toString('hex'))
    assert.deepEqual(rows, ['00010000000400000001', '00010000000400000002'])
    client.send(bind('p', 'f'), execute('p', 1), execute('p', 1), sync)
    assert.equal(await client.types(), '2DsDCZT')
    client.send(parse('', 'FETCH none'), describeOf('S', ''), sync)
    assert.equal((await client.error()).C, '34000')
  })

  test('is one of a bounded number, with a bounded number of rows and bytes', async (t) => {
    const { session } = await serve(t, { flags: { 'count-max': '60000' } })
    const client = await session()
    const declare = (name: string, from: string) => `DECLARE ${name} CURSOR WITH HOLD FOR SELECT ${from}`
    const many = 'generate_series FROM generate_series(1, 60000)'
    assert.equal(await answer(client, declare('rows', many)), 'DECLARE CURSOR I')
    assert.equal(await answer(client, declare('more', many)), 'E54000 I')
    assert.equal(await answer(client, 'CLOSE rows'), 'CLOSE CURSOR I')
    const wide = `${'n,'.repeat(99)}n FROM generate_series(1, 24000) n`
    assert.equal(await answer(client, declare('a', wide)), 'DECLARE CURSOR I')
    assert.equal(await answer(client, declare('b', wide)), 'E54000 I')
    assert.equal(await answer(client, 'CLOSE ALL'), 'CLOSE CURSOR ALL I')
    for (let index = 0; index < 100; index++)
      assert.equal(await answer(client, declare(`c${index}`, '1')), 'DECLARE CURSOR I')
    assert.equal(await answer(client, declare('last', '1')), 'E54000 I')
  })
})

describe('a statement that SQL prepares', () => {
  test('is executed with values, and is forgotten', async (t) => {
    const { session } = await serveOrder(t)
    await follows(await session(), [
      ["PREPARE p AS SELECT nextval('order'); EXECUTE P; EXECUTE p", 'PREPARE 1 SELECT 1 2 SELECT 1 I'],
      ['PREPARE q(text, int) AS SELECT nextval($1) FROM generate_series(1, $2)', 'PREPARE I'],
      ["EXECUTE q('order', 3)", '3 4 5 SELECT 3 I'],
      ["EXECUTE q('order')", 'E42601 I'],
      ["EXECUTE q('order', 'x')", 'E22P02 I'],
      ['EXECUTE q(lower($$A$$), 1)', 'E0A000 I'],
      ['PREPARE p AS SELECT 1', 'E42P05 I'],
      [
        'PREPARE t(bool, varchar(10), bigint[]) AS SELECT $1; EXECUTE t(true, NULL, NULL)',
        'PREPARE t SELECT 1 I',
      ],
      [
        'PREPARE u(int) AS SELECT $1 + 1; EXECUTE u(-3); EXECUTE u($$41$$::int)',
        'PREPARE -2 SELECT 1 42 SELECT 1 I',
      ],
      ['PREPARE v(nonsense) AS SELECT 1', 'E42704 I'],
      ['PREPARE v AS DELETE FROM t', 'E0A000 I'],
      ['DEALLOCATE p; EXECUTE p', 'DEALLOCATE E26000 I'],
      ['DEALLOCATE ALL; EXECUTE q($$order$$, 1)', 'DEALLOCATE ALL E26000 I'],
      ["SELECT nextval('order')", '6 SELECT 1 I'],
    ])
  })

  test('is one with the statements of the protocol', async (t) => {
    const { session } = await serveOrder(t, { limits: { statementsMax: 2 } })
    const client = await session()
    client.send(parse('wire', "SELECT nextval('order')"), sync)
    assert.equal(await client.types(), '1ZI')
    assert.equal(await answer(client, 'EXECUTE wire'), '1 SELECT 1 I')
    assert.equal(await answer(client, `PREPARE sql AS ${five}`), 'PREPARE I')
    assert.equal(await answer(client, 'PREPARE third AS SELECT 1'), 'E54000 I')
    client.send(describeOf('S', 'sql'), bind('', 'sql'), execute('', 2), execute('', 9), sync)
    assert.equal(await client.types(), 'tT2DDsDDDCZI')
    assert.equal(await answer(client, 'DEALLOCATE wire'), 'DEALLOCATE I')
    // EXECUTE through the protocol has the columns of what it names, and its rows in parts.
    client.send(parse('', 'EXECUTE sql'), describeOf('S', ''), bind('', ''), describeOf('P', ''))
    client.send(execute('', 2), execute('', 9), sync)
    assert.equal(await client.types(), '1tT2TDDsDDDCZI')
    client.send(query('BEGIN'), parse('', 'EXECUTE sql'), bind('p', ''), sync)
    assert.equal(await client.types(), 'CZT')
    assert.equal(await client.types(), '12ZT')
    assert.equal(await answer(client, 'DEALLOCATE sql; PREPARE sql AS SELECT 1, 2'), 'DEALLOCATE PREPARE T')
    client.send(execute('p'), sync)
    assert.equal((await client.error()).C, '0A000')
  })
})
