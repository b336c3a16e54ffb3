/** A node's catalogue and worker id, on a memory store that several nodes may share. */

import { Timeline } from '../../../src/base/timeline.ts'
import type { Turns } from '../../../src/base/turns.ts'
import { FastRuns } from '../../../src/buffers/fast-runs.ts'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import type { AutoCreate } from '../../../src/catalogue/deps.ts'
import { EngineCatalogue } from '../../../src/catalogue/engine-catalogue.ts'
import type { ForeignRows } from '../../../src/catalogue/foreign-rows.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import type { Cluster } from '../../../src/cluster/cluster.ts'
import type { Engine, RecordChange, StoreOwnership, Watch } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Run } from '../../../src/ids/run.ts'
import { WorkerId } from '../../../src/issuing/worker-id.ts'
import type { Namespaces } from '../../../src/quotas/namespaces.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock } from '../fake-clock.ts'
import '../invariants.ts'

/** What a node is started with. */
export type NodeOptions = {
  readonly store?: MemoryStore
  readonly clock?: FakeClock
  readonly autoCreate?: readonly AutoCreate[]
  readonly familyNamesMax?: number
  readonly generatorsMax?: number
  readonly nodeIndex?: { readonly value: number; readonly width: number }
  /** Counters go this far ahead: small, so that refills are frequent. */
  readonly leadUs?: number
  /** After how long generators leave memory. */
  readonly idleAfterMs?: number
  /** After how long generators are put to rest. */
  readonly restAfterMs?: number
  /** A worker id that is not of the pool. */
  readonly fixedId?: number | undefined
  /** The cluster that it has joined. */
  readonly cluster?: Cluster
  /** Limits how many generators it creates. */
  readonly namespaces?: Namespaces
  /** Rows that are generators too. */
  readonly rows?: (engine: Engine, timeline: Timeline) => ForeignRows
  /** Default: none. */
  readonly turns?: Turns
  /** Default: always the middle. */
  readonly random?: () => number
  /** Generators that it creates. */
  readonly generators?: Readonly<Record<string, GeneratorInput>>
  /** How it reaches the store; as its owner, if it is the first, unless this says otherwise. */
  readonly reach?: (store: MemoryStore) => Engine
}

/** Reaches a store that many processes share, as they share a database: it has no owner. */
export class SharedEngine extends MemoryEngine {
  override ownership(): Promise<StoreOwnership> {
    return Promise.resolve({ state: 'shared' })
  }
}

/** A shared store whose watch reports nothing, as a polled watch between two polls. */
export class DeafEngine extends SharedEngine {
  override watch(): Promise<Watch> {
    return Promise.resolve({ close() {} })
  }
}

/** A shared store whose watch reports changes when `report` is called, while it is `late`. */
export class LateEngine extends SharedEngine {
  late = false
  readonly #unreported: (() => void)[] = []

  override watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    return super.watch(prefix, (change) => {
      if (this.late) this.#unreported.push(() => listener(change))
      else listener(change)
    })
  }

  report(): void {
    this.late = false
    for (const each of this.#unreported.splice(0)) each()
  }
}

/** A running node. */
export type Node = {
  readonly store: MemoryStore
  readonly clock: FakeClock
  readonly engine: FaultyEngine
  readonly worker: WorkerId
  readonly catalogue: EngineCatalogue
  /** The messages of its events. */
  readonly events: string[]
  /** A clean stop: everything is released. */
  stop(): Promise<void>
  /** What a crash leaves: the store's lock is free, and nothing was released. */
  crash(): Promise<void>
}

let started = 0

/** Starts a node. */
export async function startNode(options: NodeOptions = {}): Promise<Node> {
  const {
    store = new MemoryStore(),
    clock = new FakeClock(),
    autoCreate = [],
    nodeIndex,
    leadUs = 600_000_000,
    fixedId,
    cluster,
    reach = (reached) => new MemoryEngine(reached),
  } = options
  const engine = new FaultyEngine(reach(store))
  const timeline = new Timeline(clock)
  const events: string[] = []
  const owner = `node-${++started}`
  const worker = new WorkerId({
    engine,
    timeline,
    fixedId,
    leadUs,
    owner,
    holder: `host:${started}`,
    onEvent: (message) => events.push(message),
  })
  const catalogue = await EngineCatalogue.open({
    engine,
    clock,
    random: options.random ?? (() => 0.5),
    timeline,
    worker,
    runs: new FastRuns(),
    waitersMax: 100,
    cluster,
    onEvent: ({ message }) => events.push(message),
    autoCreate,
    generatorsMax: options.generatorsMax,
    familyNamesMax: options.familyNamesMax,
    idleAfterMs: options.idleAfterMs,
    restAfterMs: options.restAfterMs,
    nodeIndex,
    namespaces: options.namespaces ?? { all: [] },
    turns: options.turns,
    rows: options.rows?.(engine, timeline),
  })
  for (const [name, input] of Object.entries(options.generators ?? {})) await catalogue.create(name, input)
  const stop = async () => {
    await catalogue.close()
    await worker.release()
    await engine.close()
  }
  return { store, clock, engine, worker, catalogue, events, stop, crash: () => engine.close() }
}

/** The next `count` ids. */
export async function draw(generator: Generator, count = 1): Promise<bigint[]> {
  const runs = await generator.draw(count)
  return runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
}

/** The next id, if one is buffered. */
export function tryNext(generator: Generator): bigint | undefined {
  const run = new Run()
  return generator.take(1, run) === 0 ? undefined : run.first
}
