/**
 * The repair of all records in a store that has lost writes, for every way to recover: `failover-gap`, `fahao advance` and
 * `fahao restore`. Each record type has a file of its own beside this one.
 */

import { repairAll } from '../engine/advance-rules.ts'
import type { Repair } from '../engine/engine.ts'
import { repairGenerators } from './repair-generators.ts'
import { repairPools } from './repair-pools.ts'
import { repairShards } from './repair-shards.ts'
import { repairWorkers } from './repair-workers.ts'

/**
 * The repair for an advance by `gap` ids. `nowUs`: Unix µs; `leadUs`: the lead of this installation's nodes, where known;
 * `shards`: how many shards its cluster has, where known.
 */
export function repairsOf(nowUs: number, gap: bigint, leadUs: number, shards = 0): Repair {
  return repairAll(
    repairGenerators(nowUs, gap),
    repairWorkers(nowUs, leadUs),
    repairPools(nowUs),
    repairShards(shards),
  )
}
