/**
 * The records under a prefix, as values in memory that a watch keeps: they are there without a wait, also while the engine is
 * away. A `RecordForm` says what the values are, and what becomes of them when the store has lost writes.
 *
 * Invariants
 *  1. A change is in force on this node once its write is acknowledged, and on the others once their watch reports it. A
 *     change that was not written changes nothing.
 *  2. Of one name, the value with the highest revision that this node has seen is in force. Of one revision it is the last.
 *  3. A record that is gone although it did not have to go (`hasToGo`), or that has a lower revision, was lost by the store.
 *     The value stays in force, and `reconcile` writes it again if its form keeps it (`isKept`).
 *  4. Where each revision is written once (`contradicted`), another value of the revision in force proves that the store has
 *     lost a change. The value in force stays, and is written again with the next revision.
 *  5. A write whose outcome is unknown is settled before anything is built on it: by a read of the record, or by a second
 *     write of the same value on condition of the same version.
 *  6. A list or a read that was begun before a change of the same name was reported does not replace what was reported.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Engine, StoredRecord, Watch } from './engine.ts'
import { listAll } from './pages.ts'

/** The members of an engine that it uses. */
export type RecordsEngine = Pick<Engine, 'list' | 'read' | 'write' | 'remove' | 'watch'>

/** What the records under one prefix are. None of its functions throws. */
export type RecordForm<Value> = {
  /** The rest of a key is the name. */
  readonly prefix: string
  /** The value of a record; undefined: this version of Fahao does not understand it. */
  readonly read: (name: string, text: string) => Value | undefined
  readonly write: (value: Value) => string
  /** Grows with the changes of a name that a store must not lose; of other changes the last counts. */
  readonly revisionOf: (value: Value) => number
  /** Whether two values of one name are the same change. */
  readonly isSame: (one: Value, other: Value) => boolean
  /** Whether the record of a value may be gone, because it had to go or because it was removed. */
  readonly hasToGo: (value: Value) => boolean
  /** Whether a value is written again where the store has lost it. */
  readonly isKept: (value: Value) => boolean
  /** Reports a record that cannot be read. Returns what is in force instead; undefined: nothing. */
  readonly unreadable: (name: string, known: Value | undefined) => Value | undefined
  /** Reports another value of the revision in force. Returns `known` with the next revision. Absent: the last value counts. */
  readonly contradicted?: (name: string, known: Value) => Value
  /** What is in force has changed; undefined: nothing is. */
  readonly changed: (before: Value | undefined, after: Value | undefined) => void
  /** What an error says if other writes come first each time. */
  readonly contended: (name: string) => string
}

/** What a change has replaced, and what it has written. */
export type Changed<Value> = { readonly before: Value | undefined; readonly after: Value }

type Entry<Value> = { readonly value: Value; version: bigint }

const changeTries = 20
/** Writes of one value whose outcomes are unknown, one after the other. */
const unknownMax = 3
/** Records that one sweep removes. */
const sweepMax = 100

/** See the invariants above. */
export class WatchedRecords<Value> {
  readonly #engine: RecordsEngine
  readonly #form: RecordForm<Value>
  readonly #entries = new Map<string, Entry<Value>>()
  /** For each `reconcile` under way, the names that were reported since it began. */
  readonly #reported = new Set<Set<string>>()
  #watch: Watch | undefined

  constructor(engine: RecordsEngine, form: RecordForm<Value>) {
    this.#engine = engine
    this.#form = form
  }

  /** Reads the records, and watches them from then on. Rejects with UNAVAILABLE. */
  async open(): Promise<void> {
    this.#watch = await this.#engine.watch(this.#form.prefix, ({ key, record }) => {
      if (record === undefined) this.#gone(this.#nameOf(key))
      else this.#report(record)
    })
    try {
      await this.reconcile()
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** How many values are in force. */
  get size(): number {
    return this.#entries.size
  }

  /** The value of this name. */
  get(name: string): Value | undefined {
    return this.#entries.get(name)?.value
  }

  /** All values, in the order in which their names were learned. */
  *values(): Iterable<Value> {
    for (const { value } of this.#entries.values()) yield value
  }

  /** Reads one record. Rejects with UNAVAILABLE. */
  async reach(name: string): Promise<void> {
    const record = await this.#read(name)
    if (record !== undefined) this.#learn(record)
  }

  /**
   * Changes a value. `make` gets the value in force, or that of the record if that is later, and the record; it returns
   * undefined to change nothing. It is called again while other writes come first. Rejects as it does, and with CONFLICT,
   * UNAVAILABLE and UNKNOWN.
   */
  async change(
    name: string,
    make: (
      before: Value | undefined,
      record: StoredRecord | undefined,
    ) => Value | undefined | Promise<Value | undefined>,
  ): Promise<Changed<Value> | undefined> {
    for (let tries = 0; tries < changeTries; tries++) {
      const record = await this.#read(name)
      const before = this.#laterOf(name, record)
      const after = await make(before, record)
      if (after === undefined) return undefined
      if (await this.#write(name, after, record?.version)) return { before, after }
    }
    throw this.#contended(name)
  }

  /** Removes a record. Resolves to whether there was one. Rejects with CONFLICT, UNAVAILABLE, UNKNOWN. */
  async remove(name: string): Promise<boolean> {
    for (let tries = 0; tries < changeTries; tries++) {
      const record = await this.#read(name)
      if (record === undefined) return false
      if (await this.#remove(name, record.version)) return true
    }
    throw this.#contended(name)
  }

  /** Removes the records of names whose values have to go, a bounded number. A failure leaves them to the next call. */
  async sweep(names: readonly string[]): Promise<void> {
    for (const name of names.slice(0, sweepMax)) {
      const version = this.#entries.get(name)?.version
      if (version === undefined) continue
      try {
        if (await this.#remove(name, version)) continue
        const record = await this.#read(name)
        // In a store that went back the record may have another version: the next call removes it.
        if (record === undefined) this.#forget(name)
        else this.#learn(record)
      } catch {
        return
      }
    }
  }

  /**
   * Reads all records, and writes again what this node knows and the store has lost. Resolves to the names of what was
   * written. Rejects with UNAVAILABLE and UNKNOWN.
   */
  async reconcile(): Promise<string[]> {
    const reported = new Set<string>()
    this.#reported.add(reported)
    try {
      const list = await listAll(this.#engine, this.#form.prefix)
      const records = new Map(list.map((record) => [this.#nameOf(record.key), record]))
      const lost: string[] = []
      for (const name of new Set([...this.#entries.keys(), ...records.keys()])) {
        let record = records.get(name)
        while (reported.delete(name)) record = await this.#read(name)
        if (await this.#settle(name, record)) lost.push(name)
      }
      return lost
    } finally {
      this.#reported.delete(reported)
    }
  }

  /** Ends the watch. */
  close(): void {
    this.#watch?.close()
    this.#watch = undefined
  }

  /** Takes what the store has of a name, or writes what it has lost. Resolves to whether it was written. */
  async #settle(name: string, present: StoredRecord | undefined): Promise<boolean> {
    const form = this.#form
    for (let record = present; ; record = await this.#read(name)) {
      const known = this.get(name)
      const stored = record && form.read(name, record.value)
      const isLost = known !== undefined && form.isKept(known)
      const order = this.#order(stored, known)
      if (record !== undefined && (!isLost || order === 'later' || order === 'same')) this.#learn(record)
      else if (!isLost && known !== undefined && form.hasToGo(known)) this.#forget(name)
      if (!isLost || order === 'later' || order === 'same') return false
      const next = order === 'contradicting' ? form.contradicted!(name, known) : known
      // False: another node has written first, perhaps an older revision that it knows.
      if (await this.#write(name, next, record?.version)) return true
    }
  }

  /** Whether the record was written. */
  async #write(name: string, value: Value, expected: bigint | undefined): Promise<boolean> {
    const text = this.#form.write(value)
    let unknown: unknown
    for (let tries = 0; tries < unknownMax; tries++) {
      try {
        const written = await this.#engine.write(this.#form.prefix + name, text, expected)
        if (written !== undefined) this.#report(written)
        if (written !== undefined || unknown === undefined) return written !== undefined
      } catch (error) {
        if (!hasCode(error, 'UNKNOWN')) throw unknown ?? error
        unknown = error
      }
      const record = await this.#read(name).catch(() => undefined)
      const stored = record && this.#form.read(name, record.value)
      if (record !== undefined && stored !== undefined && this.#form.isSame(stored, value)) {
        this.#report(record)
        return true
      }
      if (record?.version !== expected) break
    }
    throw unknown
  }

  /** Whether the record is gone by this removal. */
  async #remove(name: string, version: bigint): Promise<boolean> {
    try {
      if (!(await this.#engine.remove(this.#form.prefix + name, version))) return false
    } catch (error) {
      const isGone = async () => (await this.#read(name).catch(() => null)) === undefined
      if (!hasCode(error, 'UNKNOWN') || !(await isGone())) throw error
    }
    this.#note(name)
    this.#forget(name)
    return true
  }

  #read(name: string): Promise<StoredRecord | undefined> {
    return this.#engine.read(this.#form.prefix + name)
  }

  /** A record as the watch reports it, or as this node has written it. */
  #report(record: StoredRecord): void {
    this.#note(this.#nameOf(record.key))
    this.#learn(record)
  }

  /** The record of this name is gone from the store. */
  #gone(name: string): void {
    this.#note(name)
    const known = this.get(name)
    if (known !== undefined && this.#form.hasToGo(known)) this.#forget(name)
  }

  #note(name: string): void {
    for (const reported of this.#reported) reported.add(name)
  }

  #learn(record: StoredRecord): void {
    const name = this.#nameOf(record.key)
    const entry = this.#entries.get(name)
    const known = entry?.value
    const value = this.#form.read(name, record.value)
    if (value === undefined) {
      const instead = this.#form.unreadable(name, known)
      if (instead === undefined) this.#forget(name)
      else if (instead !== known) this.#set(name, instead, record.version)
      return
    }
    const order = this.#order(value, known)
    if (order === 'later') this.#set(name, value, record.version)
    // Where the write fails, `reconcile` repeats it.
    else if (order === 'contradicting') this.#settle(name, record).catch(() => false)
    else if (entry !== undefined) entry.version = record.version
  }

  #set(name: string, value: Value, version: bigint): void {
    const before = this.get(name)
    this.#entries.set(name, { value, version })
    this.#form.changed(before, value)
  }

  #forget(name: string): void {
    const before = this.get(name)
    if (this.#entries.delete(name)) this.#form.changed(before, undefined)
  }

  /** How a value stands to the one in force. A name that is not known has a later one; a value that is missing is earlier. */
  #order(value: Value | undefined, known: Value | undefined): 'later' | 'same' | 'earlier' | 'contradicting' {
    if (value === undefined) return 'earlier'
    if (known === undefined) return 'later'
    const difference = this.#form.revisionOf(value) - this.#form.revisionOf(known)
    if (difference !== 0) return difference > 0 ? 'later' : 'earlier'
    if (this.#form.isSame(value, known)) return 'same'
    return this.#form.contradicted === undefined || !this.#form.isKept(known) ? 'later' : 'contradicting'
  }

  #laterOf(name: string, record: StoredRecord | undefined): Value | undefined {
    const known = this.get(name)
    const stored = record && this.#form.read(name, record.value)
    return this.#order(stored, known) === 'later' ? stored : known
  }

  #nameOf(key: string): string {
    return key.slice(this.#form.prefix.length)
  }

  #contended(name: string): FahaoError {
    return new FahaoError('CONFLICT', this.#form.contended(name))
  }
}
