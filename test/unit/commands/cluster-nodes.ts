/** Nodes of one cluster in this process, on one store in memory. */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../../../src/base/clock.ts'
import { Cluster } from '../../../src/cluster/cluster.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { atEnd, type Lifetime } from '../../launch/lifetime.ts'

/** What a node announces. */
export type Addresses = { readonly resp?: string; readonly http?: string }

/** Longer than a busy machine keeps the process from its timers. */
const leaseTtlMs = 2000

/** Starts a node for each of the addresses; resolves when every shard is led by the node that should. */
export async function startNodes(
  lifetime: Lifetime,
  each: readonly Addresses[],
  shards = 8,
): Promise<Cluster[]> {
  const store = new MemoryStore()
  const clusters = each.map((addresses) => joining(store, addresses, shards))
  atEnd(lifetime, async () => {
    for (const cluster of clusters) await cluster.close()
  })
  await Promise.all(clusters.map((cluster) => cluster.start()))
  await until(() => clusters.every((cluster) => isSettled(cluster, each.length)))
  return clusters
}

/** A node that has not joined. */
export function notJoined(): Cluster {
  return joining(new MemoryStore(), { resp: '127.0.0.1:1' }, 8)
}

/** Waits for what comes by itself. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setTimeout(5)
}

/** Whether it sees this many nodes, and each shard led by the one that should. */
export function isSettled(cluster: Cluster, nodes: number): boolean {
  const status = cluster.status()
  const led = status.shards.every(({ leader, wanted }) => leader !== undefined && leader.id === wanted)
  return led && status.nodes.length === nodes
}

function joining(store: MemoryStore, addresses: Addresses, shards: number): Cluster {
  return new Cluster({
    engine: new MemoryEngine(store),
    clock: systemClock,
    newNodeId: () => randomBytes(20).toString('hex'),
    cluster: 'test',
    shards,
    leaseTtlMs,
    ...addresses,
    version: '0.1.0',
    onEvent() {},
  })
}
