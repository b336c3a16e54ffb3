/** A process that issues from one counter of a memory engine, which several may share. */
import { FahaoError } from '../../../src/base/errors.ts'
import { RangeBuffer } from '../../../src/buffers/range-buffer.ts'
import type { Reservation } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { max63 } from '../../../src/ids/limits.ts'
import type { Run } from '../../../src/ids/run.ts'
import { CounterSource, type CounterSourceOptions } from '../../../src/issuing/counter-source.ts'
import { Limiter } from '../../../src/issuing/engine-permits.ts'
import { Gate } from '../../../src/issuing/gate.ts'
import type { Incarnation } from '../../../src/issuing/incarnation.ts'
import { Observer } from '../../../src/issuing/observer.ts'
import { Reservoir } from '../../../src/issuing/reservoir.ts'
import type { ReservoirOptions } from '../../../src/issuing/reservoir-options.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock } from '../fake-clock.ts'
import '../invariants.ts'

export const counter = 'generators/test'

type Changes = Partial<CounterSourceOptions> &
  Partial<ReservoirOptions> &
  Partial<Incarnation> & {
    readonly buffer?: RangeBuffer
    readonly gate?: Gate
    readonly bound?: bigint
    readonly leftover?: Reservation | undefined
  }

/** An issuer and everything around it. */
export type Process = {
  readonly clock: FakeClock
  readonly engine: FaultyEngine
  readonly store: MemoryStore
  readonly source: CounterSource
  readonly reservoir: Reservoir
  /** Outcomes of refills: codes of failures, `ok` for recoveries. */
  readonly outcomes: string[]
  close(): Promise<void>
}

/** Starts a process; ids from 1 on, ten at a time, unless `changes` say otherwise. */
export async function startCounter(
  changes: Changes = {},
  { store = new MemoryStore(), clock = new FakeClock() }: { store?: MemoryStore; clock?: FakeClock } = {},
): Promise<Process> {
  const engine = new FaultyEngine(new MemoryEngine(store))
  const outcomes: string[] = []
  const bound = changes.leftover?.start ?? (await engine.counter(counter)).bound
  const incarnation = {
    name: 'test',
    incarnation: 1n,
    floor: 1n,
    advances: engine.advances,
    ...changes,
    counter,
  }
  const gate = changes.gate ?? new Gate()
  const source = new CounterSource(changes.buffer ?? new RangeBuffer(1, 0n, gate.add()), bound, incarnation, {
    engine,
    clock,
    max: max63,
    increment: 1,
    step: 10,
    stepMax: 1_000_000,
    horizonSeconds: 600,
    stepMultiple: 1,
    mayReserve: () => Promise.resolve(),
    ...changes,
  })
  if (changes.leftover !== undefined) source.acquire(changes.leftover)
  const reservoir = new Reservoir(
    source,
    {
      clock,
      random: () => 0.5,
      issueTimeoutMs: 2000,
      waitersMax: 100,
      limiter: new Limiter(),
      observer: new Observer(clock),
      onRefillOutcome: (name, error) =>
        outcomes.push(`${name} ${error instanceof FahaoError ? error.code : (error ?? 'ok')}`),
      ...changes,
    },
    gate,
  )
  const close = () => reservoir.close(new FahaoError('SHUTDOWN', 'closing'))
  return { clock, engine, store, source, reservoir, outcomes, close }
}

/** Every id of some runs. */
export function idsOf(runs: readonly Run[]): bigint[] {
  return runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
}

/** The whole numbers of `[start, end)`. */
export function count(start: number, end: number): bigint[] {
  return Array.from({ length: end - start }, (_, index) => BigInt(start + index))
}
