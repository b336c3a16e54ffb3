/**
 * What this process knows of the cluster's records: fed by a watch, by full lists, and by its own reads and writes.
 *
 * Invariants
 *  1. Of each record the highest version seen is known, in whatever order news come; versions grow across removals.
 *  2. The view may be behind, never invented: everything in it did stand in the engine. So nothing is taken away
 *     from anybody because of it alone: that takes a conditional write on what was seen.
 *  3. A list that began after a record was seen, and lacks it, removes it.
 */
import type { Clock } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import type { RecordChange, StoredRecord } from '../engine/engine.ts'
import {
  type Known,
  type Leadership,
  type NodeRecord,
  nodeKey,
  nodePrefix,
  type PinnedLeader,
  pinPrefix,
  readLeadership,
  readNode,
  readPin,
  shardOfKey,
  shardPrefix,
} from './records.ts'

/** Who is told of changes; each is called after the view has changed, and must not throw. */
export type ViewListener = {
  readonly onNode: (id: string) => void
  readonly onShard: (shard: number) => void
  readonly onTrouble: (message: string) => void
}

/** `seenUs`: when this version was first seen, on the monotonic clock. */
type Seen<Value> = Known<Value> & { readonly seenUs: number }

/** How many removed records are remembered, so that late news do not bring them back. */
const removedMax = 1000

/** See the invariants at the top of the file. */
export class View {
  readonly #clock: Clock
  readonly #listener: ViewListener
  readonly #nodes = new Map<string, Seen<NodeRecord>>()
  readonly #shards = new Map<string, Seen<Leadership>>()
  readonly #wishes = new Map<string, Seen<PinnedLeader>>()
  readonly #removed = new Map<string, { readonly version: bigint; readonly atUs: number }>()
  /** Unreadable records that were complained of. */
  readonly #unreadable = new Map<string, bigint>()
  readonly #shardKeys: readonly string[]
  readonly #wishKeys: readonly string[]

  constructor(
    clock: Clock,
    keys: { readonly shards: readonly string[]; readonly wishes: readonly string[] },
    listener: ViewListener,
  ) {
    this.#clock = clock
    this.#shardKeys = keys.shards
    this.#wishKeys = keys.wishes
    this.#listener = listener
  }

  /** All node records, those of dead nodes too. */
  nodes(): IterableIterator<Known<NodeRecord>> {
    return this.#nodes.values()
  }

  /** The node's record, dead or alive. */
  node(id: string): Known<NodeRecord> | undefined {
    return this.#nodes.get(nodeKey(id))
  }

  /** For how long the newest version of the node's record has been known here, in ms; undefined: there is none. */
  silentMs(id: string): number | undefined {
    const seenUs = this.#nodes.get(nodeKey(id))?.seenUs
    return seenUs === undefined ? undefined : (this.#clock.monoUs() - seenUs) / 1000
  }

  /** The node's record, unless it says that the node is dead. */
  living(id: string): NodeRecord | undefined {
    const record = this.node(id)?.value
    return record?.deadBy === undefined ? record : undefined
  }

  /** Whether the node has a record that does not say that it is dead. */
  isAlive(id: string): boolean {
    return this.living(id) !== undefined
  }

  /** Who leads the shard; undefined: nobody ever has. */
  shard(shard: number): Known<Leadership> | undefined {
    return this.#shards.get(this.#shardKeys[shard]!)
  }

  /** Who shall lead the shard, if people wish for anybody. */
  wish(shard: number): Known<PinnedLeader> | undefined {
    return this.#wishes.get(this.#wishKeys[shard]!)
  }

  /** All wishes. */
  wishes(): IterableIterator<Known<PinnedLeader>> {
    return this.#wishes.values()
  }

  /** Takes in what a watch tells. */
  change({ key, record }: RecordChange): void {
    if (record === undefined) this.#remove(key)
    else this.learn(record)
  }

  /** Takes in a record that was read or written. */
  learn(stored: StoredRecord): void {
    const newest = this.#versionOf(stored.key)
    if (newest !== undefined && stored.version <= newest) return
    try {
      if (stored.key.startsWith(nodePrefix)) this.#put(this.#nodes, readNode(stored))
      else if (shardOfKey(stored.key) < 0) return
      else if (stored.key.startsWith(shardPrefix)) this.#put(this.#shards, readLeadership(stored))
      else if (stored.key.startsWith(pinPrefix)) this.#put(this.#wishes, readPin(stored))
    } catch (error) {
      if (this.#unreadable.get(stored.key) === stored.version) return
      this.#unreadable.set(stored.key, stored.version)
      this.#listener.onTrouble(describe(error))
    }
  }

  /** Takes in a full list that was asked for at `startedUs`. */
  learnAll(records: readonly StoredRecord[], startedUs: number): void {
    const listed = new Set<string>()
    for (const record of records) {
      listed.add(record.key)
      // A list that began later and has it again is right.
      if ((this.#removed.get(record.key)?.atUs ?? startedUs) < startedUs) this.#removed.delete(record.key)
      this.learn(record)
    }
    for (const map of [this.#nodes, this.#shards, this.#wishes]) {
      for (const { key, seenUs } of map.values())
        if (seenUs < startedUs && !listed.has(key)) this.#remove(key)
    }
  }

  #put<Value>(map: Map<string, Seen<Value>>, known: Known<Value>): void {
    map.set(known.key, { ...known, seenUs: this.#clock.monoUs() })
    this.#tell(known.key)
  }

  /** The newest version that was seen, of a record that was removed too. */
  #versionOf(key: string): bigint | undefined {
    const known = this.#nodes.get(key) ?? this.#shards.get(key) ?? this.#wishes.get(key)
    return (known ?? this.#removed.get(key))?.version
  }

  #remove(key: string): void {
    const map = [this.#nodes, this.#shards, this.#wishes].find((each) => each.has(key))
    const version = map?.get(key)?.version
    if (map === undefined || version === undefined) return
    map.delete(key)
    this.#removed.set(key, { version, atUs: this.#clock.monoUs() })
    if (this.#removed.size > removedMax) this.#removed.delete(this.#removed.keys().next().value!)
    this.#tell(key)
  }

  #tell(key: string): void {
    if (key.startsWith(nodePrefix)) this.#listener.onNode(key.slice(nodePrefix.length))
    else this.#listener.onShard(shardOfKey(key))
  }
}
