/** Cluster clients with one shard, whose leader ends and does not come back: each goes on with another node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeClients, pythonClient } from '../failover-clients/clients.ts'
import { tryOut } from '../failover-clients/trial.ts'

// The leader is the only node with slots: the others are known to clients as its replicas alone.
for (const signal of ['SIGTERM', 'SIGKILL'] as const)
  test(`redis-py, ioredis and node-redis draw on, in order, after ${signal} of the only leader`, async () => {
    const clients = [pythonClient('of Debian', '/usr/bin/python3'), ...nodeClients()]
    const outcomes = await tryOut(clients, { shards: 1, signal })
    for (const [name, { hasRecovered, isAscending, error }] of outcomes) {
      assert.ok(hasRecovered, `${name} has not drawn again: ${error}`)
      assert.ok(isAscending, `${name} was given an id that is not above the one before`)
    }
  })
