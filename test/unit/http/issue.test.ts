import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { FahaoError } from '../../../src/base/errors.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { Run } from '../../../src/ids/run.ts'
import { accessOf, basic } from '../auth/open-access.ts'
import { fakeNode } from './fake-node.ts'

function start() {
  const node = fakeNode()
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const post = (url: string, more: InjectOptions = {}) => app.inject({ method: 'POST', url, ...more })
  return { node, app, order, post }
}

describe('POST next', () => {
  test('issues one id, as a string in JSON', async () => {
    const { post } = start()
    const answer = await post('/v1/generators/order/next')
    assert.equal(answer.statusCode, 200)
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(answer.body, '{"ids":["1"]}\n')
    assert.equal((await post('/v1/generators/order/next')).body, '{"ids":["2"]}\n')
  })

  test('writes one id per line if the client prefers text', async () => {
    const { post } = start()
    const answer = await post('/v1/generators/order/next?count=2', { headers: { accept: 'text/plain' } })
    assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8')
    assert.equal(answer.body, '1\n2\n')
  })

  for (const accept of [
    '*/*',
    'application/json',
    'text/html, */*;q=0.8',
    'text/plain;q=0.1, application/json',
  ]) {
    test(`answers JSON to accept: ${accept}`, async () => {
      const { post } = start()
      const answer = await post('/v1/generators/order/next', { headers: { accept } })
      assert.deepEqual(answer.json(), { ids: ['1'] })
    })
  }

  test('puts the format around ids, escaped as JSON wants it', async () => {
    const { node, post } = start()
    node.catalogue.add('odd', { kind: 'segment', format: 'a"\\{id:3}' })
    const answer = await post('/v1/generators/odd/next?count=2')
    assert.deepEqual(answer.json(), { ids: ['a"\\001', 'a"\\002'] })
  })

  test('takes a number that ids are above, and force only of who may manage the generator', async () => {
    const { node, order, post } = start()
    const answer = await post('/v1/generators/order/next?above=41')
    assert.deepEqual([answer.json(), order.lastDraw.above], [{ ids: ['1'] }, 41n])
    assert.equal((await post('/v1/generators/order/next?above=-1')).statusCode, 400)
    assert.equal((await post('/v1/generators/order/next?above=41&force=true')).statusCode, 200)
    assert.equal(order.lastDraw.force, true)
    const access = await accessOf({
      admin: ['on', '>pw', '~*', '+@all'],
      bob: ['on', '>pw', '~*', '+id.next'],
    })
    const other = buildHttpApp({ node: Object.assign(node, { access }), host: '127.0.0.1' })
    const headers = { authorization: basic('bob', 'pw') }
    const url = '/v1/generators/order/next?above=41'
    assert.equal((await other.inject({ method: 'POST', url, headers })).statusCode, 200)
    const refused = await other.inject({ method: 'POST', url: `${url}&force=true`, headers })
    assert.deepEqual([refused.statusCode, refused.json().code, order.issued], [403, 'NOPERM', 3])
  })

  test('keeps every digit of ids past 2^53', async () => {
    const { order, post } = start()
    order.next = 9_223_372_036_854_775_806n
    assert.equal((await post('/v1/generators/order/next')).body, '{"ids":["9223372036854775806"]}\n')
  })

  test('opens a generator that was not in use', async () => {
    const { node, post } = start()
    node.catalogue.asleep.add('order')
    assert.equal((await post('/v1/generators/order/next')).body, '{"ids":["1"]}\n')
  })

  test('waits while the generator is dry', async () => {
    const { order, post } = start()
    order.dry = true
    const answer = post('/v1/generators/order/next')
    await new Promise((resolve) => setImmediate(resolve))
    order.wet()
    assert.equal((await answer).body, '{"ids":["1"]}\n')
  })

  test('says when a retry can help, and after how long', async () => {
    const { order, post } = start()
    order.dry = true
    order.failure = new FahaoError('DRY', 'no id within 2s')
    const answer = await post('/v1/generators/order/next')
    assert.equal(answer.statusCode, 503)
    assert.equal(answer.headers['retry-after'], '1')
    assert.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8')
    assert.deepEqual(answer.json(), {
      type: '/docs#DRY',
      title: 'No id was buffered, and none could be reserved within issueTimeout.',
      status: 503,
      detail: 'no id within 2s',
      code: 'DRY',
      retryable: true,
      instance: '/v1/generators/order/next',
    })
  })

  test('refuses what a namespace may not issue now with 429, and uses up no id', async () => {
    const { node, order, post } = start()
    const { namespaces } = node.server.meters
    await namespaces.open()
    await namespaces.set('shop', { match: 'order', owner: 'team-a', idsPerDay: 2 })
    assert.equal((await post('/v1/generators/order/next')).body, '{"ids":["1"]}\n')
    for (const query of ['?count=2', '']) {
      if (query === '') await post('/v1/generators/order/next')
      const answer = await post(`/v1/generators/order/next${query}`)
      assert.deepEqual([answer.statusCode, answer.json().code], [429, 'QUOTA'])
      assert.equal(answer.headers['retry-after'], '86400')
      assert.match(answer.json().detail, /^namespace 'shop' of team-a may issue 2 ids a day on this node/)
    }
    assert.equal(order.next, 3n)
    namespaces.close()
  })

  test('names a namespace in a refusal to callers that may name all of its pattern, and to no other', async () => {
    const node = fakeNode()
    node.catalogue.add('shop:order', { kind: 'sequence' })
    const access = await accessOf({
      admin: ['on', '>pw', '~*', '+@all'],
      ada: ['on', '>pw', '~shop:*', '+@issue'],
    })
    const app = buildHttpApp({ node: Object.assign(node, { access }), host: '127.0.0.1', compat: ['leaf'] })
    const { namespaces } = node.server.meters
    await namespaces.open()
    const refusal = async (user: string) => {
      const authorization = basic(user, 'pw')
      const ask = (method: 'GET' | 'POST', url: string) =>
        app.inject({ method, url, headers: { authorization } })
      const { detail } = (await ask('POST', '/v1/generators/shop:order/next?count=3')).json()
      const leaf = await ask('GET', '/api/segment/get/shop:order')
      return [detail, String(leaf.headers['fahao-error']), leaf.body].join('\n')
    }
    await namespaces.set('hidden', { match: '*', owner: 'boss', idsPerDay: 1 })
    await refusal('admin')
    assert.match(await refusal('admin'), /^namespace 'hidden' of boss .*\nQUOTA namespace 'hidden' of boss /)
    const shown = await refusal('ada')
    assert.match(shown, /^a namespace may issue at most 1 id at once.*\nQUOTA a namespace may issue/)
    assert.doesNotMatch(shown, /hidden|boss/)
    await namespaces.drop('hidden')
    await namespaces.set('shop', { match: 'shop:*', owner: 'team-a', idsPerDay: 1 })
    assert.match(await refusal('ada'), /^namespace 'shop' of team-a /)
    namespaces.close()
  })

  test('takes names that were percent-encoded, slashes and beyond ASCII included', async () => {
    const { node, post } = start()
    for (const name of ['a/b', '订单', 'a%b', 'x?y', '...', 'n'.repeat(256), '号'.repeat(85)]) {
      node.catalogue.add(name, { kind: 'segment' })
      const answer = await post(`/v1/generators/${encodeURIComponent(name)}/next`)
      assert.deepEqual([name, answer.statusCode, answer.body], [name, 200, '{"ids":["1"]}\n'])
    }
  })
})

describe('POST range', () => {
  test('issues half-open ranges of raw ids', async () => {
    const { node, post } = start()
    node.catalogue.add('sms', { kind: 'segment', format: 'sms_{id}' })
    const answer = await post('/v1/generators/sms/range?count=100000')
    assert.deepEqual(answer.json(), { ranges: [{ start: '1', end: '100001' }] })
    assert.deepEqual((await post('/v1/generators/sms/range')).json(), {
      ranges: [{ start: '100001', end: '100002' }],
    })
  })

  test('is refused where ids are not one apart and in order', async () => {
    const { node, post } = start()
    const mixed = node.catalogue.add('mixed', { kind: 'segment', within: 'shuffled' })
    const answer = await post('/v1/generators/mixed/range?count=2')
    assert.deepEqual([answer.statusCode, answer.json().code, mixed.issued], [409, 'WRONGTYPE', 0])
  })
})

describe('POST runs', () => {
  test('issues raw ids as runs, joined where they continue one another', async () => {
    const { node, order, post } = start()
    node.catalogue.add('sms', { kind: 'segment', format: 'sms_{id}' })
    assert.deepEqual((await post('/v1/generators/sms/runs?count=100000')).json(), {
      runs: [{ first: '1', stride: '1', count: 100_000 }],
    })
    assert.deepEqual((await post('/v1/generators/sms/runs')).json(), {
      runs: [{ first: '100001', stride: '1', count: 1 }],
    })
    order.draw = async () =>
      [1n, 31n, 61n].map((first, at) => {
        const run = new Run()
        run.set(first, at === 2 ? 5 : 10, 3)
        return run
      })
    assert.deepEqual((await post('/v1/generators/order/runs?count=25')).json(), {
      runs: [{ first: '1', stride: '3', count: 25 }],
    })
  })

  test('is refused where ids are in no order, or are more than the clock allows at once', async () => {
    const { node, post } = start()
    node.catalogue.add('mixed', { kind: 'segment', within: 'shuffled' })
    node.catalogue.add('hidden', { kind: 'segment', scramble: true })
    node.catalogue.add('event', { kind: 'snowflake', layout: 'sonyflake' })
    for (const [path, status, code, detail] of [
      ['mixed/runs?count=2', 409, 'WRONGTYPE', /^'mixed' does not issue its ids in order; POST …\/next/],
      ['hidden/runs', 409, 'WRONGTYPE', /'hidden'/],
      ['event/runs?count=256001', 413, 'LIMIT', /limit of 256000 at once that the clock of 'event' allows/],
    ] as const) {
      const answer = await post(`/v1/generators/${path}`)
      assert.deepEqual([answer.statusCode, answer.json().code], [status, code])
      assert.match(answer.json().detail, detail)
    }
    assert.equal(node.catalogue.issued, 0)
    assert.equal((await post('/v1/generators/event/runs?count=256000')).statusCode, 200)
  })
})

describe('a bad request', () => {
  type Bad = readonly [what: string, request: InjectOptions, status: number, code: string, detail: RegExp]
  const next = '/v1/generators/order/next'
  const json = { 'content-type': 'application/json' }
  const table: readonly Bad[] = [
    ['count of 0', { url: `${next}?count=0` }, 400, 'ERR', /'count'.*whole number from 1/],
    ['a negative count', { url: `${next}?count=-1` }, 400, 'ERR', /whole number/],
    ['an empty count', { url: `${next}?count=` }, 400, 'ERR', /whole number/],
    ['a count with a fraction', { url: `${next}?count=1.5` }, 400, 'ERR', /whole number/],
    ['a count in hexadecimal', { url: `${next}?count=0x10` }, 400, 'ERR', /whole number/],
    ['a count with white space', { url: `${next}?count=%201` }, 400, 'ERR', /whole number/],
    ['count twice', { url: `${next}?count=1&count=2` }, 400, 'ERR', /given 2 times/],
    ['a count beyond all bounds', { url: `${next}?count=${'9'.repeat(41)}` }, 400, 'ERR', /whole number/],
    ['a count above the limit', { url: `${next}?count=1001` }, 413, 'LIMIT', /limit of 1000/],
    ['a range above the limit', { url: '/v1/generators/order/range?count=1000001' }, 413, 'LIMIT', /1000000/],
    ['runs above the limit', { url: '/v1/generators/order/runs?count=1000001' }, 413, 'LIMIT', /1000000/],
    [
      'an unknown parameter',
      { url: `${next}?cuont=5` },
      400,
      'ERR',
      /'cuont'; did you mean count\? known are count/,
    ],
    ['a body', { url: next, payload: { count: 5 } }, 400, 'ERR', /takes no body/],
    ['malformed JSON', { url: next, headers: json, payload: '{"a":' }, 400, 'ERR', /not valid JSON/],
    ['a prototype in JSON', { url: next, headers: json, payload: '{"__proto__":{}}' }, 400, 'ERR', /./],
    [
      'a form',
      { url: next, headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload: 'count=5' },
      415,
      'ERR',
      /application\/json/,
    ],
    ['text', { url: next, headers: { 'content-type': 'text/plain' }, payload: '{}' }, 415, 'ERR', /json/],
    [
      'too large a body',
      { url: next, headers: json, payload: `"${'x'.repeat(65536)}"` },
      413,
      'LIMIT',
      /body/,
    ],
    ['an unknown generator', { url: '/v1/generators/nope/next' }, 404, 'NOGENERATOR', /nope/],
    ['a name with white space', { url: '/v1/generators/a%20b/next' }, 400, 'ERR', /white space/],
    ['a name with a NUL', { url: '/v1/generators/a%00b/next' }, 400, 'ERR', /control/],
    ['a name that is no UTF-8', { url: '/v1/generators/%FF/next' }, 400, 'ERR', /percent-encoded/],
    ['a stray percent sign', { url: '/v1/generators/50%/next' }, 400, 'ERR', /percent-encoded/],
    ['a name of 257 bytes', { url: `/v1/generators/${'n'.repeat(257)}/next` }, 400, 'ERR', /256 bytes/],
    ['a name of 1000 bytes', { url: `/v1/generators/${'n'.repeat(1000)}/next` }, 400, 'ERR', /256 bytes/],
    ['an empty name', { url: '/v1/generators//next' }, 400, 'ERR', /empty/],
    ['an unknown path', { url: '/v1/generator/order/next' }, 404, 'ERR', /GET \/docs/],
    ['a slash too many', { url: `${next}/` }, 404, 'ERR', /nothing at/],
    ['GET', { method: 'GET', url: next }, 405, 'ERR', /use POST/],
    ['HEAD', { method: 'HEAD', url: next }, 405, 'ERR', /^/],
    ['PUT', { method: 'PUT', url: next, payload: {} }, 405, 'ERR', /use POST/],
    ['OPTIONS from a page', { method: 'OPTIONS', url: next }, 405, 'ERR', /use POST/],
    ['a foreign host', { url: next, headers: { host: 'evil.example:7380' } }, 421, 'ERR', /evil\.example/],
    [
      'a foreign page',
      { url: next, headers: { origin: 'http://evil.example' } },
      403,
      'ERR',
      /another origin/,
    ],
    ['a sandboxed page', { url: next, headers: { origin: 'null' } }, 403, 'ERR', /another origin/],
    [
      'a page on another port',
      { url: next, headers: { origin: 'http://localhost:81' } },
      403,
      'ERR',
      /origin/,
    ],
    ['a cross-site page', { url: next, headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'ERR', /origin/],
  ]
  for (const [what, request, status, code, detail] of table) {
    test(`(${what}) is answered ${status} ${code} and uses up no id`, async () => {
      const { node, app } = start()
      const answer = await app.inject({ method: 'POST', ...request } as InjectOptions)
      assert.equal(answer.statusCode, status, answer.body)
      assert.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8')
      assert.equal(answer.headers['access-control-allow-origin'], undefined)
      if (status === 405) assert.equal(answer.headers.allow, 'POST')
      if (request.method !== 'HEAD') {
        const problem = answer.json()
        assert.deepEqual([problem.status, problem.code], [status, code])
        assert.match(problem.detail, detail)
        assert.equal(problem.instance, request.url)
      }
      assert.equal(node.catalogue.issued, 0)
    })
  }
})

test('a fault of the server is written to the log only', async () => {
  const node = fakeNode()
  const seen: object[] = []
  const app = buildHttpApp({ node, host: '127.0.0.1', log: { error: (fields) => void seen.push(fields) } })
  const fault = new TypeError('a secret')
  node.catalogue.info = () => Promise.reject(fault)
  const answer = await app.inject({ method: 'GET', url: '/v1/generators/order' })
  assert.deepEqual([answer.statusCode, answer.json().code, answer.json().retryable], [500, 'ERR', false])
  assert.doesNotMatch(answer.body, /secret/)
  assert.deepEqual(seen, [{ err: fault, path: '/v1/generators/order' }])
})

describe('a good request', () => {
  const next = '/v1/generators/order/next'
  const table: readonly [what: string, request: InjectOptions][] = [
    ['from our own page', { headers: { host: 'localhost:7380', origin: 'http://localhost:7380' } }],
    ['from a page on the default port', { headers: { host: 'localhost', origin: 'http://localhost' } }],
    ['to 127.0.0.1', { headers: { host: '127.0.0.1:7380' } }],
    ['to ::1', { headers: { host: '[::1]:7380' } }],
    ['with an empty JSON body', { headers: { 'content-type': 'application/json' }, payload: '' }],
    ['with an empty object', { payload: {} }],
    ['with an empty query', { url: `${next}?` }],
  ]
  for (const [what, request] of table) {
    test(`(${what}) issues`, async () => {
      const { app } = start()
      const answer = await app.inject({ method: 'POST', url: next, ...request } as InjectOptions)
      assert.equal(answer.body, '{"ids":["1"]}\n')
    })
  }

  test('reaches a configured name', async () => {
    const node = fakeNode()
    node.catalogue.add('order', { kind: 'sequence' })
    const app = buildHttpApp({ node, host: '127.0.0.1', names: ['ids.example'] })
    const answer = await app.inject({ method: 'POST', url: next, headers: { host: 'ids.example' } })
    assert.equal(answer.statusCode, 200)
  })

  test('reaches a server bound to all addresses by its names and addresses only, if it has names', async () => {
    const node = fakeNode()
    node.catalogue.add('order', { kind: 'sequence' })
    const app = buildHttpApp({ node, host: '0.0.0.0', names: ['ids.example'] })
    const status = async (host: string) =>
      (await app.inject({ method: 'POST', url: next, headers: { host } })).statusCode
    assert.deepEqual(
      [await status('IDS.example:7380'), await status('10.0.0.7:7380'), await status('[fd00::7]')],
      [200, 200, 200],
    )
    assert.equal(await status('evil.example'), 421)
    assert.equal(node.catalogue.issued, 3)
  })

  test('reaches a server bound to all addresses by any name', async () => {
    const node = fakeNode()
    node.catalogue.add('order', { kind: 'sequence' })
    const app = buildHttpApp({ node, host: '0.0.0.0' })
    const answer = await app.inject({ method: 'POST', url: next, headers: { host: 'ids.example' } })
    assert.equal(answer.statusCode, 200)
  })
})

test('a node that may lose the right to issue checks whether it may issue after the body has arrived, in the callback in which it answers', async () => {
  const node = fakeNode()
  const order = node.catalogue.add('order', { kind: 'sequence' })
  order.failure = new FahaoError('CLUSTERDOWN', 'no node leads')
  const steps: string[] = []
  const mayIssue = () => {
    steps.push('looked')
    // What the real one does: what is ready is taken back before it returns.
    order.dry = true
    return false
  }
  const app = buildHttpApp({ node: { ...node, mayIssue }, host: '127.0.0.1' })
  app.addHook('preValidation', (_request, _reply, done) => {
    steps.push('body')
    done()
  })
  const answer = await app.inject({ method: 'POST', url: '/v1/generators/order/next', payload: {} })
  assert.deepEqual(steps, ['body', 'looked'])
  assert.equal(answer.statusCode, 503)
  assert.equal(answer.json().code, 'CLUSTERDOWN')
  assert.equal(order.issued, 0)
})
