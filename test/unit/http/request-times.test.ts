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
