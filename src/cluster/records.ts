/** The records of a cluster: their keys and their values. */
import { describe, FahaoError } from '../base/errors.ts'
import type { StoredRecord } from '../engine/engine.ts'

/** Prefix of all keys of a cluster: one list and one watch cover all of them. */
export const clusterPrefix = 'cluster/'
/** Key of the settings; an installation that is no cluster has none. */
export const settingsKey = `${clusterPrefix}settings`
/** Prefix of the records of nodes, one for each process that takes part. */
export const nodePrefix = `${clusterPrefix}nodes/`
/** Prefix of the records of shards. */
export const shardPrefix = `${clusterPrefix}shards/`
/** Prefix of the pins. */
export const pinPrefix = `${clusterPrefix}pins/`

/** The settings of an installation: written once. */
export type SettingsRecord = {
  /** Name of the cluster. */
  readonly cluster: string
  /** Number of shards. */
  readonly shards: number
  /**
   * How long a lease lasts, and the margin on both sides of its end. A node with shorter durations would declare
   * a node with longer ones dead while that one still leads.
   */
  readonly leaseTtlMs: number
  readonly marginMs: number
}

/** Stands for the id of the node that declares others dead where an advance of the store does it. */
export const byAdvance = 'advance'

/**
 * The format of what nodes share: that which a version writes, and the oldest and the newest that it reads. Nodes of two
 * versions work together while each reads what the other writes.
 */
export type NodeFormat = {
  readonly writes: number
  readonly reads: readonly [oldest: number, newest: number]
}

/**
 * The format of this version. Format 2 has `heartbeat`, `leftovers` and `cluster/pins/` for what format 1 called `beat`,
 * `tails` and `cluster/wishes/`.
 */
export const ownFormat: NodeFormat = { writes: 2, reads: [2, 2] }

/** One process of the cluster. Its id is never used again. */
export type NodeRecord = {
  readonly id: string
  /** Announced `host:port` of RESP and of HTTP; undefined: not served. */
  readonly resp?: string | undefined
  readonly http?: string | undefined
  /** When it joined, in Unix ms by its own wall clock. For people only. */
  readonly joinedMs: number
  /** Number of the heartbeat: grows with each renewal. */
  readonly heartbeat: number
  /** When this heartbeat was sent, on the monotonic clock of the process, in µs. Only the process itself compares it. */
  readonly sentUs?: number
  /** Whether it hands over all its shards, and takes none. */
  readonly draining: boolean
  /** Version of its program. */
  readonly version: string
  /** Undefined in the records of versions that knew format 2 alone. */
  readonly format?: NodeFormat
  /** Id of the node that declared this one dead, or `byAdvance`. No node overwrites such a record. */
  readonly deadBy?: string
}

/** What the record of a node has in every format: who runs what. */
export type NodeOfAnyFormat = Pick<NodeRecord, 'id' | 'resp' | 'version' | 'format' | 'deadBy'>

/** A leftover range: unissued ids of one generator in the buffer of a leader that has handed its shard over. */
export type LeftoverRange = {
  /** Name of the generator. */
  readonly name: string
  /** Version of its record, decimal as all that follows. */
  readonly record: string
  /** The rest of the newest `Reservation`. */
  readonly start: string
  readonly end: string
  readonly version: string
}

/** The leadership of a shard. */
export type Leadership = {
  /** Node id of the leader; empty: none. */
  readonly holder: string
  /** Grows by one with each new holder: the fence of its reserves. */
  readonly epoch: number
  /** Node id of the leader before; empty at first. */
  readonly from: string
  /** Leftover ranges that only this holder may continue; undefined: none. */
  readonly leftovers?: readonly LeftoverRange[]
  /**
   * Set, without a holder, by an advance and by a leader whose fence a counter has refused. The shard rests, because a leader
   * that no record names may lead until its lease lapses.
   */
  readonly rests?: true
}

/** A pin: the node that leads a shard in place of the assigned one, until that node is dead. */
export type PinnedLeader = { readonly to: string }

/** A record and its value. */
export type Known<Value> = { readonly key: string; readonly version: bigint; readonly value: Value }

/** Key of a node's record. */
export function nodeKey(id: string): string {
  return nodePrefix + id
}

/** Key of a shard's leadership. Keys have the order of shards. */
export function shardKey(shard: number): string {
  return shardPrefix + padded(shard)
}

/** Key of the pin of a shard. */
export function pinKey(shard: number): string {
  return pinPrefix + padded(shard)
}

/** Number of the shard in a key under `shardPrefix` or `pinPrefix`; −1 for any other key. */
export function shardOfKey(key: string): number {
  const digits = /^cluster\/(?:shards|pins)\/(\d{5})$/.exec(key)?.[1]
  return digits === undefined ? -1 : Number(digits)
}

/** Reads the settings in a record. Throws ENGINE if it cannot. */
export function readSettings(stored: StoredRecord): Known<SettingsRecord> {
  return parsed(stored, ({ cluster, shards, leaseTtlMs, marginMs }: SettingsRecord) => {
    const numbers = Number.isSafeInteger(shards) && Number.isFinite(leaseTtlMs) && Number.isFinite(marginMs)
    return typeof cluster === 'string' && numbers
  })
}

/** Reads a node's record. Throws ENGINE if it cannot. */
export function readNode(stored: StoredRecord): Known<NodeRecord> {
  const isSound = ({ id, heartbeat }: NodeRecord) =>
    stored.key === nodeKey(id) && Number.isSafeInteger(heartbeat)
  return parsed(stored, isSound)
}

/** Reads what the record of a node has in every format. Throws ENGINE if it cannot. */
export function readNodeOfAnyFormat(stored: StoredRecord): Known<NodeOfAnyFormat> {
  const read = parsed(stored, ({ id }: NodeOfAnyFormat) => stored.key === nodeKey(id))
  return isNewer(read.value) ? read : readNode(stored)
}

/** Whether a newer Fahao has written this record of a node. */
function isNewer(value: Partial<NodeOfAnyFormat>): boolean {
  return (value.format?.writes ?? 0) > ownFormat.reads[1]
}

/** Reads a shard's leadership. Throws ENGINE if it cannot. */
export function readLeadership(stored: StoredRecord): Known<Leadership> {
  return parsed(stored, ({ holder, epoch, leftovers = [] }: Leadership) => {
    return typeof holder === 'string' && Number.isSafeInteger(epoch) && Array.isArray(leftovers)
  })
}

/** Reads a pin. Throws ENGINE if it cannot. */
export function readPin(stored: StoredRecord): Known<PinnedLeader> {
  return parsed(stored, ({ to }: PinnedLeader) => typeof to === 'string')
}

/** Reads a record of a node, a shard or a pin; undefined: it is none of these. Throws ENGINE if it cannot. */
export function readRecord(stored: StoredRecord): Known<NodeRecord | Leadership | PinnedLeader> | undefined {
  if (stored.key.startsWith(nodePrefix)) return readNode(stored)
  if (shardOfKey(stored.key) < 0) return undefined
  return stored.key.startsWith(shardPrefix) ? readLeadership(stored) : readPin(stored)
}

/** Where version 1 of the records had the pins. */
const earlierPinPrefix = `${clusterPrefix}wishes/`

/** The key and the value that a record of version 1 has now; undefined: it is in its present form. */
export function presentForm({ key, value }: StoredRecord): Pick<StoredRecord, 'key' | 'value'> | undefined {
  if (key.startsWith(earlierPinPrefix)) return { key: pinPrefix + key.slice(earlierPinPrefix.length), value }
  if (key.startsWith(nodePrefix) && value.includes('"beat"')) return renamed(key, value, 'beat', 'heartbeat')
  if (key.startsWith(shardPrefix) && value.includes('"tails"'))
    return renamed(key, value, 'tails', 'leftovers')
  return undefined
}

function renamed(key: string, text: string, from: string, to: string) {
  try {
    const { [from]: value, ...others } = JSON.parse(text)
    return value === undefined ? undefined : { key, value: JSON.stringify({ ...others, [to]: value }) }
  } catch {
    // The code that reads the record reports what is wrong.
    return undefined
  }
}

function parsed<Value>(stored: StoredRecord, isSound: (value: Value) => boolean): Known<Value> {
  const { key, version } = stored
  let remedy = 'restore or remove it'
  try {
    const value = JSON.parse(presentForm(stored)?.value ?? stored.value) as Value
    if (isSound(value)) return { key, version, value }
    if (isNewer(value as Partial<NodeOfAnyFormat>)) remedy = 'a newer Fahao has written it: upgrade this one'
    throw new TypeError('a field is missing or of another type')
  } catch (error) {
    const why = `the record ${key} cannot be read (${describe(error)}); ${remedy}`
    throw new FahaoError('ENGINE', why)
  }
}

function padded(shard: number): string {
  return String(shard).padStart(5, '0')
}
