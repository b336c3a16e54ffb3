/** The clients of fleet tests repeat what a careful client may repeat, and nothing else. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { HttpLoad } from '../fault/http-load.ts'

test('a request that meets the end of a kept connection goes out once more, on another', async (t) => {
  const served = new Set<unknown>()
  let cut = 0
  const load = await runAgainst(t, (request, response) => {
    // As a balancer that is reloaded: each connection serves one request, and ends under the next.
    if (served.has(request.socket)) {
      cut++
      return request.socket.destroy()
    }
    served.add(request.socket)
    return response.end(`{"ids":["${served.size}"]}`)
  })
  assert.deepEqual([...load.failures], [])
  assert.ok(cut > 0)
  assert.equal(load.count, served.size)
})

test('a new connection that ends without an answer is a failure, and so is an error', async (t) => {
  let asked = 0
  const load = await runAgainst(t, (request, response) =>
    ++asked % 2 === 0
      ? response.writeHead(503, { connection: 'close' }).end('dry')
      : request.socket.destroy(),
  )
  assert.equal(load.count, 0)
  assert.deepEqual([...load.failures.keys()].sort(), ['503 dry', 'socket hang up'])
  assert.equal(
    [...load.failures.values()].reduce((sum, count) => sum + count),
    asked,
  )
})

/** Until the server has been asked twenty times. */
async function runAgainst(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<HttpLoad> {
  let asked = 0
  let enough = () => {}
  const done = new Promise<void>((resolve) => {
    enough = resolve
  })
  const server = createServer((request, response) => {
    if (++asked === 20) enough()
    answer(request, response)
  })
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const load = new HttpLoad(t)
  load.start((server.address() as AddressInfo).port, [{ generator: 'order', count: 1 }], 1)
  await done
  await load.stop()
  return load
}
