/** Stores on a real etcd, for the tests of what only etcd does. */

import { setTimeout as pause } from 'node:timers/promises'
import type { LogEvent } from '../../../../src/base/events.ts'
import type { Engine, EngineOptions } from '../../../../src/engine/engine.ts'
import { openEngine } from '../../../../src/engine/open.ts'
import { engineOptions } from '../../../conformance/store-under-test.ts'
import { atEnd, type Lifetime } from '../../../launch/lifetime.ts'

/** A size and a life, for tests that care for neither. */
export const mine = { size: 10n, incarnation: 1n }

/** An engine that is closed with the test; what it tells goes into `events`. */
export async function openStore(
  lifetime: Lifetime,
  url: string,
  options: Partial<EngineOptions> = {},
  events: LogEvent[] = [],
): Promise<Engine> {
  const engine = await openEngine(url, engineOptions(options, events))
  atEnd(lifetime, () => engine.close())
  return engine
}

/** Asks until the answer is as wanted; the test's own timeout ends it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(10)
}
