/** What people wish: that a certain node lead a shard. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { nodeKey, type PinnedLeader, pinKey, readNode, readPin } from './records.ts'
import type { View } from './view.ts'

const tries = 10

/** Throws ERR where a wish cannot be carried out. */
export function refusePin(view: View, shards: number, shard: number, to: string | undefined): void {
  if (!(shard >= 0 && shard < shards))
    throw new FahaoError('ERR', `there is no shard ${shard}; the last one is ${shards - 1}`)
  if (to === undefined) return
  if (!view.isAlive(to))
    throw new FahaoError('ERR', `there is no living node ${to}; look at the cluster's status`)
  if (view.node(to)!.value.draining) throw new FahaoError('ERR', `node ${to} is draining; end that first`)
}

/**
 * Records that `to` shall lead the shard, or, undefined, that the assignment decides again. Rejects with CONFLICT when
 * others keep wishing otherwise, and as the engine does.
 */
export async function pin(engine: Engine, shard: number, to: string | undefined): Promise<void> {
  const key = pinKey(shard)
  for (let each = 0; each < tries; each++) {
    const stored = await engine.read(key)
    if ((stored && readPin(stored).value.to) === to) return
    await attempt(engine, key, to, stored?.version)
  }
  throw new FahaoError(
    'CONFLICT',
    `others changed the wish for shard ${shard} ${tries} times in a row; retry`,
  )
}

/**
 * Takes away the wishes for nodes that are dead or gone: no node comes back under its id. What does not work now is
 * tried again after the next look at the records.
 */
export async function removePinsToDeadNodes(engine: Engine, view: View): Promise<void> {
  const vain = [...view.wishes()].filter(({ value }) => !view.isAlive(value.to))
  const removals = vain.map(async ({ key, version, value }) => {
    if (await isGone(engine, value)) await engine.remove(key, version)
  })
  await Promise.allSettled(removals)
}

/** A node writes its record before anybody can wish for it: one that is not there is gone. */
async function isGone(engine: Engine, { to }: PinnedLeader): Promise<boolean> {
  const stored = await engine.read(nodeKey(to))
  return stored === undefined || readNode(stored).value.deadBy !== undefined
}

/** Writes once. The read that follows tells what became of it. */
async function attempt(
  engine: Engine,
  key: string,
  to: string | undefined,
  version: bigint | undefined,
): Promise<void> {
  try {
    if (to !== undefined) await engine.write(key, JSON.stringify({ to } satisfies PinnedLeader), version)
    else if (version !== undefined) await engine.remove(key, version)
  } catch (error) {
    if (!hasCode(error, 'UNKNOWN')) throw error
  }
}
