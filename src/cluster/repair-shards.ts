/** What becomes of a cluster's records in a store that has forgotten writes. */
import { epochJump, repairEach } from '../engine/advance.ts'
import type { Repair } from '../engine/engine.ts'
import { nodePrefix, pinPrefix, readLeadership, readNode, shardPrefix } from './records.ts'

/**
 * Makes every leadership begin anew, above whatever epoch was forgotten, and every node that was there before find out
 * that its record is not the one that it wrote: it drops what it leads, and joins again under a fresh id.
 *
 * Who led keeps the shard until it is declared dead. It may not know yet what has happened, and issue until its lease
 * runs out: if the record named nobody, another would begin at once. So what is lost is the length of a lease, once.
 */
export function repairShards(): Repair {
  return repairEach((stored) => {
    const { key, value } = stored
    if (key.startsWith(shardPrefix)) {
      // What was left for the holder may have been issued in what was forgotten.
      const { tails: _, ...record } = readLeadership(stored).value
      return JSON.stringify({ ...record, epoch: record.epoch + epochJump })
    }
    // No node has ever sent this beat.
    if (key.startsWith(nodePrefix)) return JSON.stringify({ ...readNode(stored).value, beat: 0 })
    // Whoever has seen a later version of it, which is forgotten, sees this one again.
    return key.startsWith(pinPrefix) ? value : undefined
  })
}
