/** Web pages of other origins: those that `http-origins` names, and all others. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { origins } from '../../../src/config/config-values.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { fakeNode } from './fake-node.ts'

const allowed = 'https://console.example.org'
const others = [
  'https://evil.example',
  'http://console.example.org',
  `${allowed}:8443`,
  'null',
  `${allowed}.evil.example`,
]
const next = '/v1/generators/order/next'

function start(httpOrigins: readonly string[] = [allowed, 'http://localhost:5173'], compat = false) {
  const node = fakeNode({ httpOrigins })
  const order = node.catalogue.add('order', { kind: 'segment' })
  const app = buildHttpApp({ node, host: '127.0.0.1', compat: compat ? ['leaf'] : [] })
  const ask = async (options: InjectOptions) => {
    const { statusCode, headers } = await app.inject(options)
    return { status: statusCode, headers }
  }
  return { app, order, ask }
}

function preflight(origin: string, url = next, method = 'POST'): InjectOptions {
  const headers = {
    origin,
    'sec-fetch-site': 'cross-site',
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type',
  }
  return { method: 'OPTIONS', url, headers }
}

describe('a page of an origin in http-origins', () => {
  test('is told by the preflight that it may send its request, and is given no credentials', async () => {
    const { ask } = start()
    for (const [url, method] of [
      [next, 'POST'],
      ['/v1/generators/order', 'DELETE'],
      ['/nothing', 'GET'],
    ] as const) {
      const { status, headers } = await ask(preflight(allowed, url, method))
      assert.equal(status, 204)
      assert.equal(headers['access-control-allow-origin'], allowed)
      assert.match(String(headers['access-control-allow-methods']), new RegExp(`\\b${method}\\b`))
      assert.match(String(headers['access-control-allow-headers']), /authorization/)
      assert.match(String(headers.vary), /^origin\b/)
      assert.equal(headers['access-control-allow-credentials'], undefined)
      assert.equal(headers['cache-control'], 'no-store')
    }
  })

  test('may draw ids, and read the answer and the refusals', async () => {
    const { ask, order } = start()
    const headers = { origin: allowed, 'sec-fetch-site': 'cross-site' }
    for (const [options, status] of [
      [{ method: 'POST', url: next }, 200],
      [{ method: 'POST', url: `${next}?count=0` }, 400],
      [{ method: 'GET', url: '/v1/generators' }, 200],
      [{ method: 'GET', url: '/nothing' }, 404],
      [{ method: 'GET', url: '/' }, 200],
    ] as const) {
      const answer = await ask({ ...options, headers })
      assert.equal(answer.status, status)
      assert.equal(answer.headers['access-control-allow-origin'], allowed)
      assert.match(String(answer.headers.vary), /\borigin$/)
      assert.match(String(answer.headers['access-control-expose-headers']), /retry-after/)
    }
    assert.equal(order.issued, 1)
  })

  test('may use the compatible APIs as well, which issue by GET', async () => {
    const { ask, order } = start([allowed], true)
    const url = '/api/segment/get/order'
    const headers = { origin: allowed, 'sec-fetch-site': 'cross-site' }
    assert.equal((await ask({ url, headers })).status, 200)
    // An image has no origin.
    assert.equal((await ask({ url, headers: { 'sec-fetch-site': 'cross-site' } })).status, 403)
    assert.equal(order.issued, 1)
  })
})

describe('a page of any other origin', () => {
  for (const origin of others) {
    test(`such as ${origin} gets no preflight and no id`, async () => {
      const { ask, order } = start()
      const refused = await ask(preflight(origin))
      assert.equal(refused.status, 403)
      const posted = await ask({ method: 'POST', url: next, headers: { origin } })
      assert.equal(posted.status, 403)
      for (const { headers } of [refused, posted]) {
        assert.equal(headers['access-control-allow-origin'], undefined)
        assert.equal(headers.vary, 'origin')
        assert.match(String(headers['content-type']), /^application\/problem\+json/)
      }
      assert.equal(order.issued, 0)
    })
  }

  test('gets no preflight where http-origins is empty, nor the headers of one', async () => {
    const { ask } = start([])
    const { status, headers } = await ask(preflight(allowed))
    assert.deepEqual(
      [status, headers['access-control-allow-origin'], headers.vary],
      [403, undefined, undefined],
    )
  })
})

test('http-origins takes origins exactly as browsers send them', () => {
  assert.deepEqual(origins.read('https://a.example http://localhost:5173'), [
    'https://a.example',
    'http://localhost:5173',
  ])
  for (const wrong of [
    '*',
    'null',
    'a.example',
    'https://a.example/',
    'https://a.example:443',
    'https://A.example',
    'https://*.example',
    'ftp://a.example',
    'https://u@a.example',
  ])
    assert.throws(() => origins.read(wrong), /is no origin/, wrong)
})
