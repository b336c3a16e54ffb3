/**
 * What a node does when its engine has forgotten acknowledged writes: a failover that lost some, an older copy that
 * was put in its place.
 *
 * Invariants
 *  1. One recovery at a time, however often the loss is noticed meanwhile.
 *  2. Bounds are raised here only by a gap that was configured, and only while the engine says that it must be.
 *  3. The worker id is looked at anew before anything else, and everything else afterwards, whoever raised the bounds.
 *  4. After `close` nothing begins.
 *  5. Nobody goes on by what was read before an advance, also where only others have noticed that it was needed.
 *  6. Bounds are raised here twice in ten minutes at most. A third loss is no failover, but servers that take turns behind
 *     one URL: to raise on would never end, so it is left to the operator until an advance by hand. So is a loss for which
 *     the engine refuses an advance without an operator.
 */

import { type Clock, type Random, sleep } from '../base/clock.ts'
import { describe, hasCode } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'

/** What a recovery is made of. Each may reject; it is tried again then. */
export type RecoverySteps = {
  /** Whether the engine still refuses writes because it has forgotten some. */
  readonly isRegressed: () => Promise<boolean>
  /** Stops using the worker id if the store has forgotten that it is this node's. */
  readonly confirmWorker: () => Promise<void>
  /** See `Engine.advance`. */
  readonly advance: (gap: bigint) => Promise<number>
  /** Reads every record anew. */
  readonly reload: () => Promise<void>
}

/** What a failover takes from its node. */
export type FailoverOptions = {
  readonly clock: Clock
  readonly random: Random
  /** By how much bounds are raised; 0: somebody else does. */
  readonly gap: bigint
  readonly onEvent: (event: LogEvent) => void
}

const pauseMinMs = 250
const pauseMaxMs = 5000
const quietUs = 60_000_000
/** Bounds are raised so often within this time. A dump that is restored table by table is noticed twice. */
const raisesMax = 2
const raisesWithinUs = 600_000_000

/** See the invariants at the top of the file. */
export class Failover {
  /** How often the engine has been found to have forgotten. */
  count = 0
  readonly #options: FailoverOptions
  #steps: RecoverySteps | undefined
  #pauseMs = pauseMinMs
  /** Why nothing is reserved, from the moment of notice until recovery. */
  #trouble: string | undefined
  /** Why the engine is said to have forgotten, while it is. */
  #reason = ''
  /** When bounds were last raised, by this node or by another one when this one was about to. */
  #raises: number[] = []
  /** A loss has been noticed for which no raise has been counted. */
  #uncounted = false
  /** It is left to the operator to raise bounds, until this trouble is over. */
  #byHand = false
  /** Bounds were raised, and since then not everything has been looked at anew. */
  #stale = false
  #recoveredUs = Number.NEGATIVE_INFINITY
  #recovering: Promise<void> | undefined
  #closed = false

  constructor(options: FailoverOptions) {
    this.#options = options
  }

  /** The node is complete: what was noticed earlier is dealt with now. */
  begin(steps: RecoverySteps): void {
    this.#steps = steps
    this.#recover()
  }

  /** The engine has been found to have forgotten; `reason` in one line. */
  noticed(reason: string): void {
    if (this.#closed || this.#trouble !== undefined) return
    const { clock, gap } = this.#options
    const next =
      gap > 0n
        ? `until then ids in hand go on, and failover-gap raises every bound by ${gap}`
        : 'until then ids in hand go on; run `fahao advance --by N` on one node that ran before this, with more ids than any generator can have reserved in what is lost'
    this.#reason = reason
    this.#uncounted = true
    this.#trouble = `the engine has forgotten writes: ${reason}; ${next}`
    this.count++
    // A gap that is too small is raised again and again; that must not become a tight loop.
    if (clock.monoUs() - this.#recoveredUs > quietUs) this.#pauseMs = pauseMinMs
    this.#tell('error', this.#trouble)
    this.#recover()
  }

  /** The engine has been found to have been advanced by another process. */
  advanced(): void {
    if (this.#closed) return
    this.#stale = true
    this.#recover()
  }

  /** Why nothing is reserved now, and what is done about it; undefined when all is well. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** Begins nothing any more. */
  close(): void {
    this.#closed = true
  }

  #recover(): void {
    const steps = this.#steps
    const isDue = this.#trouble !== undefined || this.#stale
    if (steps === undefined || !isDue || this.#recovering !== undefined || this.#closed) return
    this.#recovering = this.#run(steps).finally(() => {
      this.#recovering = undefined
      this.#recover()
    })
  }

  async #run(steps: RecoverySteps): Promise<void> {
    let said: string | undefined
    for (let confirmed = false; !this.#closed; ) {
      const wasNoticed = this.#trouble !== undefined
      try {
        if (!confirmed) await steps.confirmWorker()
        confirmed = true
        if (!wasNoticed || (await this.#raised(steps))) {
          // Whichever node raised them; an attempt that failed has raised nothing, or is found here to have succeeded.
          if (wasNoticed && this.#uncounted) this.#noteRaise()
          this.#stale = false
          await steps.reload()
          if (wasNoticed || this.#trouble === undefined) break
          // More has been forgotten meanwhile.
          confirmed = false
        }
      } catch (error) {
        const reason = describe(error)
        if (reason !== said) this.#tell('warn', `not recovered yet, trying again: ${reason}`)
        said = reason
      }
      await this.#pause()
    }
    const noticed = this.#trouble !== undefined
    this.#trouble = undefined
    this.#byHand = false
    this.#recoveredUs = this.#options.clock.monoUs()
    if (this.#closed) return
    const next = noticed ? 'this node reserves again' : 'this node has read its records anew'
    this.#tell('warn', `every bound has been raised: ${next}`)
  }

  /** Whether bounds stand where they must, after raising them if that is this node's part. */
  async #raised({ isRegressed, advance }: RecoverySteps): Promise<boolean> {
    const { gap } = this.#options
    // Many nodes notice in the same moment; most of them come too late to raise anything, which is well.
    if (gap > 0n) await this.#pause()
    if (!(await isRegressed())) return true
    this.#uncounted = true
    if (gap === 0n || this.#closed || !this.#mayRaise()) return false
    const counters = await this.#unlessRefused(advance(gap))
    if (counters === undefined) return false
    // None: another node was faster.
    if (counters > 0) this.#tell('warn', `raised ${counters} counters by failover-gap ${gap}`)
    return !(await isRegressed())
  }

  #noteRaise(): void {
    this.#uncounted = false
    this.#raises = [...this.#raises, this.#options.clock.monoUs()].slice(-raisesMax)
  }

  /** Whether bounds have not been raised too often of late. */
  #mayRaise(): boolean {
    if (this.#byHand) return false
    const [first = Number.NEGATIVE_INFINITY] = this.#raises.length < raisesMax ? [] : this.#raises
    if (this.#options.clock.monoUs() - first > raisesWithinUs) return true
    this.#leaveToOperator(
      `failover-gap has raised every bound ${raisesMax} times within ten minutes and stops: this is no failover; look whether several servers take turns behind the engine's URL, leave one of them, and run \`fahao advance --by N\` on one node that ran before this`,
    )
    return false
  }

  /** How many counters were raised; undefined where the engine refuses to be advanced by itself. */
  async #unlessRefused(advanced: Promise<number>): Promise<number | undefined> {
    try {
      return await advanced
    } catch (error) {
      if (!hasCode(error, 'REGRESSED')) throw error
      this.#leaveToOperator(
        `failover-gap does not cover this: ${describe(error)}; look whether several servers take turns behind the engine's URL, leave one of them, and run \`fahao advance --by N\` on one node that ran before this, with more ids than any generator can have reserved since`,
      )
      return undefined
    }
  }

  #leaveToOperator(why: string): void {
    this.#byHand = true
    this.#trouble = `the engine has forgotten writes: ${this.#reason}; ${why}`
    this.#tell('error', this.#trouble)
  }

  async #pause(): Promise<void> {
    const { clock, random } = this.#options
    await sleep(clock, this.#pauseMs * (0.5 + random() / 2))
    this.#pauseMs = Math.min(pauseMaxMs, this.#pauseMs * 2)
  }

  #tell(level: LogEvent['level'], message: string): void {
    this.#options.onEvent({ level, message })
  }
}
