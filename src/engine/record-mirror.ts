/**
 * The records under a prefix, kept in memory by a watch: they are at hand without a wait, also while the engine is away.
 *
 * Invariants
 *  1. Once `open` has resolved, every change is in `records` as soon as the watch has reported it, and a write of this
 *     process as soon as it is acknowledged.
 *  2. A change that is reported while a list is read is newer than the list.
 */
import type { Engine, RecordChange, StoredRecord, Watch } from './engine.ts'
import { listAll } from './pages.ts'

type Changes = Map<string, StoredRecord | undefined>

/** A copy of the records under one prefix. */
export class RecordMirror {
  readonly #engine: Engine
  readonly #prefix: string
  readonly #onChange: () => void
  #records = new Map<string, StoredRecord>()
  /** Reported while a list is read. */
  #changes: Changes | undefined
  #watch: Watch | undefined

  private constructor(engine: Engine, prefix: string, onChange: () => void) {
    this.#engine = engine
    this.#prefix = prefix
    this.#onChange = onChange
  }

  /** Reads the records, and watches them from then on. Rejects with UNAVAILABLE. @param onChange must not throw. */
  static async open(engine: Engine, prefix: string, onChange: () => void): Promise<RecordMirror> {
    const mirror = new RecordMirror(engine, prefix, onChange)
    mirror.#watch = await engine.watch(prefix, (change) => mirror.#changed(change))
    try {
      await mirror.reload()
      return mirror
    } catch (error) {
      mirror.close()
      throw error
    }
  }

  /** By key. */
  get records(): ReadonlyMap<string, StoredRecord> {
    return this.#records
  }

  /** Reads all records again: a store that has lost writes reports no removal of what it never had. */
  async reload(): Promise<void> {
    const changes: Changes = new Map()
    this.#changes = changes
    const records = new Map((await listAll(this.#engine, this.#prefix)).map((record) => [record.key, record]))
    // A later reload has more recent records.
    if (this.#changes !== changes) return
    this.#changes = undefined
    this.#records = records
    for (const [key, record] of changes) this.#set(key, record)
    this.#onChange()
  }

  /** See `RecordStore.write`. */
  async write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    const record = await this.#engine.write(key, value, expected)
    if (record !== undefined) this.#changed({ key, record })
    return record
  }

  /** See `RecordStore.remove`. */
  async remove(key: string, expected: bigint): Promise<boolean> {
    const removed = await this.#engine.remove(key, expected)
    if (removed) this.#changed({ key, record: undefined })
    return removed
  }

  /** Ends the watch. */
  close(): void {
    this.#watch?.close()
  }

  #changed({ key, record }: RecordChange): void {
    this.#changes?.set(key, record)
    this.#set(key, record)
    this.#onChange()
  }

  #set(key: string, record: StoredRecord | undefined): void {
    if (record === undefined) this.#records.delete(key)
    else this.#records.set(key, record)
  }
}
