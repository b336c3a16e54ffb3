/** Clusters in this process, on one store in memory and one clock that tests move. */

import type { ClusterOptions } from '../../../src/cluster/cluster.ts'
import { Cluster } from '../../../src/cluster/cluster.ts'
import type { ClusterEvent } from '../../../src/cluster/events.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock } from '../fake-clock.ts'
import '../invariants.ts'

/** A node of a test. */
export type Node = {
  readonly cluster: Cluster
  readonly engine: FaultyEngine
  readonly events: ClusterEvent[]
  /** Shards that it leads, as it would answer requests. */
  leads(): number[]
}

/** What one test's nodes share. */
export class Nodes {
  readonly clock = new FakeClock()
  readonly store = new MemoryStore()
  readonly shards: number
  #ids = 0

  constructor(shards: number) {
    this.shards = shards
  }

  /** A node that has not started. Lease 3 s, margin 300 ms. */
  make(address: string, options: Partial<ClusterOptions> = {}): Node {
    const engine = new FaultyEngine(new MemoryEngine(this.store))
    const events: ClusterEvent[] = []
    const cluster = new Cluster({
      engine,
      clock: this.clock,
      newNodeId: () => `n${++this.#ids}`,
      cluster: 'test',
      shards: this.shards,
      resp: address,
      version: '1',
      onEvent: (event) => events.push(event),
      ...options,
    })
    const leads = () => {
      const { shards } = cluster.status()
      return shards.filter(({ firstSlot }) => cluster.here(firstSlot) !== undefined).map(({ shard }) => shard)
    }
    return { cluster, engine, events, leads }
  }

  /** A node that has joined. */
  async start(address: string, options: Partial<ClusterOptions> = {}): Promise<Node> {
    const node = this.make(address, options)
    let isOver = false
    const started = node.cluster.start().finally(() => {
      isOver = true
    })
    started.catch(() => {})
    do await this.clock.pass(10)
    while (!isOver)
    await started
    return node
  }
}

/** The lease of these nodes. */
export const leaseMs = 3000

/** Two nodes that lead six shards, three each. */
export async function two() {
  const nodes = new Nodes(6)
  const a = await nodes.start('a:1')
  const b = await nodes.start('b:1')
  await nodes.clock.pass(leaseMs + 1000)
  return { nodes, clock: nodes.clock, a, b }
}
