import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CachedRequest, RecentRequests, RequestCache } from '../../../src/resp/request-cache.ts'

function request(name: string): CachedRequest {
  return { bytes: Buffer.from(name), resolved: undefined as never }
}

test('requests of all connections are removed from the cache if they are not repeated, and kept if they are', () => {
  const cache = new RequestCache()
  const wanted = request('wanted')
  cache.add('wanted', wanted)
  cache.add('unwanted', request('unwanted'))
  for (let index = 0; index < 10_000; index++) {
    cache.add(`${index}`, request(`${index}`))
    if (index % 1000 === 0) assert.equal(cache.get('wanted'), wanted)
  }
  assert.equal(cache.get('unwanted'), undefined)
  assert.ok(cache.get('9999') !== undefined)
})

test('requests of one connection are the eight newest', () => {
  const recent = new RecentRequests()
  for (let index = 0; index < 20; index++)
    recent.add({ ...request(`${index}`), permittedBy: undefined, direct: undefined })
  assert.deepEqual(
    recent.all.map(({ bytes }) => Number(Buffer.from(bytes).toString())).sort((a, b) => a - b),
    [12, 13, 14, 15, 16, 17, 18, 19],
  )
  recent.clear()
  assert.equal(recent.all.length, 0)
})
