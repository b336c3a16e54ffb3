import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { tokenize } from '../../../../src/postgres/sql/lexer.ts'

test('a token that is kept keeps no long text around it in memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const textBytes = 1_000_000
  const count = 50
  const kept: string[] = []
  collect()
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < count; index++) {
    const text = `/* ${String(index).padEnd(textBytes)} */ SAVEPOINT a_name_of_more_than_12_letters_${index}`
    kept.push(tokenize(text)[1]!.text)
  }
  collect()
  assert.ok(process.memoryUsage().heapUsed - before < (count * textBytes) / 2)
  assert.equal(kept[7], 'a_name_of_more_than_12_letters_7')
})
