/**
 * The watches of one engine. Own writes are told as their outcome arrives; those of other processes are found by
 * asking, every `pollMs`, whether another connection has committed, and a full list every minute in which one has.
 *
 * Invariants
 *  1. Outcomes are seen in the order in which they were carried out, so that changes of a key come in order.
 *  2. `#told` knows of every key under a watched prefix what listeners know of it.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import type { RecordChange, StoredRecord, Watch } from '../engine.ts'
import type { Advanced, Operation, RecordState, Removal, Revised, Value } from './protocol.ts'

type Watcher = { readonly prefix: string; readonly listener: (change: RecordChange) => void }
type Told = { readonly version: bigint; readonly live: boolean }

const pollMs = 250
const listMs = 60_000

/** See the invariants at the top of the file. */
export class Watches {
  readonly #clock: Clock
  readonly #call: (operation: Operation) => Promise<Value>
  readonly #watchers = new Set<Watcher>()
  readonly #told = new Map<string, Told>()
  /** Other processes' changes up to this revision have been told. */
  #revision: bigint | undefined
  #timer: Timer | undefined
  #listDueUs = 0
  /** Another process has written since the last full list. */
  #listWanted = false

  /** @param call carries out an operation that keeps no process alive. */
  constructor(clock: Clock, call: (operation: Operation) => Promise<Value>) {
    this.#clock = clock
    this.#call = call
  }

  /** Whether anybody watches. */
  get some(): boolean {
    return this.#watchers.size > 0
  }

  /** Tells of changes from the given state of the prefix on. */
  add(prefix: string, listener: (change: RecordChange) => void, state: Revised): Watch {
    for (const { key, version } of state.records)
      if (version > (this.#told.get(key)?.version ?? -1n)) this.#told.set(key, { version, live: true })
    this.#revision ??= state.revision
    const watcher = { prefix, listener }
    this.#watchers.add(watcher)
    if (this.#timer === undefined) {
      this.#listDueUs = this.#clock.monoUs() + listMs * 1000
      this.#schedule()
    }
    return { close: () => this.#remove(watcher) }
  }

  /** Ends them all. */
  close(): void {
    for (const watcher of this.#watchers) this.#remove(watcher)
  }

  /** Sees an operation that worked. */
  observe(operation: Operation, value: Value): void {
    if (!this.some || value === undefined) return
    if (operation.op === 'write') this.#note(value as StoredRecord)
    else if (operation.op === 'remove')
      this.#note({ key: operation.key, value: null, version: (value as Removal).version })
    else if (operation.op === 'advance') for (const record of (value as Advanced).records) this.#note(record)
    else if (operation.op === 'changes') this.#learn(value as Revised)
    else if (operation.op === 'snapshot') this.#compare(operation.prefix, (value as Revised).records)
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    if (this.some) return
    this.#timer?.cancel()
    this.#timer = undefined
    this.#told.clear()
    this.#revision = undefined
  }

  #schedule(): void {
    this.#timer = this.#clock.timer(pollMs, () => {
      // Whatever hinders it shows in the engine's status; the next poll finds what this one has missed.
      this.#poll()
        .catch(() => {})
        .finally(() => this.some && this.#schedule())
    })
  }

  async #poll(): Promise<void> {
    await this.#call({ op: 'changes', since: this.#revision ?? 0n })
    if (!this.#listWanted || this.#clock.monoUs() < this.#listDueUs) return
    this.#listDueUs = this.#clock.monoUs() + listMs * 1000
    this.#listWanted = false
    const prefixes = new Set([...this.#watchers].map(({ prefix }) => prefix))
    for (const prefix of prefixes) await this.#call({ op: 'snapshot', prefix })
  }

  #learn({ revision, records }: Revised): void {
    this.#listWanted = true
    // The store went back: what stands there now has versions of its own.
    if (this.#revision !== undefined && revision < this.#revision) this.#listDueUs = 0
    this.#revision = revision
    for (const record of records) this.#note(record)
  }

  #compare(prefix: string, records: readonly RecordState[]): void {
    const keys = new Set<string>()
    for (const record of records) {
      keys.add(record.key)
      if (this.#told.get(record.key)?.version !== record.version) this.#tell(record)
    }
    for (const [key, { version, live }] of this.#told)
      if (live && key.startsWith(prefix) && !keys.has(key)) this.#tell({ key, value: null, version })
  }

  #note(record: RecordState): void {
    if (record.version > (this.#told.get(record.key)?.version ?? -1n)) this.#tell(record)
  }

  #tell({ key, value, version }: RecordState): void {
    const watchers = [...this.#watchers].filter(({ prefix }) => key.startsWith(prefix))
    if (watchers.length === 0) return
    this.#told.set(key, { version, live: value !== null })
    const change = { key, record: value === null ? undefined : { key, value, version } }
    for (const watcher of watchers)
      queueMicrotask(() => this.#watchers.has(watcher) && watcher.listener(change))
  }
}
