/** What the suite needs to know of an engine. */

import { systemClock } from '../../src/base/clock.ts'
import type { LogEvent } from '../../src/base/events.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { EngineOptions } from '../../src/engine/engine-options.ts'
import type { DatabaseServer } from '../launch/database.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'

/** An engine as the suite sees it. A capability that it lacks is a sentence that says why. */
export type EngineUnderTest = {
  readonly name: string
  /** A store of its own, empty, which goes with the test. */
  readonly store: (lifetime: Lifetime) => Promise<StoreUnderTest> | StoreUnderTest
  /** What it remembers outlives its processes. */
  readonly durable: true | string
  /** Other processes can open the same store. */
  readonly shared: true | string
  /** One process at a time owns the store. */
  readonly owned: true | string
  /** The suite can keep it from answering. */
  readonly freezes: true | string
}

/** One store. */
export type StoreUnderTest = {
  /** Opens the store as a process of its own would; several times at once. */
  readonly open: (options: EngineOptions) => Promise<Engine>
  /** By which another process opens the same store. */
  readonly url?: string
  /** Writes get no answer until what this resolves to is called. */
  readonly freeze?: () => Promise<() => Promise<void>>
}

/** Stores on one database server, each in a database of its own. `open` takes its URL. */
export function databaseStores(
  server: DatabaseServer,
  open: (url: string, options: EngineOptions) => Promise<Engine>,
  prepare: (lifetime: Lifetime, url: string) => Promise<string> | string = (_, url) => url,
): EngineUnderTest {
  return {
    name: server.kind,
    async store(lifetime) {
      const url = await prepare(lifetime, await server.newDatabase())
      return {
        url,
        open: (options) => open(url, options),
        async freeze() {
          await server.freeze()
          return async () => server.thaw()
        },
      }
    },
    durable: true,
    shared: true,
    owned: 'a shared engine has no owner',
    freezes: true,
  }
}

/** A store of one test. */
export type Bench = {
  readonly url: string
  /** Opens the store once more; closed with the test. */
  readonly open: (options?: Partial<EngineOptions>) => Promise<Engine>
  readonly freeze: () => Promise<() => Promise<void>>
}

/** A fresh store of this engine for one test. */
export async function benchOf(engine: EngineUnderTest, lifetime: Lifetime): Promise<Bench> {
  const store = await engine.store(lifetime)
  return {
    url: store.url ?? '',
    freeze: store.freeze ?? (() => Promise.reject(new Error('this engine cannot be frozen'))),
    async open(options = {}) {
      const opened = await store.open(engineOptions(options))
      atEnd(lifetime, () => opened.close())
      return opened
    },
  }
}

/** Options as a node would give them; events go into `events`. */
export function engineOptions(options: Partial<EngineOptions> = {}, events: LogEvent[] = []): EngineOptions {
  return {
    clock: systemClock,
    callTimeoutMs: 5000,
    onEvent: (event) => events.push(event),
    ...options,
  }
}
