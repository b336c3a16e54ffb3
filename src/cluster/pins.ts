/** Pins: the decision of an operator that a certain node shall lead a shard. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { type PinnedLeader, pinKey, readPin } from './records.ts'
import type { View } from './view.ts'

const tries = 10

/** Throws ERR where a pin cannot be carried out. */
export function refusePin(view: View, shards: number, shard: number, to: string | undefined): void {
  if (!(shard >= 0 && shard < shards))
    throw new FahaoError('ERR', `there is no shard ${shard}; the last one is ${shards - 1}`)
  if (to === undefined) return
  if (view.living(to) === undefined)
    throw new FahaoError('ERR', `there is no living node ${to}; look at the cluster's status`)
  if (view.living(to)!.draining) throw new FahaoError('ERR', `node ${to} is draining; end that first`)
}

/**
 * Records that `to` shall lead the shard, or, undefined, that the assignment decides again. Rejects with CONFLICT when
 * other nodes keep changing the pin, and as the engine does.
 */
export async function pin(engine: Engine, shard: number, to: string | undefined): Promise<void> {
  const key = pinKey(shard)
  for (let each = 0; each < tries; each++) {
    const stored = await engine.read(key)
    if ((stored && readPin(stored).value.to) === to) return
    const value = JSON.stringify({ to } satisfies Partial<PinnedLeader>)
    const change: Promise<unknown> =
      to === undefined ? engine.remove(key, stored!.version) : engine.write(key, value, stored?.version)
    // The read that follows shows what became of it.
    await change.catch((error: unknown) => {
      if (!hasCode(error, 'UNKNOWN')) throw error
    })
  }
  throw new FahaoError(
    'CONFLICT',
    `the pin of shard ${shard} was changed elsewhere ${tries} times in a row; retry`,
  )
}
