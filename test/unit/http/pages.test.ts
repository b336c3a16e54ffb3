import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { FastifyReply, FastifyRequest, InjectOptions } from 'fastify'
import { z } from 'zod'
import type { AccessControl } from '../../../src/auth/access-control.ts'
import { errorRegistry } from '../../../src/base/error-texts.ts'
import type { ApiRoute } from '../../../src/http/api-route.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { docsRoute } from '../../../src/http/console/docs-page.ts'
import { pageHeaders } from '../../../src/http/console/html.ts'
import { PageCache } from '../../../src/http/console/page-cache.ts'
import { curlLine, originOf, redisCli, shellWord } from '../../../src/http/console/snippets.ts'
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

describe('the page at /docs', () => {
  test('shows a curl line for each operation and explains each error', async () => {
    const { body } = await start().get('/docs')
    assert.match(body, /curl -X POST &#39;http:\/\/localhost:7380\/v1\/generators\/order\/next\?count=3&#39;/)
    for (const path of Object.keys((await read()).paths))
      assert.ok(body.includes(`<code>${path}</code>`), path)
    for (const code of Object.keys(errorRegistry)) assert.ok(body.includes(`id="${code}"`), code)
  })

  test('shows the login in each line that needs one, and names no user', async () => {
    const { body } = await start(await accessOf({ zoe: ['on', '>secret', '~*', '+@all'] })).get('/docs')
    assert.match(body, /<p>A login is needed: replace NAME .*<code>-H 'authorization: Bearer TOKEN'<\/code>/)
    assert.match(body, /<pre>curl -u NAME -X POST &#39;http:\/\/localhost:7380\/v1\/generators\/order\/next/)
    assert.match(body, /<pre>curl http:\/\/localhost:7380\/healthz<\/pre>/)
    assert.doesNotMatch(body, /zoe/)
    assert.doesNotMatch((await start().get('/docs')).body, /-u NAME|A login is needed/)
  })

  test('reads the schemas of the operations for the first page only, and the document is made once', async () => {
    let reads = 0
    const operation: ApiRoute = {
      ...openApiRoute('1', () => []),
      get query() {
        reads++
        return z.strictObject({ count: z.string().meta({ description: 'how many' }) })
      },
    }
    const { access } = fakeNode()
    const request = { protocol: 'http', headers: { host: 'localhost' }, socket: {} } as FastifyRequest
    const reply = {
      headers: () => reply,
      header: () => reply,
      send: (body: unknown) => body,
    } as unknown as FastifyReply
    const docs = docsRoute({ access }, () => [operation])
    assert.match(String(await docs.handler(request, reply)), /<code>count<\/code>: how many/)
    const before = reads
    assert.match(String(await docs.handler(request, reply)), /<code>count<\/code>: how many/)
    assert.equal(reads, before)
    const document = openApiRoute('1', () => [operation])
    const text = await document.handler(request, reply)
    assert.equal(typeof text, 'string')
    assert.equal(await document.handler(request, reply), text)
  })

  test('lists what a query and a body can hold', async () => {
    const { body } = await start().get('/docs')
    for (const name of ['count', 'match', 'stepMax', 'floor', 'by']) {
      assert.match(body, new RegExp(`<li><code>${name}</code>: \\w+`), name)
    }
    assert.match(body, /Issues one id, or <code>count<\/code> of them/)
  })

  test('links only to what is there', async () => {
    const { get } = start()
    const { body } = await get('/docs')
    for (const [, link] of body.matchAll(/href="([^"]*)"/g)) {
      if (link!.startsWith('#')) assert.ok(body.includes(`id="${link!.slice(1)}"`), link)
      else assert.equal((await get(link!)).statusCode, 200, link)
    }
  })
})

describe('the page at /', () => {
  test('shows the first steps, with this server’s ports and generators', async () => {
    const { catalogue, get } = start()
    catalogue.add('event', { kind: 'snowflake' })
    catalogue.add('order', { kind: 'sequence' })
    const { body } = await get('/')
    assert.match(body, /redis-cli -p 7379 INCR order/)
    assert.match(body, /curl -X POST http:\/\/localhost:7380\/v1\/generators\/order\/next/)
    assert.match(body, /<code>order<\/code><\/a><\/td><td>sequence<\/td>/)
  })

  test('shows the login where one is needed, and names no user', async () => {
    const { body } = await start(await accessOf({ zoe: ['on', '>secret', '~*', '+@all'] })).get('/')
    assert.match(body, /<p>A login is needed: replace NAME/)
    assert.match(body, /redis-cli --user NAME --askpass -p 7379 INCR order/)
    assert.match(body, /curl -u NAME -X POST http:\/\/localhost:7380\/v1\/generators\/order\/next/)
    assert.match(body, /curl -u NAME -X PUT /)
    assert.doesNotMatch(body, /zoe/)
    assert.doesNotMatch((await start().get('/')).body, /NAME/)
  })

  test('does not claim that there are no generators where the list needs a login', async () => {
    const { catalogue, get } = start(await accessOf({ zoe: ['on', '>secret', '~*', '+@all'] }))
    catalogue.add('order', { kind: 'sequence' })
    const { body } = await get('/')
    assert.doesNotMatch(body, /There are none yet/)
    assert.match(body, /<pre>curl -u NAME http:\/\/localhost:7380\/v1\/generators<\/pre>/)
  })

  test('claims no order for ids that hide it', async () => {
    const { catalogue, get } = start()
    catalogue.add('user', { kind: 'segment' })
    catalogue.add('coupon', { kind: 'segment', within: 'shuffled' })
    const { body } = await get('/')
    assert.match(body, /<code>user<\/code><\/a><\/td><td>segment<\/td><td>larger on each node/)
    assert.match(body, /<code>coupon<\/code><\/a><\/td><td>segment<\/td><td>none to be seen/)
  })

  test('shows how to create the first generator', async () => {
    assert.match((await start().get('/')).body, /curl -X PUT http:\/\/localhost:7380\/v1\/generators\/order/)
  })

  test('names what is wrong, even when generators cannot be listed', async () => {
    const { node, get, catalogue } = start()
    node.healthNow = { state: 'down', reason: 'no space on <disk>', inHandSeconds: 0 }
    catalogue.page = () => Promise.reject(new Error('down'))
    const { statusCode, body } = await get('/')
    assert.equal(statusCode, 200)
    assert.match(body, /cannot issue: its engine is unavailable\. no space on &#60;disk&#62;/)
    assert.match(body, /cannot be listed/)
  })

  test('is rendered once a second at most for each language and origin, and at once when the state changes', async () => {
    const { node, get, catalogue } = start()
    let renders = 0
    let nowUs = 5_000_000
    const page = catalogue.page.bind(catalogue)
    catalogue.page = (part) => {
      renders++
      return page(part)
    }
    Object.assign(node.timeline, { monoUs: () => nowUs })
    const [first, ...others] = await Promise.all([get('/'), get('/'), get('/')])
    assert.deepEqual([others.map(({ body }) => body === first.body), renders], [[true, true], 1])
    await get('/?lang=zh')
    await get('/', { host: 'ids.example' })
    await get('/?lang=zh')
    assert.equal(renders, 3)
    node.healthNow = { state: 'down', reason: 'no space', inHandSeconds: 0 }
    assert.match((await get('/')).body, /cannot issue: its engine is unavailable\. no space/)
    assert.equal(renders, 4)
    catalogue.add('order', { kind: 'sequence' })
    nowUs += 1_000_000
    assert.match((await get('/')).body, /<code>order<\/code>/)
    assert.equal(renders, 5)
  })

  test('is kept for 16 languages and origins, and rendered for any other', async () => {
    const { get, catalogue } = start()
    let renders = 0
    const page = catalogue.page.bind(catalogue)
    catalogue.page = (part) => {
      renders++
      return page(part)
    }
    for (let round = 0; round < 2; round++)
      for (let host = 0; host < 20; host++) {
        const { body } = await get('/', { host: `h${host}.example` })
        assert.match(body, new RegExp(`http://h${host}\\.example/v1/`))
      }
    assert.equal(renders, 20 + 4)
  })

  test('is in Chinese if the browser prefers it or the query asks for it', async () => {
    const { get } = start()
    assert.match((await get('/?lang=zh')).body, /<html lang="zh">[\s\S]*全局唯一/)
    assert.match((await get('/', { 'accept-language': 'zh-CN,zh;q=0.9,en;q=0.8' })).body, /全局唯一/)
    assert.match((await get('/?lang=en', { 'accept-language': 'zh-CN' })).body, /<html lang="en">/)
    assert.equal((await get('/?lang=xx')).statusCode, 400)
  })

  test('lets no name become markup, a link elsewhere, or a shell’s command', async () => {
    const { catalogue, get } = start()
    catalogue.add(`'$(id)<script>"`, { kind: 'segment' })
    const { body } = await get('/')
    assert.equal(body.match(/<script>/g)?.length, 1)
    assert.ok(body.includes(`INCR &#39;&#39;\\&#39;&#39;$(id)&#60;script&#62;&#34;&#39;`), body)
  })

  test('takes nothing from a Host header that is no host', async () => {
    const { body } = await start().get('/', { host: '"><script>' })
    assert.equal(body.match(/<script>/g)?.length, 1)
  })

  test('loads nothing, and runs only its own script and style', async () => {
    const { headers, body } = await start().get('/')
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none';/)
    for (const element of ['style', 'script']) {
      const text = new RegExp(`<${element}>([^<]*)</${element}>`).exec(body)![1]!
      const hash = createHash('sha256').update(text).digest('base64')
      assert.ok(policy.includes(`${element}-src 'sha256-${hash}'`), element)
    }
    assert.doesNotMatch(body, /(?:src|href)="(?:https?:)?\/\//)
  })
})

test('a page uses no device, cannot be framed, and over TLS binds the browser to TLS', async () => {
  for (const path of ['/', '/docs']) {
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

  test('of an operation with a body sends it as JSON', () => {
    const operation = {
      method: 'PUT',
      path: '/v1/generators/{name}',
      example: { name: 'a b', body: { kind: 'sequence' } },
    } as unknown as ApiRoute
    assert.equal(
      curlLine(operation, 'http://localhost:1'),
      `curl -X PUT http://localhost:1/v1/generators/a%20b -H 'content-type: application/json' -d '{"kind":"sequence"}'`,
    )
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

test('a kept page is rendered again after a rendering that failed', async () => {
  const pages = new PageCache()
  await assert.rejects(pages.page([], 'en', () => Promise.reject(new Error('away'))))
  assert.equal(await pages.page([], 'en', async () => 'page'), 'page')
  assert.equal(await pages.page([], 'en', async () => 'another'), 'page')
})
