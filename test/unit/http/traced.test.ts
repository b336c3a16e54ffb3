/** Spans of requests by HTTP. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startHttpServer } from '../../../src/http/server.ts'
import { noTraffic } from '../../../src/http/traffic.ts'
import { openTracing } from '../../../src/installation/tracing.ts'
import { forgetSdk, registerSdk, type Spanned } from '../../launch/spans.ts'
import { fakeNode } from './fake-node.ts'

test('a request has a span with its route, its status and its abort, and is an example of its trace', async (t) => {
  const spans: Spanned[] = []
  registerSdk((span) => spans.push(span))
  t.after(forgetSdk)
  const node = { ...fakeNode(), tracing: await openTracing(() => assert.fail()) }
  node.catalogue.add('order', { kind: 'sequence' })
  const asked = Promise.withResolvers<void>()
  const never = node.catalogue.add('never', { kind: 'sequence' })
  never.draw = () => {
    asked.resolve()
    return new Promise(() => {})
  }
  never.take = () => 0
  const traffic = noTraffic()
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, traffic, compat: ['leaf'] })
  t.after(() => server.close(0))
  const url = `http://127.0.0.1:${server.port}`
  const after = async (count: number) => {
    while (spans.length < count) await new Promise((resolve) => setImmediate(resolve))
    const { name, isError, attributes } = spans[count - 1]!
    return [name, isError, attributes['http.response.status_code'], attributes['error.type']]
  }
  await (await fetch(`${url}/v1/generators/order/next?count=1`, { method: 'POST' })).text()
  assert.deepEqual(await after(1), ['POST /v1/generators/:name/next', false, 200, undefined])
  while (traffic.requests.times.ok.exemplars.length === 0)
    await new Promise((resolve) => setImmediate(resolve))
  assert.ok(traffic.requests.times.ok.exemplars.some((example) => example?.traceId === spans[0]!.trace))
  await (await fetch(`${url}/api/segment/get/order`)).text()
  assert.deepEqual(await after(2), ['GET /api/segment/get/:key', false, 200, undefined])
  await (await fetch(`${url}/v1/generators/none?token=secret`)).text()
  assert.deepEqual(await after(3), ['GET /v1/generators/:name', false, 404, '404'])
  await (await fetch(`${url}/nowhere`)).text()
  assert.deepEqual(await after(4), ['GET', false, 404, '404'])
  const client = connect(server.port, '127.0.0.1')
  client.write('POST /v1/generators/never/next HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await asked.promise
  client.destroy()
  await once(client, 'close')
  assert.deepEqual(await after(5), ['POST /v1/generators/:name/next', false, undefined, 'ABORTED'])
  assert.ok(!JSON.stringify(spans).includes('secret'))
})
