/** A node that leases worker ids, on a store that several nodes may share. */
import { secretBytes } from '../../../src/base/clock.ts'
import { Timeline } from '../../../src/base/timeline.ts'
import { readWorker, recordKey, type WorkerRecord } from '../../../src/issuing/worker-records.ts'
import type { ListedWorker } from '../../../src/leasing/listed-workers.ts'
import { WorkerIdQuotas } from '../../../src/leasing/worker-id-quotas.ts'
import { WorkerLeases } from '../../../src/leasing/worker-leases.ts'
import { type NodeOptions, SharedEngine, startNode } from '../catalogue/node.ts'

/** 2026-06-01T00:00:00Z, at which the fake clock starts, in Unix µs. */
export const startUs = Date.UTC(2026, 5, 1) * 1000
export const second = 1_000_000
/** 8 node bits: nodes keep 4 ids, callers have 252. */
export const byteLayout = { layout: 'time:41,node:8,sequence:14;epoch=2026-01-01T00:00:00Z' }
/** The same time in the same place, 10 node bits. */
export const tenLayout = { layout: 'time:41,node:10,sequence:12;epoch=2026-01-01T00:00:00Z' }
/** One node bit: nodes keep id 0, callers have id 1. */
export const oneLayout = { layout: 'time:41,node:1,sequence:12;epoch=2026-01-01T00:00:00Z' }

export const asker = { holder: 'a test', user: 'default' }

/** A node, its leases, and the records of worker ids. */
export async function startServer(options: NodeOptions & { readonly random?: () => number } = {}) {
  const node = await startNode({ reach: (store) => new SharedEngine(store), ...options })
  const { engine, catalogue, clock } = node
  const timeline = new Timeline(clock)
  const random = options.random ?? (() => 0.5)
  const quotas = new WorkerIdQuotas({ engine, timeline, quotas: { all: () => [] } })
  const leases = new WorkerLeases({ engine, timeline, random, catalogue, secret: secretBytes, quotas })
  const record = async (id: number): Promise<WorkerRecord | undefined> => {
    const stored = await engine.read(recordKey(id))
    return stored && readWorker(stored)
  }
  const listed = async () => {
    const workers: ListedWorker[] = []
    for await (const worker of leases.list()) workers.push(worker)
    return workers
  }
  return { ...node, leases, record, listed }
}

/** Such a node with the snowflake `event`. */
export function startEvent(layout = byteLayout, options: Parameters<typeof startServer>[0] = {}) {
  return startServer({ generators: { event: { kind: 'snowflake', ...layout } }, ...options })
}
