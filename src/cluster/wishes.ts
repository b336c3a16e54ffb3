/** What people wish: that a certain node lead a shard. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { readWish, type Wish, wishKey } from './records.ts'

const tries = 10

/**
 * Records that `to` shall lead the shard, or, undefined, that the assignment decides again. Rejects with CONFLICT when
 * others keep wishing otherwise, and as the engine does.
 */
export async function wish(engine: Engine, shard: number, to: string | undefined): Promise<void> {
  const key = wishKey(shard)
  for (let each = 0; each < tries; each++) {
    const stored = await engine.read(key)
    if ((stored && readWish(stored).value.to) === to) return
    await attempt(engine, key, to, stored?.version)
  }
  throw new FahaoError(
    'CONFLICT',
    `others changed the wish for shard ${shard} ${tries} times in a row; retry`,
  )
}

/** Writes once. The read that follows tells what became of it. */
async function attempt(
  engine: Engine,
  key: string,
  to: string | undefined,
  version: bigint | undefined,
): Promise<void> {
  try {
    if (to !== undefined) await engine.write(key, JSON.stringify({ to } satisfies Wish), version)
    else if (version !== undefined) await engine.remove(key, version)
  } catch (error) {
    if (!hasCode(error, 'UNKNOWN')) throw error
  }
}
