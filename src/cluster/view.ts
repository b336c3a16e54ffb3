/**
 * The view: the cluster's records as this process has received them, by a watch, by lists, and by its own reads and writes.
 *
 * Invariants
 *  1. Of each record the view holds the highest version seen, in whatever order changes arrive; versions grow across removals.
 *  2. The view may be out of date, but everything in it was in the engine. So no shard is taken from a node because of the
 *     view alone: that takes a conditional write on the version that was seen.
 *  3. A record is removed if a list lacks it that began after the record was seen.
 */
import { describe } from '../base/errors.ts'
import type { RecordChange, StoredRecord } from '../engine/engine.ts'
import {
  type Known,
  type Leadership,
  type NodeRecord,
  nodeKey,
  nodePrefix,
  type PinnedLeader,
  pinKey,
  pinPrefix,
  readRecord,
  shardKey,
} from './records.ts'

/** A changed record; `unreadable`: why its value cannot be read. */
export type ViewChange = { readonly key: string; readonly unreadable?: string }

/** `seenUs`: when this version was first seen, on the monotonic clock. */
type Dated<Value> = Known<Value> & { readonly seenUs: number }

/** How many removed records are remembered, so that a late change does not restore them. */
const removedMax = 1000

/** The newest records that were received, by key. */
export class View {
  readonly #records = new Map<string, Dated<unknown>>()
  readonly #removed = new Map<string, { readonly version: bigint; readonly atUs: number }>()
  /** Versions of unreadable records that were reported. */
  readonly #unreadable = new Map<string, bigint>()
  /** Keys of all shards and of their pins, so that a lookup makes no string. */
  readonly #shardKeys: readonly string[]
  readonly #pinKeys: readonly string[]

  constructor(shards: number) {
    this.#shardKeys = Array.from({ length: shards }, (_, shard) => shardKey(shard))
    this.#pinKeys = Array.from({ length: shards }, (_, shard) => pinKey(shard))
  }

  /** All node records, those of dead nodes too. */
  nodes(): Known<NodeRecord>[] {
    return this.#under(nodePrefix) as Known<NodeRecord>[]
  }

  /** The node's record, dead or alive. */
  node(id: string): Dated<NodeRecord> | undefined {
    return this.#records.get(nodeKey(id)) as Dated<NodeRecord> | undefined
  }

  /** The node's record, unless it says that the node is dead. */
  living(id: string): NodeRecord | undefined {
    const record = this.node(id)?.value
    return record?.deadBy === undefined ? record : undefined
  }

  /** The versions that living nodes run, each once, in the order of their characters. */
  versions(): string[] {
    const living = this.nodes().filter(({ value }) => value.deadBy === undefined)
    return [...new Set(living.map(({ value }) => value.version))].sort()
  }

  /** The leadership of the shard; undefined: it has never had a leader. */
  shard(shard: number): Dated<Leadership> | undefined {
    return this.#records.get(this.#shardKeys[shard]!) as Dated<Leadership> | undefined
  }

  /** Node id that the shard is pinned to; empty: none. */
  pin(shard: number): string {
    const pin = this.#records.get(this.#pinKeys[shard]!) as Known<PinnedLeader> | undefined
    return pin?.value.to ?? ''
  }

  /** All pins. */
  pins(): Dated<PinnedLeader>[] {
    return this.#under(pinPrefix) as Dated<PinnedLeader>[]
  }

  /** Applies a change of a record. */
  change({ key, record }: RecordChange, nowUs: number): ViewChange | undefined {
    return record === undefined ? this.#remove(key, nowUs) : this.#learn(record, nowUs)
  }

  /** Applies a full list that was requested at `startedUs`. */
  learnAll(records: readonly StoredRecord[], startedUs: number, nowUs: number): ViewChange[] {
    const changes: (ViewChange | undefined)[] = []
    const listed = new Set<string>()
    for (const record of records) {
      listed.add(record.key)
      // A list that began after the removal and has the record is newer.
      if ((this.#removed.get(record.key)?.atUs ?? startedUs) < startedUs) this.#removed.delete(record.key)
      changes.push(this.#learn(record, nowUs))
    }
    for (const { key, seenUs } of this.#records.values())
      if (seenUs < startedUs && !listed.has(key)) changes.push(this.#remove(key, nowUs))
    return changes.filter((change) => change !== undefined)
  }

  #under(prefix: string): Dated<unknown>[] {
    return [...this.#records.values()].filter(({ key }) => key.startsWith(prefix))
  }

  #learn(stored: StoredRecord, nowUs: number): ViewChange | undefined {
    const { key, version } = stored
    const newest = (this.#records.get(key) ?? this.#removed.get(key))?.version
    if (newest !== undefined && version <= newest) return undefined
    try {
      const known = readRecord(stored)
      if (known === undefined) return undefined
      this.#records.set(key, { ...known, seenUs: nowUs })
      return { key }
    } catch (error) {
      if (this.#unreadable.get(key) === version) return undefined
      this.#unreadable.set(key, version)
      return { key, unreadable: describe(error) }
    }
  }

  #remove(key: string, nowUs: number): ViewChange | undefined {
    const version = this.#records.get(key)?.version
    if (version === undefined) return undefined
    this.#records.delete(key)
    this.#removed.set(key, { version, atUs: nowUs })
    if (this.#removed.size > removedMax) this.#removed.delete(this.#removed.keys().next().value!)
    return { key }
  }
}
