/** Bad input on the HTTP port: each with its exact problem, and proof that none of it used up an id. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { RawClient } from '../launch/raw-client.ts'
import { assertUntouched, takeOneOfEach } from './untouched.ts'

/** A request line, what it is answered, and what goes with it. */
type Row = readonly [
  line: string,
  status: number,
  code: string,
  detail: string,
  more?: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string },
]

const g = '/v1/generators'
const next = `POST ${g}/order/next`
const anyCount = "query parameter 'count': must be a whole number from 1 to 100000"
const anyRange = "query parameter 'count': must be a whole number from 1 to 1000000000000"
const emptyName = 'a generator’s name cannot be empty'
const longName = 'a generator’s name has at most 256 bytes'
const oddName = 'a generator’s name cannot contain white space or control characters'
const noGenerator =
  "no generator 'absent'; create it with: ID.CREATE absent KIND sequence (or fahao create absent --kind sequence)"
const noBody = 'a body is wanted: JSON, with content-type: application/json'
const notJson = 'a body must be JSON, with content-type: application/json'
const foreign = 'a web page of another origin may not do this; nothing was changed or issued'
const options =
  'kind, family, start, increment, offset, gene, max, step, stepMax, horizon, issueTimeout, within, scramble, format, avoid, period, zone, yearStart, width, keep, gaps, jump, ledger, hold, template, layout, epoch, node, past, sequenceStart, borrowMax'

function nothingAt(path: string): string {
  return `there is nothing at ${path}; GET /docs lists what there is`
}

function onlyFor(method: string, allowed: string): string {
  return `${method} is not for this path; use ${allowed}. Nothing was issued`
}

function host(name: string): Row {
  const detail = `'${name}' is no name of this server; use localhost, or add it to http-names`
  return [next, 421, 'ERR', detail, { headers: { host: name } }]
}

function json(line: string, body: string, status: number, code: string, detail: string): Row {
  return [line, status, code, detail, { body, headers: { 'content-type': 'application/json' } }]
}

/** PUT of a definition that is refused as malformed. */
function put(body: string, detail: string): Row {
  return json(`PUT ${g}/a`, body, 400, 'ERR', detail)
}

const table: Readonly<Record<string, readonly Row[]>> = {
  'a count or another parameter that is wrong': [
    ...['0', '-1', 'x', '', '1.5', '01', '+1', '1e3', '1'.repeat(41)].map(
      (count): Row => [`${next}?count=${count}`, 400, 'ERR', anyCount],
    ),
    ...['100001', '1000000000000000', '9007199254740992'].map(
      (count): Row => [
        `${next}?count=${count}`,
        413,
        'LIMIT',
        `count ${count} is above the limit of 100000; ask for fewer at a time`,
      ],
    ),
    [`${next}?count=1&count=2`, 400, 'ERR', "query parameter 'count' is given 2 times; give it once"],
    [
      `${next}?n=1`,
      400,
      'ERR',
      "unknown query parameter 'n'; known are count, gene, at, above, force, raw, by",
    ],
    [`POST ${g}/order/range?count=0`, 400, 'ERR', anyRange],
    [
      `POST ${g}/order/range?count=1000000000001`,
      413,
      'LIMIT',
      'count 1000000000001 is above the limit of 1000000000000; ask for fewer at a time',
    ],
    [`GET ${g}?limit=0`, 400, 'ERR', "query parameter 'limit': must be a whole number from 1 to 1000"],
    [`GET ${g}?cursor=5`, 400, 'ERR', "unknown query parameter 'cursor'; known are match, after, limit"],
  ],
  'a kind that does not do this, or an unknown generator': [
    ...['coupon', 'event', 'txn'].map(
      (name): Row => [
        `POST ${g}/${name}/range?count=5`,
        409,
        'WRONGTYPE',
        `'${name}' does not issue its ids one apart and in order; POST …/next?count=n instead`,
      ],
    ),
    [`POST ${g}/absent/next`, 404, 'NOGENERATOR', noGenerator],
    [`POST ${g}/absent/next?count=2`, 404, 'NOGENERATOR', noGenerator],
    [`POST ${g}/absent/range`, 404, 'NOGENERATOR', noGenerator],
    [`GET ${g}/absent`, 404, 'NOGENERATOR', noGenerator],
    [
      `DELETE ${g}/absent`,
      404,
      'NOGENERATOR',
      "no generator 'absent'; GET /v1/generators lists what there is",
    ],
    json(`PATCH ${g}/absent`, '{"step":5}', 404, 'NOGENERATOR', noGenerator),
  ],
  'a name that is none': [
    [`POST ${g}//next`, 400, 'ERR', emptyName],
    ...['a%20b', 'a%00b', 'a%0Ab', '%7F', 'a%C2%A0b', 'a%E2%80%A8b'].map(
      (name): Row => [`POST ${g}/${name}/next`, 400, 'ERR', oddName],
    ),
    ...['x'.repeat(257), '%C3%A9'.repeat(129), 'x'.repeat(800)].map(
      (name): Row => [`POST ${g}/${name}/next`, 400, 'ERR', longName],
    ),
    ...['%', '%zz', '%ff%fe', '%C0%80', '%ED%A0%80'].map(
      (name): Row => [`POST ${g}/${name}/next`, 400, 'ERR', 'the path is not valid percent-encoded UTF-8'],
    ),
    json(`PUT ${g}/a%20b`, '{"kind":"sequence"}', 400, 'ERR', oddName),
  ],
  'a method that the path does not have': [
    [`GET ${g}/order/next`, 405, 'ERR', onlyFor('GET', 'POST')],
    [`PUT ${g}/order/next`, 405, 'ERR', onlyFor('PUT', 'POST')],
    [`OPTIONS ${g}/order/next`, 405, 'ERR', onlyFor('OPTIONS', 'POST')],
    [`DELETE ${g}/order/range`, 405, 'ERR', onlyFor('DELETE', 'POST')],
    [`POST ${g}/order`, 405, 'ERR', onlyFor('POST', 'GET, HEAD, PUT, PATCH, DELETE')],
    [`DELETE ${g}`, 405, 'ERR', onlyFor('DELETE', 'GET, HEAD')],
    ['GET /v1/engine/advance', 405, 'ERR', onlyFor('GET', 'POST')],
    ['POST /metrics', 405, 'ERR', onlyFor('POST', 'GET, HEAD')],
    ['TRACE /', 405, 'ERR', onlyFor('TRACE', 'GET, HEAD')],
    ...['QUERY', 'PROPFIND', 'PURGE'].map(
      (method): Row => [`${method} ${g}/order/next`, 405, 'ERR', onlyFor(method, 'POST')],
    ),
  ],
  'a path that is not there': [
    '/nope',
    '/v1',
    `/v2/generators/order/next`,
    `/V1/generators/order/next`,
    `${g}/order/next/`,
    `/${g}/order/next`,
    `${g}/../generators/order/next`,
    '/api/segment/get/order',
  ].map((path): Row => [`POST ${path}`, 404, 'ERR', nothingAt(path)]),
  'a body where none is wanted, none where one is, or one that is no JSON': [
    json(next, '{"count":5}', 400, 'ERR', 'this request takes no body; options go into the query'),
    [next, 415, 'ERR', notJson, { body: 'count=5', headers: { 'content-type': 'text/plain' } }],
    [
      next,
      415,
      'ERR',
      notJson,
      { body: 'x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ],
    [`PUT ${g}/a`, 400, 'ERR', noBody],
    [`PUT ${g}/a`, 415, 'ERR', notJson, { body: '{"kind":"sequence"}' }],
    [
      `PUT ${g}/a`,
      415,
      'ERR',
      notJson,
      { body: '{"kind":"sequence"}', headers: { 'content-type': 'text/plain;application/json' } },
    ],
    put('', noBody),
    put('{', 'the body is not valid JSON'),
    put('{"kind":"sequence","__proto__":{"kind":"segment"}}', 'the body is not valid JSON'),
    put('[]', 'the body must be an object'),
    json(
      `PUT ${g}/a`,
      `{"kind":"segment","format":"${'x'.repeat(65_536)}"}`,
      413,
      'LIMIT',
      'the body is larger than http-body-max; send less',
    ),
  ],
  'a definition or a change that cannot be': [
    put('{}', "member 'kind': must be sequence, segment, timestamp or snowflake"),
    put('{"kind":"serial"}', "member 'kind': must be sequence, segment, timestamp or snowflake"),
    put('{"kind":"sequence","nope":1}', `unknown member 'nope'; did you mean node? known are ${options}`),
    put('{"kind":"sequence","start":"-1"}', "member 'start': must be a whole number, 0 or more"),
    put('{"kind":"sequence","start":"9223372036854775808"}', "member 'start': must be below 2^63"),
    put('{"kind":"sequence","step":0}', "member 'step': must be adaptive, or a whole number from 1 to 10^12"),
    put('{"kind":"sequence","scramble":"maybe"}', "member 'scramble': must be on or off"),
    put(
      '{"kind":"sequence","layout":"twitter"}',
      "option 'layout' does not apply: a sequence is made of a counter",
    ),
    put(
      '{"kind":"segment","format":"sms"}',
      'the format cannot be used: it has 0 times {id}; write it once, or give uuidv7, uuidv8, ulid, typeid:PREFIX or objectid',
    ),
    json(
      `PUT ${g}/order`,
      '{"kind":"segment"}',
      409,
      'EXISTS',
      "generator 'order' exists and differs: kind is sequence, not segment; alter it, or use another name",
    ),
    json(
      `PATCH ${g}/order`,
      '{"floor":"x"}',
      400,
      'ERR',
      "member 'floor': must be a whole number, 0 or more",
    ),
    json(
      `PATCH ${g}/event`,
      '{"floor":"5"}',
      409,
      'WRONGTYPE',
      "'event' is a snowflake, which follows the clock; FLOOR is for sequence and segment",
    ),
    json(
      'POST /v1/engine/advance',
      '{"by":5}',
      400,
      'ERR',
      "member 'by': must be a whole number from 1 to 10^18, as a string",
    ),
  ],
  'an id that cannot be decoded': [
    [
      'GET /v1/decode?id=x',
      400,
      'ERR',
      "'x' is no whole number of at most 19 digits; name its generator to read a format",
    ],
    ['GET /v1/decode?id=5&layout=twitter&generator=event', 400, 'ERR', 'give either layout or generator'],
    ['GET /v1/decode', 400, 'ERR', "query parameter 'id': is missing"],
    ['GET /v1/decode?id=5&generator=absent', 404, 'NOGENERATOR', noGenerator],
  ],
  'a request that a foreign web page caused': [
    ...['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.evil.example'].map(host),
    ...['http://evil.example', 'null', 'https://127.0.0.1', 'http://localhost:1'].map(
      (origin): Row => [next, 403, 'ERR', foreign, { headers: { origin } }],
    ),
    [next, 403, 'ERR', foreign, { headers: { 'sec-fetch-site': 'cross-site' } }],
    [`DELETE ${g}/order`, 403, 'ERR', foreign, { headers: { origin: 'http://evil.example' } }],
  ],
}

const tooLarge = 'the headers are larger than http-header-max; send less'
const noHttp = 'this is no HTTP; Redis clients have a port of their own'
const noMethod = (method: string) => `no method '${method}' is known here`
const badUrl = 'the path or the query has a character that must be percent-encoded'
const bytes: readonly (readonly [bytes: string, status: number, detail: string])[] = [
  ['*2\r\n$4\r\nINCR\r\n$5\r\norder\r\n', 400, noHttp],
  ['INCR order\r\n', 400, noHttp],
  ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, noHttp],
  [`${next} HTTP/9.9\r\n\r\n`, 400, noHttp],
  ['FOO / HTTP/1.1\r\nhost: localhost\r\n\r\n', 501, noMethod('FOO')],
  ['CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n', 501, noMethod('CONNECT')],
  ['post /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n', 501, noMethod('post')],
  [`${next} HTTP/1.1\r\nhost: localhost\r\nno header\r\n\r\n`, 400, noHttp],
  [`${next} HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n`, 400, noHttp],
  [
    `${next} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    noHttp,
  ],
  [`${next} HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431, tooLarge],
  [`POST ${g}/caf\xe9/next HTTP/1.1\r\nhost: localhost\r\n\r\n`, 400, badUrl],
  [`POST ${g}/order/next?\xb6\xa9 HTTP/1.1\r\nhost: localhost\r\n\r\n`, 400, badUrl],
  [`POST ${g}/${'x'.repeat(20_000)}/next HTTP/1.1\r\nhost: localhost\r\n\r\n`, 431, tooLarge],
]

describe('bad input on the HTTP port', () => {
  const scope = new Scope()
  let server: FahaoServer
  before(async () => {
    server = await startFahao(scope)
    await takeOneOfEach(server)
  })
  after(() => scope.end())

  /** Not fetch, which chooses its Host and tidies paths. */
  function send([line, , , , more]: Row): Promise<{ status: number; type: string; text: string }> {
    const [method, path] = line.split(' ')
    const { body = '', headers = {} } = more ?? {}
    const { port } = new URL(server.http)
    return new Promise((resolve, reject) => {
      const sent = request({
        port,
        host: '127.0.0.1',
        method: method!,
        path: path!,
        headers: { ...headers, ...(body && { 'content-length': String(Buffer.byteLength(body)) }) },
      })
      sent.once('error', reject)
      sent.once('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
        })
        response.once('end', () =>
          resolve({ status: response.statusCode!, type: response.headers['content-type'] ?? '', text }),
        )
      })
      sent.end(body)
    })
  }

  for (const [what, rows] of Object.entries(table)) {
    test(`${what} gets its problem`, async () => {
      for (const row of rows) {
        const [line, status, code, detail] = row
        const answer = await send(row)
        const problem = JSON.parse(answer.text)
        assert.deepEqual(
          [answer.status, problem.status, problem.code, problem.detail],
          [status, status, code, detail],
          line,
        )
        assert.equal(answer.type, 'application/problem+json; charset=utf-8')
        assert.deepEqual(Object.keys(problem).sort(), [
          'code',
          'detail',
          'instance',
          'retryable',
          'status',
          'title',
          'type',
        ])
        assert.equal(problem.instance, line.split(' ')[1])
      }
    })
  }

  test('what cannot be read as HTTP gets a problem too, and the connection is closed', async () => {
    for (const [sent, status, detail] of bytes) {
      const client = await RawClient.connect(Number(new URL(server.http).port))
      client.send(Buffer.from(sent, 'latin1'))
      const [head, body] = (await client.readToEnd()).split('\r\n\r\n')
      assert.match(head!, new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*problem\\+json`), sent)
      assert.equal(JSON.parse(body!).detail, detail)
    }
  })

  test('no id was used up, and no generator made, changed or dropped', () => assertUntouched(server))
})
