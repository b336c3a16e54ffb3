/** The compatible APIs as a built server offers them: beside the native one, and on the ports that the old ones had. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { startProcess } from '../launch/process.ts'
import { assertDistinct, assertIncreasing } from './examples.ts'

const entry = join(import.meta.dirname, '..', '..', 'dist', 'fahao.js')
const scope = new Scope()
const token = '0f673adf80504e2eaa552f5d791b644c'
let server: FahaoServer
let leafPort: number
let tinyidPort: number

before(async () => {
  leafPort = await freePort()
  tinyidPort = await freePort()
  server = await startFahao(scope, {
    args: [
      ...['--compat', 'leaf,idbuilder,tinyid', '--auto-create', 'auto:*=segment'],
      ...['--compat-http', `leaf=127.0.0.1:${leafPort}`, '--compat-http', `tinyid=127.0.0.1:${tinyidPort}`],
    ],
    env: { FAHAO_TINYID_TOKENS: `${token}=test*` },
  })
  const client = await server.connect()
  await client.command('ID.CREATE', 'order', 'KIND', 'segment')
  await client.command('ID.CREATE', '7', 'KIND', 'segment', 'WITHIN', 'shuffled', 'FORMAT', 'coupon_{id:8}')
  await client.command('ID.CREATE', 'test', 'KIND', 'segment', 'STEP', '1000')
  await client.command('ID.CREATE', 'test_odd', 'KIND', 'segment', 'INCREMENT', '2', 'OFFSET', '1')
  await client.close()
})
after(() => scope.end())

const httpPort = () => Number(new URL(server.http).port)

/** Sends a request as it stands, and returns head and body of the answer. */
async function exchange(
  port: number,
  head: readonly string[],
  body = '',
): Promise<[head: string, body: string]> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`)
  let answer = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    answer += piece
  })
  await once(socket, 'close')
  const end = answer.indexOf('\r\n\r\n')
  return [answer.slice(0, end), answer.slice(end + 4)]
}

/** What tinyid's Java client sends: HttpURLConnection's POST, its parameters in the query, its form empty. */
function javaPost(port: number, path: string, form = ''): Promise<[head: string, body: string]> {
  const head = [
    `POST ${path} HTTP/1.1`,
    'User-Agent: Java/1.8.0_392',
    `Host: 127.0.0.1:${port}`,
    'Accept: text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
    'Content-type: application/x-www-form-urlencoded',
    `Content-Length: ${Buffer.byteLength(form)}`,
  ]
  return exchange(port, head, form)
}

async function get(port: number, path: string): Promise<[status: number, body: string]> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`)
  return [answer.status, await answer.text()]
}

describe('Leaf', () => {
  test('issues on both ports, from one generator, whatever the method', async () => {
    const ids: string[] = []
    for (let round = 0; round < 20; round++) {
      for (const port of [httpPort(), leafPort]) {
        for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
          const head = [`${method} /api/segment/get/order HTTP/1.1`, 'Host: localhost', 'Content-Length: 0']
          const [answer, body] = await exchange(port, head)
          assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
          assert.match(answer, /^content-type: text\/plain;charset=UTF-8\r?$/im)
          ids.push(body)
        }
      }
    }
    assert.match(ids.join(), /^\d+(,\d+)*$/)
    assertIncreasing(ids)
  })

  test('answers 400 requests at once without a failure, from a generator that is just being made', async () => {
    const answers = await Promise.all(
      Array.from({ length: 400 }, () => get(leafPort, '/api/segment/get/auto:burst')),
    )
    assert.deepEqual([...new Set(answers.map(([status]) => status))], [200])
    assertDistinct(answers.map(([, body]) => body))
  })

  test('snowflakes come for any key, and decode', async () => {
    const ids: string[] = []
    for (const key of ['a', 'b', 'order']) ids.push((await get(leafPort, `/api/snowflake/get/${key}`))[1])
    assertIncreasing(ids)
    const [, decoded] = await get(leafPort, `/decodeSnowflakeId?snowflakeId=${ids[0]}`)
    const { timestamp, workerId } = JSON.parse(decoded)
    assert.match(timestamp, /^\d{13}\(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\)$/)
    assert.equal(workerId, '0')
  })

  test('failures and pages are there', async () => {
    const [status, body] = await get(leafPort, '/api/segment/get/none')
    assert.deepEqual([status, JSON.parse(body).message], [500, 'Result{id=-2, status=EXCEPTION}'])
    assert.match((await get(leafPort, '/cache'))[1], /<td>order<\/td>/)
    assert.match((await get(leafPort, '/db'))[1], /<td>test_odd<\/td>/)
  })
})

describe('IdBuilder', () => {
  test('gives strings and numbers of one generator, each once', async () => {
    const ids: string[] = []
    for (let count = 0; count < 50; count++) {
      const [, number] = await get(httpPort(), '/id-builder/increase-id?code=7')
      const [, text] = await get(httpPort(), '/id-builder/increase-id-str?code=7')
      assert.match(text, /^coupon_\d{8}$/)
      ids.push(number, String(Number(text.slice(7))))
    }
    assertDistinct(ids)
  })
})

describe('tinyid', () => {
  const query = `token=${token}&bizType=`

  test('its Java client is told segments, and clients that post forms are told ids', async () => {
    const [head, body] = await javaPost(tinyidPort, `/tinyid/id/nextSegmentIdSimple?${query}test`)
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/)
    assert.equal(body, '0,200,1000,1,0')
    const form = `bizType=test&token=${token}&batchSize=2`
    assert.equal((await javaPost(tinyidPort, '/tinyid/id/nextIdSimple', form))[1], '1001,1002')
    const [, json] = await javaPost(httpPort(), '/tinyid/id/nextId', form)
    assert.equal(json, '{"data":[1003,1004],"code":200,"message":""}')
  })

  test('odd ids stay odd', async () => {
    const [, body] = await get(tinyidPort, `/tinyid/id/nextIdSimple?${query}test_odd&batchSize=3`)
    assert.equal(body, '1,3,5')
  })

  test('a wrong token opens nothing, with status 200', async () => {
    assert.deepEqual(await get(tinyidPort, '/tinyid/id/nextIdSimple?token=x&bizType=test'), [200, ''])
    assert.match((await get(tinyidPort, `/tinyid/id/nextId?${query}order`))[1], /"code":5/)
  })

  test('no token is in the output of the server', () =>
    assert.doesNotMatch(server.output(), new RegExp(token)))
})

describe('the ports', () => {
  test('have one API each, and are counted with the main one', async () => {
    assert.equal((await get(leafPort, `/tinyid/id/nextId?bizType=test&token=${token}`))[0], 404)
    assert.equal((await get(tinyidPort, '/api/segment/get/order'))[0], 404)
    assert.equal((await get(leafPort, '/v1/generators'))[0], 404)
    const requests = async () => {
      const [, body] = await get(httpPort(), '/metrics')
      return Number(/^fahao_requests_total\{protocol="http"\} (\d+)$/m.exec(body)?.[1])
    }
    const before = await requests()
    await get(leafPort, '/api/segment/get/order')
    assert.equal(await requests(), before + 2)
  })

  test('a page of another site uses up no id', async () => {
    const [, first] = await get(leafPort, '/api/segment/get/order')
    const head = [
      'GET /api/segment/get/order HTTP/1.1',
      `Host: 127.0.0.1:${leafPort}`,
      'Sec-Fetch-Site: cross-site',
    ]
    assert.match((await exchange(leafPort, head))[0], /^HTTP\/1\.1 403 /)
    assert.equal((await get(leafPort, '/api/segment/get/order'))[1], String(Number(first) + 1))
  })
})

describe('a server with nothing but an old port', () => {
  test('serves it, ends with SIGTERM, and repeats no id after', async (t) => {
    const lifetime = new Scope()
    t.after(() => lifetime.end())
    const port = await freePort()
    const engine = `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`
    const start = () =>
      startProcess(lifetime, {
        command: process.execPath,
        args: [
          ...[entry, 'serve', '--engine', engine, '--resp', 'off', '--http', 'off'],
          ...['--compat-http', `leaf=127.0.0.1:${port}`, '--auto-create', '*=segment'],
        ],
        readyWhen: { port },
      })
    const ids: string[] = []
    for (let life = 0; life < 3; life++) {
      const running = await start()
      for (let count = 0; count < 10; count++) ids.push((await get(port, '/api/segment/get/k'))[1])
      assert.deepEqual(await running.kill('SIGTERM'), { code: 0, signal: null })
    }
    assertIncreasing(ids)
  })

  test('refuses APIs that it was given no port for', async (t) => {
    const lifetime = new Scope()
    t.after(() => lifetime.end())
    const args = [entry, 'serve', '--engine', 'memory:', '--http', 'off', '--compat', 'leaf']
    const running = await startProcess(lifetime, { command: process.execPath, args })
    assert.deepEqual(await running.exited, { code: 2, signal: null })
    assert.match(running.output(), /CONFIG compat is served where http is.*--compat-http/)
  })

  test('says which setting to change when the port is taken', async (t) => {
    const lifetime = new Scope()
    t.after(() => lifetime.end())
    const running = await startProcess(lifetime, {
      command: process.execPath,
      args: [
        ...[entry, 'serve', '--engine', 'memory:', '--resp', 'off', '--http', 'off'],
        ...['--compat-http', `leaf=127.0.0.1:${leafPort}`],
      ],
    })
    await running.exited
    assert.match(running.output(), new RegExp(`cannot listen on 127.0.0.1:${leafPort}.*--compat-http`))
  })
})
