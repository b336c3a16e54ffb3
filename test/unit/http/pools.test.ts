import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { buildHttpApp } from '../../../src/http/app.ts'
import { fakeNode } from './fake-node.ts'

function start() {
  const app = buildHttpApp({ node: fakeNode(), host: '127.0.0.1' })
  return (method: InjectOptions['method'], url: string) => app.inject({ method, url } as InjectOptions)
}

const workers = '/v1/pools/payments%2Feu/workers'
const nowUs = Date.UTC(2026, 10, 1) * 1000

describe('a pool of worker ids over HTTP', () => {
  test('is claimed from, renewed, listed and returned to', async () => {
    const send = start()
    const query = 'owner=host%201&size=2&ttl=5s&rest=0&stable=true&seen=99'
    const claimed = await send('POST', `${workers}?${query}`)
    const { lease, ...first } = claimed.json()
    assert.deepEqual(
      [claimed.statusCode, first],
      [200, { worker: 0, ttlMs: 5000, restMs: 0, lastSeenMs: -1, nowUs }],
    )
    assert.equal((await send('PATCH', `${workers}/${lease}?ttl=2m&seen=1000`)).json().ttlMs, 120_000)
    assert.deepEqual((await send('GET', workers)).json(), {
      workers: [
        {
          ...{ worker: 0, state: 'held', owner: 'host 1', user: 'default', sinceUs: nowUs },
          ...{ untilUs: nowUs + 120_000_000, stable: true, lastSeenMs: 1000 },
        },
      ],
      next: null,
    })
    for (const returned of [true, false])
      assert.deepEqual((await send('DELETE', `${workers}/${lease}?seen=5`)).json(), { returned })
    const gone = await send('PATCH', `${workers}/${lease}`)
    assert.deepEqual([gone.statusCode, gone.json().code], [409, 'NOLEASE'])
  })

  test('answers with a sentence where no id is free, and where a parameter is wrong', async () => {
    const send = start()
    await send('POST', `${workers}?owner=a&size=1`)
    const full = await send('POST', `${workers}?owner=b&size=1`)
    assert.deepEqual([full.statusCode, full.json().code], [409, 'EXHAUSTED'])
    assert.match(full.json().detail, /1 held, 0 resting; the first becomes free in 120 s/)
    for (const [query, detail] of [
      ['', /'owner': is missing/],
      ['owner=a&ttl=soon', /'ttl': must be a duration such as 250ms/],
      ['owner=a&ttl=1ms', /the TTL in ms must be a whole number from 1000/],
      ['owner=a&size=0', /'size': must be a whole number from 1 to 65536/],
      ['owner=a&stable=yes', /'stable': must be true or false/],
      ['owner=a&mode=x', /unknown query parameter 'mode'/],
    ] as const) {
      const { statusCode, json } = await send('POST', `${workers}?${query}`)
      assert.equal(statusCode, 400)
      assert.match(json().detail, detail)
    }
  })
})
