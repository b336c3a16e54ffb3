import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerTo, Sequences, sequence } from './answers.ts'

const first = 1 << 21
const all = [sequence('a', first), sequence('b', first + 1, { last: 7n })]

function asked(text: string): unknown {
  const sequences = new Sequences(all)
  assert.ok('rows' in answerTo(text, sequences), text)
  return sequences.asked
}

test('a sequence is asked for by its name or its oid where a statement has it', () => {
  assert.deepEqual(asked("select oid from pg_class where relname in ('a', 'c')"), [{ names: ['a', 'c'] }])
  assert.deepEqual(asked(`select seqmax from pg_sequence where seqrelid = ${first}`), [{ oids: [first] }])
  assert.deepEqual(asked("select 'b'::regclass"), [{ names: ['b'] }])
  assert.deepEqual(asked(`select attname from pg_attribute where attrelid = any ('{${first}}')`), [
    { oids: [first] },
  ])
})

test('a statement that excludes sequences asks for none', () => {
  assert.deepEqual(asked("select relname from pg_class where relkind = 'r'"), [])
  assert.deepEqual(asked('select count(*) from pg_type'), [])
  assert.deepEqual(asked('select relname from pg_class where relnamespace = 11'), [])
})

test('a statement about all sequences asks for all of them, and for last values only where it shows them', () => {
  assert.deepEqual(asked('select sequence_name from information_schema.sequences'), [{ isAll: true }])
  assert.deepEqual(asked('select sequencename, last_value from pg_sequences'), [
    { isAll: true },
    { valuesOf: ['a', 'b'] },
  ])
})

test('a sequence is a table of one row', () => {
  const answer = answerTo('select last_value, is_called from b', new Sequences(all))
  assert.deepEqual(answer, { columns: ['last_value 20 -1', 'is_called 16 -1'], rows: [['7', 't']] })
  const missing = answerTo('select * from nothing', new Sequences(all))
  assert.equal('error' in missing && missing.error, '42P01')
})
