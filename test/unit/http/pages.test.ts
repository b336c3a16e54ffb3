import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { FastifyReply, FastifyRequest, InjectOptions } from 'fastify'
import { z } from 'zod'
import type { AccessControl } from '../../../src/auth/access-control.ts'
import type { ApiRoute } from '../../../src/http/api-route.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { pageHeaders } from '../../../src/http/console/html.ts'
import { originOf, redisCli, shellWord } from '../../../src/http/console/snippets.ts'
import { openApiRoute } from '../../../src/http/ops/openapi.ts'
import { accessOf } from '../auth/open-access.ts'
import { fakeNode } from './fake-node.ts'

function start(access: AccessControl | undefined = undefined) {
  const node = Object.assign(fakeNode(), access && { access })
  const app = buildHttpApp({ node, host: '0.0.0.0' })
  const get = (url: string, headers: Record<string, string> = {}) =>
    app.inject({ method: 'GET', url, headers: { host: 'localhost:7380', ...headers } } as InjectOptions)
  return { node, app, get, catalogue: node.catalogue }
}

type Document = {
  readonly openapi: string
  readonly paths: Record<string, Record<string, DocumentedOperation>>
  readonly components: { readonly schemas: Record<string, object> }
}
type DocumentedOperation = {
  readonly operationId: string
  readonly parameters: {
    readonly name: string
    readonly in: string
    readonly schema: { readonly type: string }
  }[]
  readonly responses: Record<string, object>
}

const read = async (): Promise<Document> => (await start().get('/openapi.json')).json()

describe('the OpenAPI document', () => {
  test('is of version 3.1 and refers to nothing that it lacks', async () => {
    const document = await read()
    assert.equal(document.openapi, '3.1.0')
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
    assert.ok(references.length > 5)
    for (const reference of references) {
      assert.match(reference, /^#\/components\/schemas\/\w+$/)
      assert.ok(reference.split('/').at(-1)! in document.components.schemas, reference)
    }
    assert.doesNotMatch(JSON.stringify(document), /\$defs|\$schema/)
  })

  test('names every operation once', async () => {
    const ids = Object.values((await read()).paths)
      .flatMap(Object.values)
      .map(({ operationId }) => operationId)
    assert.deepEqual(ids, [...new Set(ids)])
  })

  test('says that count is an integer, and which errors there are', async () => {
    const next = (await read()).paths['/v1/generators/{name}/next']!.post!
    const count = next.parameters.find(({ name }) => name === 'count')
    assert.deepEqual([count?.in, count?.schema.type], ['query', 'integer'])
    assert.deepEqual(Object.keys(next.responses), [
      '200',
      '400',
      '401',
      '403',
      '404',
      '409',
      '413',
      '422',
      '429',
      '503',
      'default',
    ])
  })

  test('describes what is really there: each path answers to its methods and to no other', async () => {
    const { app, catalogue } = start()
    for (const [path, methods] of Object.entries((await read()).paths)) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        catalogue.generators.clear()
        catalogue.add('order', { kind: 'sequence' })
        // The stream ends with its first line.
        const query = path === '/v1/live' ? '?ticks=0' : ''
        const { statusCode } = await app.inject({ method, url: path.replace(/\{\w+\}/, 'order') + query })
        assert.equal(
          statusCode === 405,
          !(method.toLowerCase() in methods),
          `${method} ${path}: ${statusCode}`,
        )
      }
    }
  })

  test('is what docs/reference/http-api.md describes', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/http-api.md'), 'utf8')
    const documented = [...page.matchAll(/^\| `([A-Z]+) (\/[^`?]*)(?:\?[^`]*)?` \|/gm)].map(
      ([, method, path]) => `${method} ${path}`,
    )
    const real = Object.entries((await read()).paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    assert.deepEqual(documented.sort(), real.sort())
  })
})

describe('the answer at /', () => {
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

  test('is the first page of the console where text/html is accepted', async () => {
    const { get } = start()
    const { body, headers } = await get('/', browser)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.match(String(headers.vary), /\baccept\b/)
    assert.equal(body, (await get('/console')).body)
  })

  test('is lines to copy elsewhere, with this server’s ports', async () => {
    const { body, headers } = await start().get('/')
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
    assert.match(String(headers.vary), /\baccept\b/)
    assert.match(body, /^redis-cli -p 7379 INCR order$/m)
    assert.match(body, /^curl -X POST http:\/\/localhost:7380\/v1\/generators\/order\/next$/m)
    assert.match(body, /curl -X PUT http:\/\/localhost:7380\/v1\/generators\/order/)
    for (const path of ['/console', '/docs', '/openapi.json'])
      assert.ok(body.includes(`http://localhost:7380${path}`), path)
  })

  test('shows the login where one is needed, and names no user', async () => {
    const { body } = await start(await accessOf({ zoe: ['on', '>secret', '~*', '+@all'] })).get('/')
    assert.match(body, /A login is needed: replace NAME/)
    assert.match(body, /redis-cli --user NAME --askpass -p 7379 INCR order/)
    assert.match(body, /curl -u NAME -X POST http:\/\/localhost:7380\/v1\/generators\/order\/next/)
    assert.doesNotMatch(body, /zoe/)
    assert.doesNotMatch((await start().get('/')).body, /NAME/)
  })

  test('names what is wrong, and asks the engine for nothing', async () => {
    const { node, get, catalogue } = start()
    node.healthNow = { state: 'down', reason: 'no space on disk', inHandSeconds: 0 }
    catalogue.page = () => assert.fail('generators are not listed')
    const { statusCode, body } = await get('/')
    assert.equal(statusCode, 200)
    assert.match(body, /cannot issue: its engine is unavailable\. no space on disk/)
  })

  test('takes nothing from a Host header that is no host', async () => {
    const { body } = await start().get('/', { host: 'a;$(id)' })
    assert.doesNotMatch(body, /\$\(id\)/)
  })
})

test('a page uses no device, cannot be framed, and over TLS binds the browser to TLS', async () => {
  for (const path of ['/console', '/docs']) {
    const { headers } = await start().get(path)
    assert.match(String(headers['permissions-policy']), /camera=\(\)/)
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['strict-transport-security'], undefined)
  }
  const overTls = { protocol: 'https' } as FastifyRequest
  assert.equal(pageHeaders(overTls)['strict-transport-security'], 'max-age=86400')
})

test('the OpenAPI document is made once', async () => {
  let reads = 0
  const operation: ApiRoute = {
    ...openApiRoute('1', () => []),
    get query() {
      reads++
      return z.strictObject({ count: z.string() })
    },
  }
  const document = openApiRoute('1', () => [operation])
  const reply = { header: () => reply } as unknown as FastifyReply
  const text = await document.handler({} as FastifyRequest, reply)
  const before = reads
  assert.equal(typeof text, 'string')
  assert.equal(await document.handler({} as FastifyRequest, reply), text)
  assert.equal(reads, before)
})

describe('a snippet', () => {
  test('quotes what a shell would change, and nothing else', () => {
    assert.deepEqual(['order', 'a/b', '$x', "it's", '订单'].map(shellWord), [
      'order',
      'a/b',
      "'$x'",
      `'it'\\''s'`,
      "'订单'",
    ])
  })

  test('names the host where it is another machine', () => {
    assert.equal(redisCli('http://127.0.0.1:7380', 7379, false), 'redis-cli -p 7379')
    const request = (host: string | undefined, protocol: string) =>
      ({ headers: { host }, protocol, socket: { localPort: 7380 } }) as FastifyRequest
    const elsewhere = originOf(request('ids.example:7380', 'https'))
    assert.equal(elsewhere, 'https://ids.example:7380')
    assert.equal(redisCli(elsewhere, 7379, true), 'redis-cli --tls -h ids.example -p 7379')
    assert.equal(redisCli('http://[fd00::1]:7380', 7379, false), 'redis-cli -h fd00::1 -p 7379')
    assert.equal(originOf(request(undefined, 'http')), 'http://127.0.0.1:7380')
  })
})
