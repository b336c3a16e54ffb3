import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import type { Config } from '../../../src/config/config-schema.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { openAccess, setUser } from '../auth/open-access.ts'
import { FakeClock } from '../fake-clock.ts'
import { fakeNode } from './fake-node.ts'

const login = `authorization: Basic ${Buffer.from('admin:secret').toString('base64')}\r\n`

function post(headers = '', body = ''): string {
  return `POST /v1/generators/order/next HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n${body}`
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A server whose callers log in as admin, and a connection to it that counts answers. */
async function start(t: TestContext, settings: Partial<Config> = {}) {
  const access = await openAccess()
  await setUser(access, 'admin', 'on', '>secret', '~*', '+@all')
  const node = { ...fakeNode(settings), access }
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const clock = new FakeClock()
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, clock })
  t.after(() => server.close(0))
  const open = async () => {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('utf8')
    t.after(() => void socket.destroy())
    await once(socket, 'connect')
    return new Client(socket)
  }
  /** Resolves when this number of answers rests. */
  // Those of the server itself do not count.
  const before = clock.timers
  const rests = () => clock.timers - before
  const resting = async (answers: number) => {
    while (rests() < answers) await turn()
  }
  return { server, order, open, clock, rests, resting }
}

/** What a connection has got. */
class Client {
  readonly socket: Socket
  text = ''

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('error', () => {})
    socket.on('data', (piece: string) => {
      this.text += piece
    })
  }

  get statuses(): string[] {
    return this.text.match(/(?<=HTTP\/1\.1 )\d+(?= )/g) ?? []
  }

  /** Sends a request, and waits for all answers until then and its own. */
  async ask(bytes: string): Promise<string> {
    const wanted = this.statuses.length + 1
    this.socket.write(bytes)
    while (this.statuses.length < wanted) await once(this.socket, 'data')
    return this.statuses.at(-1)!
  }
}

describe('a caller without a valid login', () => {
  const wrong = `authorization: Bearer fahao_0123456789abcdef_${'A'.repeat(43)}\r\n`
  for (const [what, request, status] of [
    ['that names no user', post(), '401'],
    ['whose token is wrong', post(wrong), '401'],
    ['that asks for what there is not', 'GET /x HTTP/1.1\r\nhost: localhost\r\n\r\n', '404'],
    ['whose path cannot be read', 'GET /%zz HTTP/1.1\r\nhost: localhost\r\n\r\n', '400'],
    ['that names another host', 'GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n', '421'],
  ] as const) {
    test(`${what} gets 16 refusals at once, and each later one after a rest`, async (t) => {
      const { open, clock, rests, resting } = await start(t)
      const client = await open()
      for (let count = 0; count < 16; count++) assert.equal(await client.ask(request), status)
      for (let rest = 0; rest < 3; rest++) {
        const answer = client.ask(request)
        await resting(1)
        await clock.pass(499)
        assert.equal(rests(), 1)
        await clock.pass(1)
        assert.equal(await answer, status)
      }
    })
  }

  test('keeps no caller waiting that logs in, on its own connection or on others', async (t) => {
    const { open, clock, rests, resting } = await start(t)
    const [proxy, other] = [await open(), await open()]
    for (let count = 0; count < 16; count++) await proxy.ask(post())
    const refused = proxy.ask(post())
    await resting(1)
    for (let count = 0; count < 20; count++) assert.equal(await other.ask(post(login)), '200')
    await clock.pass(500)
    assert.equal(await refused, '401')
    assert.equal(await proxy.ask(post(login)), '200')
    // The connection is one of a proxy: it has sent a request of a user since.
    for (let count = 0; count < 16; count++) assert.equal(await proxy.ask(post()), '401')
    assert.equal(rests(), 0)
  })

  test('gets the answers that rest when the server stops', async (t) => {
    const { open, server, resting } = await start(t)
    const client = await open()
    for (let count = 0; count < 16; count++) await client.ask(post())
    const answer = client.ask(post())
    await resting(1)
    await Promise.all([server.close(60_000), answer])
    assert.equal(await answer, '401')
  })

  test('whose body is long gets a refusal after a rest, and no further answer on its connection', async (t) => {
    const { open, order, clock, resting } = await start(t)
    for (const framing of ['content-length: 60000\r\n', 'transfer-encoding: chunked\r\n']) {
      const client = await open()
      const json = 'content-type: application/json\r\n'
      const body = framing.startsWith('content')
        ? 'x'.repeat(60_000)
        : `ea60\r\n${'x'.repeat(60_000)}\r\n0\r\n\r\n`
      const answer = client.ask(post(framing + json, body) + post(login))
      await resting(1)
      await clock.pass(500)
      assert.equal(await answer, '401')
      client.socket.write(post(login))
      for (let turns = 0; turns < 20; turns++) await turn()
      client.socket.end()
      await once(client.socket, 'close')
      assert.match(client.text, /^connection: close\r$/im)
      assert.deepEqual(client.statuses, ['401'])
      assert.equal(order.issued, 0)
    }
  })

  test('has no more of its body read than 64 KiB and what was on its way', async (t) => {
    const { open, clock, resting } = await start(t)
    const client = await open()
    const length = 256 * 1024 * 1024
    const answer = client.ask(post(`content-length: ${length}\r\n`))
    await resting(1)
    const piece = Buffer.alloc(1024 * 1024)
    let taken = 0
    // The kernel takes some megabytes; the server would take all.
    while (taken < 64 && (client.socket.write(piece) || (await drained(client.socket)))) taken++
    assert.ok(taken < 64, `${taken} MiB`)
    await clock.pass(500)
    assert.equal(await answer, '401')
  })

  test('whose body is short keeps its connection', async (t) => {
    const { open } = await start(t)
    const client = await open()
    const json = 'content-type: application/json\r\ncontent-length: 2\r\n'
    assert.equal(await client.ask(post(json, '{}')), '401')
    assert.equal(await client.ask(post(login)), '200')
  })
})

/** Whether the peer reads on, as far as many turns show. */
async function drained(socket: Socket): Promise<boolean> {
  for (let turns = 0; turns < 2000 && socket.writableNeedDrain; turns++) await turn()
  return !socket.writableNeedDrain
}
