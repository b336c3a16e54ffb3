import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EngineStatus } from '../../../src/engine/engine.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { startNodes } from '../commands/cluster-nodes.ts'
import { fakeNode } from './fake-node.ts'

async function start(t: TestContext, engine: EngineStatus = { state: 'up' }) {
  const [cluster] = await startNodes(t, [{ resp: '10.0.0.1:7379' }])
  const node = fakeNode()
  Object.assign(node.server, { cluster })
  Object.assign(node.engine, { status: () => engine })
  return { cluster: cluster!, app: buildHttpApp({ node, host: '127.0.0.1' }) }
}

test('the cluster is shown with what the engine does', async (t) => {
  const { app } = await start(t, { state: 'down', reason: 'connection refused' })
  const shown = (await app.inject('/v1/cluster')).json()
  assert.deepEqual(shown.engine, { state: 'down', reason: 'connection refused' })
  assert.equal(shown.nodes[0].leads, 8)
})

test('a drain is refused where no other node could take over, and ending one never is', async (t) => {
  const { app, cluster } = await start(t)
  const drain = (draining: boolean) =>
    app.inject({ method: 'POST', url: '/v1/cluster/drain', payload: { draining } })
  const refused = await drain(true)
  assert.equal(refused.json().code, 'ERR')
  assert.match(refused.json().detail, /^no other node could take over; start one/)
  assert.equal(cluster.status().nodes[0]!.draining, false)
  assert.equal((await drain(false)).statusCode, 200)
})
