/** The records that a cluster consists of: where they stand, and what they say. */
import { describe, FahaoError } from '../base/errors.ts'
import type { StoredRecord } from '../engine/engine.ts'

/** Everything of a cluster stands under this prefix: one list and one watch see all of it. */
export const clusterPrefix = 'cluster/'
/** Where the installation says that it is a cluster. */
export const settingsKey = `${clusterPrefix}settings`
/** Where each process that takes part has its record. */
export const nodePrefix = `${clusterPrefix}nodes/`
/** Where each shard's leadership stands. */
export const shardPrefix = `${clusterPrefix}shards/`
/** Where people's wishes stand as to who leads a shard. */
export const pinPrefix = `${clusterPrefix}wishes/`

/** What an installation is, for as long as it lives. */
export type SettingsRecord = {
  /** Name of the cluster. */
  readonly cluster: string
  /** Number of shards. */
  readonly shards: number
  /**
   * How long a lease lasts, and the margin on both sides of its end. A node that believed in shorter ones than another
   * would declare that one dead while it still leads.
   */
  readonly leaseTtlMs: number
  readonly marginMs: number
}

/** One process that takes part. Its id is never used again. */
export type NodeRecord = {
  readonly id: string
  /** Announced `host:port` of RESP and of HTTP; undefined: not served. */
  readonly resp?: string | undefined
  readonly http?: string | undefined
  /** When it joined, in Unix ms by its own wall clock. For people only. */
  readonly joinedMs: number
  /** Grows with each renewal. */
  readonly beat: number
  /** It wants to lead nothing. */
  readonly draining: boolean
  /** Version of its program. */
  readonly version: string
  /** Set once, by the node which declared this one dead; nothing is written over such a record any more. */
  readonly deadBy?: string
}

/** What a leader that gave its shard away had in hand of one generator: ids that nobody has been given. */
export type LeftoverRange = {
  /** Name of the generator. */
  readonly name: string
  /** Version of its record, decimal as all that follows. */
  readonly record: string
  /** See `Reservation`: what is left of the newest one. */
  readonly start: string
  readonly end: string
  readonly version: string
}

/** Who leads a shard. */
export type Leadership = {
  /** Node id; empty: nobody. */
  readonly holder: string
  /** Grows by one with each new holder: the fence of its reserves. */
  readonly epoch: number
  /** Who led before; empty at first. */
  readonly from: string
  /** What it left for the holder, and for nobody else, to go on with; undefined: nothing. */
  readonly tails?: readonly LeftoverRange[]
}

/** Who shall lead a shard, whatever the assignment says, for as long as that node lives. */
export type PinnedLeader = { readonly to: string }

/** A record with what it says. */
export type Known<Value> = { readonly key: string; readonly version: bigint; readonly value: Value }

/** Key of a node's record. */
export function nodeKey(id: string): string {
  return nodePrefix + id
}

/** Key of a shard's leadership; in the order of shards. */
export function shardKey(shard: number): string {
  return shardPrefix + padded(shard)
}

/** Key of the wish for a shard. */
export function pinKey(shard: number): string {
  return pinPrefix + padded(shard)
}

/** The number of the shard that a key under `shardPrefix` or `wishPrefix` is about; −1 for any other key. */
export function shardOfKey(key: string): number {
  const digits = /^cluster\/(?:shards|wishes)\/(\d{5})$/.exec(key)?.[1]
  return digits === undefined ? -1 : Number(digits)
}

/** What the settings say; ENGINE when they cannot be read. */
export function readSettings(stored: StoredRecord): Known<SettingsRecord> {
  return parsed(stored, ({ cluster, shards, leaseTtlMs, marginMs }: SettingsRecord) => {
    const numbers = Number.isSafeInteger(shards) && Number.isFinite(leaseTtlMs) && Number.isFinite(marginMs)
    return typeof cluster === 'string' && numbers
  })
}

/** What a node's record says; ENGINE when it cannot be read. */
export function readNode(stored: StoredRecord): Known<NodeRecord> {
  const isSound = ({ id, beat }: NodeRecord) => stored.key === nodeKey(id) && Number.isSafeInteger(beat)
  return parsed(stored, isSound)
}

/** What a shard's leadership says; ENGINE when it cannot be read. */
export function readLeadership(stored: StoredRecord): Known<Leadership> {
  return parsed(stored, ({ holder, epoch, tails = [] }: Leadership) => {
    return typeof holder === 'string' && Number.isSafeInteger(epoch) && Array.isArray(tails)
  })
}

/** What a pin says; ENGINE when it cannot be read. */
export function readPin(stored: StoredRecord): Known<PinnedLeader> {
  return parsed(stored, ({ to }: PinnedLeader) => typeof to === 'string')
}

/** What a record of a node, a shard or a pin says; undefined: it is none of these. ENGINE when it cannot be read. */
export function readRecord(stored: StoredRecord): Known<NodeRecord | Leadership | PinnedLeader> | undefined {
  if (stored.key.startsWith(nodePrefix)) return readNode(stored)
  if (shardOfKey(stored.key) < 0) return undefined
  return stored.key.startsWith(shardPrefix) ? readLeadership(stored) : readPin(stored)
}

function parsed<Value>(stored: StoredRecord, isSound: (value: Value) => boolean): Known<Value> {
  const { key, version } = stored
  try {
    const value = JSON.parse(stored.value) as Value
    if (isSound(value)) return { key, version, value }
    throw new TypeError('a field is missing or of another type')
  } catch (error) {
    const why = `the record ${key} cannot be read (${describe(error)}); restore or remove it`
    throw new FahaoError('ENGINE', why)
  }
}

function padded(shard: number): string {
  return String(shard).padStart(5, '0')
}
