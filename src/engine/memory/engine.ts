/** The engine without a memory beyond the process: for tests, and for those who want exactly that. */
import { FahaoError } from '../../base/errors.ts'
import { raised, repairNothing } from '../advance.ts'
import {
  type AdvanceOptions,
  boundMax,
  type Counter,
  type Engine,
  type EngineOptions,
  type EngineStatus,
  type Ownership,
  type RecordChange,
  type Repair,
  type Reservation,
  type ReserveRequest,
  type StoredRecord,
  type Watch,
} from '../engine.ts'
import { newStore } from '../new-store.ts'

type Watcher = { readonly prefix: string; readonly listener: (change: RecordChange) => void; open: boolean }

const unused: Counter = Object.freeze({ bound: 0n, fence: 0n, incarnation: 0n, version: 0n })

/** What a memory engine remembers; hand one to several engines to let them share it, as processes share a database. */
export class MemoryStore {
  readonly counters = new Map<string, Counter>()
  readonly records = new Map<string, StoredRecord>()
  readonly watchers = new Set<Watcher>()
  revision = 0n
  advances = 0
  owner: MemoryEngine | undefined
}

/** Opens an engine that forgets when the process ends. */
export async function openMemory(
  options: EngineOptions,
  store: MemoryStore = new MemoryStore(),
): Promise<MemoryEngine> {
  newStore(options, 'in memory:')
  return new MemoryEngine(store)
}

/** Keeps counters and records in maps; every step is one synchronous change, answered in a later turn. */
export class MemoryEngine implements Engine {
  readonly name = 'memory'
  readonly location = 'memory:'
  readonly lastWriteUs = undefined
  readonly newsMs: number = 0
  readonly #store: MemoryStore
  readonly #watchers = new Set<Watcher>()
  #closed = false

  constructor(store: MemoryStore) {
    this.#store = store
    store.owner ??= this
  }

  get advances(): number {
    return this.#store.advances
  }

  reserve(name: string, request: ReserveRequest): Promise<Reservation> {
    return this.#step(() => {
      const { size, floor = 0n, max = boundMax, fence = 0n, incarnation } = request
      const counter = this.#admitted(name, fence, incarnation)
      const start = counter.bound > floor ? counter.bound : floor
      const end = start + size
      if (end > max)
        throw new FahaoError(
          'EXHAUSTED',
          `counter '${name}' stands at ${start}; ${size} more would pass ${max}`,
        )
      const version = counter.version + 1n
      this.#store.counters.set(name, { bound: end, fence, incarnation, version })
      return { start, end, version }
    })
  }

  /** It forgets nothing that it does not forget whole. */
  transfer(): void {}

  acquire(): void {}

  release(
    name: string,
    reservation: Reservation,
    from: bigint,
    { fence = 0n, incarnation }: { readonly fence?: bigint; readonly incarnation: bigint },
  ): Promise<boolean> {
    return this.#step(() => {
      const counter = this.#store.counters.get(name) ?? unused
      if (counter.version !== reservation.version) return false
      if (fence < counter.fence || incarnation < counter.incarnation) return false
      this.#store.counters.set(name, { ...counter, bound: from, version: counter.version + 1n })
      return true
    })
  }

  counter(name: string): Promise<Counter> {
    return this.#step(() => this.#store.counters.get(name) ?? unused)
  }

  advance(
    gap: bigint,
    mend: Repair = repairNothing,
    { ifRegressed = false }: AdvanceOptions = {},
  ): Promise<number> {
    return this.#step(() => {
      // It forgets nothing as long as it lives.
      if (ifRegressed) return 0
      const { counters, records } = this.#store
      this.#store.advances++
      const mended = mend([...records.values()])
      for (const [key, value] of mended.records) this.#put(key, value)
      const names = new Set([...counters.keys(), ...mended.counters.keys()])
      for (const name of names)
        counters.set(name, raised(counters.get(name) ?? unused, gap, mended.counters.get(name), undefined))
      return names.size
    })
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#step(() => this.#store.records.get(key))
  }

  list(
    prefix: string,
    page: { readonly after?: string; readonly limit?: number } = {},
  ): Promise<StoredRecord[]> {
    return this.#step(() => {
      const after = page.after === undefined ? undefined : Buffer.from(page.after)
      return [...this.#store.records.values()]
        .filter(({ key }) => key.startsWith(prefix))
        .map((record) => ({ record, bytes: Buffer.from(record.key) }))
        .filter(({ bytes }) => after === undefined || Buffer.compare(bytes, after) > 0)
        .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
        .slice(0, page.limit)
        .map(({ record }) => record)
    })
  }

  write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    return this.#step(() => {
      return this.#store.records.get(key)?.version === expected ? this.#put(key, value) : undefined
    })
  }

  remove(key: string, expected: bigint): Promise<boolean> {
    return this.#step(() => {
      if (this.#store.records.get(key)?.version !== expected) return false
      this.#store.records.delete(key)
      this.#tell({ key, record: undefined })
      return true
    })
  }

  watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    return this.#step(() => {
      const watcher = { prefix, listener, open: true }
      this.#watchers.add(watcher)
      this.#store.watchers.add(watcher)
      return { close: () => this.#stop(watcher) }
    })
  }

  ownership(): Promise<Ownership> {
    return this.#step(() => {
      this.#store.owner ??= this
      return this.#store.owner === this
        ? { state: 'owner' }
        : { state: 'other', holder: 'another engine in this process' }
    })
  }

  status(): EngineStatus {
    return this.#closed ? { state: 'down', reason: 'closed' } : { state: 'up' }
  }

  close(): Promise<void> {
    this.#closed = true
    for (const watcher of this.#watchers) this.#stop(watcher)
    if (this.#store.owner === this) this.#store.owner = undefined
    return Promise.resolve()
  }

  /** The counter, if this fence and incarnation may still reserve from it. */
  #admitted(name: string, fence: bigint, incarnation: bigint): Counter {
    const counter = this.#store.counters.get(name) ?? unused
    if (fence < counter.fence)
      throw new FahaoError('STALE', `counter '${name}' has seen fence ${counter.fence}, newer than ${fence}`)
    if (incarnation < counter.incarnation) {
      throw new FahaoError(
        'STALE',
        `counter '${name}' belongs to incarnation ${counter.incarnation} now, not ${incarnation}`,
      )
    }
    return counter
  }

  #put(key: string, value: string): StoredRecord {
    const record = { key, value, version: ++this.#store.revision }
    this.#store.records.set(key, record)
    this.#tell({ key, record })
    return record
  }

  async #step<Result>(change: () => Result): Promise<Result> {
    if (this.#closed) throw new FahaoError('UNAVAILABLE', 'the engine is closed')
    return change()
  }

  #tell(change: RecordChange): void {
    for (const watcher of this.#store.watchers) {
      if (!change.key.startsWith(watcher.prefix)) continue
      queueMicrotask(() => watcher.open && watcher.listener(change))
    }
  }

  #stop(watcher: Watcher): void {
    watcher.open = false
    this.#watchers.delete(watcher)
    this.#store.watchers.delete(watcher)
  }
}
