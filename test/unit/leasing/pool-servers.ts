/** Servers that lease plain worker ids from one store, each with a clock of its own. */
import { Timeline } from '../../../src/base/timeline.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Pools } from '../../../src/leasing/pools.ts'
import { WorkerIdQuotas } from '../../../src/leasing/worker-id-quotas.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock } from '../fake-clock.ts'

/** One server. */
export type PoolServer = ReturnType<typeof poolServer>

let secrets = 0

/** A server on a store. */
export function poolServer(store = new MemoryStore(), clock = new FakeClock()) {
  const engine = new FaultyEngine(new MemoryEngine(store))
  const timeline = new Timeline(clock, { leadMaxUs: Number.MAX_SAFE_INTEGER })
  const secret = (length: number) => new Uint8Array(length).fill(++secrets % 256)
  const quotas = new WorkerIdQuotas({ engine, timeline, quotas: { all: () => [] } })
  const pools = new Pools({ engine, timeline, secret, quotas })
  const claim = (owner: string, options: Partial<Parameters<Pools['claim']>[2]> = {}) =>
    pools.claim('payments', 'default', { owner, ...options })
  return { engine, timeline, clock, pools, claim }
}
