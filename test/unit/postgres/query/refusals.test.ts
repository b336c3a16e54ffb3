import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSync } from 'libpg-query'
import { isCheap } from '../../../../src/postgres/queries.ts'
import { analyseStatement } from '../../../../src/postgres/query/catalog-query.ts'
import { SqlError } from '../../../../src/postgres/sql-error.ts'
import { answerTo } from './answers.ts'

function errorOf(text: string, values: readonly string[] = []): string | undefined {
  const answer = answerTo(text, undefined, values)
  return 'error' in answer ? answer.error : undefined
}

test('what PostgreSQL would answer in a way that is not known here is refused', () => {
  for (const text of [
    'select 1_000',
    'select 0x1F',
    'select 1 where 0b1 = 1',
    "select '1.5'::numeric + 1",
    'select proname from pg_operator',
    'select unit from pg_settings',
    "select 'a' ~ '(a*)*b'",
    'select lower(\'x\') collate "de_DE"',
    'select distinct on (x) x from generate_series(1, 2) x',
    'select sum(x) from generate_series(1, 2) x',
    'select row(1, 2)',
    'select (select count(*) from (select 1 where o.x = 1) t) from generate_series(1, 2) o(x)',
    'select 1 from generate_series(1, 2) x, lateral (select x) y',
    'with recursive r(n) as (select 1 union all select n + 1 from r where n < 3 and exists (select 1 from r)) select n from r',
    'with recursive r(n) as (select 1 union all select n + 1 from (select n from r) s where n < 3) select n from r',
    'with recursive r(n) as (select 1 union all (with s as (select n from r) select n + 1 from s where n < 3)) table r',
    'select 1 from pg_am a left join (pg_am b join generate_series(1, a.oid::int4) on true) on true',
  ])
    assert.equal(errorOf(text), '0A000', text)
  assert.equal(errorOf('select \'1_000\', "1_0" from (select 1 as "1_0") v -- 0x1F'), undefined)
})

test('the position of an error is in characters', () => {
  const text = "select 'äöü', nothing"
  const node = parseSync(text).stmts![0]!.stmt!
  assert.throws(
    () => analyseStatement(node, [], text),
    (error) => error instanceof SqlError && error.details.position === text.indexOf('nothing') + 1,
  )
})

test('a statement that would take too much ends with an error', () => {
  const long = 'x'.repeat(100_000)
  for (const [text, state, values] of [
    [`select ${'1+'.repeat(3000)}1`, '54001', []],
    [`select ${'coalesce('.repeat(2000)}1${',2)'.repeat(2000)}`, '54001', []],
    ['select count(*) from generate_series(1, 2000000000)', '54000', []],
    ['select count(*) from pg_attribute a, pg_attribute b, pg_attribute c', '54000', []],
    ['with recursive r(n) as (select 1 union all select n + 1 from r) select n from r', '54000', []],
    [
      'with recursive r(t) as (select $1::text union all select t || t from r) select t from r',
      '54000',
      [long],
    ],
    ['select replace($1, $2, $1)', '54000', [long, 'x']],
    ['select $1::text like $2', '54000', [long, `%${long.slice(50_000)}y`]],
    ["select $1::text ~ 'x.*x.*x.*y'", '0A000', [long]],
  ] as const)
    assert.equal(errorOf(text, values), state, text.slice(0, 80))
})

test('statements that take next to nothing are known by their trees', () => {
  const cheap = (text: string) => isCheap(parseSync(text).stmts![0]!.stmt!)
  for (const text of ['select 1', 'select version(), $1::int = 2', "select set_config('a', 'b', false)"])
    assert.ok(cheap(text), text)
  for (const text of [
    'select 1 from pg_class',
    'select (select 1)',
    "select 'a' ~ 'b'",
    "select 'a' || 'b'",
    "select replace('a', 'b', 'c')",
    'values (1)',
    'select 1 union select 2',
    `select ${'1, '.repeat(300)}1`,
  ])
    assert.ok(!cheap(text), text.slice(0, 80))
})
