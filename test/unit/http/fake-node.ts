/** A node whose generators count up in memory, and whose every step a test can see and bend. */

import type { AccessControl } from '../../../src/auth/access-control.ts'
import type { Timeline } from '../../../src/base/timeline.ts'
import { Meters } from '../../../src/catalogue/metered-generator.ts'
import type { Config } from '../../../src/config/config-schema.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import type { EngineCall } from '../../../src/engine/engine-calls.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { turns } from '../../../src/listening/turns.ts'
import type { Health } from '../../../src/node/health.ts'
import type { FahaoNode } from '../../../src/node/node.ts'
import { Namespaces } from '../../../src/quotas/namespaces.ts'
import { Trail } from '../audit/trail.ts'
import { openAccess } from '../auth/open-access.ts'
import { FakeCatalogue, nowUs } from '../catalogue/fake-catalogue.ts'
import { leasingOf } from '../leasing/leasing.ts'

/** No users. */
const access = await openAccess()

/** A node, and what a test may bend. */
export type FakeNode = Omit<FahaoNode, 'catalogue' | 'regressions'> & {
  catalogue: FakeCatalogue
  healthNow: Health
  advancedBy: bigint[]
  regressions: number
  engineListeners: ((call: EngineCall) => void)[]
  trail: Trail
}

/** A healthy node without generators. `settings` replace those of the default configuration. */
export function fakeNode(settings: Partial<Config> = {}): FakeNode {
  const catalogue = new FakeCatalogue()
  const trail = new Trail()
  const advancedBy: bigint[] = []
  const engineListeners: ((call: EngineCall) => void)[] = []
  const timeline = { nowUs: () => nowUs, monoUs: () => 5_000_000 }
  const node = {
    config: { ...loadConfig({ flags: { engine: 'memory:' } }).config, ...settings },
    catalogue,
    advancedBy,
    healthNow: { state: 'ok', reason: undefined, inHandSeconds: undefined } as Health,
    trail,
    engine: {
      name: 'memory',
      location: 'memory:',
      status: () => ({ state: 'up' }),
      list: trail.engine.list.bind(trail.engine),
    },
    timeline,
    server: {
      version: '1.2.3',
      timeline,
      respPort: 7379 as number | undefined,
      countMax: 1000,
      incrByMax: 1_000_000n,
      startedMonoUs: 1_000_000,
      turns,
      sessions: () => [],
      // Opened by the tests that need namespaces.
      meters: new Meters(new Namespaces(new MemoryEngine(new MemoryStore())), () => nowUs),
      ...leasingOf(timeline as unknown as Timeline, catalogue, { all: () => [] }),
      audit: trail.audit,
      get access(): AccessControl {
        return node.access
      },
      get engine(): object {
        return node.engine
      },
      async advance(gap: bigint) {
        advancedBy.push(gap)
        return catalogue.generators.size
      },
    },
    access,
    workerId: 7,
    regressions: 0,
    onEngineCall: (listener: (call: EngineCall) => void) => void engineListeners.push(listener),
    engineListeners,
    mayIssue: () => true,
    health: () => node.healthNow,
  }
  return node as unknown as FakeNode
}
