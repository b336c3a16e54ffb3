/** The launcher of the load balancer does what it says: what tests of fleets build on. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startNginx } from '../launch/nginx.ts'
import { freePort } from '../launch/places.ts'

const ids = '/v1/generators/orders/next?count=1'
const generator = '/v1/generators/orders'

test('nginx sends requests to the nodes in turn, over few connections, and says who answered', async (t) => {
  const nodes = [await startNode(t), await startNode(t)]
  const { httpPort } = await startNginx(t, { http: { backends: nodes.map(({ url }) => url) } })
  const answered = new Set<string | null>()
  for (let count = 0; count < 20; count++) {
    const answer = await ask(httpPort, 'POST', ids)
    assert.equal(answer.status, 200)
    answered.add(answer.node)
  }
  for (const node of nodes) {
    assert.equal(node.requests(), 10)
    assert.equal(node.connections(), 1)
    assert.ok(answered.has(new URL(node.url).host))
  }
})

test('nginx asks another node when one is gone, breaks off or has no ids', async (t) => {
  const gone = `http://127.0.0.1:${await freePort()}`
  const breaking = await startNode(t, (request) => request.socket.destroy())
  const dry = await startNode(t, (_, response) => response.writeHead(503).end())
  const good = await startNode(t)
  const { httpPort } = await startNginx(t, {
    http: { backends: [gone, breaking.url, dry.url, good.url] },
  })
  for (let count = 0; count < 8; count++) {
    const answer = await ask(httpPort, 'POST', ids)
    assert.equal(answer.status, 200)
    assert.equal(answer.node, new URL(good.url).host)
  }
  assert.ok(breaking.requests() > 0)
  assert.ok(dry.requests() > 0)
})

test('nginx repeats no change but that for ids, and sets no node aside for a 503', async (t) => {
  const breaking = await startNode(t, (request) => request.socket.destroy())
  const { httpPort } = await startNginx(t, { http: { backends: [breaking.url, breaking.url] } })
  assert.equal((await ask(httpPort, 'PATCH', generator)).status, 502)
  assert.equal(breaking.requests(), 1)

  const dry = await startNode(t, (request, response) =>
    response.writeHead(request.url === ids ? 503 : 200).end('from here'),
  )
  const other = await startNginx(t, { http: { backends: [dry.url] } })
  assert.equal((await ask(other.httpPort, 'POST', ids)).status, 503)
  assert.equal((await ask(other.httpPort, 'GET', generator)).status, 200)
})

test('nginx moves to other nodes under way without losing a request', async (t) => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let arrived = () => {}
  const arrival = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const old = await startNode(t, async (_, response) => {
    arrived()
    await held
    response.end('late')
  })
  const young = await startNode(t)
  const balancer = await startNginx(t, { http: { backends: [old.url] } })
  const underWay = ask(balancer.httpPort, 'POST', ids)
  await arrival
  await balancer.reload([young.url])
  // Until the old worker is told to go, it may take a connection; it still knows only the old node.
  release()
  assert.deepEqual(await underWay, { status: 200, body: 'late', node: new URL(old.url).host })
  while ((await ask(balancer.httpPort, 'POST', ids)).node !== new URL(young.url).host);
  await assert.rejects(balancer.reload(['http://no such host']), /Invalid URL/)
  await assert.rejects(balancer.reload([]), /no servers are inside upstream/)
  assert.equal((await ask(balancer.httpPort, 'POST', ids)).status, 200)
})

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

async function startNode(t: TestContext, answer: Answer = (_, response) => response.end('ids')) {
  let requests = 0
  let connections = 0
  const server = createServer((request, response) => {
    requests++
    answer(request, response)
  })
  server.on('connection', () => {
    connections++
  })
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    connections: () => connections,
  }
}

async function ask(port: number, method: string, path: string) {
  // A connection of its own: nginx closes idle ones when it is told to reload.
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { connection: 'close' } })
  return { status: answer.status, body: await answer.text(), node: answer.headers.get('x-upstream') }
}
