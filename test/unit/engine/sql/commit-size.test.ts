/** The sizes of commits, which one message has to hold. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitBytesMax, commitMax } from '../../../../src/engine/engine.ts'
import { mysqlDialect } from '../../../../src/engine/mysql/dialect.ts'

test('the largest commit fits into the smallest packet that MySQL accepts', () => {
  const value = 'x'.repeat(commitBytesMax / commitMax)
  const records = Array.from({ length: commitMax }, (_, at) => {
    return { key: `${at}`.padStart(400, 'k'), value, expected: 2n ** 62n }
  })
  const accepted = { history: 'h'.repeat(36), progress: { pulse: 2n ** 62n, revision: 2n ** 62n } }
  const { text } = mysqlDialect({ identity: "'server'" }).commit({
    records,
    counter: undefined,
    known: { accepted },
    nowUs: 1,
  } as never)
  assert.ok(Buffer.byteLength(text) < 2 ** 20, `${Buffer.byteLength(text)} bytes`)
})
