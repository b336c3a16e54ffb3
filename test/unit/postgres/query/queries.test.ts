import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerTo, Sequences, sequence } from './answers.ts'

const sequences = new Sequences([sequence('a', 1 << 21), sequence('b', (1 << 21) + 1)])

function rows(text: string): unknown {
  const answer = answerTo(text, sequences)
  assert.ok('rows' in answer, `${text}: ${JSON.stringify(answer)}`)
  return answer.rows
}

test('joins give the rows of both sides, and a LEFT JOIN those of its left side without a match too', () => {
  const from = '(values (1), (2), (null)) l(x)'
  const right = "(values (2, 'b'), (2, 'c'), (3, 'd')) r(x, y)"
  assert.deepEqual(rows(`select l.x, y from ${from} join ${right} on l.x = r.x order by y`), [
    ['2', 'b'],
    ['2', 'c'],
  ])
  assert.deepEqual(
    rows(`select l.x, y from ${from} left join ${right} on l.x = r.x and y <> 'b' order by 1`),
    [
      ['1', null],
      ['2', 'c'],
      [null, null],
    ],
  )
  assert.deepEqual(rows(`select l.x from ${from} left join ${right} using (x) where y is null order by 1`), [
    ['1'],
    [null],
  ])
  assert.deepEqual(rows(`select x, z from ${from}, generate_series(x, 2) z where x = 2`), [['2', '2']])
})

test('joins of catalogues find sequences', () => {
  const text = `select nspname, relname, seqincrement from pg_class c join pg_namespace n on n.oid = relnamespace
    join pg_sequence s on s.seqrelid = c.oid left join pg_description d on d.objoid = c.oid where relkind = 'S' order by 2`
  assert.deepEqual(rows(text), [
    ['public', 'a', '1'],
    ['public', 'b', '1'],
  ])
})

test('groups, aggregates, sets and recursion', () => {
  const from = "(values (1, 'a'), (1, 'b'), (2, null)) v(x, y)"
  assert.deepEqual(
    rows(`select x, count(y), array_agg(y order by y desc) from ${from} group by x order by x`),
    [
      ['1', '2', '{b,a}'],
      ['2', '0', '{NULL}'],
    ],
  )
  assert.deepEqual(
    rows("select string_agg(y, '-'), max(x), min(y) from (values (1, 'a'), (3, 'b')) v(x, y)"),
    [['a-b', '3', 'a']],
  )
  assert.deepEqual(rows('select unnest(array[1, 2]), 3'), [
    ['1', '3'],
    ['2', '3'],
  ])
  const recursive =
    'with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select n from r'
  assert.deepEqual(rows(`${recursive} order by n desc limit 2`), [['3'], ['2']])
  assert.deepEqual(rows('select 1 union select 1 union all select 2 order by 1'), [['1'], ['2']])
})

test('queries in expressions', () => {
  assert.deepEqual(rows("select exists (select 1 from pg_class where relname = 'a')"), [['t']])
  assert.deepEqual(rows('select array(select x from generate_series(1, 3) x)'), [['{1,2,3}']])
  assert.deepEqual(
    rows('select relname from pg_class where oid in (select seqrelid from pg_sequence) order by 1'),
    [['a'], ['b']],
  )
})

test('two views of the same facts have their own order of columns', () => {
  const user = rows('select rolname from pg_authid where oid = 10')
  assert.deepEqual(rows('select rolname from pg_roles where oid = 10'), user)
  assert.deepEqual(rows('select usename from pg_user'), rows('select usename from pg_shadow'))
})

test('blanks are those of ASCII: a no-break space belongs to the text', () => {
  assert.deepEqual(rows("select '{\u00a0a, b}'::text[]"), [['{\u00a0a,b}']])
  assert.deepEqual(rows("select typanalyze from pg_type where typname = '_int4'"), [['array_typanalyze']])
})

test('a text that is compared is a text in a UNION too', () => {
  const names = 'union all select relname from pg_class where false'
  const types = (text: string) => answerTo(text)
  assert.deepEqual(types(`select 'a' ${names}`), { columns: ['?column? 19 -1'], rows: [['a']] })
  assert.deepEqual(types(`(select 'a' order by 1) ${names}`), { columns: ['?column? 25 -1'], rows: [['a']] })
  assert.deepEqual(types(`select distinct 'a' ${names}`), { columns: ['?column? 25 -1'], rows: [['a']] })
})

test('an aggregate of what only a query around has is refused', () => {
  for (const call of ["string_agg(relname, ',')", 'max((select relname))', 'count(relname)'])
    assert.match(
      JSON.stringify(answerTo(`select (select ${call} from pg_am) from pg_class`)),
      /An aggregate of a query around/,
    )
  assert.deepEqual(
    rows("select (select count(c.relname || amname) from pg_am) from pg_class c where relname = 'a'"),
    [['7']],
  )
})
