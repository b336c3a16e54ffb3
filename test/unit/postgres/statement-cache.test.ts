import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cachedBytesMax, type Source, StatementCache } from '../../../src/postgres/statement-cache.ts'

/** The statements of a text with `characters`. */
function scriptOf(characters: number): Source[] {
  return [{ text: 'x'.repeat(characters), heldBytes: 0, compile: () => assert.fail('it is not compiled') }]
}

test('keeps texts that are used, and forgets others by what their statements may take', () => {
  const cache = new StatementCache()
  cache.add('used', [])
  cache.add('unused', [])
  for (let index = 0; index < 20; index++) {
    for (let other = 0; other < 20; other++) cache.add(`other ${index} ${other}`, scriptOf(2000))
    assert.ok(cache.get('used'), `after ${index}`)
  }
  assert.equal(cache.get('unused'), undefined)
  assert.equal(cache.get('other 15 0'), undefined)
  assert.ok(cache.get('other 19 19'))
})

test('does not keep long texts', () => {
  const cache = new StatementCache()
  const long = 'x'.repeat(cachedBytesMax + 1)
  cache.add(long, [])
  assert.equal(cache.get(long), undefined)
})
