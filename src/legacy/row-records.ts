/**
 * What an old service's table shows as records: `legacy/NAME` for each row, and for tinyid
 * `tinyid-tokens/TOKEN/NAME` for each token. The database is asked for a fingerprint of what rows say, and the table is
 * read only when that has changed: a page at a time, so that a large table keeps the event loop free.
 *
 * Invariants
 *  1. A record's version changes whenever its value is seen to have changed, grows, and says nothing to any other
 *     process. A bound that moves changes no value.
 *  2. The snapshot is what watches were told, or was there when they began: no change is lost. A row that was read by
 *     itself meanwhile keeps its version in the next snapshot.
 *  3. Looking at the table takes at most a hundredth of the time.
 */
import { compareBytes } from '../base/byte-order.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { RecordChange, StoredRecord, Watch } from '../engine/engine.ts'
import { Watchers } from '../engine/watchers.ts'
import { legacyPrefix } from './rows.ts'
import { isKey } from './schemas.ts'
import type { LegacyTable } from './table.ts'

/** The table as it was when its fingerprint was this. `keys` are in byte order. */
type Snapshot = {
  readonly fingerprint: string
  readonly keys: readonly string[]
  readonly records: ReadonlyMap<string, StoredRecord>
}

/** Records of tokens start with this. */
const tokenPrefix = 'tinyid-tokens/'
const pollMinMs = 3000
const pollMaxMs = 60_000
/** From one look to the next passes this many times what the look took. */
const pollShare = 100
/** Records made in one turn of the event loop. */
const turnSize = 500
/** Longer names of records are none. */
const keyBytesMax = 300

/** See the invariants at the top of the file. */
export class RowRecords {
  readonly #table: LegacyTable
  readonly #clock: Clock
  readonly #watchers = new Watchers(() => this.#stop())
  #snapshot: Snapshot | undefined
  /** Rows that were read by themselves and are not in the snapshot as they were then. */
  readonly #ahead = new Map<string, StoredRecord>()
  #revision = 0n
  #timer: Timer | undefined
  #pollMs = pollMinMs
  #looking: Promise<Snapshot> | undefined

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
    if (!key.startsWith(legacyPrefix))
      return this.concerns(key) ? (await this.#look()).records.get(key) : undefined
    const row = await this.#table.row(key.slice(legacyPrefix.length))
    if (row === undefined) return undefined
    const record = this.#record(key, JSON.stringify(row.options))
    if (this.#snapshot?.records.get(key) !== record) this.#ahead.set(key, record)
    return record
  }

  /** Records under `prefix` in byte order, from `after` (exclusive). The pages after the first are of one snapshot. */
  async list(prefix: string, after: string | undefined, limit = Number.POSITIVE_INFINITY) {
    if (!this.concerns(prefix)) return []
    const snapshot = after === undefined ? undefined : this.#snapshot
    const { keys, records } = snapshot ?? (await this.#look())
    const found: StoredRecord[] = []
    const from = after === undefined || after < prefix ? prefix : after
    for (let at = placeOf(keys, from); at < keys.length && found.length < limit; at++) {
      const key = keys[at]!
      if (!key.startsWith(prefix)) break
      if (key !== after) found.push(records.get(key)!)
    }
    return found
  }

  /** Tells of changes made after this has resolved. */
  async watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    await this.#look()
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
    for (const before of [this.#ahead.get(key), this.#snapshot?.records.get(key)])
      if (before?.value === value) return before
    return { key, value, version: ++this.#revision }
  }

  #stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #schedule(): void {
    this.#timer ??= this.#clock.timer(this.#pollMs, () => {
      this.#timer = undefined
      // Whatever hinders it shows where ids are reserved; the next look finds what this one has missed.
      this.#look()
        .catch(() => {})
        .finally(() => !this.#watchers.isEmpty && this.#schedule())
    })
  }

  /** The table as it is now; who asks while a look is under way shares the next one. */
  async #look(): Promise<Snapshot> {
    while (this.#looking !== undefined) await this.#looking.catch(() => {})
    this.#looking = this.#current()
    try {
      return await this.#looking
    } finally {
      this.#looking = undefined
    }
  }

  async #current(): Promise<Snapshot> {
    const startedUs = this.#clock.monoUs()
    const fingerprint = await this.#table.fingerprint()
    if (this.#snapshot?.fingerprint !== fingerprint) await this.#readAll(fingerprint)
    const tookMs = (this.#clock.monoUs() - startedUs) / 1000
    this.#pollMs = Math.min(pollMaxMs, Math.max(pollMinMs, tookMs * pollShare))
    return this.#snapshot!
  }

  /** Reads the table anew, and tells what has changed. */
  async #readAll(fingerprint: string): Promise<void> {
    const before = this.#snapshot?.records
    const records = new Map<string, StoredRecord>()
    const changed: StoredRecord[] = []
    /** Most rows say the same: one text for all of them. */
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
    this.#ahead.clear()
    for (const record of changed) this.#watchers.notify({ key: record.key, record })
    for (const key of before?.keys() ?? [])
      if (!records.has(key)) this.#watchers.notify({ key, record: undefined })
  }
}

/** Where the first of the keys, which are in byte order, stands that is not before `from`. */
function placeOf(keys: readonly string[], from: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareBytes(keys[middle]!, from) < 0) low = middle + 1
    else high = middle
  }
  return low
}
