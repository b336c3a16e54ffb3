import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Output } from '../../../src/postgres/output.ts'
import { writeColumns, writeReady } from '../../../src/postgres/replies.ts'

test('a message that fails half way leaves no byte behind, and whole ones stay', () => {
  const output = new Output()
  writeReady(output, 'I')
  const columns = [{ name: 'a', type: 20 }]
  const fail = () => assert.fail('no format')
  assert.throws(() => writeColumns(output, columns, fail), /no format/)
  output.abandon()
  output.abandon()
  writeReady(output, 'T')
  output.abandon()
  assert.equal(output.take(), 'Z\0\0\0\x05IZ\0\0\0\x05T')
})
