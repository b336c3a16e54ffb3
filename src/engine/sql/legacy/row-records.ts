/**
 * What an old service's table shows as records: `legacy/NAME` for each row, and for tinyid
 * `tinyid-tokens/TOKEN/NAME` for each token. Found by reading the whole table, which is small, every few seconds as
 * long as somebody watches.
 *
 * Invariants
 *  1. A record's version changes whenever its value is seen to have changed, grows, and says nothing to any other
 *     process. A bound that moves changes no value.
 *  2. A watch compares with what it has told, never with what a read has found meanwhile: no change is lost.
 */
import type { Clock, Timer } from '../../../base/clock.ts'
import { legacyPrefix, type RecordChange, type StoredRecord, type Watch } from '../../engine.ts'
import { isKey } from './schemas.ts'
import type { LegacyTable } from './table.ts'

type Listener = (change: RecordChange) => void
type Watcher = { readonly prefix: string; readonly listener: Listener }

/** Records of tokens start with this. */
const tokenPrefix = 'tinyid-tokens/'
const pollMs = 3000
/** Longer names of records are none. */
const keyBytesMax = 300

/** See the top of the file. */
export class RowRecords {
  readonly #table: LegacyTable
  readonly #clock: Clock
  readonly #watchers = new Set<Watcher>()
  readonly #seen = new Map<string, StoredRecord>()
  #revision = 0n
  /** What watches were told of last; undefined while nobody watches. */
  #told: ReadonlyMap<string, StoredRecord> | undefined
  #timer: Timer | undefined
  #polling: Promise<void> | undefined

  constructor(table: LegacyTable, clock: Clock) {
    this.#table = table
    this.#clock = clock
  }

  /** Whether some of these records can start with `prefix`. */
  concerns(prefix: string): boolean {
    return this.#prefixes.some((own) => own.startsWith(prefix) || prefix.startsWith(own))
  }

  /** Whether only this table may hold a record of this key. */
  static owns(key: string): boolean {
    return key.startsWith(legacyPrefix)
  }

  /** A record, or undefined when no row and no token says so. */
  async read(key: string): Promise<StoredRecord | undefined> {
    if (key.startsWith(legacyPrefix)) {
      const row = await this.#table.row(key.slice(legacyPrefix.length))
      return row && this.#record(key, JSON.stringify(row.options))
    }
    return this.concerns(key) ? (await this.#all()).get(key) : undefined
  }

  /** All records under `prefix`, in no order. */
  async list(prefix: string): Promise<StoredRecord[]> {
    if (!this.concerns(prefix)) return []
    return [...(await this.#all()).values()].filter(({ key }) => key.startsWith(prefix))
  }

  /** Tells of changes made after this has resolved. */
  async watch(prefix: string, listener: Listener): Promise<Watch> {
    const watcher = { prefix, listener }
    // Those who watch already must hear of what is found now.
    await this.#poll()
    this.#watchers.add(watcher)
    this.#schedule()
    return { close: () => this.#remove(watcher) }
  }

  /** Ends all watches. */
  close(): void {
    for (const watcher of this.#watchers) this.#remove(watcher)
  }

  get #prefixes(): readonly string[] {
    return this.#table.schema.tokens === undefined ? [legacyPrefix] : [legacyPrefix, tokenPrefix]
  }

  async #all(): Promise<Map<string, StoredRecord>> {
    const [rows, tokens] = await Promise.all([this.#table.rows(), this.#table.tokens()])
    const values = new Map<string, string>()
    for (const { key, inService, options } of rows)
      if (inService && isKey(this.#table.schema, key)) values.set(legacyPrefix + key, JSON.stringify(options))
    for (const { token, key } of tokens) values.set(`${tokenPrefix}${token}/${key}`, '{}')
    const records = new Map<string, StoredRecord>()
    for (const [key, value] of values)
      if (Buffer.byteLength(key) <= keyBytesMax) records.set(key, this.#record(key, value))
    for (const key of this.#seen.keys()) if (!records.has(key)) this.#seen.delete(key)
    return records
  }

  #record(key: string, value: string): StoredRecord {
    const before = this.#seen.get(key)
    if (before?.value === value) return before
    const record = { key, value, version: ++this.#revision }
    this.#seen.set(key, record)
    return record
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    if (this.#watchers.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
    this.#told = undefined
  }

  #schedule(): void {
    this.#timer ??= this.#clock.timer(pollMs, () => {
      this.#timer = undefined
      // Whatever hinders it shows where ids are reserved; the next poll finds what this one has missed.
      this.#poll()
        .catch(() => {})
        .finally(() => this.#watchers.size > 0 && this.#schedule())
    })
  }

  /** One at a time, so that what is told last is what was found last. */
  async #poll(): Promise<void> {
    while (this.#polling !== undefined) await this.#polling.catch(() => {})
    this.#polling = this.#look()
    try {
      await this.#polling
    } finally {
      this.#polling = undefined
    }
  }

  async #look(): Promise<void> {
    const now = await this.#all()
    const before = this.#told
    this.#told = now
    if (before === undefined) return
    for (const [key, record] of now) {
      if (before.get(key)?.value !== record.value) this.#tell({ key, record })
    }
    for (const key of before.keys()) if (!now.has(key)) this.#tell({ key, record: undefined })
  }

  #tell(change: RecordChange): void {
    for (const watcher of this.#watchers) {
      if (!change.key.startsWith(watcher.prefix)) continue
      queueMicrotask(() => this.#watchers.has(watcher) && watcher.listener(change))
    }
  }
}
