/** The health of a node, computed from its buffered ids and the state of its engine. */
import type { Clock } from '../base/clock.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Engine } from '../engine/engine.ts'
import type { Membership } from './membership.ts'

/** Whether a node can issue ids. */
export type Health = {
  /**
   * `ok`: the engine is up, and in a cluster every shard has a leader. `degraded`: one of these does not hold, or the
   * engine has forgotten writes, and the node issues buffered ids. `down`: the node issues no ids.
   */
  readonly state: 'ok' | 'degraded' | 'down' | 'stopping'
  /** Why the state is not `ok`, in one line. */
  readonly reason: string | undefined
  /** How long buffered ids last, in seconds: the least over the generators in use; undefined when none is in use. */
  readonly inHandSeconds: number | undefined
}

/** The inputs of the health. */
export type HealthSource = {
  readonly engine: Engine
  readonly catalogue: Catalogue
  readonly stopping: boolean
  /** Why nothing is reserved, although the engine may answer. */
  readonly trouble: string | undefined
  readonly membership?: Pick<Membership, 'joined' | 'trouble'> | undefined
  /** See `Health`; default: computed now. */
  readonly inHand?: InHand | undefined
}

/** How old a figure of all generators may be: a probe needs no login, and must not read them all each time. */
const freshUs = 1_000_000
/** How old the news that no buffer has ids may be: a node that issues again must not count as down. */
const freshDownUs = 100_000

/** What the buffers of all generators have, computed once a second at most, and ten times where they have none. */
export class InHand {
  readonly #catalogue: Catalogue
  readonly #clock: Pick<Clock, 'monoUs'>
  #seconds: number | undefined
  #hasIds = false
  #secondsUntilUs = Number.NEGATIVE_INFINITY
  #hasIdsUntilUs = Number.NEGATIVE_INFINITY

  constructor(catalogue: Catalogue, clock: Pick<Clock, 'monoUs'>) {
    this.#catalogue = catalogue
    this.#clock = clock
  }

  /** As `Health.inHandSeconds`. */
  get seconds(): number | undefined {
    const nowUs = this.#clock.monoUs()
    if (nowUs < this.#secondsUntilUs) return this.#seconds
    this.#seconds = shortestSeconds(this.#catalogue)
    this.#secondsUntilUs = nowUs + freshUs
    return this.#seconds
  }

  /** Whether a generator has ids in its buffer. */
  get hasIds(): boolean {
    const nowUs = this.#clock.monoUs()
    if (nowUs < this.#hasIdsUntilUs) return this.#hasIds
    this.#hasIds = hasBuffered(this.#catalogue)
    this.#hasIdsUntilUs = nowUs + (this.#hasIds ? freshUs : freshDownUs)
    return this.#hasIds
  }
}

/** The health of a node. Sends no request: cheap enough for a probe every second. */
export function healthOf({ engine, catalogue, stopping, trouble, membership, inHand }: HealthSource): Health {
  const inHandSeconds = inHand === undefined ? shortestSeconds(catalogue) : inHand.seconds
  if (stopping) return { state: 'stopping', reason: 'this node is stopping', inHandSeconds }
  const { state, reason = 'the engine is down' } = engine.status()
  if (state === 'up' && trouble === undefined) {
    const led = membership?.trouble
    if (led === undefined) return { state: 'ok', reason: undefined, inHandSeconds }
    // Per-node kinds need no leader.
    return { state: membership!.joined ? 'degraded' : 'down', reason: led, inHandSeconds }
  }
  // Without the engine the node issues only what is buffered.
  const hasIds = inHand === undefined ? hasBuffered(catalogue) : inHand.hasIds
  return { state: hasIds ? 'degraded' : 'down', reason: trouble ?? reason, inHandSeconds }
}

function hasBuffered(catalogue: Catalogue): boolean {
  for (const generator of catalogue.inUse()) if (generator.stats().inHand > 0) return true
  return false
}

/** How long the ids of the generator that runs dry first last, in seconds; undefined when none is in use. */
function shortestSeconds(catalogue: Catalogue): number | undefined {
  let shortest: number | undefined
  for (const generator of catalogue.inUse()) {
    // Group commit never buffers ids, so its generators would always count as dry.
    if (generator.mode === 'group commit') continue
    const { inHandSeconds, ratePerSecond, waiting } = generator.stats()
    if (ratePerSecond === 0 && waiting === 0) continue
    if (shortest === undefined || inHandSeconds < shortest) shortest = inHandSeconds
  }
  return shortest
}
