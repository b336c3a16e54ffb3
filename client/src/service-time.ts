/**
 * The time of the service, in this process: what a node said last, and the monotonic clock since. The wall clock of this
 * machine has no part in it.
 *
 * Invariants
 *  1. A timeline never goes back.
 *  2. Where the service is far behind this timeline, as after a node with a wrong clock, another timeline replaces it; ids
 *     stay unique all the same, because they lie in leased spans only.
 */
import type { Clock } from '../../src/base/clock.ts'
import { Timeline } from '../../src/base/timeline.ts'

/** A timeline further ahead of the service is replaced. */
const aheadMaxUs = 60_000_000

/** The timeline of one client. */
export class ServiceTime {
  readonly #clock: Clock
  #offsetUs = 0
  #timeline: Timeline | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The timeline now. Before a node has answered, that of this machine. */
  get timeline(): Timeline {
    this.#timeline ??= new Timeline(this.#clock)
    return this.#timeline
  }

  /** Takes the time that a node has just sent, in Unix µs. */
  observe(nowUs: number): void {
    const isFirst = this.#offsetUs === 0
    this.#offsetUs = nowUs - this.#clock.monoUs()
    if (isFirst || this.timeline.nowUs() > nowUs + aheadMaxUs) this.#timeline = this.#anchored()
  }

  #anchored(): Timeline {
    const machine = this.#clock
    const clock: Clock = {
      monoUs: () => machine.monoUs(),
      wallUs: () => machine.monoUs() + this.#offsetUs,
      timer: (delayMs, callback) => machine.timer(delayMs, callback),
    }
    return new Timeline(clock, { leadMaxUs: Number.POSITIVE_INFINITY })
  }
}
