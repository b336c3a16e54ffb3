/** Whether a node can do its work, told from what it holds and how its engine does. */
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Engine } from '../engine/engine.ts'
import type { Health } from './node.ts'

/** The health of a node. Asks nobody: cheap enough for a probe every second. */
export function healthOf(engine: Engine, catalogue: Catalogue, stopping: boolean): Health {
  const inHandSeconds = shortestSeconds(catalogue)
  if (stopping) return { state: 'stopping', reason: 'this node is stopping', inHandSeconds }
  const { state, reason } = engine.status()
  if (state === 'up') return { state: 'ok', reason: undefined, inHandSeconds }
  // Without the engine ids go on while they last, and where nothing is in hand nothing will come.
  const goesOn = inHandSeconds !== undefined && inHandSeconds > 0
  return { state: goesOn ? 'degraded' : 'down', reason: reason ?? 'the engine is down', inHandSeconds }
}

/** For how long the first generator to run dry would last; undefined when none is being used. */
function shortestSeconds(catalogue: Catalogue): number | undefined {
  let shortest: number | undefined
  for (const generator of catalogue.inUse()) {
    const { inHandSeconds, inHand } = generator.stats()
    const seconds = inHand === 0 ? 0 : inHandSeconds
    if (Number.isFinite(seconds) && (shortest === undefined || seconds < shortest)) shortest = seconds
  }
  return shortest
}
