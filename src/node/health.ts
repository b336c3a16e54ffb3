/** Whether a node can do its work, told from what it holds and how its engine does. */
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Engine } from '../engine/engine.ts'
import type { Health } from './node.ts'

/**
 * The health of a node. Asks nobody: cheap enough for a probe every second.
 * @param trouble why nothing is reserved though the engine may answer.
 */
export function healthOf(
  engine: Engine,
  catalogue: Catalogue,
  stopping: boolean,
  trouble: string | undefined,
): Health {
  const inHandSeconds = shortestSeconds(catalogue)
  if (stopping) return { state: 'stopping', reason: 'this node is stopping', inHandSeconds }
  const { state, reason = 'the engine is down' } = engine.status()
  if (state === 'up' && trouble === undefined) return { state: 'ok', reason: undefined, inHandSeconds }
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
    const { inHandSeconds, ratePerSecond, waiting } = generator.stats()
    if (ratePerSecond === 0 && waiting === 0) continue
    if (shortest === undefined || inHandSeconds < shortest) shortest = inHandSeconds
  }
  return shortest
}
