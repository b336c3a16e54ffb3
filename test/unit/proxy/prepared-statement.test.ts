import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { PreparedStatement } from '../../../src/proxy/prepared-statement.ts'
import { fillPrepared } from '../../../src/proxy/sql/fill.ts'
import { type Given, read, session } from './sql/shop.ts'

/** A statement whose text is collected as soon as nothing has it. */
function prepared(text: string, given: Given = {}) {
  const reading = read(text, { ...given, prepared: true })
  assert.ok(reading.kind === 'fill')
  const sql = Buffer.from(text)
  const [insert] = reading.inserts
  const fill = fillPrepared(sql, insert!, reading.parametersAt, false)
  const statement = new PreparedStatement(insert!, sql, fill, false, reading.parametersAt.length)
  return { statement, texts: [new WeakRef(sql), new WeakRef(fill.sql)] }
}

test('a prepared statement keeps nothing of its text', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const { statement, texts } = prepared(`INSERT INTO orders (name) VALUES ('${'x'.repeat(100_000)}'), (?)`)
  // A weak reference holds its target until the present task ends.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  assert.deepEqual(
    texts.map((text) => text.deref()),
    [undefined, undefined],
  )
  assert.equal(statement.insert.rows.length, 2)
  assert.ok(statement.bytes < 10_000)
})

test('the memory of a prepared statement grows with its rows and parameters', () => {
  const [short, long] = [1, 1000].map(
    (rows) => prepared(`INSERT INTO orders (id, name) VALUES ${Array(rows).fill('(?, ?)').join()}`).statement,
  )
  assert.ok(long!.bytes - short!.bytes > 100_000)
})

test('the memory of a prepared statement counts what executions leave: types, and a bit of long data', () => {
  const count = 60_000
  const values = Array(count).fill('?').join(' + ')
  const [short, long] = ['?', values].map((each) => prepared(`INSERT INTO orders (n) VALUES (${each})`))
  // A place in the server's statement, a type, and a bit.
  assert.ok(long!.statement.bytes - short!.statement.bytes >= (count - 1) * (4 + 2) + count / 8 - 1)
})

test('a prepared statement knows which of its parameters were sent as long data, until it is executed', () => {
  const { statement } = prepared(`INSERT INTO orders (n) VALUES (${Array(20).fill('?').join(' + ')})`)
  const sent = [0, 7, 8, 15, 16, 19]
  // All of the type BLOB; those that come in the packet are empty.
  const head = Buffer.concat([Buffer.alloc(9 + 3), Buffer.from([1]), Buffer.alloc(40, Buffer.from([252, 0]))])
  const body = (values: number) => Buffer.concat([head, Buffer.alloc(values)])
  const longOf = (values: number) => {
    const { parameters } = statement.read(body(values))!
    return parameters.flatMap(({ isLong }, index) => (isLong ? [index] : []))
  }
  assert.equal(statement.hasLongData, false)
  for (const parameter of [...sent, 20, 65_535]) statement.addLongData(parameter)
  assert.equal(statement.hasLongData, true)
  assert.deepEqual(longOf(20 - sent.length), sent)
  statement.reset()
  assert.equal(statement.hasLongData, false)
  assert.deepEqual(longOf(20), [])
})

describe('an execution in another SQL mode than that of its PREPARE', () => {
  const modes = { zero: 'NO_AUTO_VALUE_ON_ZERO', empty: 'EMPTY_STRING_IS_NULL', strict: 'STRICT_ALL_TABLES' }
  const cases: [id: string, before: string, after: string, isRefused: boolean][] = [
    ['0', modes.zero, '', true],
    ['0.4', '', modes.zero, true],
    ['DEFAULT', modes.zero, '', true],
    ["''", modes.strict, '', true],
    ["'x'", modes.strict, '', true],
    ["''", modes.empty, '', true],
    ["''", modes.strict, `${modes.strict},${modes.empty}`, true],
    ['0', '', modes.strict, false],
    ['NULL', '', `${modes.strict},${modes.empty},${modes.zero}`, false],
    ['7', '', modes.zero, false],
  ]
  for (const [id, before, after, isRefused] of cases)
    test(`is ${isRefused ? 'refused' : 'sent'} for the id ${id}, after '${before}', in '${after}'`, () => {
      const { statement } = prepared(`INSERT INTO orders (id, name) VALUES (${id}, ?)`, { sqlMode: before })
      const execution = statement.read(Buffer.from([1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0]))
      assert.ok(execution)
      assert.ok('rows' in statement.needs(execution, session({ sqlMode: before })))
      const needs = statement.needs(execution, session({ sqlMode: after }))
      assert.equal('error' in needs ? needs.error.code : 0, isRefused ? 1235 : 0)
    })
})

test('a date in the place of an id is refused: a server takes an empty one for 0', () => {
  const { statement } = prepared('INSERT INTO orders (id) VALUES (?)')
  for (const type of [7, 10, 11, 12, 14, 17, 18, 19]) {
    const execution = statement.read(Buffer.from([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, type, 0, 0]))
    assert.ok(execution)
    const needs = statement.needs(execution, session())
    assert.equal('error' in needs && needs.error.code, 1235)
  }
})

test('a text with bytes that may be spaces around a 0 is refused as an id, and others are not', () => {
  const { statement } = prepared('INSERT INTO orders (id) VALUES (?)')
  const stateOf = (text: string) => {
    const value = Buffer.from(text, 'latin1')
    const body = Buffer.from([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, value.length, ...value])
    const needs = statement.needs(statement.read(body)!, session({ charset: 'latin1' }))
    return 'error' in needs ? needs.error.code : needs.rows.length
  }
  assert.deepEqual(['\xa00', '0\xa0', '\xa0 0.4\xa0', '\xc2\xa00'].map(stateOf), [1235, 1235, 1235, 1235])
  assert.deepEqual(['7\xa0', '0', '70'].map(stateOf), [0, 1, 0])
})
