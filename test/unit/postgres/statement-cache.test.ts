import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cachedBytesMax, StatementCache } from '../../../src/postgres/statement-cache.ts'

test('keeps texts that are used, and forgets others', () => {
  const cache = new StatementCache()
  cache.add('used', [])
  cache.add('unused', [])
  for (let index = 0; index < 20_000; index++) {
    cache.add(`other ${index}`, [])
    assert.ok(cache.get('used'), `after ${index}`)
  }
  assert.equal(cache.get('unused'), undefined)
  assert.equal(cache.get('other 0'), undefined)
  assert.ok(cache.get('other 19999'))
})

test('does not keep long texts', () => {
  const cache = new StatementCache()
  const long = 'x'.repeat(cachedBytesMax + 1)
  cache.add(long, [])
  assert.equal(cache.get(long), undefined)
})
