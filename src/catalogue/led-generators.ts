/**
 * The generators that are in use here under a leadership of this node, and what becomes of them when that ends.
 *
 * Invariants
 *  1. When a listener's call returns, nothing is issued any more under the leadership it was called for; nor, after
 *     a lapse, under any, until the lease has been resumed.
 *  2. What is in hand under a leadership that is over is never issued here. In a hand-over it is left to the successor,
 *     or given back, within the time that this may take; what remains then is a gap.
 *  3. What the leader before has left is opened as soon as it may be: somebody waits for it.
 */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { LeaderTerm } from '../cluster/leadership.ts'
import type { LeftoverRange } from '../cluster/records.ts'
import type { Reservation } from '../engine/engine.ts'
import type { Reservoir } from '../issuing/reservoir.ts'
import type { GeneratorLeaders } from './generator-leaders.ts'
import { LeftoverRanges, leftoverOf } from './leftover-ranges.ts'

/** A generator in use: what issues for it. */
type Led = Pick<Reservoir, 'suspend' | 'resume' | 'stop' | 'idle' | 'transfer' | 'close' | 'abandon'>

/** Which generator that is, and what puts a standby in its place. */
type Place = { readonly name: string; readonly version: bigint; readonly demote: () => void }

/** The tails of so many generators are left to the successor: the record that names it shall stay small. */
const tailsMax = 16
/** So many are given back at a time: the write that resigns shall not wait behind thousands. */
const releasesMax = 16

/** See the invariants at the top of the file. */
export class LedGenerators {
  readonly #leads: GeneratorLeaders
  readonly #clock: Clock
  readonly #led = new Map<LeaderTerm, Map<Led, Place>>()
  /** What has not been gone on with, by leadership. */
  readonly #tails = new Map<LeaderTerm, LeftoverRanges>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stopListening: () => void

  /** @param open opens what the leader before has left, under a leadership that has just been won. */
  constructor(leads: GeneratorLeaders, clock: Clock, open: (name: string, here: LeaderTerm) => void) {
    this.#leads = leads
    this.#clock = clock
    this.#stopListening = leads.cluster.listen({
      onLapse: () => this.#each((led) => led.suspend()),
      onResume: () => this.#each((led) => led.resume()),
      onWon: (here) => {
        const tails = new LeftoverRanges(here.tails)
        this.#tails.set(here, tails)
        for (const name of tails.names()) open(name, here)
      },
      onLost: (here) => {
        const reason = over()
        for (const [led] of this.#takeOut(here, reason)) void this.#end(led.abandon(reason))
      },
      onLosing: (here, tails, releaseMs) => this.#leave(here, tails, releaseMs),
    })
  }

  /** Whether something is left of a generator whose record has this version, for this leadership. */
  hasTail(name: string, version: bigint, here: LeaderTerm): boolean {
    return this.#tails.get(here)?.has(name, version) === true
  }

  /** What that is. Nothing is left from now on: whoever asks is about to issue. */
  takeTail(name: string, version: bigint, here: LeaderTerm): Reservation | undefined {
    return this.#tails.get(here)?.take(name, version)
  }

  /** Looks after what has just been opened under a leadership. False, and it has been stopped: that is over already. */
  add(slot: number, here: LeaderTerm, led: Led, place: Place): boolean {
    const { cluster } = this.#leads
    if (cluster.held(slot) !== here) {
      this.discard(led)
      return false
    }
    const ofHere = this.#led.get(here) ?? new Map<Led, Place>()
    this.#led.set(here, ofHere)
    ofHere.set(led, place)
    if (!cluster.check()) led.suspend()
    return true
  }

  /** It was opened in vain: nobody has got anything of it. */
  discard(led: Led): void {
    void this.#end(led.abandon(over()))
  }

  /** It has been closed for another reason. */
  remove(here: LeaderTerm, led: Led): void {
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
  #takeOut(here: LeaderTerm, reason: Error): [Led, Place][] {
    const ofHere = this.#led.get(here) ?? new Map<Led, Place>()
    this.#led.delete(here)
    this.#tails.delete(here)
    for (const [led, { demote }] of ofHere) {
      demote()
      led.stop(reason)
    }
    return [...ofHere]
  }

  /**
   * Leaves the tails of as many generators as may be, and gives the others back. Resolves when the last releases have
   * been sent: the write that resigns goes beside them, not after them. One that is overtaken by the successor is
   * refused, or comes too late to be used: then it is a gap.
   */
  async #leave(here: LeaderTerm, tails: LeftoverRange[] | undefined, releaseMs: number): Promise<void> {
    const reason = over()
    const queue = this.#takeOut(here, reason)
    const untilUs = this.#clock.monoUs() + releaseMs * 1000
    const lane = async () => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const [led, { name, version }] = next
        // A reserve under way: what it brings is part of the tail.
        await led.idle()
        const inTime = this.#clock.monoUs() < untilUs
        if (inTime && tails !== undefined && tails.length < tailsMax) {
          const tail = led.transfer(reason)
          if (tail !== undefined) tails.push(leftoverOf(name, version, tail))
          continue
        }
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
