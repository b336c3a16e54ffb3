/** Two nodes that share a store and its namespaces, with three snowflakes. */

import { secretBytes } from '../../../src/base/clock.ts'
import { Timeline } from '../../../src/base/timeline.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Pools } from '../../../src/leasing/pools.ts'
import { WorkerIdQuotas } from '../../../src/leasing/worker-id-quotas.ts'
import { WorkerLeases } from '../../../src/leasing/worker-leases.ts'
import { Namespaces } from '../../../src/quotas/namespaces.ts'
import { Quotas } from '../../../src/quotas/quotas.ts'
import { type Node, SharedEngine, startNode } from '../catalogue/node.ts'
import { FakeClock } from '../fake-clock.ts'

/** One of the nodes, and what it leases. */
export type QuotaServer = {
  readonly node: Node
  readonly workers: WorkerLeases
  readonly pools: Pools
  readonly quotas: Quotas
}

/** The snowflakes are `shop:event`, `shop:order` and `mail`. */
export async function startQuotas() {
  const store = new MemoryStore()
  const clock = new FakeClock()
  const namespaces = await new Namespaces(new MemoryEngine(store)).open()
  let turn = 0
  // An id whose span has ended is not the one that is leased next.
  const random = () => (turn++ % 16) / 16
  const start = async (): Promise<QuotaServer> => {
    const node = await startNode({ store, clock, reach: (reached) => new SharedEngine(reached) })
    const { engine, catalogue } = node
    const timeline = new Timeline(clock)
    const quotas = new Quotas(namespaces, () => timeline.nowUs())
    const limits = new WorkerIdQuotas({ engine, timeline, quotas })
    const deps = { engine, timeline, catalogue, random, secret: secretBytes, quotas: limits }
    return { node, workers: new WorkerLeases(deps), pools: new Pools(deps), quotas }
  }
  const one = await start()
  const other = await start()
  for (const name of ['shop:event', 'shop:order', 'mail'])
    await one.node.catalogue.create(name, { kind: 'snowflake' })
  return { one, other, namespaces, clock }
}
