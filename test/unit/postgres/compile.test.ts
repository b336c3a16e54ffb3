import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compile } from '../../../src/postgres/compile.ts'

/** DROP SEQUENCE of so many words and signs, an even number. */
function drop(words: number): string {
  return `DROP SEQUENCE ${Array((words - 2) / 2)
    .fill('a')
    .join()} CASCADE`
}

/** A query of so many words and signs, an even number. */
function select(words: number): string {
  return `SELECT 1 WHERE 1 IN (${Array((words - 6) / 2)
    .fill('1')
    .join()})`
}

describe('the words and signs of a statement', () => {
  for (const [name, textOf, most] of [
    ['a command', drop, 10_000],
    ['a query', select, 8000],
  ] as const)
    test(`are at most ${most} in ${name}`, () => {
      for (const behind of ['', ';', '; BEGIN']) assert.ok(compile(textOf(most) + behind).length > 0)
      const refusal = { sqlState: '54000', message: new RegExp(`at most ${most} words`) }
      for (const behind of ['', ';', '; BEGIN'])
        assert.throws(() => compile(textOf(most + 2) + behind), refusal)
      // One more, which also would be wrong at its place.
      assert.throws(() => compile(`${textOf(most)} 1`), refusal)
    })
})
