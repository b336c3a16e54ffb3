/**
 * The engine that keeps everything in the process's memory: for tests, and for ids that need not outlive the process.
 *
 * Invariants
 *  1. A change of one counter or one record is one step, and so is a commit. An advance has many steps, and others run between them. Memory loses no
 *     single writes, so a reserve between two steps repeats nothing, whether or not the advance has raised its counter.
 *  2. No other call writes a record while an advance replaces records, so the advance undoes no write.
 */
import { FahaoError } from '../../base/errors.ts'
import type { Parts } from '../../base/turns.ts'
import { eachInParts, inTurns, raised, repairNothing, untilUnchanged } from '../advance-rules.ts'
import { checkCommit, release, releaseRequest, reserve, type Step, unused } from '../counter-rules.ts'
import type {
  AdvanceOptions,
  Commit,
  Committed,
  Counter,
  Engine,
  EngineStatus,
  LookedUp,
  LookUp,
  Page,
  RecordChange,
  Repair,
  Repaired,
  Reservation,
  ReserveRequest,
  StoredRecord,
  StoreOwnership,
  Watch,
  WriterIdentity,
} from '../engine.ts'
import type { EngineOptions } from '../engine-options.ts'
import { newStore } from '../store-creation.ts'
import { Watchers } from '../watchers.ts'
import { SortedRecords } from './sorted-records.ts'

/** The contents of a memory engine. Several engines may share one, as processes share a database. */
export class MemoryStore {
  readonly counters = new Map<string, Counter>()
  readonly records = new SortedRecords()
  /** The watchers of each engine that shares the store. */
  readonly watchers = new Set<Watchers>()
  revision = 0n
  advances = 0
  owner: MemoryEngine | undefined
  /** The steps of an advance that are under way. */
  advancing: Promise<unknown> | undefined
}

/** Opens an engine whose contents are lost when the process ends. */
export async function openMemory(
  options: EngineOptions,
  store: MemoryStore = new MemoryStore(),
): Promise<MemoryEngine> {
  newStore(options, 'in memory:')
  return new MemoryEngine(store)
}

/** Keeps counters and records in maps. Each call is one synchronous change; its promise settles in a later turn. */
export class MemoryEngine implements Engine {
  readonly name = 'memory'
  readonly location = 'memory:'
  readonly lastWriteUs = undefined
  readonly watchDelayMs: number = 0
  readonly #store: MemoryStore
  readonly #watchers = new Watchers()
  #closed = false

  constructor(store: MemoryStore) {
    this.#store = store
    store.owner ??= this
    store.watchers.add(this.#watchers)
  }

  get advances(): number {
    return this.#store.advances
  }

  reserve(name: string, request: ReserveRequest): Promise<Reservation> {
    return this.#step(() => this.#change(name, (counter) => reserve(name, counter, request)))
  }

  /** Memory never loses single writes, so it stores no held ranges. */
  transfer(): void {}

  acquire(): void {}

  release(name: string, reservation: Reservation, from: bigint, writer: WriterIdentity): Promise<boolean> {
    const request = releaseRequest(reservation, from, writer)
    return this.#step(() => this.#change(name, (counter) => release(counter, request)))
  }

  counter(name: string): Promise<Counter> {
    return this.#step(() => this.#store.counters.get(name) ?? unused)
  }

  advance(
    gap: bigint,
    repair: Repair = repairNothing,
    { ifRegressed = false }: AdvanceOptions = {},
  ): Promise<number> {
    // Memory never loses single writes.
    if (ifRegressed) return this.#step(() => 0)
    return untilUnchanged(async () => {
      const all = await this.#step(() => [...this.#store.records.values()])
      const repaired = await inTurns(repair(all))
      return this.#alone(() => {
        const advance = inTurns(this.#raise(gap, all, repaired))
        const ended = () => {
          this.#store.advancing = undefined
        }
        this.#store.advancing = advance.then(ended, ended)
        return advance
      })
    })
  }

  /** Undefined: one of the records to repair has changed since all were read. */
  *#raise(gap: bigint, all: readonly StoredRecord[], repaired: Repaired): Parts<number | undefined> {
    const { counters, records } = this.#store
    const versions = new Map<string, bigint>()
    yield* eachInParts(all, ({ key, version }) => versions.set(key, version))
    for (const key of repaired.records.keys())
      if (records.get(key)?.version !== versions.get(key)) return undefined
    this.#store.advances++
    yield* eachInParts([...repaired.records], ([key, value]) => this.#put(key, value))
    const names = [...new Set([...counters.keys(), ...repaired.counters.keys()])]
    yield* eachInParts(names, (name) => {
      const counter = raised(counters.get(name) ?? unused, gap, repaired.counters.get(name), undefined)
      counters.set(name, counter)
    })
    return names.length
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#step(() => this.#store.records.get(key))
  }

  list(prefix: string, { after = '', limit }: Page = {}): Promise<StoredRecord[]> {
    return this.#step(() => this.#store.records.page(prefix, after, limit))
  }

  write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    return this.#alone(() => {
      return this.#store.records.get(key)?.version === expected ? this.#put(key, value) : undefined
    })
  }

  remove(key: string, expected: bigint): Promise<boolean> {
    return this.#alone(() => {
      if (this.#store.records.get(key)?.version !== expected) return false
      this.#store.records.delete(key)
      this.#publish({ key, record: undefined })
      return true
    })
  }

  lookUp(lookUps: readonly LookUp[]): Promise<readonly (LookedUp | FahaoError)[]> {
    return this.#alone(() => lookUps.map((each) => this.#lookUp(each)))
  }

  commit(commit: Commit): Promise<Committed | undefined> {
    checkCommit(commit)
    return this.#alone(() => this.#commit(commit))
  }

  watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    return this.#step(() => this.#watchers.add(prefix, listener))
  }

  ownership(): Promise<StoreOwnership> {
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
    this.#watchers.close()
    this.#store.watchers.delete(this.#watchers)
    if (this.#store.owner === this) this.#store.owner = undefined
    return Promise.resolve()
  }

  #change<Answer>(name: string, step: (counter: Counter) => Step<Answer>): Answer {
    const before = this.#store.counters.get(name) ?? unused
    const { counter, answer } = step(before)
    if (answer instanceof FahaoError) throw answer
    if (counter !== before) this.#store.counters.set(name, counter)
    return answer
  }

  #lookUp({ key, first }: LookUp): LookedUp | FahaoError {
    const { counters, records } = this.#store
    const record = records.get(key)
    const counter = counters.get(key) ?? unused
    if (first === undefined || record !== undefined || counter.version > 0n)
      return { record, counter, isNew: false }
    const range = first.reserve && reserve(key, counter, first.reserve)
    if (range?.answer instanceof FahaoError) return range.answer
    if (range !== undefined) counters.set(key, range.counter)
    return { record: this.#put(key, first.value), counter, isNew: true, reservation: range?.answer }
  }

  #commit({ records, counter }: Commit): Committed | undefined {
    const { counters, records: stored } = this.#store
    if (records.some(({ key, expected }) => stored.get(key)?.version !== expected)) return undefined
    if (counter && (counters.get(counter.name) ?? unused).version !== counter.version) return undefined
    const reservation =
      counter && this.#change(counter.name, (now) => reserve(counter.name, now, counter.request))
    return { records: records.map(({ key, value }) => this.#put(key, value)), reservation }
  }

  #put(key: string, value: string): StoredRecord {
    const record = { key, value, version: ++this.#store.revision }
    this.#store.records.set(key, record)
    this.#publish({ key, record })
    return record
  }

  async #step<Result>(change: () => Result): Promise<Result> {
    if (this.#closed) throw new FahaoError('UNAVAILABLE', 'the engine is closed')
    return change()
  }

  /** A change of records, not during an advance. */
  async #alone<Result>(change: () => Result | Promise<Result>): Promise<Result> {
    while (this.#store.advancing !== undefined) await this.#store.advancing
    return this.#step(change) as Promise<Result>
  }

  #publish(change: RecordChange): void {
    for (const watchers of this.#store.watchers) watchers.notify(change)
  }
}
