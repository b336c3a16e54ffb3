/** The engine as a node uses it: each call that reads or writes the store is timed, and reported once it is over. */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Tracing } from '../installation/tracing.ts'
import type { Engine } from './engine.ts'

const operations = [
  ...(['reserve', 'release', 'counter', 'advance'] as const),
  ...(['read', 'list', 'write', 'remove', 'lookUp', 'commit', 'watch'] as const),
]

/** They have a span also where no request waits for them: most reserves are made beforehand. */
const oftenAlone: ReadonlySet<string> = new Set(['reserve', 'release', 'advance'])

/** A call that is over. */
export type EngineCall = {
  readonly operation: (typeof operations)[number]
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
export function timedEngine(
  engine: Engine,
  { clock, tracing }: { readonly clock: Clock; readonly tracing?: Tracing | undefined },
  onCall: (call: EngineCall) => void,
): Engine {
  const traced = (
    operation: EngineCall['operation'],
    [name]: readonly unknown[],
    call: () => Promise<unknown>,
    tracing: Tracing,
  ) => {
    const isOfCounter = operation === 'reserve' || operation === 'release' || operation === 'counter'
    const attributes = {
      'db.system.name': engine.name === 'postgres' ? 'postgresql' : engine.name,
      'db.operation.name': operation,
      ...(isOfCounter && { 'fahao.counter': String(name) }),
    }
    return tracing.call(operation, attributes, call, oftenAlone.has(operation))
  }
  const timed =
    (operation: EngineCall['operation']) =>
    async (...args: unknown[]): Promise<unknown> => {
      const startedUs = clock.monoUs()
      const report = (outcome: string, error?: unknown) =>
        onCall({ operation, outcome, seconds: (clock.monoUs() - startedUs) / 1_000_000, error })
      try {
        const call = (): Promise<unknown> => Reflect.apply(engine[operation], engine, args)
        const value = await (tracing === undefined ? call() : traced(operation, args, call, tracing))
        report('ok')
        return value
      } catch (error) {
        report(error instanceof FahaoError ? error.code : 'ERR', error)
        throw error
      }
    }
  const calls = new Map<PropertyKey, unknown>(operations.map((operation) => [operation, timed(operation)]))
  return new Proxy(engine, {
    get(_engine, name) {
      const member: unknown = Reflect.get(engine, name)
      return calls.get(name) ?? (typeof member === 'function' ? member.bind(engine) : member)
    },
  })
}
