/**
 * One part of the audit trail in the engine: a ring of records. The newest is extended until it is full; the oldest is then
 * overwritten. A store keeps a trace of every key that was ever removed, so a trail that made a new key for each batch
 * would grow without bound.
 *
 * Invariants
 *  1. A part of the trail uses `recordsOf(max)` keys, and a record has at most `entriesPerRecord` entries: its value is
 *     below the engine's bound, whatever texts the entries have.
 *  2. A record is written only under the version that was read: no node overwrites entries that it has not read, unless
 *     they are the oldest of the ring.
 *  3. The record with the highest serial number is extended. The next record gets the next number.
 *  4. After a failed write, all records are read before the same entries are written again, and an entry that was found is
 *     not written. So each entry is stored once; nodes with different bounds may store one twice.
 */
import { FahaoError } from '../base/errors.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import { type AuditEntry, type TrailPart, trailParts } from './audit-entry.ts'

/** Entries of one record: `entryBytesMax` times as many bytes fit into a value. */
export const entriesPerRecord = 32
/** How often other nodes may be faster before `append` gives up. */
const conflictsMax = 100
/** How many records other nodes may have filled before the whole ring is read in place of one record after the other. */
const followedMax = 32

/** The members of an engine that the trail uses. */
export type AuditStore = Pick<Engine, 'read' | 'write' | 'remove' | 'list'>

/** A record of the ring. */
type Slot = {
  readonly index: number
  /** Grows by one with each record that is begun; 0: unreadable. */
  readonly serial: number
  readonly entries: readonly AuditEntry[]
  /** Undefined: the record does not exist. */
  readonly version: bigint | undefined
}

/** The number of records that hold `max` entries: at least one that is extended, and one that was before. */
export function recordsOf(max: number): number {
  return Math.max(2, Math.ceil(max / entriesPerRecord))
}

/** All entries of these parts of the trail, in no order. Fails with UNAVAILABLE. */
export async function readEntries(
  store: Pick<Engine, 'list'>,
  parts: readonly TrailPart[] = trailParts,
): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  for (const part of parts)
    for (const record of await listAll(store, prefixOf(part))) entries.push(...slotOf(record).entries)
  return entries
}

/** Writes entries of one part of the trail. Its calls must not overlap. */
export class AuditRing {
  readonly #store: AuditStore
  readonly #part: TrailPart
  readonly #sizeWanted: number | undefined
  /** The number of records; of a writer without a bound, known once the ring was read. */
  #size = 0
  /** The newest record, as last read or written; undefined: it has to be looked for. */
  #newest: Slot | undefined
  /** Entries of the records that were read during this call. */
  readonly #found = new Set<string>()

  /** @param max the entries that the ring keeps; undefined: as many as it has room for now. */
  constructor(store: AuditStore, part: TrailPart, max: number | undefined) {
    this.#store = store
    this.#part = part
    this.#sizeWanted = max === undefined ? undefined : recordsOf(max)
  }

  /**
   * Stores entries. Rejects with the error of the engine, or with CONFLICT if other nodes were faster each time: some
   * entries may be stored then, and another call with the same entries stores the rest.
   */
  async append(entries: readonly AuditEntry[]): Promise<void> {
    let left = entries
    try {
      for (let conflicts = 0; left.length > 0; ) {
        if (conflicts > conflictsMax)
          throw new FahaoError('CONFLICT', 'other nodes write the audit trail at the same time')
        const newest = await this.#withRoom()
        left = left.filter(({ id }) => !this.#found.has(id))
        const room = entriesPerRecord - newest.entries.length
        if (left.length === 0) continue
        if (await this.#write(newest, left.slice(0, room))) left = left.slice(room)
        else conflicts++
      }
    } catch (error) {
      this.#newest = undefined
      throw error
    } finally {
      this.#found.clear()
    }
  }

  /** Adds entries to a record that has room for them; resolves to false if another write came first. */
  async #write(slot: Slot, added: readonly AuditEntry[]): Promise<boolean> {
    const { index, serial, version } = slot
    const entries = [...slot.entries, ...added]
    const written = await this.#store.write(this.#key(index), JSON.stringify({ serial, entries }), version)
    if (written !== undefined) {
      this.#newest = { index, serial, entries, version: written.version }
      return true
    }
    const present = await this.#read(index)
    // A lower number: the store went back, or a node with a smaller bound has removed the record.
    this.#newest = present.serial < serial ? undefined : present
    return false
  }

  /** The newest record if it is not full, or the one that follows it. */
  async #withRoom(): Promise<Slot> {
    this.#newest ??= await this.#load()
    for (let followed = 1; this.#newest.entries.length >= entriesPerRecord; followed++) {
      if (followed % followedMax === 0) {
        this.#newest = await this.#load()
        continue
      }
      const { index, serial }: Slot = this.#newest
      const next = await this.#read((index + 1) % this.#size)
      // A higher number: another node has begun the next record already.
      this.#newest = next.serial > serial ? next : { ...next, serial: serial + 1, entries: [] }
    }
    return this.#newest
  }

  /** Reads the ring, and removes the records that a larger bound has left behind. */
  async #load(): Promise<Slot> {
    const slots = (await listAll(this.#store, prefixOf(this.#part))).map((record) =>
      this.#noted(slotOf(record)),
    )
    const used = Math.max(0, ...slots.map(({ index }) => index + 1))
    this.#size = this.#sizeWanted ?? Math.max(recordsOf(0), used)
    let newest: Slot = { index: 0, serial: 1, entries: [], version: undefined }
    for (const slot of slots) if (slot.serial >= newest.serial) newest = slot
    for (const { index, version } of slots)
      if (index >= this.#size && index !== newest.index) await this.#store.remove(this.#key(index), version!)
    return newest
  }

  async #read(index: number): Promise<Slot> {
    const record = await this.#store.read(this.#key(index))
    if (record === undefined) return { index, serial: 0, entries: [], version: undefined }
    return this.#noted(slotOf(record))
  }

  #noted(slot: Slot): Slot {
    for (const { id } of slot.entries) this.#found.add(id)
    return slot
  }

  #key(index: number): string {
    return prefixOf(this.#part) + String(index).padStart(5, '0')
  }
}

function prefixOf(part: TrailPart): string {
  return `audit/${part}/`
}

/** A record that cannot be read has no entries and the lowest number, so that it is overwritten in its turn. */
function slotOf({ key, value, version }: StoredRecord): Slot {
  const index = Number(key.slice(key.lastIndexOf('/') + 1))
  try {
    const { serial, entries } = JSON.parse(value) as Partial<Slot>
    if (Number.isSafeInteger(serial) && Array.isArray(entries))
      return { index, serial: serial!, entries, version }
  } catch {}
  return { index, serial: 0, entries: [], version }
}
