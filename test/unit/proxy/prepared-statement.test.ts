import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { PreparedStatement } from '../../../src/proxy/prepared-statement.ts'
import { fillPrepared } from '../../../src/proxy/sql/fill.ts'
import { read } from './sql/shop.ts'

/** A statement whose text is collected as soon as nothing has it. */
function prepared(text: string) {
  const reading = read(text, { prepared: true })
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
