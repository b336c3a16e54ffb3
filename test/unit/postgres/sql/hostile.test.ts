import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { systemClock } from '../../../../src/base/clock.ts'
import { QueryCompiler } from '../../../../src/postgres/sql/compile-query.ts'
import { ParameterTypes } from '../../../../src/postgres/sql/compiler.ts'
import type { Compiled } from '../../../../src/postgres/sql/plan.ts'
import type { Scope } from '../../../../src/postgres/sql/scope.ts'
import { compileSelect } from '../../../../src/postgres/sql/select.ts'
import { parseSelect } from '../../../../src/postgres/sql/select-parser.ts'
import { SqlError } from '../../../../src/postgres/sql/sql-error.ts'
import type { Expression } from '../../../../src/postgres/sql/syntax.ts'
import { FakeClock } from '../../fake-clock.ts'
import { errorOf, rowsOf, sessionOf } from './session.ts'

const many = (text: string, count: number) => text.repeat(count)

/** Statements that would take much memory, time or stack. */
const texts: readonly string[] = [
  `SELECT ${many('(', 100_000)}1`,
  `SELECT 1${many('+1', 9000)}`,
  `SELECT 1${many('+1', 100_000)}`,
  `SELECT ${many('NOT ', 9000)}true`,
  `SELECT ${many('- ', 9000)}1`,
  `SELECT 1${many(' UNION SELECT 1', 3000)}`,
  `SELECT a${many('[1]', 3000)}`,
  `SELECT 1${many('::int', 3000)}`,
  `SELECT * FROM a${many(' JOIN b ON true', 3000)}`,
  `SELECT ${many('CASE WHEN true THEN ', 5000)}`,
  `SELECT ARRAY${many('[', 10_000)}`,
  `SELECT * FROM ${many('(SELECT * FROM ', 5000)}`,
  `SELECT ${many('a.', 9000)}b`,
  `/* ${many('/* ', 100_000)}`,
  `SELECT '${many('x', 1_000_000)}`,
  `SELECT "${many('x', 1_000_000)}`,
  `SELECT $$${many('x', 100_000)}`,
  `SELECT ${many('1', 100_000)}`,
  `SELECT 1e999999999`,
  `SELECT '${many('9', 100_000)}'::numeric`,
  'SELECT $65536',
  'SELECT \0',
  "SELECT '\ud800', \udfff",
]

/** Statements that compile and would run for ever, or fill the memory. */
const runaways: readonly string[] = [
  'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT * FROM t',
  "WITH RECURSIVE t(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM t) SELECT length(s) FROM t",
  'WITH RECURSIVE t(n) AS (SELECT 2.5 UNION ALL SELECT n * n FROM t) SELECT max(n) FROM t',
  'SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c',
  'SELECT (SELECT count(*) FROM pg_attribute a, pg_attribute b WHERE a.attrelid > c.oid) FROM pg_class c',
  'SELECT count(*) FROM generate_series(1, 9223372036854775807)',
  "SELECT repeat('x', 2000000000)",
  "SELECT lpad('x', 2000000000)",
  "SELECT replace(repeat('x', 1000000), 'x', repeat('y', 1000000))",
  "SELECT repeat('a', 100000) ~ '(a*)*b|(a|aa)+c|((a+)+)+d'",
  "SELECT repeat('a', 1000000) LIKE '%a%a%a%a%a%a%a%a%b'",
  "SELECT regexp_replace(repeat('a', 1000000), '(a|b)*', '\\0\\0\\0', 'g') ~ '(x+x+)+y'",
  "SELECT string_agg(repeat('x', 100000), '') FROM pg_attribute",
  'SELECT array_agg(a.attname) FROM pg_attribute a, pg_attribute b',
]

const longText = "(SELECT repeat('x', 400000) s) t"
const times = (part: string, count: number) => Array(count).fill(part).join()

/** Statements that would make one text of the product of two sizes: most are longer than any string may be. */
const products: readonly string[] = [
  `SELECT concat_ws(s, ${times("'a'", 1600)}) IS NULL FROM ${longText}`,
  "SELECT array_to_string(array_agg(n), repeat('x', 400000)) FROM generate_series(1, 1600) n",
  "SELECT array_to_string(array_agg(null::text), '', repeat('x', 400000)) FROM generate_series(1, 1600) n",
  `SELECT row_to_json(r) FROM (SELECT ${times('n.*', 1600)} FROM (SELECT 1 AS "${many('n', 500_000)}") n) r`,
  `SELECT regexp_replace(repeat('x', 5000), '.*', '${many('\\&', 120_000)}')`,
  `SELECT DISTINCT ${times('s', 1600)} FROM ${longText}`,
  `SELECT ${times('s', 1350)} FROM ${longText} GROUP BY ${Array.from({ length: 1350 }, (_, index) => index + 1)}`,
  `SELECT row_number() OVER (PARTITION BY ${times('s', 1600)}) FROM ${longText}`,
  `SELECT ${times('s', 1600)} FROM ${longText} UNION SELECT ${times('s', 1600)} FROM ${longText}`,
  `SELECT ${times('s', 1600)} FROM ${longText} INTERSECT SELECT ${times('s', 1600)} FROM ${longText}`,
  `SELECT 1 FROM ${longText} JOIN (SELECT repeat('x', 400000) u) u ON ${Array(1350).fill('s = u').join(' AND ')}`,
  `SELECT nextval(s) FROM ${longText}, generate_series(1, 1600) n`,
]

/** A text inside of itself, so many times. */
const nested = (wrap: (text: string) => string, start: string, count: number): string => {
  let text = start
  for (let index = 0; index < count; index++) text = wrap(text)
  return text
}

/** Statements that double a value with each word, and would end the process: its memory is not enough. */
const doublings: readonly string[] = [
  nested((from) => `SELECT array_cat(a, a) a FROM (${from}) t`, "SELECT ARRAY['a'] a", 40),
  nested((from) => `SELECT a || a a FROM (${from}) t`, "SELECT ARRAY['a'] a", 40),
  nested((from) => `SELECT ARRAY[a, a] a FROM (${from}) t`, 'SELECT ARRAY[1] a', 40),
  nested((from) => `SELECT ROW(a, a) a FROM (${from}) t`, "SELECT 'x' a", 40),
  nested((from) => `SELECT t a, t b FROM (${from}) t`, "SELECT 'x' a", 40),
  nested((from) => `ROW(${from})`, `'"'`, 60).replace(/^/, 'SELECT '),
  `SELECT length(${nested((text) => `quote_literal(${text})`, "'''a'", 60)})`,
  'WITH RECURSIVE t(a) AS (SELECT ARRAY[1] UNION ALL SELECT a || a FROM t) SELECT max(a) FROM t',
  "SELECT array_agg(t) FROM (SELECT repeat('x', 100000) t) a, generate_series(1, 1000)",
  "SELECT json_agg(t) FROM (SELECT repeat('x', 100000) t) a, generate_series(1, 1000)",
  "SELECT ARRAY(SELECT t FROM (SELECT repeat('x', 100000) t) a, generate_series(1, 1000))",
]

/** Operands inside of operands, each of which stands in several comparisons. */
const shared: readonly string[] = [
  nested((operand) => `(${operand} BETWEEN false AND true)`, 'true', 60),
  nested((operand) => `(ROW(${operand}) BETWEEN ROW(false) AND ROW(true))`, 'true', 60),
  nested((operand) => `(ROW(${operand}) <= ROW(true))`, 'true', 60),
  nested((operand) => `(ROW(${operand}) IN (ROW(false), ROW(true)))`, 'true', 60),
  nested((operand) => `nullif(${operand}, false)`, 'true', 60),
  nested((operand) => `CASE ${operand} WHEN 2 THEN 2 WHEN 3 THEN 3 ELSE 1 END`, '1', 60),
  nested((operand) => `(ARRAY[${operand}] IN (ARRAY[false], ARRAY[true]))`, 'true', 60),
]

/** Counts the expressions that it compiles. */
class CountingCompiler extends QueryCompiler {
  compiled = 0

  override expression(expression: Expression, scope: Scope): Compiled {
    this.compiled++
    return super.expression(expression, scope)
  }
}

/** Calls whose functions would take minutes to hours for these arguments. */
const long = many('a', 400_000)
const longCalls: readonly string[] = [
  'array_length(ARRAY[n], 2147483647)',
  `translate('${long}', '${many('b', 400_000)}a', '')`,
  `btrim('${long}', '${many('b', 400_000)}a')`,
  `strpos('${long}', '${many('a', 200_000)}b${many('a', 200_000)}')`,
]

describe('hostile statements', () => {
  test('with long arguments take a time linear in them', async () => {
    for (const call of longCalls)
      assert.equal(
        await errorOf(`SELECT count(${call}) FROM generate_series(1, 10) n`),
        'no error',
        call.slice(0, 20),
      )
    assert.match(await errorOf(`SELECT '${many('(', 4_000_000)}\n'::regprocedure`), /^42602 /)
  })

  test('count what functions read, make and fail at for each row of a subquery', async () => {
    const rows =
      "FROM (SELECT repeat('x', 1000) t, ARRAY(SELECT generate_series(1, 1000)) a) s, generate_series(1, 5000) n"
    for (const call of ['md5(t)', "strpos(t, 'y')", 'array_length(a, 1)', "to_regproc('no' || n)"])
      assert.match(await errorOf(`SELECT (SELECT count(${call}) ${rows})`), /^54000 a subquery/, call)
  })

  test('compile a long pattern once for all rows, and count what compiling it makes', async () => {
    const limits = { stepsMax: 200_000, cellsMax: 1_000_000 }
    const rows = 'FROM generate_series(1, 1000) n'
    const long = `^${many('x', 300)}`
    assert.equal(
      await errorOf(`SELECT count(*) ${rows} WHERE n::text ~ '${long}'`, undefined, { limits }),
      'no error',
    )
    assert.match(
      await errorOf(`SELECT count(*) ${rows} WHERE 'y' ~ ('${long}' || n)`, undefined, { limits }),
      /^54000 /,
    )
    for (const pattern of [many('((a{60}){70}){0}', 500), `[${many('ab', 4000)}]`, `${many('(a?)', 900)}y`])
      assert.match(
        await errorOf(`SELECT repeat('z', 3000) ~ '${pattern}'`),
        /^54000 a subquery/,
        pattern.slice(0, 20),
      )
  })

  test('compile each of their expressions once', () => {
    for (const text of [
      `SELECT ARRAY[1${many(', 1', 1000)}] AS a GROUP BY 1${many(', 1', 1000)}, a${many(', a', 1000)}`,
      `SELECT (ROW(1${many(', 1', 1000)})).*`,
      `SELECT ${nested((argument) => `(SELECT x FROM lower(${argument}) x)`, "'a'", 20)}`,
    ]) {
      const compiler = new CountingCompiler(new ParameterTypes([]))
      compiler.query(parseSelect(text), undefined)
      assert.ok(compiler.compiled < 4000, `${compiler.compiled} for ${text.slice(0, 40)}`)
    }
  })

  test('that make a text of the product of two sizes are refused before it is made', async () => {
    for (const query of products) assert.match(await errorOf(query), /^54000 /, query.slice(0, 60))
  })

  test('that show a long name for each element of an array, or make its binary form, are refused', async () => {
    const limits = { stepsMax: 50_000_000, cellsMax: 2_000_000 }
    const oids =
      "SELECT array_agg('information_schema.foreign_data_wrapper_options'::regclass) FROM generate_series(1, 200000)"
    const { session } = sessionOf()
    const result = await compileSelect(oids).run(session, [], { limits })
    for (const format of [0, 1]) assert.throws(() => result.cell(0, 0, format), { sqlState: '54000' })
  })

  test('that make or compare many values below a kilobyte end at a limit', async () => {
    const text = `(SELECT '${many('ж', 1000)}'::text t) s`
    const array = '(SELECT ARRAY(SELECT generate_series(1, 1000)) a) s'
    const numbers = 'generate_series(1, 40000) n'
    for (const query of [
      `SELECT ${many('upper(t), ', 9)}upper(t) FROM ${text}, ${numbers}`,
      `SELECT t::varchar(900) FROM ${text}, ${numbers}`,
      `SELECT a || n FROM ${array}, ${numbers}`,
      `SELECT a[2:] FROM ${array}, ${numbers}`,
      `SELECT count(*) FROM (SELECT DISTINCT t, n FROM ${text}, ${numbers}) d`,
      `SELECT count(*) FROM ${text}, ${numbers} GROUP BY t, n`,
      `SELECT row_number() OVER (PARTITION BY t, n) FROM ${text}, ${numbers}`,
      `SELECT t, n FROM ${text}, ${numbers} UNION SELECT '', 1`,
      `SELECT '', 1 INTERSECT SELECT t, n FROM ${text}, ${numbers}`,
      `SELECT count(*) FROM (SELECT t, n FROM ${text}, ${numbers}) l JOIN (SELECT t, n FROM ${text}, ${numbers}) r USING (t, n)`,
    ])
      assert.match(await errorOf(query), /^54000 the query needs too much memory/, query.slice(0, 40))
  })

  test('compile and evaluate an operand once, however deep it stands in others', async () => {
    for (const text of shared) assert.equal(await errorOf(`SELECT ${text}`), 'no error', text.slice(0, 40))
  })

  test('that double a value end at a limit', async () => {
    for (const text of doublings) assert.match(await errorOf(text), /^54000 /, text)
  })

  test('that read a long text for each row end at a limit', async () => {
    const rows = "FROM (SELECT repeat('x', 300000) t) a, generate_series(1, 5000)"
    for (const value of ['length(t)', "t = 'x'", "t LIKE '%y'", 't::varchar', "strpos(t, 'y')"])
      assert.match(await errorOf(`SELECT count(${value}) ${rows}`), /^54000 /, value)
  })

  test('are no reason to refuse rows that are sorted, grouped or numbered', async () => {
    const rows = 'FROM generate_series(1, 20000) n'
    const longest = { clock: systemClock, limits: { stepsMax: 5_000_000, cellsMax: 1_000_000 } }
    const queries: readonly (readonly [query: string, row: string])[] = [
      [`SELECT n ${rows} ORDER BY n % 100 DESC, n LIMIT 1`, '99'],
      [`SELECT count(DISTINCT n % 7), min(n::text), sum(n) ${rows}`, '7|1|200010000'],
      [`SELECT length(string_agg(n::text, '' ORDER BY -n)) ${rows}`, '88894'],
      [`SELECT max(r) FROM (SELECT rank() OVER (PARTITION BY n % 2 ORDER BY -n) r ${rows}) t`, '10000'],
      [`SELECT count(*) FROM (SELECT DISTINCT n % 5000 ${rows}) t`, '5000'],
      [`SELECT count(*) FROM (SELECT n ${rows} UNION SELECT n + 10000 ${rows}) t`, '30000'],
      [`SELECT count(*) FROM (VALUES (1)) v, LATERAL generate_series(1, 150000) n`, '150000'],
    ]
    for (const [text, row] of queries) assert.deepEqual(await rowsOf(text, undefined, [], longest), [row])
  })

  test('count the parts of long conditions and expressions for each row', async () => {
    const limits = { stepsMax: 20_000, cellsMax: 1_000_000 }
    const rows = 'FROM generate_series(1, 1000) n'
    for (const text of [
      `SELECT count(*) ${rows} WHERE n <> 0${many(' AND n <> 0', 800)}`,
      `SELECT count(CASE ${many('WHEN n = 0 THEN 1 ', 400)} END) ${rows}`,
      `SELECT count(*) ${rows}, concat(n${many(", ''", 800)}) t`,
    ]) {
      assert.match(await errorOf(text, undefined, { limits }), /^54000 /, text.slice(0, 40))
      assert.equal(await errorOf(text), 'no error', text.slice(0, 40))
    }
  })

  test('pause between the sequences for which a condition reads a whole table', async () => {
    const { session } = sessionOf(Array.from({ length: 150 }, (_, index) => `s${index}`))
    const text =
      "SELECT count(*) FROM pg_class a WHERE relkind = 'S' AND NOT EXISTS (SELECT 1 FROM pg_attribute b WHERE b.attname = a.relname)"
    assert.deepEqual(await rowsOf(text, session), ['150'])
  })

  test('that are refused beside an id fail with all that they have begun to look up', async () => {
    const { session } = sessionOf(['a'])
    let isOver = true
    const fails = async () => {
      isOver = false
      await new Promise((resolve) => setImmediate(resolve))
      isOver = true
      throw new SqlError('42501', 'permission denied')
    }
    const denied = { ...session, sequences: { ...session.sequences, find: fails, page: fails } }
    for (const name of ["('b' || '')::regclass", '(SELECT count(*) FROM pg_class)']) {
      const error = await errorOf(`SELECT nextval('a'), ${name}`, denied)
      assert.equal(error, '42501 permission denied', name)
      assert.ok(isOver, name)
    }
  })

  test('with more columns than messages can have are refused', async () => {
    assert.match(await errorOf(`SELECT ${many('1, ', 1664)}1`), /^54011 /)
  })

  test('of operators without an end are refused at the greatest length of an operator', async () => {
    for (const operator of ['+', '-+', '<', '@'])
      assert.match(await errorOf(`SELECT 1 ${many(operator, 500_000)} 1`), /^42601 operator too long/)
    assert.equal(await errorOf(`SELECT 1 +${many('-+', 20)}1`), 'no error')
  })

  test('are refused, and leave nothing behind', async () => {
    for (const text of texts) assert.notEqual(await errorOf(text), 'no error', text.slice(0, 40))
    assert.equal(await errorOf('SELECT 1'), 'no error')
  })

  test('end at a limit, and let others run meanwhile', async () => {
    const limits = { stepsMax: 300_000, cellsMax: 200_000 }
    for (const text of runaways) {
      const error = await errorOf(text, undefined, { limits })
      assert.match(error, /^(?:54000|22003) /, text)
    }
  })

  test('pause for others, and end when they are cancelled', async () => {
    const controller = new AbortController()
    let turns = 0
    const timer = setInterval(() => {
      if (++turns === 3) controller.abort()
    })
    const error = await errorOf('SELECT count(*) FROM pg_attribute a, pg_attribute b', undefined, {
      signal: controller.signal,
      limits: { stepsMax: Number.POSITIVE_INFINITY, cellsMax: Number.POSITIVE_INFINITY },
    })
    clearInterval(timer)
    assert.equal(error, '57014 canceling statement due to user request')
    assert.ok(turns >= 3)
  })

  test('tell how long they have kept the event loop, also in one go or if they fail', async () => {
    const clock = new FakeClock()
    const reading = { monoUs: () => ++clock.mono, wallUs: () => clock.wall, timer: systemClock.timer }
    for (const value of ['1', '1 / (n - 20000)']) {
      let toldUs = 0
      const before = clock.mono
      await errorOf(`SELECT count(${value}) FROM generate_series(1, 30000) n`, undefined, {
        clock: reading,
        onSlice(elapsedUs) {
          toldUs += elapsedUs
        },
      })
      // Each reading takes a µs; some are made between the parts.
      assert.ok(toldUs > (clock.mono - before) / 2, `${toldUs} of ${clock.mono - before}`)
    }
  })

  test('of random words give a result or an error of SQL', async () => {
    const word = fc.constantFrom(
      ...'select from where group by order limit ( ) , . * + - = <> < || :: [ ] $1 null true 1 2.5 \'a\' "b" pg_class c oid relname int4 text count array in any all case when then else end not and or is like between exists with recursive as union values join left on using lateral unnest generate_series nextval coalesce distinct ~ interval cast row'.split(
        ' ',
      ),
    )
    const { session } = sessionOf(['a'])
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 25 }), async (words) => {
        try {
          const statement = compileSelect(`select ${words.join(' ')}`)
          const limits = { stepsMax: 100_000, cellsMax: 100_000 }
          const { count, cell } = await statement.run(
            session,
            statement.parameters.map(() => null),
            { limits },
          )
          if (count > 0) for (const column of statement.columns.keys()) cell(0, column, 0)
        } catch (error) {
          if (!(error instanceof SqlError)) throw error
        }
      }),
      { numRuns: 3000 },
    )
  })

  test('of mutated queries of drivers give a result or an error of SQL', async () => {
    const texts = [
      "SELECT n.nspname, c.relname, CASE c.relkind WHEN 'S' THEN 'sequence' END FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('S','') AND n.nspname !~ '^pg_toast' AND pg_table_is_visible(c.oid) ORDER BY 1,2",
      'WITH RECURSIVE t(oid, depth) AS (SELECT t2.typbasetype, 0 FROM pg_type t2 WHERE t2.oid = any($1::oid[]) UNION ALL SELECT ti.typelem, tt.depth + 1 FROM pg_type ti, t tt WHERE ti.oid = tt.oid) SELECT DISTINCT *, oid::regtype::text AS name FROM t',
      "SELECT array_agg(a.attname ORDER BY a.attnum), count(*) FROM pg_attribute a JOIN pg_class c ON a.attrelid = c.oid WHERE c.relname ~ E'^(pg_seq.*)$' GROUP BY c.oid HAVING count(*) > 1",
    ]
    const { session } = sessionOf(['a'])
    const mutation = fc.record({
      text: fc.constantFrom(...texts),
      from: fc.nat(400),
      length: fc.nat(12),
      put: fc.oneof(
        fc.constant(''),
        fc.string({ maxLength: 6 }),
        fc.constantFrom(...texts).map((text) => text.slice(40, 80)),
      ),
    })
    await fc.assert(
      fc.asyncProperty(mutation, async ({ text, from, length, put }) => {
        const mutated = text.slice(0, from) + put + text.slice(from + length)
        try {
          const statement = compileSelect(mutated)
          await statement.run(
            session,
            statement.parameters.map(() => null),
            { limits: { stepsMax: 100_000, cellsMax: 200_000 } },
          )
        } catch (error) {
          if (!(error instanceof SqlError)) throw error
        }
      }),
      { numRuns: 1000 },
    )
  })
})
