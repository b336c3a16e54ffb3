/**
 * Repairs a cluster's records in a store that has lost writes.
 *
 * Invariants
 *  1. No record names a leader after an advance. The lost writes may have named another one than the record that was kept,
 *     or the first one of a shard that has no record; that leader may issue until its lease lapses.
 *  2. So every shard rests: a node takes it once it has seen the record of the advance unchanged for ttl + margin. No lease
 *     that was renewed before the advance is valid then, and none is renewed after it, because no node is alive on record.
 *  3. Every epoch, also that of a shard without a record, lies above all lost ones.
 */

import {
  byAdvance,
  type Leadership,
  nodePrefix,
  pinPrefix,
  readLeadership,
  readNode,
  readSettings,
  settingsKey,
  shardKey,
  shardPrefix,
} from '../cluster/records.ts'
import { epochJump, repairEach } from '../engine/advance-rules.ts'
import type { Repair, StoredRecord } from '../engine/engine.ts'

/**
 * Takes the leader out of every shard's record, and declares every node dead: a node that runs drops its leaderships and
 * joins again under a fresh id. `shards`: their number, where the node that advances knows it and the store may not.
 */
export function repairShards(shards = 0): Repair {
  const repairRecords = repairEach(repaired)
  return function* (all) {
    const { records, counters } = yield* repairRecords(all)
    const lost = Array.from({ length: shardsOf(all, shards) }, (_, shard) => shardKey(shard))
      .filter((key) => !records.has(key))
      .map((key): [string, string] => [key, resting({ holder: '', epoch: 0, from: '' })])
    return { records: new Map([...records, ...lost]), counters }
  }
}

function repaired(stored: StoredRecord): string | undefined {
  const { key, value } = stored
  if (key.startsWith(shardPrefix)) return resting(readLeadership(stored).value)
  if (key.startsWith(nodePrefix)) {
    const node = readNode(stored).value
    return JSON.stringify({ ...node, deadBy: node.deadBy ?? byAdvance })
  }
  // A pin keeps its value and gets a version above all lost ones, so that nodes that have read a lost version read
  // this one.
  return key.startsWith(pinPrefix) ? value : undefined
}

/** Leftover ranges are dropped: their holder may have issued them after the last write that was kept. */
function resting({ holder, epoch, from }: Leadership): string {
  const next: Leadership = { holder: '', epoch: epoch + epochJump, from: holder || from, rests: true }
  return JSON.stringify(next)
}

function shardsOf(all: readonly StoredRecord[], shards: number): number {
  const settings = all.find(({ key }) => key === settingsKey)
  return settings === undefined ? shards : readSettings(settings).value.shards
}
