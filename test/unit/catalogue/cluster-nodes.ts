/** Nodes of one cluster as far as their catalogues go, on one store in memory and one clock that tests move. */
import type { Cluster } from '../../../src/cluster/cluster.ts'
import type { ClusterEvent } from '../../../src/cluster/events.ts'
import { slotOf } from '../../../src/cluster/slots.ts'
import type { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { Nodes } from '../cluster/nodes.ts'
import { type Node, type NodeOptions, SharedEngine, startNode } from './node.ts'

/** A node of the cluster. */
export type Member = {
  readonly cluster: Cluster
  readonly catalogue: Node['catalogue']
  /** What its cluster reaches the store through; `engine` is what its catalogue does. */
  readonly clusterEngine: FaultyEngine
  readonly engine: FaultyEngine
  readonly events: ClusterEvent[]
  readonly address: string
}

/** Two nodes that have settled, of which `leader` leads every shard that `name` is in. Lease 3 s. */
export async function twoMembers(name: string, options: Pick<NodeOptions, 'idleAfterMs'> = {}) {
  const nodes = new Nodes(1)
  const start = async (address: string): Promise<Member> => {
    const { cluster, engine: clusterEngine, events } = await nodes.start(address)
    const reach = () => new SharedEngine(nodes.store)
    const { catalogue, engine } = await startNode({
      ...options,
      store: nodes.store,
      clock: nodes.clock,
      cluster,
      reach,
    })
    return { cluster, catalogue, clusterEngine, engine, events, address }
  }
  const [one, two] = [await start('a:1'), await start('b:1')]
  await nodes.clock.pass(10_000)
  const leader = one.cluster.here(slotOf(name)) === undefined ? two : one
  return { clock: nodes.clock, store: nodes.store, leader, other: leader === one ? two : one }
}
