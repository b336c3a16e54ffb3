/**
 * Generators that leave memory: those that nothing has been asked of for `idleAfterMs`, and those with an adaptive step that
 * hold much more than is used now, because they were used more before. Each gives back what it holds, as at a stop, and the
 * next request opens it again.
 *
 * All open generators are looked at twice in `idleAfterMs`, so one leaves after one to one and a half times as long.
 *
 * Invariants
 *  1. A generator is closed when nothing was asked of it. A caller that comes while it is being closed gets its ids from the
 *     one that is opened next.
 *  2. None is closed while the engine does not answer: the next request would find nothing to open.
 *  3. At most `closingsMax` close at once, so that a look at a million generators delays no other request of the engine.
 *  4. A generator with a step of its own, or of the clock, holds ids for times without requests as well: it stays as
 *     long as no more than `keptMax` generators are open. A row of another system's table always stays: ids cannot be given
 *     back to it.
 */
import type { Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { nextTurn } from '../engine/next-turn.ts'
import type { CatalogueDeps } from './deps.ts'
import type { NameTable } from './name-table.ts'
import type { OpenGenerator } from './open-generator.ts'
import type { RestingGenerators } from './resting-generators.ts'
import { rowVersion } from './stored-generator.ts'

const keptMax = 10_000
const closingsMax = 64
/** How many generators are looked at before others run: about a millisecond. */
const lookedAtTogether = 1000

type IdleDeps = Pick<CatalogueDeps, 'clock' | 'engine' | 'idleAfterMs'>

/** What has the open generators. */
export type HasOpen = {
  readonly names: Pick<NameTable<OpenGenerator>, 'awakeAt' | 'ownAt'> & { entries(): Iterable<number> }
  readonly resting: Pick<RestingGenerators, 'isIdle' | 'keepsIds'>
  /** Closes a generator if it is this one that is open under the name. */
  close(name: string, reason: Error, only: OpenGenerator): Promise<void>
}

/** Closes idle generators. */
export class IdleGenerators {
  readonly #deps: Pick<IdleDeps, 'clock' | 'engine'>
  readonly #idleAfterMs: number
  readonly #inUse: HasOpen
  #timer: Timer | undefined
  #stopped = false
  /** How many generators were open at the last look, without names of families. */
  #count = 0

  private constructor(deps: IdleDeps, idleAfterMs: number, inUse: HasOpen) {
    this.#deps = deps
    this.#idleAfterMs = idleAfterMs
    this.#inUse = inUse
    this.#lookLater()
  }

  /** Begins to look, unless no generator is to leave. */
  static start(deps: IdleDeps, inUse: HasOpen): IdleGenerators | undefined {
    const { idleAfterMs } = deps
    return idleAfterMs === undefined ? undefined : new IdleGenerators(deps, idleAfterMs, inUse)
  }

  /** Looks no more, and begins to close no generator. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  #lookLater(): void {
    this.#timer = this.#deps.clock.timer(Math.ceil(this.#idleAfterMs / 2), () => void this.#look())
  }

  async #look(): Promise<void> {
    const idle: number[] = []
    let [looked, count] = [0, 0]
    for (const entry of this.#inUse.names.entries()) {
      if (++looked % lookedAtTogether === 0) await nextTurn()
      // Names of families leave as their sections say.
      if (this.#inUse.names.awakeAt(entry)?.definition.family) continue
      count++
      if (this.#isIdle(entry)) idle.push(entry)
    }
    this.#count = count
    await Promise.all(Array.from({ length: closingsMax }, () => this.#closeAll(idle)))
    if (!this.#stopped) this.#lookLater()
  }

  async #closeAll(idle: number[]): Promise<void> {
    for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
      if (this.#stopped || this.#deps.engine.status().state !== 'up') return
      // One at rest that may not leave is not woken.
      if (this.#count <= keptMax && this.#inUse.resting.keepsIds(entry)) continue
      // It may have been used since it was looked at.
      const next = this.#isIdle(entry) ? this.#inUse.names.ownAt(entry) : undefined
      if (next !== undefined && (next.holdsSpare || this.#mayLeave(next)))
        await this.#inUse.close(next.name, hasLeft(next.name), next)
    }
  }

  /** Whether a generator was not used for long, or holds much more than is used. */
  #isIdle(entry: number): boolean {
    const { names, resting } = this.#inUse
    const nowUs = this.#deps.clock.monoUs()
    const idleAfterUs = this.#idleAfterMs * 1000
    const awake = names.awakeAt(entry)
    if (awake === undefined) return resting.isIdle(entry, idleAfterUs)
    awake.noteUse(nowUs)
    return awake.holdsSpare || nowUs - awake.usedUs >= idleAfterUs
  }

  #mayLeave(generator: OpenGenerator): boolean {
    if (generator.version === rowVersion) return false
    return !generator.keepsIds || this.#count > keptMax
  }
}

function hasLeft(name: string): FahaoError {
  return new FahaoError('STALE', `generator '${name}' has just left memory; retry`)
}
