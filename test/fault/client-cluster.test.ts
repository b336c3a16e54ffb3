/** fahao-client while the leaders of a cluster change: no call fails, on purpose or by a kill. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { Scope } from '../launch/lifetime.ts'
import { roundsOf } from './campaign.ts'
import { ClientLoad } from './client-load.ts'
import { clusterEngines } from './cluster-engines.ts'
import { type ClusterNode, eventually, startCluster, type TestCluster } from './cluster-nodes.ts'

const strict = Array.from({ length: 6 }, (_, at) => `order:${at}`)
const names = [...strict, 'stamp:0', 'stamp:1', 'user', 'event']
const scope = new Scope()
let cluster: TestCluster

before(async () => {
  cluster = await startCluster(scope, await clusterEngines.etcd!(scope))
  await cluster.untilSettled()
  for (const name of strict) await cluster.create(name, 'sequence')
  for (const name of ['stamp:0', 'stamp:1']) await cluster.create(name, 'timestamp')
  await cluster.create('user', 'segment')
  await cluster.create('event', 'snowflake')
})
after(() => scope.end())

/** One client over RESP and one over HTTP, with the options of a user that sets none. */
async function loaded(t: TestContext): Promise<ClientLoad> {
  const load = new ClientLoad(t)
  await load.start(
    cluster.ports.map((port) => `redis://127.0.0.1:${port}`),
    names,
  )
  await load.start(
    cluster.nodes.map(({ server }) => server.http),
    names,
  )
  await load.each(10)
  return load
}

/** Has a node lead nothing and take nothing, or take part again. */
async function drain({ server }: ClusterNode, draining: boolean): Promise<void> {
  const answer = await fetch(`${server.http}/v1/cluster/drain`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ draining }),
  })
  assert.equal(answer.status, 200, await answer.text())
}

describe('a client of a cluster, over RESP and over HTTP', () => {
  test('sees no error while shards are moved and nodes are drained and stopped', async (t) => {
    const load = await loaded(t)
    for (let round = 0; round < roundsOf(1, 0.05); round++) {
      for (const name of strict.slice(0, 4)) {
        const leader = await cluster.untilLed(name)
        const to = cluster.nodes[(cluster.nodes.indexOf(leader) + 1) % 3]!
        await cluster.move(name, to)
        await eventually(`${name} is not moved`, async () => {
          return (await cluster.leaderOf(name, to)) === to || undefined
        })
        await load.each(3)
      }
      t.diagnostic(`moves: ${load.waits}`)
      load.mark()
      for (const node of cluster.nodes) {
        await drain(node, true)
        await eventually('a drained node leads on', async () => {
          const { self, nodes } = await cluster.status(node)
          return nodes.find(({ id }) => id === self)?.leads === 0 || undefined
        })
        await load.each(3)
        await drain(node, false)
        await load.each(3)
      }
      t.diagnostic(`drained nodes: ${load.waits}`)
      load.mark()
      const { server } = cluster.nodes[round % 3]!
      await server.kill('SIGTERM')
      await load.each(3)
      await server.start()
      await cluster.untilComplete()
      await load.each(3)
      t.diagnostic(`a stopped node: ${load.waits}`)
      load.mark()
    }
    await load.stop()
    load.assertNoFailure()
    t.diagnostic(`${load.count} ids`)
  })

  test('sees no error while leaders are killed: calls for strict ids wait until another node leads', async (t) => {
    const load = await loaded(t)
    for (let round = 0; round < roundsOf(1, 0.1); round++) {
      const { server } = await cluster.untilLed(strict[round % strict.length]!)
      load.mark()
      await server.kill()
      await load.each(3)
      await server.start()
      await cluster.untilComplete()
      await load.each(3)
      t.diagnostic(`killed: ${load.waits}`)
    }
    await load.stop()
    load.assertNoFailure()
  })
})
