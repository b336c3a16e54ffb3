/**
 * Operators, conversions and functions on each value beside each other one: the answer of PostgreSQL 15, or a refusal. Some of
 * the 130,000 statements by a seed; `PAIRS=all` asks all of them, and takes some minutes.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { owner, superuser } from '../launch/database.ts'
import { atEnd, Scope } from '../launch/lifetime.ts'
import { startPostgres } from '../launch/postgres.ts'
import { answerTo } from '../unit/postgres/query/answers.ts'

const values =
  `true; null::bool; 'a'::"char"; ''::"char"; 'abc'::name; 'pg_x'::name; 1::int2; '-3'::int2; 7; 2147483647; null::int4;
  9223372036854775807; 5::int8; 26::oid; 4294967295::oid; 'abc'::text; 'a '::text; ''::text; null::text; 'abc'::varchar; 'a'::char(3); 1.50;
  '-2'::numeric; 1.5::float8; '2020-01-02'::date; '2020-01-02 03:04:05'::timestamp; '2020-01-02 03:04:05+00'::timestamptz;
  '00000000-0000-0000-0000-000000000001'::uuid; '\\x01ff'::bytea; '{"a":1}'::json; '{1,2,NULL}'::int4[]; '{5}'::int8[];
  '{a,NULL,"b c"}'::text[]; '{x}'::name[]; '{26}'::oid[]; 'pg_class'::regclass; 'int4'::regtype; 'array_in'::regproc;
  'public'::regnamespace; 'abc'; '1'; null; '{1}'; (select indkey from pg_index limit 0);
  (select relacl from pg_class where oid=1259); (select proargtypes from pg_proc where oid=750); (select xmin from pg_class limit 0)`
    .split(';')
    .map((value) => value.trim())
const types =
  'bool "char" name int2 int4 int8 oid text varchar char(2) bpchar numeric float4 float8 date timestamp timestamptz uuid bytea json int4[] int8[] text[] oid[] int2[] name[] varchar[] regclass regtype regproc regnamespace'.split(
    ' ',
  )
const operators = '= <> < >= + - * / % & || ~ ~~ !~~'.split(' ')
const forms = [
  'coalesce(A, B)',
  'case when true then A else B end',
  'greatest(A, B)',
  'nullif(A, B)',
  'array[A, B]',
  'A in (B)',
  'A in (select B)',
  '(A, B) in (select B, A)',
  'A union all select B',
  'A = any(B)',
  'A is distinct from B',
]
const ofOne =
  'lower quote_ident quote_literal to_regclass to_regtype to_regnamespace pg_table_is_visible pg_type_is_visible pg_get_userbyid pg_encoding_to_char pg_char_to_encoding current_setting current_schemas pg_size_pretty array_to_json unnest concat format min max count bool_and array_agg json_agg row_to_json pg_get_expr pg_get_indexdef'.split(
    ' ',
  )
const ofTwo =
  'btrim rtrim array_upper array_lower array_length array_remove array_to_string format_type obj_description col_description has_database_privilege has_schema_privilege string_agg generate_subscripts concat format json_build_object like_escape current_setting pg_get_constraintdef pg_get_viewdef pg_get_serial_sequence'.split(
    ' ',
  )
const ofThree = ['substring', 'replace', 'lpad']

function* statements(): Generator<string> {
  for (const a of values) {
    for (const type of types) yield `select (${a})::${type}`
    for (const name of ofOne) yield `select ${name}(${a})`
    yield `select - ${a}`
    for (const b of values) {
      for (const operator of operators) yield `select ${a} ${operator} ${b}`
      for (const form of forms) yield `select ${form.replace('A', () => a).replace('B', () => b)}`
      yield `values (${a}),(${b})`
      for (const name of ofTwo) yield `select ${name}(${a}, ${b})`
      for (const c of values) for (const name of ofThree) yield `select ${name}(${a}, ${b}, ${c})`
    }
  }
}

const scope = new Scope()
after(() => scope.end())

test('an expression has the answer of PostgreSQL, or is refused', async () => {
  const postgres = await startPostgres(scope)
  const client = new Client({ connectionString: postgres.url('postgres', superuser) })
  await client.connect()
  atEnd(scope, () => client.end())
  await client.query(`DROP ROLE ${owner}`)
  const all = [...statements()]
  // Every statement is met once in as many steps as there are statements.
  const step = process.env.PAIRS === 'all' ? 1 : 100_003
  const count = process.env.PAIRS === 'all' ? all.length : 3000
  for (let asked = 0; asked < count; asked++) {
    const text = all[(asked * step) % all.length]!
    const answer = answerTo(text)
    if ('error' in answer && answer.error === '0A000') continue
    const real = await answerOf(client, text)
    if ('error' in real) assert.ok('error' in answer, `${text}: ${JSON.stringify(answer)}, not ${real.error}`)
    else assert.deepEqual(answer, real, text)
  }
})

async function answerOf(client: Client, text: string): Promise<ReturnType<typeof answerTo>> {
  const own = { getTypeParser: () => (value: unknown) => String(value) }
  try {
    const { fields, rows } = await client.query({ text, rowMode: 'array', types: own })
    const columns = fields.map((each) => `${each.name} ${each.dataTypeID} ${each.dataTypeModifier}`)
    return { columns, rows }
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return { error: code, message }
  }
}
