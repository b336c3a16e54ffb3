/** Requests for ids over a connection, which are answered without Fastify where it would say the same. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { Moved } from '../../../src/base/moved.ts'
import type { Config } from '../../../src/config/config-schema.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { accessOf, basic } from '../auth/open-access.ts'
import type { FakeGenerator } from '../catalogue/fake-catalogue.ts'
import { type FakeNode, fakeNode } from './fake-node.ts'

type Answer = { readonly status: number; readonly headers: readonly string[]; readonly body: string }
type Started = {
  readonly node: FakeNode
  readonly order: FakeGenerator
  readonly ask: (head: string, body?: string) => Promise<Answer>
}

const plain = '/v1/generators/order/next'
const leaf = '/api/segment/get/order'

/** A server with the sequence `order`, and a connection to it. */
async function start(
  t: TestContext,
  settings: Partial<Config> = {},
  change: (node: FakeNode) => unknown = () => {},
): Promise<Started> {
  const node = fakeNode(settings)
  const order = node.catalogue.add('order', { kind: 'sequence' })
  node.catalogue.add('{shop}:order', { kind: 'sequence' })
  node.catalogue.add('odd', { kind: 'segment', format: 'ä"{id:3}' })
  await change(node)
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, compat: ['leaf'] })
  const socket = connect(server.port, '127.0.0.1')
  t.after(() => {
    socket.destroy()
    return server.close(0)
  })
  const ask = async (head: string, body = ''): Promise<Answer> => {
    socket.write(`${head.replaceAll('\n', '\r\n')}\r\n\r\n${body}`)
    let bytes = Buffer.alloc(0)
    for (;;) {
      const [piece] = await once(socket, 'data')
      bytes = Buffer.concat([bytes, piece])
      const text = bytes.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
      if (end < 0 || bytes.length < end + 4 + length) continue
      const [status = '', ...lines] = text.slice(0, end).split('\r\n')
      const headers = lines.filter((line) => !line.startsWith('Date:')).sort()
      return { status: Number(status.split(' ')[1]), headers, body: bytes.toString('utf8', end + 4) }
    }
  }
  return { node, order, ask }
}

function post(path = plain, headers = ''): string {
  return `POST ${path} HTTP/1.1\nhost: localhost\ncontent-length: 0${headers && `\n${headers}`}`
}

function get(path = leaf, headers = ''): string {
  return `GET ${path} HTTP/1.1\nhost: localhost${headers && `\n${headers}`}`
}

/** A header that means nothing where there is no body, and has Fastify answer. */
const byFastify = 'content-type: application/json'

describe('an answer without Fastify', () => {
  for (const [what, path, settings] of [
    ['one id', plain, {}],
    ['a hundred ids', `${plain}?count=100`, {}],
    ['an id in a format', '/v1/generators/odd/next', {}],
    ['several ids in a format', '/v1/generators/odd/next?count=3', {}],
    ['one id where pages of an origin are served', plain, { httpOrigins: ['https://shop.example'] }],
    ['an encoded name', '/v1/generators/%7Bshop%7D:order/next', {}],
    ['a name that is encoded wrongly', '/v1/generators/%7/next', {}],
    ['an unknown name', '/v1/generators/nothing/next', {}],
    ['too many ids', `${plain}?count=10000`, {}],
    ['no ids', `${plain}?count=0`, {}],
  ] as const) {
    test(`is that of Fastify: ${what}`, async (t) => {
      const answers: Answer[] = []
      for (const headers of ['', byFastify]) {
        const { ask } = await start(t, settings as Partial<Config>)
        answers.push(await ask(post(path, headers)))
      }
      assert.deepEqual(answers[0], answers[1])
    })
  }
})

describe('an answer of Leaf without Fastify', () => {
  for (const [what, path, settings] of [
    ['one id', leaf, {}],
    ['an id of a generator with a format', '/api/segment/get/odd', {}],
    ['one id where pages of an origin are served', leaf, { httpOrigins: ['https://shop.example'] }],
    ['one id of a user of its own', leaf, { compatUser: [{ api: 'leaf', user: 'default' }] }],
    ['an encoded name', '/api/segment/get/%7Bshop%7D:order', {}],
    ['with parameters', `${leaf}?a=b`, {}],
  ] as const) {
    test(`is that of Fastify: ${what}`, async (t) => {
      const answers: Answer[] = []
      for (const headers of ['', byFastify]) {
        const { ask } = await start(t, settings as Partial<Config>)
        answers.push(await ask(get(path, headers)))
      }
      assert.equal(answers[0]!.body, '1')
      assert.deepEqual(answers[0], answers[1])
    })
  }

  for (const [what, head, id] of [
    ['a kind that the path has no ids of', get('/api/segment/get/clock'), -2],
    ['an unknown key', get('/api/segment/get/nothing'), -2],
    ['a page of another site', get(leaf, 'sec-fetch-site: cross-site'), undefined],
    ['a page of another origin', get(leaf, 'origin: https://evil.example'), undefined],
  ] as const) {
    test(`is refused in the form of Leaf, and issues nothing: ${what}`, async (t) => {
      const { node, ask } = await start(t, {}, ({ catalogue }) =>
        catalogue.add('clock', { kind: 'snowflake' }),
      )
      const { status, body } = await ask(head)
      assert.equal(status, id === undefined ? 403 : 500)
      assert.equal(
        JSON.parse(body).message,
        id === undefined ? JSON.parse(body).message : `Result{id=${id}, status=EXCEPTION}`,
      )
      assert.equal(node.catalogue.issued, 0)
    })
  }

  test('is in the form of Leaf where a quota refuses, which is counted once', async (t) => {
    const { node, ask } = await start(t, {}, async ({ server }) => {
      await server.meters.namespaces.open()
      await server.meters.namespaces.set('shop', { match: 'order', idsPerDay: 1 })
    })
    assert.equal((await ask(get())).status, 200)
    const { status, body } = await ask(get())
    assert.deepEqual([status, JSON.parse(body).message], [500, 'Result{id=-3, status=EXCEPTION}'])
    assert.equal(node.catalogue.issued, 1)
    const shop = await ask('GET /v1/namespaces/shop HTTP/1.1\nhost: localhost')
    assert.equal(JSON.parse(shop.body).here.refused, 1)
  })

  test('needs the permission for the name', async (t) => {
    const access = await accessOf({
      admin: ['on', '>root', '~*', '+@all'],
      alice: ['on', '>pw', '~user*', '+@issue'],
    })
    const { node, ask } = await start(t, {}, (fake) => Object.assign(fake, { access }))
    for (let time = 0; time < 2; time++)
      assert.equal((await ask(get(leaf, `authorization: ${basic('alice', 'pw')}`))).status, 403)
    assert.equal((await ask(get())).status, 401)
    assert.equal(node.catalogue.issued, 0)
    for (const id of ['1', '2'])
      assert.equal((await ask(get(leaf, `authorization: ${basic('admin', 'root')}`))).body, id)
  })
})

describe('a request that is refused issues nothing', () => {
  for (const [what, head, status, body] of [
    ['a foreign host', `POST ${plain} HTTP/1.1\nhost: evil.example`, 421],
    ['two hosts', `POST ${plain} HTTP/1.1\nhost: localhost\nhost: localhost`, 400],
    ['a page of another origin', post(plain, 'origin: https://evil.example'), 403],
    ['a page of another site', post(plain, 'sec-fetch-site: cross-site'), 403],
    [
      'a body',
      `POST ${plain} HTTP/1.1\nhost: localhost\n${byFastify}\ncontent-length: 11`,
      400,
      '{"count":10}'.slice(1),
    ],
    [
      'a body without a type',
      `POST ${plain} HTTP/1.1\nhost: localhost\ncontent-length: 10`,
      415,
      '"count":10}'.slice(1),
    ],
    ['another method', `PUT ${plain} HTTP/1.1\nhost: localhost\ncontent-length: 0`, 405],
    ['a proof of nothing', post(plain, 'authorization: Fahao-Node a:b:c'), 401],
  ] as const) {
    test(`for ${what}`, async (t) => {
      const { node, ask } = await start(t)
      assert.equal((await ask(head, body)).status, status)
      assert.equal(node.catalogue.issued, 0)
    })
  }

  test('for a caller without the permission, also with credentials that its connection has proven', async (t) => {
    const access = await accessOf({
      admin: ['on', '>root', '~*', '+@all'],
      alice: ['on', '>pw', '~user*', '+@issue'],
      bob: ['on', '>pw', '~order', '+info'],
    })
    const { node, ask } = await start(t, {}, (fake) => Object.assign(fake, { access }))
    for (const name of ['alice', 'bob', 'alice']) {
      const header = `authorization: ${basic(name, 'pw')}`
      assert.equal((await ask(post(plain, header))).status, 403)
      assert.equal((await ask(post(plain, header))).status, 403)
    }
    assert.equal((await ask(post())).status, 401)
    assert.equal(node.catalogue.issued, 0)
  })

  test('beyond a quota, and is counted once', async (t) => {
    const { node, ask } = await start(t, {}, async ({ server }) => {
      await server.meters.namespaces.open()
      await server.meters.namespaces.set('shop', { match: 'order', idsPerDay: 3 })
    })
    assert.equal((await ask(post())).status, 200)
    assert.equal((await ask(post(`${plain}?count=2`))).status, 200)
    for (const path of [plain, `${plain}?count=2`]) {
      const { status, body } = await ask(post(path))
      assert.deepEqual([status, JSON.parse(body).code], [429, 'QUOTA'])
    }
    assert.equal(node.catalogue.issued, 3)
    const { body } = await ask('GET /v1/namespaces/shop HTTP/1.1\nhost: localhost')
    assert.equal(JSON.parse(body).here.refused, 2)
  })

  test('where the draw fails, which is not repeated', async (t) => {
    const { order, ask } = await start(t)
    let draws = 0
    for (const failure of [
      new FahaoError('DRY', 'no ids'),
      new Moved({ node: 'b', slot: 1, resp: undefined, http: undefined }),
    ]) {
      order.draw = async () => {
        draws++
        throw failure
      }
      const { status, body } = await ask(post(`${plain}?count=2`))
      assert.deepEqual([status, JSON.parse(body).code], [503, failure.code])
    }
    assert.equal(draws, 2)
  })
})

test('whether this node may issue is found out before an id is taken', async (t) => {
  const calls: string[] = []
  const { order, ask } = await start(t, {}, (node) =>
    Object.assign(node, { mayIssue: () => calls.push('may it issue?') }),
  )
  const take = order.take.bind(order)
  order.take = (...asked) => {
    calls.push('take')
    return take(...asked)
  }
  await ask(post())
  assert.deepEqual(calls, ['may it issue?', 'take'])
})
