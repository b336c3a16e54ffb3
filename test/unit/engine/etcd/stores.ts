/** Stores on a real etcd, for tests of behaviour that only etcd has. */

import { setTimeout as pause } from 'node:timers/promises'
import type { LogEvent } from '../../../../src/base/events.ts'
import type { Engine } from '../../../../src/engine/engine.ts'
import type { EngineOptions } from '../../../../src/engine/engine-options.ts'
import { openEngine } from '../../../../src/engine/open.ts'
import { engineOptions } from '../../../conformance/store-under-test.ts'
import { atEnd, type Lifetime } from '../../../launch/lifetime.ts'

/** A size and an incarnation, for tests in which neither matters. */
export const mine = { size: 10n, incarnation: 1n }

/** Opens an engine that is closed at the end of the test. Its events go into `events`. */
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

/** Waits until the condition holds. The timeout of the test ends the wait. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(10)
}
