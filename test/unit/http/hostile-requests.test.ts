/** Requests that HTTP allows and few clients send, as bytes: each gets its answer or a problem, and no more. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type HttpServer, startHttpServer } from '../../../src/http/server.ts'
import { fakeNode } from './fake-node.ts'

const next = 'POST /v1/generators/order/next'
const host = 'host: localhost\r\n'
/** A compatible API issues by GET. */
const get = 'GET /api/segment/get/user HTTP/1.1\r\n'
const json = 'content-type: application/json\r\n'

function jsonRequest(body: string): string {
  return `PUT /v1/generators/x HTTP/1.1\r\n${host}${json}content-length: ${body.length}\r\n\r\n${body}`
}

/** The head of a request, its status, and what its problem says; undefined: it is answered. */
const table: readonly (readonly [what: string, bytes: string, status: number, detail?: RegExp])[] = [
  ['HTTP/1.0', `${next} HTTP/1.0\r\n\r\n`, 200],
  [
    'HTTP/1.0 with a foreign host',
    `${next} HTTP/1.0\r\nhost: evil.example\r\n\r\n`,
    421,
    /no name of this server/,
  ],
  ['HTTP/1.1 without a host', `${next} HTTP/1.1\r\n\r\n`, 400, /needs a Host/],
  ['two hosts', `${next} HTTP/1.1\r\n${host}host: evil.example\r\n\r\n`, 400, /one host/],
  ['the same host twice', `${next} HTTP/1.1\r\n${host}Host: localhost\r\n\r\n`, 400, /one host/],
  ['a target with the host', `POST http://localhost/v1/generators/order/next HTTP/1.1\r\n${host}\r\n`, 200],
  [
    'a target with another host',
    `POST http://evil.example/v1/generators/order/next HTTP/1.1\r\n${host}\r\n`,
    400,
    /one host/,
  ],
  ['a target without a path', `GET https://LOCALHOST HTTP/1.1\r\n${host}\r\n`, 200],
  ['the target *', `OPTIONS * HTTP/1.1\r\n${host}\r\n`, 404, /nothing at \*/],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, /no HTTP/],
  [
    'an upgrade to HTTP/2',
    `${next} HTTP/1.1\r\n${host}connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMA\r\n\r\n`,
    200,
  ],
  [
    'an upgrade to WebSocket',
    `GET /v1/generators/order/next HTTP/1.1\r\n${host}connection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    405,
    /use POST/,
  ],
  ['TRACE', `TRACE / HTTP/1.1\r\n${host}cookie: secret=1\r\n\r\n`, 405, /^TRACE is not for this path/],
  ['TRACE with a body', `TRACE /metrics HTTP/1.1\r\n${host}content-length: 3\r\n\r\nabc`, 405, /^TRACE/],
  ['CONNECT', `CONNECT localhost:80 HTTP/1.1\r\n${host}\r\n`, 501, /CONNECT/],
  ['an unknown expectation', `${next} HTTP/1.1\r\n${host}expect: magic\r\n\r\n`, 200],
  [
    'a compressed body',
    `${next} HTTP/1.1\r\n${host}${json}content-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}`,
    415,
    /not be compressed/,
  ],
  [
    'a deeply nested body',
    jsonRequest(`${'[{"a":'.repeat(17)}1${'}]'.repeat(17)}`),
    400,
    /at most 32 levels/,
  ],
  [
    'a body with brackets in a text',
    jsonRequest(`{"a\\"${'[{'.repeat(40)}":1}`),
    400,
    /unknown|unrecognized/i,
  ],
  [
    'a key twice',
    jsonRequest('{"kind":"sequence","start":1,"kind":"segment"}'),
    400,
    /gives 'kind' twice in one object; give it once/,
  ],
  [
    'a key twice, once with an escape, behind an inner object',
    jsonRequest('{"kind":"sequence","layout":{"epoch":[{}]},"k\\u0069nd":"segment"}'),
    400,
    /gives 'kind' twice/,
  ],
  [
    'an inner key twice',
    jsonRequest('{"kind":"timestamp","layout":{"epoch":1,"epoch":2}}'),
    400,
    /gives 'epoch' twice/,
  ],
  [
    'one key in several objects, as a text, and with a colon',
    jsonRequest('{"fields":[{"a":"a"},{"a":"a:"}],"a":{"a":1},":":1,"::":1}'),
    400,
    /unknown|unrecognized/i,
  ],
  [
    'a body in two transfer codings',
    `${next} HTTP/1.1\r\n${host}${json}transfer-encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    415,
    /not be compressed/,
  ],
  [
    'a body in a transfer coding that has no end',
    `${next} HTTP/1.1\r\n${host}${json}transfer-encoding: gzip\r\n\r\n{}`,
    400,
    /no HTTP/,
  ],
  [
    'a body in chunks',
    `${next} HTTP/1.1\r\n${host}${json}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    200,
  ],
  [
    'two lengths',
    `${next} HTTP/1.1\r\n${host}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`,
    400,
    /no HTTP/,
  ],
  ['a space before a colon', `${next} HTTP/1.1\r\nhost : localhost\r\n\r\n`, 400, /no HTTP/],
  ['a folded header', `${next} HTTP/1.1\r\n${host} x: folded\r\n\r\n`, 400, /no HTTP/],
  ['line feeds alone', `${next} HTTP/1.1\nhost: localhost\n\n`, 400, /no HTTP/],
  ['a body that GET ignores', `${get}${host}content-length: 3\r\n\r\nabc`, 200],
  ['chunks that GET ignores', `${get}${host}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 200],
  [
    'malformed chunks that GET ignores',
    `${get}${host}transfer-encoding: chunked\r\n\r\nzz\r\n`,
    400,
    /no HTTP/,
  ],
  [
    'a parameter where none is known',
    `DELETE /v1/generators/order?dry=1 HTTP/1.1\r\n${host}\r\n`,
    400,
    /'dry'; this request takes none/,
  ],
  ['a hundred headers', `${next} HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(99)}\r\n`, 200],
  ['101 headers', `${next} HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(100)}\r\n`, 431, /at most 100 headers/],
  ['too many headers', `${next} HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(3000)}\r\n`, 431, /http-header-max/],
]

describe('a request with', () => {
  const node = fakeNode()
  const generators = ['order', 'user'].map((name) => node.catalogue.add(name, { kind: 'sequence' }))
  const issued = () => generators.reduce((sum, each) => sum + each.issued, 0)
  let server: HttpServer
  before(async () => {
    server = await startHttpServer({ node, host: '127.0.0.1', port: 0, compat: ['leaf'] })
  })
  after(() => server.close(0))

  /** The head and the body of the first answer. */
  async function answerTo(bytes: string): Promise<readonly [head: string, body: string]> {
    const socket = connect(server.port, '127.0.0.1').setEncoding('utf8')
    socket.write(bytes, 'latin1')
    let text = ''
    for (;;) {
      const [head, body] = text.split('\r\n\r\n')
      const length = head!.includes(' 204 ') ? '0' : /^content-length: (\d+)$/im.exec(head!)?.[1]
      if (body !== undefined && length !== undefined && Buffer.byteLength(body) >= Number(length)) {
        socket.destroy()
        return [head!, body]
      }
      const [piece] = await once(socket, 'data')
      text += piece
    }
  }

  for (const [what, bytes, status, detail] of table) {
    test(`${what} gets ${status}${detail ? ', a problem, and no id' : ''}`, async () => {
      const before = issued()
      const [head, body] = await answerTo(bytes)
      assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
      assert.match(head, /^x-content-type-options: nosniff$/im)
      assert.match(head, /^cache-control: no-store$/im)
      // Nothing tells the name or the version of the program.
      assert.doesNotMatch(head, /^(?:server|x-powered-by|via|access-control-[\w-]+):/im)
      if (detail === undefined) return
      assert.match(head, /^content-type: application\/problem\+json/im)
      assert.doesNotMatch(body, /secret/)
      const problem = JSON.parse(body)
      assert.deepEqual([problem.status, problem.code], [status, 'ERR'])
      assert.match(problem.detail, detail)
      assert.equal(issued(), before)
    })
  }
})
