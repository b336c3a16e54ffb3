/** Cluster clients with one shard, whose leader ends and does not come back: each goes on with another node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeClients } from '../failover-clients/clients.ts'
import { tryOut } from '../failover-clients/trial.ts'

// redis-py 4.3, which Debian 12 has, cannot connect to a node that it has not used before: it copies a lock. With one
// shard the leader is the only node with slots, so this test leaves redis-py to `npm run test:failover-clients`.
const clients = nodeClients()
const names = clients.map(({ name }) => name.split(' ')[0]).join(', ')

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`${names} draw on, in order, after ${signal} of the only leader`, async () => {
    const outcomes = await tryOut(clients, { shards: 1, signal })
    for (const [name, { hasRecovered, isAscending, error }] of outcomes) {
      assert.ok(hasRecovered, `${name} has not drawn again: ${error}`)
      assert.ok(isAscending, `${name} was given an id that is not above the one before`)
    }
  })
}
