/** The engine as a node uses it: each call that reads or writes the store is timed, and reported once it is over. */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'

/** The operations of an engine that are timed. */
export type EngineOperation =
  | 'reserve'
  | 'release'
  | 'counter'
  | 'advance'
  | 'read'
  | 'list'
  | 'write'
  | 'remove'
  | 'watch'

/** A call that is over. */
export type EngineCall = {
  readonly operation: EngineOperation
  /** `ok`, or the code of the error. */
  readonly outcome: string
  readonly seconds: number
  /** What the call rejected with. */
  readonly error: unknown
}

/**
 * `engine` with timed calls; every other member is the engine's own.
 * @param onCall receives each call once it is over; must not throw.
 */
export function timedEngine(engine: Engine, clock: Clock, onCall: (call: EngineCall) => void): Engine {
  const timed =
    <Args extends unknown[], Value>(operation: EngineOperation, call: (...args: Args) => Promise<Value>) =>
    async (...args: Args): Promise<Value> => {
      const startedUs = clock.monoUs()
      const report = (outcome: string, error?: unknown) =>
        onCall({ operation, outcome, seconds: (clock.monoUs() - startedUs) / 1_000_000, error })
      try {
        const value = await call.apply(engine, args)
        report('ok')
        return value
      } catch (error) {
        report(error instanceof FahaoError ? error.code : 'ERR', error)
        throw error
      }
    }
  const { name, location, lastWriteUs, watchDelayMs, owns } = engine
  return {
    name,
    location,
    lastWriteUs,
    watchDelayMs,
    ...(owns !== undefined && { owns: () => owns.call(engine) }),
    get advances() {
      return engine.advances
    },
    transfer: (...args) => engine.transfer(...args),
    acquire: (...args) => engine.acquire(...args),
    ownership: () => engine.ownership(),
    status: () => engine.status(),
    close: () => engine.close(),
    reserve: timed('reserve', engine.reserve),
    release: timed('release', engine.release),
    counter: timed('counter', engine.counter),
    advance: timed('advance', engine.advance),
    read: timed('read', engine.read),
    list: timed('list', engine.list),
    write: timed('write', engine.write),
    remove: timed('remove', engine.remove),
    watch: timed('watch', engine.watch),
  }
}
