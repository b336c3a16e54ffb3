/**
 * An old service's table as records: `legacy/NAME` for each row, and for tinyid `tinyid-tokens/TOKEN/NAME` for each token.
 * Polls a fingerprint of the rows, and reads the table only when the fingerprint has changed: one page at a time, so that
 * a large table does not block the event loop.
 *
 * Invariants
 *  1. A record's version grows whenever its value has changed. Versions of different processes cannot be compared. A bound
 *     that moves changes no value.
 *  2. The snapshot is the state that watches have reported, or that existed when they began: no change is lost. A row that
 *     was read singly meanwhile keeps its version in the next snapshot, and is reported as removed if it is not there.
 *  3. Polling uses at most a hundredth of the time.
 */
import { compareBytes } from '../base/byte-order.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { RecordChange, StoredRecord, Watch } from '../engine/engine.ts'
import { Watchers } from '../engine/watchers.ts'
import { legacyPrefix } from './row-generators.ts'
import { isKey } from './schemas.ts'
import type { LegacyTable } from './table.ts'

/** The table at one fingerprint. `keys` are in byte order. */
type Snapshot = {
  readonly fingerprint: string
  readonly keys: readonly string[]
  readonly records: ReadonlyMap<string, StoredRecord>
}

/** The prefix of the records of tokens. */
const tokenPrefix = 'tinyid-tokens/'
const pollMinMs = 3000
const pollMaxMs = 60_000
/** The pause between two polls, as a multiple of a poll's duration. */
const pollShare = 100
/** Records made in one turn of the event loop. */
const turnSize = 500
/** The longest name of a record. */
const keyBytesMax = 300

/** The records of one table. */
export class RowRecords {
  readonly #table: LegacyTable
  readonly #clock: Clock
  readonly #watchers = new Watchers(() => this.#stop())
  #snapshot: Snapshot | undefined
  /** Rows that were read singly, in a newer state than in the snapshot. */
  readonly #ahead = new Map<string, StoredRecord>()
  #revision = 0n
  #timer: Timer | undefined
  #pollMs = pollMinMs
  #polling: Promise<Snapshot> | undefined

  constructor(table: LegacyTable, clock: Clock) {
    this.#table = table
    this.#clock = clock
  }

  /** Whether keys of these records can start with `prefix`. */
  concerns(prefix: string): boolean {
    return this.#prefixes.some((own) => own.startsWith(prefix) || prefix.startsWith(own))
  }

  /** Whether a record of this key can only be a row. */
  static owns(key: string): boolean {
    return key.startsWith(legacyPrefix)
  }

  /** A record; undefined if there is no such row or token. */
  async read(key: string): Promise<StoredRecord | undefined> {
    if (!key.startsWith(legacyPrefix))
      return this.concerns(key) ? (await this.#poll()).records.get(key) : undefined
    const row = await this.#table.row(key.slice(legacyPrefix.length))
    if (row === undefined) return undefined
    const record = this.#record(key, JSON.stringify(row.options))
    if (this.#snapshot?.records.get(key) !== record) this.#ahead.set(key, record)
    return record
  }

  /** Records under `prefix` in byte order, from `after` (exclusive). The first page polls; later pages read the newest snapshot without a poll. */
  async list(prefix: string, after: string | undefined, limit = Number.POSITIVE_INFINITY) {
    if (!this.concerns(prefix)) return []
    const snapshot = after === undefined ? undefined : this.#snapshot
    const { keys, records } = snapshot ?? (await this.#poll())
    const found: StoredRecord[] = []
    const from = after === undefined || compareBytes(after, prefix) < 0 ? prefix : after
    for (let at = indexFrom(keys, from); at < keys.length && found.length < limit; at++) {
      const key = keys[at]!
      if (!key.startsWith(prefix)) break
      if (key !== after) found.push(records.get(key)!)
    }
    return found
  }

  /** Reports changes made after the promise has resolved. */
  async watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    await this.#poll()
    const watch = this.#watchers.add(prefix, listener)
    this.#schedule()
    return watch
  }

  /** Ends all watches. */
  close(): void {
    this.#watchers.close()
  }

  get #prefixes(): readonly string[] {
    return this.#table.schema.tokens === undefined ? [legacyPrefix] : [legacyPrefix, tokenPrefix]
  }

  #record(key: string, value: string): StoredRecord {
    const before = this.#ahead.get(key) ?? this.#snapshot?.records.get(key)
    return before?.value === value ? before : { key, value, version: ++this.#revision }
  }

  #stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #schedule(): void {
    this.#timer ??= this.#clock.timer(this.#pollMs, () => {
      this.#timer = undefined
      // A failure shows in reserves, too; the next poll finds the changes that this one has missed.
      this.#poll()
        .catch(() => {})
        .finally(() => !this.#watchers.isEmpty && this.#schedule())
    })
  }

  /** The table as it is now. Calls during a poll share the next one. */
  async #poll(): Promise<Snapshot> {
    while (this.#polling !== undefined) await this.#polling.catch(() => {})
    this.#polling = this.#current()
    try {
      return await this.#polling
    } finally {
      this.#polling = undefined
    }
  }

  async #current(): Promise<Snapshot> {
    const startedUs = this.#clock.monoUs()
    // Rows that are read singly from here on may be newer than the pages.
    const ahead = new Map(this.#ahead)
    const fingerprint = await this.#table.fingerprint()
    // A row that came, was read and went again, or was changed and changed back, leaves the fingerprint as it was.
    if (this.#snapshot?.fingerprint !== fingerprint || ahead.size > 0) await this.#readAll(fingerprint, ahead)
    const tookMs = (this.#clock.monoUs() - startedUs) / 1000
    this.#pollMs = Math.min(pollMaxMs, Math.max(pollMinMs, tookMs * pollShare))
    return this.#snapshot!
  }

  /** Reads the whole table, and reports the changes. `ahead`: what had been read singly before it began. */
  async #readAll(fingerprint: string, ahead: ReadonlyMap<string, StoredRecord>): Promise<void> {
    const before = this.#snapshot?.records
    const records = new Map<string, StoredRecord>()
    const changed: StoredRecord[] = []
    /** Most rows have equal options: one text for all of them. */
    const texts = new Map<string, string>()
    const add = (key: string, value: string) => {
      if (Buffer.byteLength(key) > keyBytesMax) return
      const text = texts.get(value) ?? value
      texts.set(text, text)
      const record = this.#record(key, text)
      if (before?.get(key) !== record) changed.push(record)
      records.set(key, record)
    }
    for await (const rows of this.#table.pages()) {
      for (const [index, { key, inService, options }] of rows.entries()) {
        if (index % turnSize === turnSize - 1) await new Promise(setImmediate)
        if (inService && isKey(this.#table.schema, key)) add(legacyPrefix + key, JSON.stringify(options))
      }
    }
    const tokens = (await this.#table.tokens()).map(({ token, key }) => `${tokenPrefix}${token}/${key}`)
    for (const key of tokens.sort(compareBytes)) add(key, '{}')
    this.#snapshot = { fingerprint, keys: [...records.keys()], records }
    for (const [key, record] of ahead) if (this.#ahead.get(key) === record) this.#ahead.delete(key)
    for (const record of changed) this.#watchers.notify({ key: record.key, record })
    for (const key of new Set([...(before?.keys() ?? []), ...ahead.keys()]))
      if (!records.has(key)) this.#watchers.notify({ key, record: undefined })
  }
}

/** The index of the first key that is not before `from`; the keys are in byte order. */
function indexFrom(keys: readonly string[], from: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareBytes(keys[middle]!, from) < 0) low = middle + 1
    else high = middle
  }
  return low
}
