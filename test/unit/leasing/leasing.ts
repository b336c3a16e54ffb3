/** What a node leases to callers, from a store of its own. */
import { secretBytes, systemRandom } from '../../../src/base/clock.ts'
import type { Timeline } from '../../../src/base/timeline.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Pools } from '../../../src/leasing/pools.ts'
import { RangeLeases } from '../../../src/leasing/range-leases.ts'
import { WorkerIdQuotas, type WorkerIdQuotasDeps } from '../../../src/leasing/worker-id-quotas.ts'
import { WorkerIdUsage } from '../../../src/leasing/worker-id-usage.ts'
import { WorkerLeases, type WorkerLeasesDeps } from '../../../src/leasing/worker-leases.ts'

/** @param quotas those that limit the leases of worker ids. */
export function leasingOf(
  timeline: Timeline,
  catalogue: WorkerLeasesDeps['catalogue'],
  quotas: WorkerIdQuotasDeps['quotas'],
) {
  const engine = new MemoryEngine(new MemoryStore())
  const deps = { engine, timeline, catalogue, random: systemRandom, secret: secretBytes }
  const limited = { ...deps, quotas: new WorkerIdQuotas({ engine, timeline, quotas }) }
  return {
    pools: new Pools(limited),
    rangeLeases: new RangeLeases(secretBytes),
    workerLeases: new WorkerLeases(limited),
    workerIds: new WorkerIdUsage(engine, timeline),
  }
}
