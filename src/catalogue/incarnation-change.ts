/**
 * How one incarnation follows another under a name that stays in use: in two writes, because what the old one can
 * have issued is known only once nobody can go on with it.
 *
 * Invariants
 *  1. The first write leaves the record `altering`, with the incarnation of the next life: from then on counters that
 *     were sealed refuse the old one, and snowflakes that look at the record use no more time of it.
 *  2. The floor of the next life is reckoned after that, and stands in the second write.
 *  3. Between the two, where ids were in order per node and become strict, lies the time in which every node that
 *     reaches the engine hears of the first and stops: no such node issues an id of the old life after one of the next.
 *  4. Whether the next life finds room is reckoned by the time at which the first write was made, or later: which node
 *     completes the succession, and where its clock stands, decides nothing.
 *  5. A process that reads an `altering` record completes it first, so that a crash between the two writes
 *     delays no other process; of those that complete it, exactly one succeeds.
 */
import { type Clock, sleep, stayAlive } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Engine } from '../engine/engine.ts'
import { isStrict } from '../issuing/issuer.ts'
import type { Definition } from './definition.ts'
import { floorAfter } from './incarnation.ts'
import { newKey } from './permutation-key.ts'
import {
  counterAfter,
  counterOf,
  generatorKey,
  type ReadGenerator,
  type StoredGenerator,
  writeDefinition,
  writeStored,
} from './stored.ts'

/** How many new leaders in a row a seal follows. */
const sealTries = 10

/** The record that begins the succession of `before` by `next`. */
export function altering(before: StoredGenerator, next: Definition, begunUs: number): StoredGenerator {
  return { ...before, state: 'altering', incarnation: before.incarnation + 1n, next, begunUs }
}

/** What the succession of one life by another takes from its process. */
export type IncarnationChangeDeps = {
  readonly engine: Engine
  readonly clock: Clock
  readonly timeline: Timeline
}

/** Completes what `altering` began. Undefined: another process was faster. */
export async function completed(
  deps: IncarnationChangeDeps,
  name: string,
  { record, stored, advances }: ReadGenerator,
): Promise<ReadGenerator | undefined> {
  const { engine, timeline } = deps
  await seal(engine, name, stored)
  await othersToHear(deps, stored.definition, stored.next!)
  const after = await successor(engine, name, stored, timeline.nowUs())
  const written = await engine.write(generatorKey(name), writeStored(after), record!.version)
  return written && { record: written, stored: after, advances }
}

/**
 * Resolves once every node that reaches the engine has heard that a life is over, where the next must not issue before:
 * nodes have ids in hand that lie below it, and go on with them until they hear.
 */
export async function othersToHear(
  { engine, clock }: IncarnationChangeDeps,
  old: Definition,
  next: Definition,
): Promise<void> {
  if (isStrict(old.kind) || !isStrict(next.kind) || engine.newsMs === 0) return
  const alive = stayAlive()
  await sleep(clock, engine.newsMs)
  alive.cancel()
}

async function successor(
  engine: Engine,
  name: string,
  stored: StoredGenerator,
  nowUs: number,
): Promise<StoredGenerator> {
  const { next, begunUs = nowUs, ...old } = stored
  const definition = next!
  try {
    const floor = await floorAfter(engine, name, stored, definition, Math.max(nowUs, begunUs))
    const { incarnation } = old
    const counter = counterAfter(name, old, definition, incarnation)
    return { state: 'live', incarnation, counter, floor, definition, key: newKey(definition) }
  } catch (error) {
    if (!hasCode(error, 'ERR')) throw error
    // What was issued in the last moment leaves no room for it: the old life goes on where it was, in another.
    return { ...old, state: 'live' }
  }
}

/** Throws ERR when `after`, which came of `begun`, is what there was before. */
export function refuseReverted(name: string, begun: StoredGenerator, after: StoredGenerator): void {
  if (after.incarnation !== begun.incarnation) return
  if (writeDefinition(after.definition) !== writeDefinition(begun.definition)) return
  throw new FahaoError(
    'ERR',
    `what was issued under '${name}' in this very moment leaves no room for the change; use another name`,
  )
}

/**
 * Makes the counter refuse earlier incarnations at once, rather than at the next reserve, and raises its bound to
 * `floor`. In the name of whoever led it last, if somebody did: this opens nothing, so it takes nothing from a leader.
 */
export async function seal(engine: Engine, name: string, stored: StoredGenerator, floor = 0n): Promise<void> {
  if (stored.definition.kind === 'snowflake') return
  const { incarnation } = stored
  const counter = counterOf(name, stored)
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
