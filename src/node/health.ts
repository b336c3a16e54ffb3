/** Whether a node can do its work, told from what it holds and how its engine does. */
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Engine } from '../engine/engine.ts'
import type { Membership } from './membership.ts'

/** Whether this node can do its work. */
export type Health = {
  /**
   * `ok`: the engine is up, and in a cluster every shard is led. `degraded`: that is not so, or the engine has
   * forgotten writes, and ids go on from what is in hand. `down`: new ids will not come.
   */
  readonly state: 'ok' | 'degraded' | 'down' | 'stopping'
  /** One line on why it is not ok. */
  readonly reason: string | undefined
  /** The shortest time that ids in hand would last over the generators in use, in seconds; undefined when idle. */
  readonly inHandSeconds: number | undefined
}

/** What health is told from. */
export type HealthSource = {
  readonly engine: Engine
  readonly catalogue: Catalogue
  readonly stopping: boolean
  /** Why nothing is reserved though the engine may answer. */
  readonly trouble: string | undefined
  readonly membership?: Pick<Membership, 'joined' | 'trouble'> | undefined
}

/** The health of a node. Asks nobody: cheap enough for a probe every second. */
export function healthOf({ engine, catalogue, stopping, trouble, membership }: HealthSource): Health {
  const inHandSeconds = shortestSeconds(catalogue)
  if (stopping) return { state: 'stopping', reason: 'this node is stopping', inHandSeconds }
  const { state, reason = 'the engine is down' } = engine.status()
  if (state === 'up' && trouble === undefined) {
    const led = membership?.trouble
    if (led === undefined) return { state: 'ok', reason: undefined, inHandSeconds }
    // Kinds in order per node go on, whoever leads.
    return { state: membership!.joined ? 'degraded' : 'down', reason: led, inHandSeconds }
  }
  // Without the engine ids go on while they last, and where nothing is in hand nothing will come.
  const goesOn = [...catalogue.inUse()].some((generator) => generator.stats().inHand > 0)
  return { state: goesOn ? 'degraded' : 'down', reason: trouble ?? reason, inHandSeconds }
}

/**
 * For how long the ids of the generator that runs dry first would last, of those that are being used now;
 * undefined when none is.
 */
function shortestSeconds(catalogue: Catalogue): number | undefined {
  let shortest: number | undefined
  for (const generator of catalogue.inUse()) {
    // It never has anything in hand, so it says nothing about how long what is in hand lasts.
    if (generator.mode === 'group commit') continue
    const { inHandSeconds, ratePerSecond, waiting } = generator.stats()
    if (ratePerSecond === 0 && waiting === 0) continue
    if (shortest === undefined || inHandSeconds < shortest) shortest = inHandSeconds
  }
  return shortest
}
