/** What becomes of all that is recorded when the engine has forgotten writes: one answer for every way back. */
import { repairGenerators } from '../catalogue/repair-generators.ts'
import { repairShards } from '../cluster/repair-shards.ts'
import { repairAll } from '../engine/advance.ts'
import type { Repair } from '../engine/engine.ts'
import { repairWorkers } from '../issuing/repair-workers.ts'

/**
 * The mend that goes with an advance by `gap` ids. `nowUs`: Unix µs; `leadUs`: the lead of this installation's nodes, as
 * far as it is known.
 */
export function repairsOf(nowUs: number, gap: bigint, leadUs: number): Repair {
  return repairAll(repairGenerators(nowUs, gap), repairWorkers(nowUs, leadUs), repairShards())
}
