/** Cluster clients with one shard, whose leader ends and does not come back: each goes on with another node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, nodeClients, pythonClient } from '../failover-clients/clients.ts'
import { type Trial, tryOut } from '../failover-clients/trial.ts'

const redisPy = pythonClient('of Debian', '/usr/bin/python3')
// The leader is the only node with slots: clients know the others as its replicas alone.
const trials: readonly [signal: Trial['signal'], clients: readonly Client[]][] = [
  ['SIGTERM', [redisPy, ...nodeClients()]],
  // redis-py 4.3 cannot connect to a node that it has not used before: it copies a lock.
  ['SIGKILL', nodeClients()],
]

for (const [signal, clients] of trials) {
  const names = clients.map(({ name }) => name.split(' ')[0]).join(', ')
  test(`${names} draw on, in order, after ${signal} of the only leader`, async () => {
    const outcomes = await tryOut(clients, { shards: 1, signal })
    for (const [name, { hasRecovered, isAscending, error }] of outcomes) {
      assert.ok(hasRecovered, `${name} has not drawn again: ${error}`)
      assert.ok(isAscending, `${name} was given an id that is not above the one before`)
    }
  })
}
