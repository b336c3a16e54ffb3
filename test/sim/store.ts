/**
 * What all machines of a simulation share: the server side of the engine. It can be put back to an earlier state, as a
 * failover that loses the last writes does, and says then whether a client may still build on what it knows.
 *
 * Invariants
 *  1. A write is carried out only for a client that has seen nothing newer than the store, in a history that is
 *     not suspect; otherwise the store is suspect, and nothing but an advance writes.
 *  2. An advance begins a history that no earlier state of the store has had.
 */
import type { StoredRecord } from '../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../src/engine/memory/engine.ts'
import { assertInvariants, workerPrefix } from '../../src/issuing/worker-records.ts'

/** How far a client has seen the store come. */
export type Seen = { readonly lineage: number; readonly writes: number }

/** An earlier state. */
export type Snapshot = Seen & {
  /** When it was taken, in true µs. */
  readonly atUs: number
  readonly counters: MemoryStore['counters']
  readonly records: ReadonlyMap<string, StoredRecord>
}

/** What puts a new lineage beyond doubt, and counts above all that can have been forgotten. */
const jump = 2 ** 32

export class SharedStore extends MemoryStore {
  readonly engine = new MemoryEngine(this)
  /** Whether writes were lost, and no advance has followed. */
  isSuspect = false
  /** How often writes were lost. */
  losses = 0
  lineage = 1
  writes = 0
  #lineages = 1
  /** Records of worker ids that were found to be right: the store replaces records and changes none. */
  readonly #checked = new WeakSet<StoredRecord>()

  /** The state now, to come back to. */
  snapshot(atUs: number): Snapshot {
    const { lineage, writes } = this
    return { atUs, lineage, writes, counters: new Map(this.counters), records: new Map(this.records) }
  }

  /** Forgets everything after a snapshot. Watchers are told of what is there. */
  forget({ lineage, writes, counters, records }: Snapshot): void {
    this.lineage = lineage
    this.writes = writes
    replace(this.counters, counters)
    replace(this.records, records)
    this.isSuspect = true
    this.losses++
    for (const record of records.values()) {
      for (const watchers of this.watchers) watchers.notify({ key: record.key, record })
    }
  }

  /** Throws where a record of a worker id is not as its writers keep it. */
  assertInvariants(): void {
    for (const record of this.records.values()) {
      if (!record.key.startsWith(workerPrefix) || this.#checked.has(record)) continue
      assertInvariants([record])
      this.#checked.add(record)
    }
  }

  /** Whether a client that knows this much may write. */
  isSound(seen: Seen): boolean {
    if (this.isSuspect) return false
    return this.lineage === seen.lineage ? this.writes >= seen.writes : this.lineage > seen.lineage
  }

  /** An advance was carried out. */
  began(): void {
    this.isSuspect = false
    this.lineage = ++this.#lineages
    this.writes += jump
  }
}

function replace<Key, Value>(map: Map<Key, Value>, by: ReadonlyMap<Key, Value>): void {
  map.clear()
  for (const [key, value] of by) map.set(key, value)
}
