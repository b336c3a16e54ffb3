import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { timeBuckets } from '../../../src/base/times.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { noTraffic } from '../../../src/http/traffic.ts'
import { FakeClock } from '../fake-clock.ts'
import { fakeNode } from './fake-node.ts'

test('requests are measured from their arrival until their answer, and errors are counted by code', async (t) => {
  /** Each reading is 2 ms after the one before. */
  class SlowClock extends FakeClock {
    override monoUs(): number {
      this.mono += 2000
      return this.mono
    }
  }
  const node = fakeNode()
  node.catalogue.add('order', { kind: 'sequence' })
  const traffic = noTraffic()
  const server = await startHttpServer({
    node,
    host: '127.0.0.1',
    port: 0,
    traffic,
    clock: new SlowClock(),
  })
  t.after(() => server.close(0))
  for (const name of ['order', 'none', 'none']) {
    const answer = await fetch(`http://127.0.0.1:${server.port}/v1/generators/${name}/next`, {
      method: 'POST',
    })
    await answer.arrayBuffer()
  }
  const { requests } = traffic
  const { ok, refused } = requests.times
  const counted = () => [...ok.counts, ...refused.counts].reduce((sum, count) => sum + count)
  // The client may have the answer before its end is known here.
  while (counted() < 3) await new Promise((resolve) => setImmediate(resolve))
  const bucket = timeBuckets.indexOf(0.0025)
  assert.deepEqual([ok.counts[bucket], refused.counts[bucket]], [1, 2])
  assert.deepEqual(Object.fromEntries(requests.errors), { NOGENERATOR: 2 })
  const socket = connect(server.port, '127.0.0.1')
  socket.resume().write('PING\r\n')
  await once(socket, 'end')
  assert.deepEqual(Object.fromEntries(requests.errors), { NOGENERATOR: 2, ERR: 1 })
})

test('errors are counted in the form of every compatible API', async (t) => {
  const traffic = noTraffic()
  const app = buildHttpApp({ node: fakeNode(), host: '127.0.0.1', compat: ['leaf', 'cosid'], traffic })
  t.after(() => app.close())
  for (const url of ['/api/segment/get/none', '/none']) await app.inject({ method: 'GET', url })
  assert.deepEqual(Object.fromEntries(traffic.requests.errors), { NOGENERATOR: 1, ERR: 1 })
})

test('the time of a request is an example of its trace, if its client records that', async (t) => {
  const node = fakeNode()
  node.catalogue.add('order', { kind: 'sequence' })
  const traffic = noTraffic()
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, traffic, clock: new FakeClock() })
  t.after(() => server.close(0))
  const url = `http://127.0.0.1:${server.port}`
  const next = async (traceparent: string) => {
    const path = `${url}/v1/generators/order/next`
    const answer = await fetch(path, { method: 'POST', headers: { traceparent } })
    await answer.arrayBuffer()
  }
  const { ok } = traffic.requests.times
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const refused = [
    `00-${trace}-00f067aa0ba902b7-00`,
    `ff-${trace}-00f067aa0ba902b7-01`,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    'x',
  ]
  for (const traceparent of refused) await next(traceparent)
  while (ok.counts[0]! < refused.length) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(ok.exemplars.length, 0)
  await next(`00-${trace}-00f067aa0ba902b7-01`)
  while (ok.counts[0]! <= refused.length) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(ok.exemplars[0]?.traceId, trace)

  const accept = 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5'
  const scrape = await fetch(`${url}/metrics`, { headers: { accept } })
  assert.match(scrape.headers.get('content-type')!, /^application\/openmetrics-text; version=1\.0\.0/)
  const lines = (await scrape.text()).split('\n')
  assert.deepEqual(lines.slice(-2), ['# EOF', ''])
  assert.ok(!lines.slice(0, -1).includes(''))
  assert.ok(lines.includes('# TYPE fahao_requests counter'))
  assert.ok(lines.some((line) => line.startsWith('fahao_requests_total{protocol="http"} ')))
  const example = lines.find((line) => line.includes(trace))
  assert.match(
    example!,
    /^fahao_request_seconds_bucket\{protocol="http",outcome="ok",le="0\.0001"\} 5 # \{trace_id="\w{32}"\} 0 [\d.]+$/,
  )
  const plain = await fetch(`${url}/metrics`)
  assert.match(plain.headers.get('content-type')!, /^text\/plain/)
  assert.ok(!(await plain.text()).includes(trace))
})
