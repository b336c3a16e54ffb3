/** The API of CosId's proxy as a built server offers it, to requests as Java's clients send them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort } from '../launch/places.ts'

const scope = new Scope()
let server: FahaoServer
let proxyPort: number

before(async () => {
  proxyPort = await freePort()
  server = await startFahao(scope, {
    args: ['--compat', 'cosid', '--compat-http', `cosid=127.0.0.1:${proxyPort}`],
  })
})
after(() => scope.end())

/** A request of Java's HttpClient, which offers an upgrade to HTTP/2; status and body of the answer. */
async function java(method: string, path: string, port = proxyPort): Promise<[status: number, body: string]> {
  const socket = connect(port, '127.0.0.1')
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Connection: Upgrade, HTTP2-Settings',
    ...(method === 'PATCH' || method === 'POST' ? ['Content-Length: 0'] : []),
    `Host: 127.0.0.1:${port}`,
    'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
    'Upgrade: h2c',
    'User-Agent: Java-http-client/17.0.15',
  ]
  let answer = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    answer += piece
    const end = answer.indexOf('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(answer)?.[1] ?? 0)
    if (end > 0 && answer.length >= end + 4 + length) socket.end()
  })
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await once(socket, 'close')
  return [Number(answer.slice(9, 12)), answer.slice(answer.indexOf('\r\n\r\n') + 4)]
}

const machine = (instance: string) =>
  `/machines/a%2Fb?machineBit=2&instanceId=${encodeURIComponent(instance)}&stable=false&safeGuardDuration=PT5M`

describe("the API of CosId's proxy", () => {
  test('distributes machine ids to many instances at once, and no id twice', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => java('POST', machine(`h:${index}`))),
    )
    const ids = answers.flatMap(([status, body]) => (status === 200 ? [JSON.parse(body).machineId] : []))
    assert.deepEqual(ids.sort(), [0, 1, 2, 3])
    const refused = answers.filter(([status]) => status === 400)
    assert.deepEqual(
      refused.map(([, body]) => JSON.parse(body).code),
      ['M-01', 'M-01'],
    )
  })

  test('keeps machine ids and segments through a restart of the server', async () => {
    const path = '/segments/n%2Fs/order'
    const [, first] = await java('PATCH', `${path}?step=100`)
    assert.equal(first, '100')
    const [, before] = await java('POST', machine('h:0'))
    await server.restart()
    const [status, body] = await java('POST', machine('h:0'))
    assert.deepEqual([status, JSON.parse(body).machineId], [200, JSON.parse(before).machineId])
    const [, second] = await java('PATCH', `${path}?step=100`, Number(new URL(server.http).port))
    assert.ok(Number(second) >= 200)
    assert.match((await java('GET', '/ids/n%2Fs.order'))[1], /^\d+$/)
  })
})
