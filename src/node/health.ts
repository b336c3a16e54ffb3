/** The health of a node, computed from its buffered ids and the state of its engine. */
import type { Clock } from '../base/clock.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { isBatched } from '../catalogue/issuing-right.ts'
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
  readonly inHand?: BufferedIds | undefined
}

/** How long what was read of all buffers is kept at least. A node that issues again must not count as down for long. */
const keptMinUs = 100_000
/** And as a multiple of the time that the reading took: a probe needs no login, and must not read them all each time. */
const keptTimes = 20

/** What the buffers of all generators have. */
type Buffered = {
  /** As `Health.inHandSeconds`. */
  readonly seconds: number | undefined
  /** Whether a generator has ids in its buffer. */
  readonly hasIds: boolean
}

/** What the buffers of all generators have, read ten times a second at most, and in a twentieth of the time. */
export class BufferedIds {
  readonly #catalogue: Catalogue
  readonly #clock: Pick<Clock, 'monoUs'>
  #buffered: Buffered = { seconds: undefined, hasIds: false }
  #untilUs = Number.NEGATIVE_INFINITY

  constructor(catalogue: Catalogue, clock: Pick<Clock, 'monoUs'>) {
    this.#catalogue = catalogue
    this.#clock = clock
  }

  read(): Buffered {
    const nowUs = this.#clock.monoUs()
    if (nowUs < this.#untilUs) return this.#buffered
    this.#buffered = bufferedOf(this.#catalogue)
    const readUs = this.#clock.monoUs()
    this.#untilUs = readUs + Math.max(keptMinUs, keptTimes * (readUs - nowUs))
    return this.#buffered
  }
}

/** The health of a node. Sends no request: cheap enough for a probe every second. Buffers are read only for what depends on them. */
export function healthOf(source: HealthSource): Health {
  const { catalogue, inHand } = source
  const buffered = () => (inHand === undefined ? bufferedOf(catalogue) : inHand.read())
  return {
    ...stateOf(source, () => buffered().hasIds),
    get inHandSeconds() {
      return buffered().seconds
    },
  }
}

function stateOf(
  { engine, stopping, trouble, membership }: HealthSource,
  hasIds: () => boolean,
): Pick<Health, 'state' | 'reason'> {
  if (stopping) return { state: 'stopping', reason: 'this node is stopping' }
  const { state, reason = 'the engine is down' } = engine.status()
  if (state === 'up' && trouble === undefined) {
    const led = membership?.trouble
    if (led === undefined) return { state: 'ok', reason: undefined }
    // Per-node kinds need no leader.
    return { state: membership!.joined ? 'degraded' : 'down', reason: led }
  }
  // Without the engine the node issues only what is buffered.
  return { state: hasIds() ? 'degraded' : 'down', reason: trouble ?? reason }
}

function bufferedOf(catalogue: Catalogue): Buffered {
  let seconds: number | undefined
  let hasIds = false
  for (const generator of catalogue.inUse()) {
    const { inHand, inHandSeconds, ratePerSecond, waiting } = generator.stats()
    hasIds ||= inHand > 0
    // Batches are never buffered, so their generators would always count as dry.
    const isAsked = !isBatched(generator.mode, generator.definition) && (ratePerSecond > 0 || waiting > 0)
    if (isAsked && (seconds === undefined || inHandSeconds < seconds)) seconds = inHandSeconds
  }
  return { seconds, hasIds }
}
