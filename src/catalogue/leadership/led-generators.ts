/**
 * The generators that are open under a leadership of this node, and how that leadership ends for them.
 *
 * Invariants
 *  1. When a listener's call returns, the leadership that it was called for issues no more ids. After a lapse none does,
 *     until the lease has been resumed.
 *  2. Ids buffered under a leadership are never issued here after its end. In a hand-over their range is transferred to
 *     the successor or released, within the time that a hand-over may take; the rest becomes a gap.
 *  3. A generator whose range the leader before has left is opened as soon as the leadership is won: callers wait for it.
 */
import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { LeaderTerm } from '../../cluster/events.ts'
import type { LeftoverRange } from '../../cluster/records.ts'
import type { Reservation } from '../../engine/engine.ts'
import type { Reservoir } from '../../issuing/reservoir.ts'
import { LeftoverRanges, leftoverOf } from './leftover-ranges.ts'

/** What issues under a leadership: the reservoir of a generator, or a section of a family. */
export type LedIssuer = Pick<
  Reservoir,
  'suspend' | 'resume' | 'stop' | 'idle' | 'close' | 'transfer' | 'abandon'
>

/** The generator that a reservoir issues for; `demote` puts a standby in its place. */
type LedGenerator = { readonly name: string; readonly version: bigint; readonly demote: () => void }

/** The most ranges that are left to the successor: they are in the record that names it, which must stay small. */
const leftoversMax = 16
/** How many ranges are released at a time: the write that resigns must not wait behind thousands of releases. */
const releasesMax = 16

/** The generators under every leadership of this node. */
export class LedGenerators {
  readonly #cluster: Cluster
  readonly #clock: Clock
  readonly #led = new Map<LeaderTerm, Map<LedIssuer, LedGenerator>>()
  /** What the leaders before have left and no generator has continued yet. */
  readonly #leftovers = new Map<LeaderTerm, LeftoverRanges>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stopListening: () => void

  /** @param open opens a generator that has a leftover range, under a leadership that has just been won. */
  constructor(cluster: Cluster, clock: Clock, open: (name: string, term: LeaderTerm) => void) {
    this.#cluster = cluster
    this.#clock = clock
    this.#stopListening = cluster.listen({
      onLapse: () => this.#each((issuer) => issuer.suspend()),
      onResume: () => this.#each((issuer) => issuer.resume()),
      onWon: (term) => {
        const leftovers = new LeftoverRanges(term.leftovers)
        this.#leftovers.set(term, leftovers)
        for (const name of leftovers.names()) open(name, term)
      },
      onLost: (term) => {
        const reason = ended()
        for (const [issuer] of this.#stopAll(term, reason)) void this.#closed(issuer.abandon(reason))
      },
      onLosing: (term, leftovers, releaseMs) => this.#handOver(term, leftovers, releaseMs),
    })
  }

  /** Whether a range is left for this leadership of a generator whose record has this version. */
  hasLeftover(name: string, version: bigint, term: LeaderTerm): boolean {
    return this.#leftovers.get(term)?.has(name, version) === true
  }

  /** Takes the range of `hasLeftover`. None is left afterwards, because the caller is about to issue. */
  takeLeftover(name: string, version: bigint, term: LeaderTerm): Reservation | undefined {
    return this.#leftovers.get(term)?.take(name, version)
  }

  /** Adds a generator that was just opened under a leadership. If that has ended, stops it and returns false. */
  add(slot: number, term: LeaderTerm, issuer: LedIssuer, generator: LedGenerator): boolean {
    if (this.#cluster.held(slot) !== term) {
      this.discard(issuer)
      return false
    }
    const ofTerm = this.#led.get(term) ?? new Map<LedIssuer, LedGenerator>()
    this.#led.set(term, ofTerm)
    ofTerm.set(issuer, generator)
    if (!this.#cluster.check()) issuer.suspend()
    return true
  }

  /** Drops every range that no generator has continued yet: it becomes a gap. */
  dropLeftovers(): void {
    this.#leftovers.clear()
  }

  /** Stops an issuer that was opened and has issued nothing. */
  discard(issuer: LedIssuer): void {
    void this.#closed(issuer.abandon(ended()))
  }

  /** Removes an issuer that was closed for another reason. */
  remove(term: LeaderTerm, issuer: LedIssuer): void {
    const ofTerm = this.#led.get(term)
    ofTerm?.delete(issuer)
    if (ofTerm?.size === 0) this.#led.delete(term)
  }

  /** Resolves when every issuer that was stopped here has closed. */
  async close(): Promise<void> {
    this.#stopListening()
    await Promise.all(this.#closing)
  }

  #each(act: (issuer: LedIssuer) => void): void {
    for (const ofTerm of this.#led.values()) for (const issuer of ofTerm.keys()) act(issuer)
  }

  /** Stops all issuers of a leadership, and puts standbys in their places. */
  #stopAll(term: LeaderTerm, reason: Error): [LedIssuer, LedGenerator][] {
    const ofTerm = this.#led.get(term) ?? new Map<LedIssuer, LedGenerator>()
    this.#led.delete(term)
    this.#leftovers.delete(term)
    for (const [issuer, { demote }] of ofTerm) {
      demote()
      issuer.stop(reason)
    }
    return [...ofTerm]
  }

  /**
   * Leaves the ranges of as many generators as allowed to the successor, and releases the others. Resolves when the last
   * releases have been sent: the write that resigns goes beside them, not after them. A release that the successor
   * overtakes is refused, or comes too late to be used: its range is a gap then.
   */
  async #handOver(
    term: LeaderTerm,
    leftovers: LeftoverRange[] | undefined,
    releaseMs: number,
  ): Promise<void> {
    const reason = ended()
    const queue = this.#stopAll(term, reason)
    const untilUs = this.#clock.monoUs() + releaseMs * 1000
    const lane = async () => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const [issuer, { name, version }] = next
        // The range of a reserve under way is part of the leftover.
        await issuer.idle()
        const inTime = this.#clock.monoUs() < untilUs
        if (inTime && leftovers !== undefined && leftovers.length < leftoversMax) {
          const range = issuer.transfer(reason)
          if (range !== undefined) leftovers.push(leftoverOf(name, version, range))
          continue
        }
        const release = this.#closed(inTime ? issuer.close(reason) : issuer.abandon(reason))
        if (queue.length > 0) await release
      }
    }
    await Promise.all(Array.from({ length: releasesMax }, lane))
  }

  #closed(closing: Promise<void>): Promise<void> {
    this.#closing.add(closing)
    return closing.finally(() => this.#closing.delete(closing))
  }
}

function ended(): FahaoError {
  return new FahaoError('STALE', 'this node does not lead this generator any more; retry')
}
