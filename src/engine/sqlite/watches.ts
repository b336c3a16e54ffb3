/**
 * The watches of one engine. Own writes are told as their outcome arrives; those of other processes are found by
 * asking, every `pollMs`, what was written after the last look. The store gives every write and removal the next
 * revision and keeps a row for what was removed, so that this misses nothing, and needs no list of what is there:
 * memory and start do not grow with the number of records.
 *
 * Invariants
 *  1. Outcomes are seen in the order in which they were carried out, so that changes of a key come in order.
 *  2. Everything up to `#revision` has been told; own writes above it are told again by the next poll.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import type { RecordChange, StoredRecord, Watch } from '../engine.ts'
import type { Advanced, Changes, Operation, RecordState, Removal, Value } from './protocol.ts'

type Watcher = { readonly prefix: string; readonly listener: (change: RecordChange) => void }

const pollMs = 250
/** A few polls, each behind a slow write. See `Engine.newsMs`. */
export const newsMs = 4 * pollMs

/** See the invariants at the top of the file. */
export class Watches {
  readonly #clock: Clock
  readonly #call: (operation: Operation) => Promise<Value>
  readonly #watchers = new Set<Watcher>()
  #revision = 0n
  #timer: Timer | undefined

  /** @param call carries out an operation that keeps no process alive. */
  constructor(clock: Clock, call: (operation: Operation) => Promise<Value>) {
    this.#clock = clock
    this.#call = call
  }

  /** Whether anybody watches. */
  get some(): boolean {
    return this.#watchers.size > 0
  }

  /** Tells of changes after the given revision of the store. */
  add(prefix: string, listener: (change: RecordChange) => void, revision: bigint): Watch {
    const watcher = { prefix, listener }
    if (!this.some) this.#revision = revision
    this.#watchers.add(watcher)
    if (this.#timer === undefined) this.#schedule()
    return { close: () => this.#remove(watcher) }
  }

  /** Ends them all. */
  close(): void {
    for (const watcher of this.#watchers) this.#remove(watcher)
  }

  /** Sees an operation that worked. */
  observe(operation: Operation, value: Value): void {
    if (!this.some || value === undefined) return
    if (operation.op === 'write') this.#tell(value as StoredRecord)
    else if (operation.op === 'remove')
      this.#tell({ key: operation.key, value: null, version: (value as Removal).version })
    else if (operation.op === 'advance') for (const record of (value as Advanced).records) this.#tell(record)
    else if (operation.op === 'changes') this.#learn(value as Changes)
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    if (this.some) return
    this.#timer?.cancel()
    this.#timer = undefined
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
    for (let more = true; more && this.some; ) {
      const changes = (await this.#call({ op: 'changes', since: this.#revision })) as Changes | undefined
      more = changes?.more ?? false
    }
  }

  #learn({ revision, records }: Changes): void {
    // A store that went back has given versions anew from there on: all of it is news.
    this.#revision = revision < this.#revision ? 0n : revision
    for (const record of records) this.#tell(record)
  }

  #tell({ key, value, version }: RecordState): void {
    const change = { key, record: value === null ? undefined : { key, value, version } }
    for (const watcher of this.#watchers) {
      if (!key.startsWith(watcher.prefix)) continue
      queueMicrotask(() => this.#watchers.has(watcher) && watcher.listener(change))
    }
  }
}
