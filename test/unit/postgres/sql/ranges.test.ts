import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileSelect } from '../../../../src/postgres/sql/select.ts'
import { errorOf, rowsOf, sessionOf } from './session.ts'

const { session } = sessionOf()

const long = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

test('times beyond the years of four digits have the text of PostgreSQL, or an error', async () => {
  for (const [value, text] of [
    [2n ** 63n - 1n, 'infinity'],
    [-(2n ** 63n), '-infinity'],
    [-1n, '1999-12-31 23:59:59.999999+00'],
    [315_537_897_600_000_000n, '11998-12-31 00:00:00+00'],
    [-63_145_440_000_000_000n, '0002-01-01 00:00:00+00 BC'],
  ] as const)
    assert.deepEqual(await rowsOf('SELECT $1::timestamptz', session, [long(value)]), [text])
  const far = rowsOf('SELECT $1::timestamptz', session, [long(2n ** 63n - 2n)])
  await assert.rejects(far, { sqlState: '22008' })
  assert.equal(await errorOf("SELECT '2000-01-01'::date + 2147483647"), '22008 date out of range')
})

test('dates and times are read in any form in which they are written', async () => {
  for (const [text, value] of [
    ["'0001-01-01'::date", '0001-01-01'],
    ["'0099-12-31 23:59:59.5'::timestamp", '0099-12-31 23:59:59.5'],
    ["'0002-01-01 00:00:00+00 BC'::timestamptz", '0002-01-01 00:00:00+00 BC'],
    ["'0001-02-29 BC'::date", '0001-02-29 BC'],
    ["'11998-12-31'::date", '11998-12-31'],
    ["'275760-09-12 01:02:03'::timestamp", '275760-09-12 01:02:03'],
    ["'2024-02-29'::date", '2024-02-29'],
    ["'1999-12-31 12:00:00'::date", '1999-12-31'],
    ["'2023-12-31 24:00:00'::timestamp", '2024-01-01 00:00:00'],
    ["' Infinity'::timestamp", 'infinity'],
    ["'-infinity'::timestamptz", '-infinity'],
    ["'-infinity'::date + 1", '-infinity'],
    ["'infinity'::date::timestamp::date", 'infinity'],
    ["'-infinity'::date < '0001-01-01 BC'::date AND '-infinity'::date = '-infinity'::timestamp", 't'],
  ] as const)
    assert.deepEqual(await rowsOf(`SELECT ${text}`), [value], text)
})

test('dates and times that there are not are refused', async () => {
  for (const text of [
    '0000-01-01',
    '2023-02-29',
    '2024-02-30',
    '2024-00-10',
    '2024-13-01',
    '2024-01-00',
    '275760-09-14',
    '2024-01-01 25:00:00',
    '2024-01-01 24:00:01',
    '2024-01-01 23:60:00',
    '2024-01-01 23:59:61',
  ])
    for (const type of ['date', 'timestamp'])
      assert.equal(
        await errorOf(`SELECT '${text}'::${type}`),
        `22008 date/time field value out of range: "${text}"`,
      )
  for (const text of ['now', '24-01-01', '2024-01-01 BC BC'])
    assert.match(await errorOf(`SELECT '${text}'::timestamp`), /^22P02 /)
})

test('dates and oids out of their range are refused in binary form too', async () => {
  const binary = async (text: string) => {
    const { cell } = await compileSelect(text).run(session, [])
    return Buffer.from(cell(0, 0, 1) as Uint8Array).toString('hex')
  }
  assert.equal(await binary('SELECT (-1)::int4::oid'), 'ffffffff')
  assert.equal(await binary("SELECT 'infinity'::date"), '7fffffff')
  assert.equal(await binary("SELECT '-infinity'::date"), '80000000')
  await assert.rejects(binary("SELECT '2000-01-01'::date + 2147483647 + 2147483647"), { sqlState: '22008' })
  assert.equal(await errorOf('SELECT (-1)::int8::oid'), '22003 OID out of range')
})

test('names of relations are looked up before an id is drawn', async () => {
  const known = sessionOf(['a', 'b'])
  const text = "SELECT nextval('a'::regclass) + 0, 'b'::regclass, 'pg_class'::regclass"
  assert.deepEqual(await rowsOf(text, known.session), ['1|b|pg_class'])
  assert.deepEqual(known.asked, { found: ['a', 'b'], pages: 0, calls: ['nextval(a)'] })
  assert.equal(
    await errorOf("SELECT nextval('a'), 'c'::regclass", known.session),
    '42P01 relation "c" does not exist',
  )
  assert.equal(known.asked.calls.length, 1)
})

test('what a statement loads after it has called a sequence has it call nothing twice', async () => {
  for (const [beside, value] of [
    ["to_regclass('a')", 'a'],
    ["to_regclass('nowhere')", '∅'],
    ["has_sequence_privilege('b', 'usage')", 't'],
    ["('b' || '')::regclass", 'b'],
    ['(SELECT count(*) FROM pg_sequences)', '2'],
    ["(SELECT last_value FROM pg_sequences WHERE sequencename = 'b')", '∅'],
  ] as const) {
    const known = sessionOf(['a', 'b'])
    const text = `SELECT setval('a', nextval('a') + n), ${beside} FROM generate_series(5, 6) n`
    const calls = ['nextval(a)', 'setval(a,6)', 'nextval(a)', 'setval(a,7)']
    assert.deepEqual(await rowsOf(text, known.session), [`1|${value}`, `1|${value}`], beside)
    assert.deepEqual(known.asked.calls, calls, beside)
  }
})

test('a statement that calls otherwise when it starts again is refused', async () => {
  let counter = 5
  const known = sessionOf(['a', 'b'], { setting: () => String(counter++) })
  const text = "SELECT setval('a', current_setting('x.y')::int8), to_regclass('b')"
  assert.match(await errorOf(text, known.session), /^0A000 nextval or setval beside a name/)
  assert.deepEqual(known.asked.calls, ['setval(a,5)'])
})

test('bytes of escapes that are no characters are refused', async () => {
  for (const text of ["E'\\xc3'", "E'\\xc3x'", "E'\\377'", "E'\\xa9\\xc3'"])
    assert.match(
      await errorOf(`SELECT ${text}`),
      /^22021 invalid byte sequence for encoding "UTF8": 0x[a-f]/,
      text,
    )
})
