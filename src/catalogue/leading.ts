/**
 * The generators that are in use here under a leadership of this node, and what becomes of them when that ends.
 *
 * Invariants
 *  1. When a listener's call returns, nothing is issued any more under the leadership it was called for; nor, after
 *     a lapse, under any, until the lease has been resumed.
 *  2. What is in hand under a leadership that is over is never issued. It is given back only in a hand-over, within
 *     the time that this may take; what is left then is a gap.
 */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Here } from '../cluster/leadership.ts'
import type { Reservoir } from '../issuing/reservoir.ts'
import type { Leads } from './leads.ts'

/** A generator in use: what issues for it. */
type Led = Pick<Reservoir, 'suspend' | 'resume' | 'stop' | 'idle' | 'close' | 'abandon'>

/** So many are given back at a time: the write that resigns shall not wait behind thousands. */
const releasesMax = 16

/** See the invariants at the top of the file. */
export class Leading {
  readonly #leads: Leads
  readonly #clock: Clock
  /** By leadership, with what puts a standby in the place of each. */
  readonly #led = new Map<Here, Map<Led, () => void>>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stopListening: () => void

  constructor(leads: Leads, clock: Clock) {
    this.#leads = leads
    this.#clock = clock
    this.#stopListening = leads.cluster.listen({
      onLapse: () => this.#each((led) => led.suspend()),
      onResume: () => this.#each((led) => led.resume()),
      onLost: (here) => {
        const reason = over()
        for (const led of this.#takeOut(here, reason)) void this.#end(led.abandon(reason))
      },
      onLosing: (here, releaseMs) => this.#giveBack(here, releaseMs),
    })
  }

  /**
   * Looks after what has just been opened under a leadership. False, and it must be thrown away: that is over
   * already. `demote` puts a standby in its place.
   */
  add(slot: number, here: Here, led: Led, demote: () => void): boolean {
    const { cluster } = this.#leads
    if (cluster.held(slot) !== here) return false
    const ofHere = this.#led.get(here) ?? new Map<Led, () => void>()
    this.#led.set(here, ofHere)
    ofHere.set(led, demote)
    if (!cluster.check()) led.suspend()
    return true
  }

  /** It has been closed for another reason. */
  remove(here: Here, led: Led): void {
    const ofHere = this.#led.get(here)
    ofHere?.delete(led)
    if (ofHere?.size === 0) this.#led.delete(here)
  }

  /** Resolves when whatever was stopped here has come to its end. */
  async close(): Promise<void> {
    this.#stopListening()
    await Promise.all(this.#closing)
  }

  #each(act: (led: Led) => void): void {
    for (const ofHere of this.#led.values()) for (const led of ofHere.keys()) act(led)
  }

  /** Stops all of a leadership, and puts standbys in their places. */
  #takeOut(here: Here, reason: Error): Led[] {
    const ofHere = this.#led.get(here) ?? new Map<Led, () => void>()
    this.#led.delete(here)
    for (const [led, demote] of ofHere) {
      demote()
      led.stop(reason)
    }
    return [...ofHere.keys()]
  }

  /**
   * Resolves when the last releases have been sent: the write that resigns goes beside them, not after them. One that
   * is overtaken by the successor is refused, or comes too late to be used: then it is a gap.
   */
  async #giveBack(here: Here, releaseMs: number): Promise<void> {
    const reason = over()
    const queue = this.#takeOut(here, reason)
    const untilUs = this.#clock.monoUs() + releaseMs * 1000
    const lane = async () => {
      for (let led = queue.pop(); led !== undefined; led = queue.pop()) {
        // A reserve under way: what it brings is to be given back as well.
        await led.idle()
        const inTime = this.#clock.monoUs() < untilUs
        const release = this.#end(inTime ? led.close(reason) : led.abandon(reason))
        if (queue.length > 0) await release
      }
    }
    await Promise.all(Array.from({ length: releasesMax }, lane))
  }

  #end(ended: Promise<void>): Promise<void> {
    this.#closing.add(ended)
    return ended.finally(() => this.#closing.delete(ended))
  }
}

function over(): FahaoError {
  return new FahaoError('STALE', 'this node does not lead this generator any more; retry')
}
