import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { PreparedStatement } from '../../../src/proxy/prepared-statement.ts'
import { fillPrepared } from '../../../src/proxy/sql/fill-ids.ts'
import { type Given, read } from './sql/shop.ts'

/** A statement whose text is collected as soon as nothing has it. */
function prepared(text: string, given: Given = {}) {
  const { inserts, parametersAt } = read(text, { ...given, isPrepared: true })
  const sql = Buffer.from(text)
  const [insert] = inserts
  assert.ok(insert)
  const fill = fillPrepared(sql, insert, parametersAt, false)
  const statement = new PreparedStatement(insert, fill, false, parametersAt.length)
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
  assert.ok(statement.bytes < 10_000)
})

test('the memory of a prepared statement grows with its rows and parameters', () => {
  const [short, long] = [1, 1000].map(
    (rows) => prepared(`INSERT INTO orders (id, name) VALUES ${Array(rows).fill('(?, ?)').join()}`).statement,
  )
  assert.ok(long!.bytes - short!.bytes > 20_000)
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
