/** What becomes of all that is recorded when the engine has forgotten writes: one answer for every way back. */
import { mendGenerators } from '../catalogue/mend-generators.ts'
import { mendShards } from '../cluster/mend-shards.ts'
import { mendAll } from '../engine/advance.ts'
import type { Mend } from '../engine/engine.ts'
import { mendWorkers } from '../issuing/mend-workers.ts'

/**
 * The mend that goes with an advance by `gap` ids. `nowUs`: Unix µs; `leadUs`: the lead of this installation's nodes, as
 * far as it is known.
 */
export function mendsOf(nowUs: number, gap: bigint, leadUs: number): Mend {
  return mendAll(mendGenerators(nowUs, gap), mendWorkers(nowUs, leadUs), mendShards())
}
