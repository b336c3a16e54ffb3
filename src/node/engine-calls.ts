/** The engine as a node uses it: every call is timed, and told of when it is over. */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type {
  Counter,
  Engine,
  EngineStatus,
  Ownership,
  RecordChange,
  Reservation,
  ReserveRequest,
  StoredRecord,
  Watch,
} from '../engine/engine.ts'

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
  /** `ok`, or the word of its error. */
  readonly outcome: string
  readonly seconds: number
  /** What it rejected with. */
  readonly error: unknown
}

/** An engine whose calls are told of; everything else is the engine's own. */
export class TimedEngine implements Engine {
  readonly name: string
  readonly location: string
  readonly legacyTable?: string
  readonly lastWriteUs: number | undefined
  readonly newsMs: number
  readonly owns?: () => boolean
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #onCall: (call: EngineCall) => void

  /** @param onCall told of each call after it is over; must not throw. */
  constructor(engine: Engine, clock: Clock, onCall: (call: EngineCall) => void) {
    this.name = engine.name
    this.location = engine.location
    if (engine.legacyTable !== undefined) this.legacyTable = engine.legacyTable
    this.lastWriteUs = engine.lastWriteUs
    this.newsMs = engine.newsMs
    if (engine.owns !== undefined) this.owns = () => engine.owns!()
    this.#engine = engine
    this.#clock = clock
    this.#onCall = onCall
  }

  get advances(): number {
    return this.#engine.advances
  }

  reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    return this.#timed('reserve', this.#engine.reserve(counter, request))
  }

  release(...args: Parameters<Engine['release']>): Promise<boolean> {
    return this.#timed('release', this.#engine.release(...args))
  }

  transfer(counter: string, from: bigint): void {
    this.#engine.transfer(counter, from)
  }

  acquire(counter: string, end: bigint): void {
    this.#engine.acquire(counter, end)
  }

  counter(name: string): Promise<Counter> {
    return this.#timed('counter', this.#engine.counter(name))
  }

  advance(...args: Parameters<Engine['advance']>): Promise<number> {
    return this.#timed('advance', this.#engine.advance(...args))
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#timed('read', this.#engine.read(key))
  }

  list(...args: Parameters<Engine['list']>): Promise<StoredRecord[]> {
    return this.#timed('list', this.#engine.list(...args))
  }

  write(...args: Parameters<Engine['write']>): Promise<StoredRecord | undefined> {
    return this.#timed('write', this.#engine.write(...args))
  }

  remove(key: string, expected: bigint): Promise<boolean> {
    return this.#timed('remove', this.#engine.remove(key, expected))
  }

  watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    return this.#timed('watch', this.#engine.watch(prefix, listener))
  }

  ownership(): Promise<Ownership> {
    return this.#engine.ownership()
  }

  status(): EngineStatus {
    return this.#engine.status()
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  async #timed<Value>(operation: EngineOperation, running: Promise<Value>): Promise<Value> {
    const startedUs = this.#clock.monoUs()
    const over = (outcome: string, error?: unknown) => {
      const seconds = (this.#clock.monoUs() - startedUs) / 1_000_000
      this.#onCall({ operation, outcome, seconds, error })
    }
    try {
      const value = await running
      over('ok')
      return value
    } catch (error) {
      over(error instanceof FahaoError ? error.code : 'ERR', error)
      throw error
    }
  }
}
