/**
 * Who leads a shard, for those who can wait for the answer.
 *
 * Invariants
 *  1. Another node is named from this node's view only where that cannot send anybody back and forth: not to who was
 *     sent here by another node, not while this node should lead by itself or should have until a moment ago, and not
 *     after its lease has lapsed. Then only what the engine says after the question counts.
 *  2. A leader that has missed a renewal is named only to who has waited for it, or for another one, all the time that
 *     they gave: most clients give up after a few redirects to a node that does not answer.
 *  3. Everybody is answered after the time that they gave, and a moment.
 */
import type { Clock } from '../base/clock.ts'
import type { Balance } from './balance.ts'
import type { CoalescedReads } from './coalesced-reads.ts'
import type { FailureDetector } from './failure-detector.ts'
import type { Lead, Leaderships } from './leadership.ts'
import type { Lease } from './lease.ts'
import type { Timing } from './timing.ts'

/** What is needed to answer. */
export type LeaderLookupOptions = {
  readonly clock: Clock
  readonly lease: () => Lease
  readonly leaderships: Leaderships
  readonly balance: Balance
  readonly looks: CoalescedReads
  readonly observer: FailureDetector
  readonly timing: Timing
  /** Whether to wait no more: this process is about to end. */
  readonly isAbandoned: () => boolean
}

/** See the invariants at the top of the file. */
export class LeaderLookup {
  readonly #options: LeaderLookupOptions

  constructor(options: LeaderLookupOptions) {
    this.#options = options
  }

  /**
   * Waits up to `waitMs`, by default as long as a take-over lasts, until a node leads. `sentHere`: another node said that
   * this one does. While the node `unreachable` leads, this waits for another leader.
   */
  async leadWithin(
    shard: number,
    given: number | undefined,
    sentHere: boolean,
    unreachable?: string,
  ): Promise<Lead> {
    const { clock, lease, leaderships, balance, looks, timing, isAbandoned } = this.#options
    const waitMs = given ?? timing.leaderWaitMs
    const untilUs = clock.monoUs() + waitMs * 1000
    let lead = leaderships.look(shard)
    const mayBeBehind = sentHere || balance.mayBeGiven(shard) || !lease().check()
    if (lead.state === 'elsewhere' && mayBeBehind) {
      if (!(await looks.fresh(shard, waitMs))) return { state: 'nobody', shard, forMs: waitMs }
      lead = leaderships.look(shard)
    }
    while (
      lead.state === 'nobody' ||
      (lead.state === 'elsewhere' && this.#isAway(lead.node.id, unreachable))
    ) {
      const leftMs = (untilUs - clock.monoUs()) / 1000
      if (leftMs <= 0 || isAbandoned()) break
      await leaderships.changed(shard, leftMs)
      lead = leaderships.look(shard)
    }
    return lead
  }

  #isAway(id: string, unreachable: string | undefined): boolean {
    const { observer, timing } = this.#options
    return id === unreachable || observer.silentMs(id) > timing.missingMs
  }
}
