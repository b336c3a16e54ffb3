/**
 * The recovery of a node whose engine has lost acknowledged writes: a failover to a lagging replica, a restored backup, an
 * older copy in the store's place.
 *
 * The engine notices the loss, because the store's position lies behind the one that the process has seen
 * (engine/regression.ts, and the history of each engine), and reports it to this class. The repair is `Engine.advance` with
 * the records' repairs (repairs.ts). `fahao restore` puts a backup in place and repairs it in one step, without this class.
 *
 * Invariants
 *  1. One recovery runs at a time, however often the loss is reported meanwhile.
 *  2. This node raises bounds only by the configured gap, and only while the engine rejects writes with REGRESSED.
 *  3. The node confirms its worker id before every other step, and reloads its records last, whichever node raised the
 *     bounds.
 *  4. After `close` no step starts.
 *  5. After an advance the node uses no record that it read before, also where it had not noticed the loss itself.
 *  6. Nodes raise bounds at most twice within ten minutes. At the third loss, servers that take turns behind one URL are
 *     likelier than failovers, and raising would not end: the bounds are left to the operator. So are they where the
 *     engine rejects an advance without an operator.
 */

import { type Clock, type Random, sleep } from '../base/clock.ts'
import { describe, hasCode } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'

/** The steps of a recovery. After a rejection the recovery starts again. */
export type RecoverySteps = {
  /** Whether the engine still rejects writes with REGRESSED. */
  readonly isRegressed: () => Promise<boolean>
  /** Stops using the worker id unless the store still records this node's claim. */
  readonly confirmWorker: () => Promise<void>
  /** See `Engine.advance`. */
  readonly advance: (gap: bigint) => Promise<number>
  /** Reads every record again. */
  readonly reload: () => Promise<void>
}

/** What a recovery needs from its node. */
export type RecoveryOptions = {
  readonly clock: Clock
  readonly random: Random
  /** By how much this node raises bounds; 0: not at all. */
  readonly gap: bigint
  readonly onEvent: (event: LogEvent) => void
}

const pauseMinMs = 250
const pauseMaxMs = 5000
const quietUs = 60_000_000
/**
 * How many raises of this node within `raisesWithinUs` are allowed: a dump that is restored table by table is noticed
 * as two losses.
 */
const raisesMax = 2
/** The time over which raises are counted against `raisesMax`. */
const raisesWithinUs = 600_000_000

/** The recoveries of a node, one at a time. */
export class Recovery {
  /** How many losses have been reported. */
  count = 0
  readonly #options: RecoveryOptions
  #steps: RecoverySteps | undefined
  #pauseMs = pauseMinMs
  /** Why nothing is reserved, from the report of a loss until the end of the recovery. */
  #trouble: string | undefined
  /** The engine's reason for the latest loss. */
  #reason = ''
  /** When bounds were last raised, by this node or, before it could, by another. */
  #raises: number[] = []
  /** Whether a loss was reported for which no raise has been counted. */
  #uncounted = false
  /** Whether the operator has to raise the bounds of the present loss. */
  #leftToOperator = false
  /** Whether bounds were raised since the records were last read. */
  #stale = false
  #recoveredUs = Number.NEGATIVE_INFINITY
  #recovering: Promise<void> | undefined
  #closed = false

  constructor(options: RecoveryOptions) {
    this.#options = options
  }

  /** Starts recoveries, also of a loss that was reported earlier. */
  start(steps: RecoverySteps): void {
    this.#steps = steps
    this.#recover()
  }

  /** The engine reports a loss; `reason` in one line. */
  reportLoss(reason: string): void {
    if (this.#closed || this.#trouble !== undefined) return
    const { clock, gap } = this.#options
    const next =
      gap > 0n
        ? `until then buffered ids are issued, and failover-gap raises every bound by ${gap}`
        : 'until then buffered ids are issued; run `fahao advance --by N` on one node that ran before this, with more ids than any generator can have reserved in what is lost'
    this.#reason = reason
    this.#uncounted = true
    this.#trouble = `the engine has forgotten writes: ${reason}; ${next}`
    this.count++
    // If the gap is too small, the next loss is found soon. The pause grows, and is reset only after a quiet time.
    if (clock.monoUs() - this.#recoveredUs > quietUs) this.#pauseMs = pauseMinMs
    this.#log('error', this.#trouble)
    this.#recover()
  }

  /** The engine reports an advance by another process. */
  reportAdvance(): void {
    if (this.#closed) return
    this.#stale = true
    this.#recover()
  }

  /** Why nothing is reserved now, and what ends that; undefined while the engine reserves. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** Starts no further step. */
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
    let logged: string | undefined
    for (let confirmed = false; !this.#closed; ) {
      const wasNoticed = this.#trouble !== undefined
      try {
        if (!confirmed) await steps.confirmWorker()
        confirmed = true
        if (!wasNoticed || (await this.#raised(steps))) {
          // Counted once per loss, whichever node raised them, and not per attempt.
          if (wasNoticed && this.#uncounted) {
            this.#uncounted = false
            this.#raises = [...this.#raises, this.#options.clock.monoUs()].slice(-raisesMax)
          }
          this.#stale = false
          await steps.reload()
          if (wasNoticed || this.#trouble === undefined) break
          // A loss was reported meanwhile.
          confirmed = false
        }
      } catch (error) {
        const reason = describe(error)
        if (reason !== logged) this.#log('warn', `not recovered yet, trying again: ${reason}`)
        logged = reason
      }
      await this.#pause()
    }
    const noticed = this.#trouble !== undefined
    this.#trouble = undefined
    this.#leftToOperator = false
    this.#recoveredUs = this.#options.clock.monoUs()
    if (this.#closed) return
    const next = noticed ? 'this node reserves again' : 'this node has read its records anew'
    this.#log('warn', `every bound has been raised: ${next}`)
  }

  /** Whether bounds have been raised for this loss, by this node if it may. */
  async #raised({ isRegressed, advance }: RecoverySteps): Promise<boolean> {
    const { gap } = this.#options
    // Many nodes notice at the same moment: after the pause, most find the bounds raised.
    if (gap > 0n) await this.#pause()
    if (!(await isRegressed())) return true
    this.#uncounted = true
    if (gap === 0n || this.#closed || !this.#mayRaise()) return false
    const counters = await this.#unlessRefused(advance(gap))
    if (counters === undefined) return false
    // 0: another node was faster.
    if (counters > 0) this.#log('warn', `raised ${counters} counters by failover-gap ${gap}`)
    return !(await isRegressed())
  }

  /** Whether invariant 6 permits this node to raise bounds. */
  #mayRaise(): boolean {
    if (this.#leftToOperator) return false
    const [first = Number.NEGATIVE_INFINITY] = this.#raises.length < raisesMax ? [] : this.#raises
    if (this.#options.clock.monoUs() - first > raisesWithinUs) return true
    this.#leaveToOperator(
      `failover-gap has raised every bound ${raisesMax} times within ten minutes and stops: this is no failover; look whether several servers take turns behind the engine's URL, leave one of them, and run \`fahao advance --by N\` on one node that ran before this`,
    )
    return false
  }

  /** How many counters were raised; undefined where the engine demands an operator. */
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
    this.#leftToOperator = true
    this.#trouble = `the engine has forgotten writes: ${this.#reason}; ${why}`
    this.#log('error', this.#trouble)
  }

  async #pause(): Promise<void> {
    const { clock, random } = this.#options
    await sleep(clock, this.#pauseMs * (0.5 + random() / 2))
    this.#pauseMs = Math.min(pauseMaxMs, this.#pauseMs * 2)
  }

  #log(level: LogEvent['level'], message: string): void {
    this.#options.onEvent({ level, message })
  }
}
