import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileSelect } from '../../../../src/postgres/sql/select.ts'
import { errorOf, rowsOf, sessionOf } from './session.ts'

/** Expressions and their values in text form, as PostgreSQL 15 gives them. */
const expressions: readonly (readonly [text: string, value: string])[] = [
  ['1 + 2 * 3', '7'],
  ['-7 / 2', '-3'],
  ['-7 % 4', '-3'],
  ['2147483647::int8 + 1', '2147483648'],
  ['1.10 + 2', '3.10'],
  ['0.1 * 3', '0.3'],
  ["'a' || 1 || NULL", '∅'],
  ["'it''s' || E'\\n' || U&'\\0041'", "it's\nA"],
  ["'a' 'b'".replace(' ', '\n'), 'ab'],
  ['$$dollar$$', 'dollar'],
  ["E'\\xc3\\xa9\\303\\251\\u00e9\\x41'", 'éééA'],
  ['(-1)::int4::oid', '4294967295'],
  ['4294967295::oid::int4', '-1'],
  ['NULL IS NULL AND NOT (1 IS NULL)', 't'],
  ['NULL OR true', 't'],
  ['NULL AND true', '∅'],
  ['1 IS DISTINCT FROM NULL', 't'],
  ['2 BETWEEN 1 AND 3', 't'],
  ['4 NOT BETWEEN 1 AND 3', 't'],
  ['2.5 BETWEEN 1 AND 3 AND (1 BETWEEN 2 AND 3) IN (false)', 't'],
  ['3 NOT BETWEEN NULL AND 2', 't'],
  ['1 BETWEEN NULL AND 2', '∅'],
  ['(1, 2) BETWEEN (1, 1) AND (1, 3)', 't'],
  ['(1, 2) < (1, NULL)', '∅'],
  ['(1, 2) IN ((1, 3), (1, 2))', 't'],
  ['power(2::numeric, 63::numeric)', '9223372036854775808.0000000000000000'],
  ['power(-2.5::numeric, 3::numeric)', '-15.6250000000000000'],
  ['3 IN (1, 2, NULL)', '∅'],
  ['3 NOT IN (1, 2)', 't'],
  ["3 = ANY ('{1,2,3}')", 't'],
  ['3 <> ALL (ARRAY[1, 2])', 't'],
  ['3 IN (SELECT generate_series(1, 5))', 't'],
  ['(1, 2) < (1, 3)', 't'],
  ['1 IN (1) IN (true)', 't'],
  ['1 NOT IN (1) NOT IN (true) BETWEEN false AND true', 't'],
  ["'abc' LIKE 'a%' AND 'abc' NOT LIKE '_b'", 't'],
  ["'a%c' LIKE 'a/%c' ESCAPE '/'", 't'],
  ["'ABC' ILIKE 'a_c'", 't'],
  ["'order_id' ~ '^(order_.*)$'", 't'],
  ["'Abc' ~* '^a[[:alpha:]]+c$' AND 'x' !~ 'y'", 't'],
  ["'x' OPERATOR(pg_catalog.~) 'x' COLLATE pg_catalog.default", 't'],
  ["'x'::\"char\" OPERATOR(pg_catalog.!=) 't'", 't'],
  ['pg_typeof(NULLIF(1, 2.5))', 'numeric'],
  ['NULLIF(3, 3.0)', '∅'],
  ["pg_typeof(NULLIF(1::int2, 2::int8)) || ' ' || pg_typeof(NULLIF('a'::name, 'b'::text))", 'smallint name'],
  ["CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", 'b'],
  ['CASE WHEN false THEN 1 END', '∅'],
  ['COALESCE(NULL, 2, 3)', '2'],
  ['NULLIF(1, 1)', '∅'],
  ["NULLIF('a', 'b') || NULLIF(2, 1.0)", 'a2'],
  ["CASE 2 WHEN 1 THEN 'a' WHEN 2.0 THEN 'b' END || CASE NULL WHEN NULL THEN 1 ELSE 2 END", 'b2'],
  ["CASE (SELECT 'a') WHEN 'b' THEN 1 WHEN 'a' THEN 2 END", '2'],
  ['GREATEST(1, NULL, 3)', '3'],
  ["ARRAY['a', NULL, 'b c', '']", '{a,NULL,"b c",""}'],
  ['(ARRAY[1, 2, 3])[2]', '2'],
  ['(ARRAY[1, 2, 3])[2:]', '{2,3}'],
  ['ARRAY[1] || 2 || ARRAY[3]', '{1,2,3}'],
  ["'{{1,2},{3,4}}'::int[]", '{{1,2},{3,4}}'],
  ["'{1,2}'::int[] @> ARRAY[2]", 't'],
  ['ARRAY(SELECT x FROM generate_series(1, 3) x WHERE x <> 2)', '{1,3}'],
  ["ROW(1, 'a b', NULL)", '(1,"a b",)'],
  ["array_to_string(ARRAY['a', NULL, 'b'], ',', '?')", 'a,?,b'],
  ["string_to_array('a,b', ',')", '{a,b}'],
  ['array_upper(ARRAY[5, 6], 1)', '2'],
  ["'pg_class'::regclass", 'pg_class'],
  ["'pg_class'::regclass::oid", '1259'],
  ["'information_schema.sequences'::regclass::text", 'information_schema.sequences'],
  ['20::regtype', 'bigint'],
  ["'character varying'::regtype::oid", '1043'],
  ["'int4[]'::regtype", 'integer[]'],
  ["to_regclass('nowhere')", '∅'],
  ['format_type(1043, 14)', 'character varying(10)'],
  ['format_type(1700, 655366)', 'numeric(10,2)'],
  ["quote_ident('Order')", '"Order"'],
  ["quote_literal('a''b')", "'a''b'"],
  ["'abcdef'::varchar(3)", 'abc'],
  ["'t'::bool::int", '1'],
  ['1.5::int', '2'],
  ['2.5::float8::int', '2'],
  ["'2000-01-02 03:04:05.5'::timestamp", '2000-01-02 03:04:05.5'],
  ['now()', '2000-01-01 00:00:00+00'],
  ['current_schemas(true)', '{pg_catalog,public}'],
  ['pg_encoding_to_char(6)', 'UTF8'],
  ["current_setting('search_path')", 'public'],
  ["substring('sequence' from 4 for 3)", 'uen'],
  ["split_part('a.b.c', '.', 2)", 'b'],
  ["translate('a1a22b', 'a1a2', 'xy')", 'xyxb'],
  ["btrim('xyaxbyx', 'xy') || ltrim('xa', 'x') || rtrim('ax', 'x')", 'axbaa'],
  ["'int4in(cstring)'::regprocedure::oid", '42'],
  ['array_length(ARRAY[ARRAY[1, 2, 3]], 2)', '3'],
  ["regexp_replace('a1b22', '[0-9]+', '<\\&>', 'g')", 'a<1>b<22>'],
  ['pg_size_pretty(20480::bigint)', '20 kB'],
  ['pg_typeof(1)', 'integer'],
  ['EXISTS (SELECT 1 WHERE false)', 'f'],
  ['(SELECT max(x) FROM generate_series(1, 4) x)', '4'],
  ["json_build_object('a', 1, 'b', NULL)", '{"a" : 1, "b" : null}'],
]

/** Queries and their rows. */
const queries: readonly (readonly [text: string, rows: readonly string[]])[] = [
  ["VALUES (1, 'a'), (2, NULL)", ['1|a', '2|∅']],
  ['SELECT * FROM (VALUES (3), (1), (2)) AS v(n) ORDER BY n DESC LIMIT 2 OFFSET 1', ['2', '1']],
  [
    "SELECT n % 2 AS odd, count(*), sum(n), string_agg(n::text, ',' ORDER BY n DESC) FROM generate_series(1, 5) n GROUP BY 1 HAVING count(*) > 1 ORDER BY odd",
    ['0|2|6|4,2', '1|3|9|5,3,1'],
  ],
  ['SELECT count(*), max(n) FROM generate_series(1, 0) n', ['0|∅']],
  ['SELECT DISTINCT n / 2 FROM generate_series(0, 3) n ORDER BY 1', ['0', '1']],
  ['SELECT DISTINCT ON (n / 2) n FROM generate_series(0, 3) n ORDER BY n / 2, n DESC', ['1', '3']],
  ['SELECT 1 UNION SELECT 1 UNION ALL SELECT 2 ORDER BY 1', ['1', '2']],
  ['SELECT n FROM generate_series(1, 4) n EXCEPT SELECT 2 INTERSECT SELECT 2 ORDER BY 1', ['1', '3', '4']],
  [
    'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) SELECT sum(n) FROM t',
    ['10'],
  ],
  [
    'SELECT a.n, b.n FROM generate_series(1, 2) a(n) LEFT JOIN generate_series(2, 3) b(n) ON a.n = b.n',
    ['1|∅', '2|2'],
  ],
  [
    'SELECT a.n, b.n FROM generate_series(1, 2) a(n) FULL JOIN generate_series(2, 3) b(n) ON a.n = b.n ORDER BY 1, 2',
    ['1|∅', '2|2', '∅|3'],
  ],
  ['SELECT n FROM generate_series(1, 2) a(n) JOIN generate_series(2, 3) b(n) USING (n)', ['2']],
  ['SELECT a.n, l.m FROM generate_series(1, 2) a(n), LATERAL (SELECT a.n * 10 AS m) l', ['1|10', '2|20']],
  ['SELECT a.n, m FROM generate_series(1, 2) a(n), generate_series(1, a.n) m', ['1|1', '2|1', '2|2']],
  ["SELECT x, o FROM unnest(ARRAY['a', 'b']) WITH ORDINALITY u(x, o)", ['a|1', 'b|2']],
  ['SELECT unnest(ARRAY[1, 2]), generate_series(1, 3)', ['1|1', '2|2', '∅|3']],
  ['SELECT (information_schema._pg_expandarray(ARRAY[7, 8])).n', ['1', '2']],
  [
    'SELECT t.n FROM generate_series(1, 3) t(n) WHERE (SELECT count(*) FROM generate_series(1, t.n) u) = 2',
    ['2'],
  ],
  ["SELECT relname FROM pg_class WHERE oid = 'pg_type'::regclass", ['pg_type']],
  ['SELECT 1 LIMIT NULL', ['1']],
  ["SELECT (ROW(1, true)).*, (n).* FROM (SELECT 3, 'x') n", ['1|t|3|x']],
  [
    'SELECT n % 2 AS m, count(*) FROM generate_series(1, 3) n GROUP BY m, 1, m, n % 2, 1 ORDER BY 1',
    ['0|1', '1|2'],
  ],
  [
    'SELECT n, row_number() OVER (PARTITION BY n % 2 ORDER BY n DESC), rank() OVER (ORDER BY n / 2) FROM generate_series(1, 3) n ORDER BY 1',
    ['1|2|1', '2|1|2', '3|1|2'],
  ],
  ["SELECT trim(both 'x' from 'xax'), trim(' a '), position('b' in 'abc')", ['a|a|2']],
  ["SELECT word, catcode FROM pg_get_keywords() WHERE word = 'select'", ['select|R']],
  ['(SELECT 2) ORDER BY 1', ['2']],
  ['SELECT', ['']],
]

/** Statements and their errors, in PostgreSQL's words. */
const errors: readonly (readonly [text: string, error: string])[] = [
  ['SELECT * FROM pg_catalog.nowhere', '42P01 relation "pg_catalog.nowhere" does not exist'],
  ['SELECT * FROM nowhere', '42P01 relation "nowhere" does not exist'],
  ['SELECT nothing FROM pg_class', '42703 column "nothing" does not exist'],
  ['SELECT c.nothing FROM pg_class c', '42703 column c.nothing does not exist'],
  ['SELECT d.oid FROM pg_class c', '42P01 missing FROM-clause entry for table "d"'],
  ['SELECT oid FROM pg_class a, pg_type b', '42702 column reference "oid" is ambiguous'],
  ['SELECT nothing(1)', '42883 function nothing(integer) does not exist'],
  ['SELECT 1 + true', '42883 operator does not exist: integer + boolean'],
  ["SELECT 'a'::int", '22P02 invalid input syntax for type integer: "a"'],
  ['SELECT 1/0', '22012 division by zero'],
  ['SELECT 2147483647 + 1', '22003 integer out of range'],
  ['SELECT power(10::numeric, 9999::numeric)', '22003 value overflows numeric format'],
  ["SELECT 'x'::nothing", '42704 type "nothing" does not exist'],
  ["SELECT 'nowhere'::regclass", '42P01 relation "nowhere" does not exist'],
  ['SELECT 1 WHERE 1', '42804 argument of WHERE must be type boolean, not type integer'],
  ['SELECT CASE WHEN true THEN 1 ELSE true END', '42804 CASE types boolean and integer cannot be matched'],
  [
    'SELECT (SELECT generate_series(1, 2))',
    '21000 more than one row returned by a subquery used as an expression',
  ],
  ['SELECT (SELECT 1, 2)', '42601 subquery must return only one column'],
  ['SELECT count(*) FROM pg_class WHERE count(*) > 1', '42803 aggregate functions are not allowed here'],
  ['SELECT true BETWEEN false AND true BETWEEN false AND true', '42601 syntax error at or near "BETWEEN"'],
  ["SELECT 'a' LIKE 'b' NOT IN (true)", '42601 syntax error at or near "NOT"'],
  ["SELECT CASE '1' WHEN 1 THEN 'a' END", '42883 operator does not exist: text = integer'],
  ['SELECT 1 ORDER BY 2', '42P10 ORDER BY position 2 is not in select list'],
  ['SELECT 1 UNION SELECT 1, 2', '42601 each UNION query must have the same number of columns'],
  ['SELECT ARRAY[]', '42P18 cannot determine type of empty array'],
  ["SELECT 'a' ~ '('", '2201B invalid regular expression: parentheses () not balanced'],
  [
    'SELECT * FROM a FOR UPDATE',
    '0A000 SELECT … FOR UPDATE or SHARE is not supported; this server answers sequences and catalogues only',
  ],
]

describe('SELECT', () => {
  test('evaluates expressions', async () => {
    for (const [text, value] of expressions) assert.deepEqual(await rowsOf(`SELECT ${text}`), [value], text)
  })

  test('evaluates queries', async () => {
    for (const [text, rows] of queries) assert.deepEqual(await rowsOf(text), rows, text)
  })

  test('refuses with the errors of PostgreSQL', async () => {
    for (const [text, error] of errors) assert.equal(await errorOf(text), error, text)
  })

  test('says where in the statement an error is', () => {
    assert.throws(() => compileSelect('SELECT 1, nothing'), { details: { position: 11 } })
  })

  test('names columns as PostgreSQL does, and finds the types of columns and parameters', () => {
    const { columns, parameters } = compileSelect(
      "SELECT 1, relname, c.oid::text, true, 'a'::varchar(3), count(*), (SELECT 1 AS one), ARRAY[1], CASE WHEN true THEN relkind END FROM pg_class c WHERE relname = $1 AND oid = ANY ($2) AND $3::int > 1 GROUP BY 2, 3, 9",
    )
    assert.deepEqual(
      columns.map(({ name, type }) => `${name} ${type}`),
      [
        '?column? 23',
        'relname 19',
        'oid 25',
        '?column? 16',
        'varchar 1043',
        'count 20',
        'one 23',
        'array 1007',
        'case 18',
      ],
    )
    assert.equal(columns[4]!.modifier, 7)
    assert.deepEqual(parameters, [19, 1028, 23])
  })

  test('tells which columns of tables a result shows, through subqueries', () => {
    const { columns } = compileSelect(
      'SELECT t.relname, t.n, lower(relname) FROM (SELECT c.relname, 1 AS n, oid FROM pg_class c) t',
    )
    assert.deepEqual(
      columns.map(({ source }) => source),
      [{ table: 1259, number: 2 }, undefined, undefined],
    )
  })

  test('takes parameters as text and in binary', async () => {
    const { session } = sessionOf()
    assert.deepEqual(await rowsOf('SELECT $1::int + 1', session, ['41']), ['42'])
    assert.deepEqual(await rowsOf('SELECT $1::int + 1', session, [Buffer.from([0, 0, 0, 41])]), ['42'])
    assert.deepEqual(await rowsOf('SELECT $1::text IS NULL', session, [null]), ['t'])
    const oids = Buffer.from('00000001000000000000001a00000001000000010000000400000014', 'hex')
    assert.deepEqual(
      await rowsOf('SELECT typname FROM pg_type WHERE oid = ANY ($1::oid[])', session, [oids]),
      ['int8'],
    )
  })

  test('counts the characters of a result, also of short texts', async () => {
    const { run } = compileSelect("SELECT lpad(n::text, 60, 'x') FROM generate_series(1, 1000) n")
    const short = await run(sessionOf().session, [])
    const one = await compileSelect('SELECT n FROM generate_series(1, 1000) n').run(sessionOf().session, [])
    assert.ok(short.cells - one.cells >= 7000)
  })

  test('gives values in binary', async () => {
    const { columns, run } = compileSelect(
      "SELECT true, 1::int2, 2, 3::int8, 1.5::float8, 'a', ARRAY[1, NULL], '1 2'::int2vector, 12345.678::numeric, '\\x01'::bytea, 'S'::\"char\", ROW(1)",
    )
    const { cell } = await run(sessionOf().session, [])
    assert.deepEqual(
      columns.map((_, column) => Buffer.from(cell(0, column, 1) as Uint8Array).toString('hex')),
      [
        '01',
        '0001',
        '00000002',
        '0000000000000003',
        '3ff8000000000000',
        '61',
        '000000010000000100000017000000020000000100000004' + '00000001ffffffff',
        '000000010000000000000015000000020000000000000002' + '0001000000020002',
        '0003000100000003000109291a7c',
        '01',
        '53',
        '00000001000000170000000400000001',
      ],
    )
  })
})

describe('sequences in catalogues', () => {
  test('are looked up by their names and oids, without reading all', async () => {
    const { session, asked } = sessionOf(['a', 'order', 'z'])
    const [oid] = await rowsOf("SELECT oid FROM pg_class WHERE relname = 'order'", session)
    assert.deepEqual(await rowsOf(`SELECT relname, relkind FROM pg_class WHERE oid = ${oid}`, session), [
      'order|S',
    ])
    assert.deepEqual(
      await rowsOf(`SELECT seqstart FROM pg_sequence WHERE seqrelid = 'order'::regclass`, session),
      ['1'],
    )
    assert.deepEqual(await rowsOf("SELECT relname FROM pg_class WHERE relname ~ '^(order)$'", session), [
      'order',
    ])
    assert.deepEqual(
      await rowsOf(
        "SELECT sequence_name FROM information_schema.sequences WHERE sequence_name IN ('z', 'y')",
        session,
      ),
      ['z'],
    )
    assert.equal(asked.pages, 0)
  })

  test('are not looked up where a condition excludes them', async () => {
    const { session, asked } = sessionOf(['a'])
    assert.deepEqual(await rowsOf("SELECT count(*) > 9 FROM pg_class WHERE relkind IN ('r', 'v')", session), [
      't',
    ])
    assert.deepEqual(
      await rowsOf('SELECT count(*) > 9 FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid', session),
      ['t'],
    )
    assert.deepEqual(asked, { found: [], pages: 0, calls: [] })
  })

  test('are read in pages, of which only those stay that match', async () => {
    const names = Array.from({ length: 30_000 }, (_, index) => `s${String(index).padStart(5, '0')}`)
    const { session, asked } = sessionOf(names)
    assert.deepEqual(
      await rowsOf(
        "SELECT relname FROM pg_class WHERE relkind = 'S' AND relname LIKE 's2999_' AND relname > 's29997'",
        session,
      ),
      ['s29998', 's29999'],
    )
    assert.equal(asked.pages, 151)
    // Hibernate asks so when an application starts.
    assert.equal((await rowsOf('select * from information_schema.sequences', session)).length, 30_000)
  })

  test('are tables of one row', async () => {
    const { session } = sessionOf(['order'])
    assert.deepEqual(await rowsOf('SELECT * FROM "order"', session), ['1|0|f'])
    assert.deepEqual(await rowsOf('SELECT is_called FROM public."order" o', session), ['f'])
  })

  test('have oids that their names alone decide', async () => {
    const [first] = await rowsOf("SELECT 'order'::regclass::oid", sessionOf(['order']).session)
    const [second] = await rowsOf("SELECT 'order'::regclass::oid", sessionOf(['a', 'order']).session)
    assert.equal(first, second)
    assert.ok(Number(first) > 16_384)
  })
})

describe('functions with effects', () => {
  test('are called once for each row, together where there is one', async () => {
    const { session, asked } = sessionOf(['a'])
    assert.deepEqual(
      await rowsOf(
        "SELECT nextval('a') * 10, g FROM generate_series(1, 4) g WHERE g <> 2 ORDER BY g DESC LIMIT 2",
        session,
      ),
      ['10|4', '20|3'],
    )
    assert.deepEqual(asked.calls, ['nextval(a)', 'nextval(a)'])
  })

  test('are called row by row where there are several, inner ones first', async () => {
    const { session, asked } = sessionOf(['a'])
    await rowsOf("SELECT setval('a', nextval('a')), currval('a') FROM generate_series(1, 2)", session)
    const row = ['nextval(a)', 'setval(a,1)', 'currval(a)']
    assert.deepEqual(asked.calls, [...row, ...row])
  })

  test('are refused where their value may not be used, or is needed before all rows are known', async () => {
    const { session, asked } = sessionOf(['a'])
    const rows = 'FROM generate_series(1, 3) n'
    for (const [query, place] of [
      ["SELECT CASE WHEN false THEN setval('a', 100000) END", 'CASE'],
      ["SELECT COALESCE(1, nextval('a'))", 'COALESCE'],
      ["SELECT false AND nextval('a') > 0", 'AND'],
      ["SELECT true OR setval('a', 5) > 0", 'OR'],
      ["SELECT 1 BETWEEN 2 AND nextval('a')", 'BETWEEN'],
      [`SELECT DISTINCT nextval('a') ${rows}`, 'a SELECT DISTINCT'],
      [`SELECT DISTINCT ON (i) nextval('a') AS i ${rows}`, 'DISTINCT ON'],
      [`SELECT nextval('a') AS i ${rows} ORDER BY i DESC`, 'ORDER BY'],
      [`SELECT n, nextval('a') + 1 ${rows} ORDER BY 2`, 'ORDER BY'],
      [`SELECT n ${rows} ORDER BY setval('a', n)`, 'ORDER BY'],
      [`SELECT (ROW(1, nextval('a'))).* ${rows} ORDER BY 2`, 'ORDER BY'],
      ["SELECT generate_series(1, nextval('a'))", 'an argument of generate_series'],
    ] as const)
      assert.match(await errorOf(query, session), new RegExp(`^0A000 .* in ${place}(?: is not|:)`), query)
    for (const query of [
      `SELECT nextval('a') AS i ${rows} GROUP BY i`,
      `SELECT row_number() OVER (ORDER BY nextval('a')) ${rows}`,
    ])
      assert.match(await errorOf(query, session), /^0A000 nextval anywhere but in the list/, query)
    assert.deepEqual(asked.calls, [])
  })

  test('are called where their value is used in any case, and sorted by in a query around', async () => {
    const { session, asked } = sessionOf(['a'])
    for (const [query, rows] of [
      ["SELECT COALESCE(nextval('a'), 0), NULLIF(nextval('a'), 2)", ['1|1']],
      ["SELECT setval('a', COALESCE(NULL, 5), true AND false)", ['1']],
      ["SELECT CASE WHEN true THEN currval('a') END", ['1']],
      ['SELECT row_number() OVER (ORDER BY n) FROM generate_series(7, 8) n', ['1', '2']],
      [
        "SELECT i FROM (SELECT nextval('a') AS i FROM generate_series(1, 3)) t ORDER BY i DESC",
        ['3', '2', '1'],
      ],
    ] as const)
      assert.deepEqual(await rowsOf(query, session), rows, query)
    assert.equal(asked.calls.length, 7)
  })

  test('are called in a query of WITH that is read, through others too, and in no other', async () => {
    const { session, asked } = sessionOf(['a', 'b'])
    const ids = "a AS (SELECT nextval('a') FROM generate_series(1, 2)), b AS (SELECT nextval('b') FROM a)"
    for (const [query, rows] of [
      [`WITH ${ids} SELECT 7`, ['7']],
      [`WITH ${ids} SELECT count(*) FROM a`, ['2']],
      [`WITH ${ids} SELECT (SELECT count(*) FROM b)`, ['2']],
      [`WITH ${ids} SELECT 1 UNION SELECT 1 FROM (SELECT * FROM b) t`, ['1']],
    ] as const)
      assert.deepEqual(await rowsOf(query, session), rows, query)
    const [a, b] = [Array(2).fill('nextval(a)'), Array(2).fill('nextval(b)')]
    assert.deepEqual(asked.calls, [a, a, b, a, b].flat())
  })

  test('are not called with nulls, and not elsewhere', async () => {
    const { session, asked } = sessionOf(['a'])
    assert.deepEqual(await rowsOf('SELECT nextval(NULL)', session), ['∅'])
    assert.match(
      await errorOf("SELECT 1 WHERE nextval('a') > 0", session),
      /^0A000 nextval anywhere but in the list/,
    )
    assert.match(await errorOf("SELECT (SELECT nextval('a'))", session), /^0A000/)
    assert.deepEqual(asked.calls, [])
  })
})
