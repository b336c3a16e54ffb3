/**
 * Hostile clients: large batches, replies that are never read, and random requests over HTTP. FAULT_SEED repeats a run;
 * FAULT_ROUNDS makes it longer. short/hostile.test.ts has random frames.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startEtcd } from '../launch/etcd.ts'
import { startFahao } from '../launch/fahao.ts'
import { secondsOf } from './campaign.ts'
import { onEtcd } from './cluster-engines.ts'
import { startCluster } from './cluster-nodes.ts'
import type { Attack } from './hostile-clients.ts'
import { endure, seed } from './hostile-waits.ts'

const requests = secondsOf(3000, 100_000)

describe('hostile clients', () => {
  test('keep no others waiting with large batches, read or not, and no lease lapses', {
    timeout: 600_000,
  }, async (t) => {
    const etcd = await startEtcd(t, { members: 1 })
    const cluster = await startCluster(t, onEtcd(etcd), { args: () => ['--resp-unread-timeout', '5s'] })
    await cluster.untilSettled()
    const leaders = async () => {
      const { shards } = await cluster.status(cluster.nodes[0]!)
      return shards.map(({ leader, epoch }) => ({ leader, epoch }))
    }
    const before = await leaders()
    const { server } = await cluster.untilLed('target')
    const batches = (generator: string, count: number, clients: number, reads: boolean): Attack => ({
      what: 'batches',
      port: server.resp,
      clients,
      requests: 20,
      words: ['ID.NEXT', generator, 'COUNT', count],
      reads,
      staysMs: secondsOf(2000, 10_000),
    })
    await endure(t, server, {
      'batches of a sequence': batches('target', 100_000, secondsOf(5, 20), true),
      'batches in no order': batches('mixed', secondsOf(10_000, 100_000), secondsOf(5, 20), true),
      'batches in a format': batches('text', secondsOf(10_000, 100_000), secondsOf(5, 20), true),
      'many small batches': batches('target', 1000, 200, true),
      'batches that are not read': batches('target', 100_000, 200, false),
      'texts that are not read': batches('text', 100_000, 200, false),
    })
    for (const node of cluster.nodes) assert.doesNotMatch(node.server.output(), /lapsed/)
    assert.deepEqual(await leaders(), before)
  })

  test(`cannot end the process with ${requests} requests over HTTP from seed ${seed}`, {
    timeout: 900_000,
  }, async (t) => {
    const tokens = ['--tinyid-tokens', 'open-0123456789ab=share']
    const args = ['--log-level', 'fatal', '--compat', 'leaf,tinyid,idbuilder', ...tokens]
    const server = await startFahao(t, { args })
    const port = Number(new URL(server.http).port)
    await endure(t, server, { http: { what: 'http', port, requests, seed } })
  })
})
