/** Repairs a cluster's records in a store that has lost writes. */

import { nodePrefix, pinPrefix, readLeadership, readNode, shardPrefix } from '../cluster/records.ts'
import { epochJump, repairEach } from '../engine/advance.ts'
import type { Repair } from '../engine/engine.ts'

/**
 * Raises every epoch above the lost ones, and gives every node record a heartbeat that its node did not write: the node
 * then drops its leaderships and joins again under a fresh id.
 *
 * The record of a shard keeps its leader until that is declared dead. The leader may issue until its lease lapses,
 * because it may not have noticed the loss; without a leader in the record, another node would start at once. The price
 * is one wait for a lease.
 */
export function repairShards(): Repair {
  return repairEach((stored) => {
    const { key, value } = stored
    if (key.startsWith(shardPrefix)) {
      // The holder may have issued leftover ranges after the last write that was kept.
      const { tails: _, ...record } = readLeadership(stored).value
      return JSON.stringify({ ...record, epoch: record.epoch + epochJump })
    }
    // No node writes heartbeat 0.
    if (key.startsWith(nodePrefix)) return JSON.stringify({ ...readNode(stored).value, beat: 0 })
    // A pin keeps its value and gets a version above all lost ones, so that nodes that have read a lost version read
    // this one.
    return key.startsWith(pinPrefix) ? value : undefined
  })
}
