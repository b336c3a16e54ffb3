/** The files of the console: which are sent, with which headers, and what no request can reach. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import fastify from 'fastify'
import { builtFiles, serveConsole } from '../../../src/http/console/files.ts'

const built: Readonly<Record<string, string>> = {
  'index.html': '<!doctype html><title>console</title>',
  'docs.html': '<!doctype html><title>API</title>',
  'index-B2kd9s_x.js': 'go()'.repeat(100),
  'style-abcd1234.css': 'a { color: red }',
}

function start(files = built) {
  const app = fastify()
  const reads: string[] = []
  const read = async (name: string) => {
    reads.push(name)
    // As a file system to which letters are the same in both cases.
    return Buffer.from(files[name] ?? files[name.toLowerCase()]!)
  }
  const { routes } = serveConsole(app, { names: new Set(Object.keys(files)), read })
  for (const { path, handler } of routes) app.get(path, async (request, reply) => handler(request, reply))
  const get = (url: string, encoding = 'identity') =>
    app.inject({ method: 'GET', url, headers: { 'accept-encoding': encoding } })
  return { get, reads }
}

describe('the console', () => {
  test('is one page, which may use the files of this server alone', async () => {
    const { body, headers, statusCode } = await start().get('/console')
    assert.deepEqual([statusCode, body], [200, built['index.html']])
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
    for (const each of [
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "form-action 'none'",
      "base-uri 'none'",
    ])
      assert.ok(policy.includes(each), each)
    assert.doesNotMatch(policy, /unsafe|\*|http/)
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['cache-control'], undefined)
  })

  test('has a page for the API, to which styles in elements are allowed and nothing else more', async () => {
    const { get } = start()
    const { body, headers } = await get('/docs')
    assert.equal(body, built['docs.html'])
    const [docs, console] = [headers, (await get('/console')).headers].map((each) =>
      String(each['content-security-policy']),
    )
    assert.equal(docs, console!.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'"))
  })

  test('lets a cache keep the files whose names tell their content, and no others', async () => {
    const { get } = start()
    for (const name of ['index-B2kd9s_x.js', 'style-abcd1234.css'])
      assert.equal(
        (await get(`/console/${name}`)).headers['cache-control'],
        'public, max-age=31536000, immutable',
      )
    assert.equal((await get('/console/index.html')).headers['cache-control'], undefined)
    assert.equal(
      (await get('/console/index-B2kd9s_x.js')).headers['content-type'],
      'text/javascript; charset=utf-8',
    )
  })

  test('is read once, and compressed once, for those that accept it', async () => {
    const { get, reads } = start()
    const url = '/console/index-B2kd9s_x.js'
    const compressed = await get(url, 'br, gzip')
    assert.equal(compressed.headers['content-encoding'], 'gzip')
    assert.match(String(compressed.headers.vary), /accept-encoding/)
    assert.equal(gunzipSync(compressed.rawPayload).toString(), built['index-B2kd9s_x.js'])
    assert.equal((await get(url)).body, built['index-B2kd9s_x.js'])
    assert.equal((await get(url)).headers['content-encoding'], undefined)
    assert.deepEqual(reads, ['index-B2kd9s_x.js'])
  })

  test('says what to do where it was not built, and of a file that is gone', async () => {
    const { get } = start({})
    const page = await get('/console')
    assert.equal(page.statusCode, 404)
    assert.match(page.body, /the console is not built here; npm run build makes it/)
    assert.match((await get('/console/index-00000000.js')).body, /no such file; load its page again/)
  })

  test('reads no file outside of its folder', async () => {
    const { get } = start()
    for (const path of [
      '..%2fpackage.json',
      '%2e%2e%2f%2e%2e%2fpackage.json',
      '.env',
      '%00',
      'a%2fb',
      'C:%5Ca',
    ])
      assert.equal((await get(`/console/${path}`)).statusCode, 404, path)
  })

  test('is sent by the names that the build has given its files, and by no other that a file system knows', async () => {
    const { get, reads } = start()
    for (const name of [
      'INDEX.HTML',
      'Style-abcd1234.css',
      'index.html.',
      'index.html::$DATA',
      './index.html',
    ])
      assert.equal((await get(`/console/${encodeURIComponent(name)}`)).statusCode, 404, name)
    assert.deepEqual(reads, [])
    assert.ok(builtFiles().names.has('index.html'))
    assert.match(String(await builtFiles().read('index.html')), /<!doctype html>/)
  })
})
