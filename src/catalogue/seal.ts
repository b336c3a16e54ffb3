/** How counters refuse what an incarnation before still reserves of them. */
import { hasCode } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { countersOf } from './period-bounds.ts'
import type { StoredGenerator } from './stored-generator.ts'

/** The most new leaders in a row for which a seal is repeated. */
const sealTries = 10

/**
 * Makes the counters refuse earlier incarnations at once, rather than at the next reserve, and raises its bound to
 * `floor`. Sends the fence that the counter has, if any: a reserve of size 0 takes no range from a leader.
 */
export async function seal(engine: Engine, name: string, stored: StoredGenerator, floor = 0n): Promise<void> {
  if (stored.definition.kind === 'snowflake') return
  // The mark of periods first: no process begins another one then.
  const [own, ...others] = countersOf(name, stored)
  await sealCounter(engine, own!, stored, floor)
  await Promise.all(others.map((counter) => sealCounter(engine, counter, stored, 0n)))
}

async function sealCounter(
  engine: Engine,
  counter: string,
  { incarnation }: StoredGenerator,
  floor: bigint,
): Promise<void> {
  const request = { size: 0n, floor, incarnation }
  let fence = 0n
  for (let tries = 0; ; tries++) {
    try {
      await engine.reserve(counter, fence === 0n ? request : { ...request, fence })
      return
    } catch (error) {
      if (!hasCode(error, 'STALE') || tries === sealTries) throw error
      const seen = await engine.counter(counter)
      if (seen.fence === fence || seen.incarnation > incarnation) throw error
      fence = seen.fence
    }
  }
}
