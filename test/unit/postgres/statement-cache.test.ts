import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Statement } from '../../../src/postgres/session.ts'
import { cachedBytesMax, StatementCache, scriptBytesMax } from '../../../src/postgres/statement-cache.ts'

/** A text with one statement that takes so much memory. */
function scriptOf(heldBytes: number): Statement[] {
  return [{ parameters: [], columns: undefined, heldBytes, run: () => assert.fail('it is not run') }]
}

test('keeps texts that are used, and forgets others by what their statements take', () => {
  const cache = new StatementCache()
  cache.add('used', [])
  cache.add('unused', [])
  for (let index = 0; index < 20; index++) {
    for (let other = 0; other < 20; other++) cache.add(`other ${index} ${other}`, scriptOf(200_000))
    assert.ok(cache.get('used'), `after ${index}`)
  }
  assert.equal(cache.get('unused'), undefined)
  assert.equal(cache.get('other 15 0'), undefined)
  assert.ok(cache.get('other 19 19'))
})

test('does not keep long texts, and those whose statements take much memory', () => {
  const cache = new StatementCache()
  const long = 'x'.repeat(cachedBytesMax + 1)
  cache.add(long, [])
  assert.equal(cache.get(long), undefined)
  cache.add('short', scriptOf(scriptBytesMax))
  assert.equal(cache.get('short'), undefined)
})
