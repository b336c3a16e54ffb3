/**
 * Lookups of a shard's leader, for callers that can wait. The core decides which answers are good enough; this file waits.
 *
 * Invariants
 *  1. A client is redirected from the view only if that cannot bounce it between nodes; otherwise the engine is read
 *     first (`ClusterCore.needsRead`), by a read that begins after the lookup. A process that ends has left for good, so
 *     nothing sends a client back to it.
 *  2. A leader that has missed a renewal is returned only when the caller's time is up: until then the lookup waits for this
 *     leader or another one, because most clients give up after a few redirects to a node that does not answer.
 *  3. Every lookup is answered when the caller's time is up, or a moment later.
 */
import { sleep } from '../base/clock.ts'
import type { ShardLeader } from './events.ts'
import { type Shell, withTimeout } from './shell.ts'

/** A read under way, and the read that follows it. */
type Read = { readonly isAnswered: Promise<boolean>; next: Promise<boolean> | undefined }

/** Waits for the leader of a shard, and shares reads of its record among the callers. */
export class LeaderLookup {
  readonly #shell: Shell
  readonly #reads = new Map<number, Read>()

  constructor(shell: Shell) {
    this.#shell = shell
  }

  /** The leader of a shard, by the records that have been received. */
  lead(shard: number): ShardLeader {
    this.#shell.check()
    return this.#shell.core.leaderships.lead(shard, this.#shell.now())
  }

  /** See `Cluster.leadWithin`. */
  async leadWithin(
    shard: number,
    waitMs: number,
    isRedirected: boolean,
    unreachable: string | undefined,
  ): Promise<ShardLeader> {
    const { clock, core } = this.#shell
    const untilUs = clock.monoUs() + waitMs * 1000
    let lead = this.lead(shard)
    for (let isFresh = !core.needsRead(lead, isRedirected, this.#shell.now()); ; lead = this.lead(shard)) {
      if (isFresh && !core.isWorthWaiting(lead, unreachable)) return lead
      const leftMs = (untilUs - clock.monoUs()) / 1000
      if (this.#shell.isEnding) return lead
      if (leftMs <= 0) return isFresh ? lead : { state: 'none', shard, forMs: waitMs }
      if (isFresh) await this.#shell.leaderChange(shard, leftMs)
      else {
        isFresh = await withTimeout(clock, leftMs, this.read(shard)).catch(() => false)
        if (!isFresh) await sleep(clock, Math.min(core.state.timing.retryMs, leftMs))
      }
    }
  }

  /**
   * Reads the shard's record. Resolves when a read that began from now on has ended, to whether it was answered. Lookups that
   * begin at the same time share one read, which begins after all of them.
   */
  read(shard: number): Promise<boolean> {
    const running = this.#reads.get(shard)
    if (running === undefined) return this.#begin(shard)
    running.next ??= running.isAnswered.then(() => this.#begin(shard))
    return running.next
  }

  #begin(shard: number): Promise<boolean> {
    const answered = this.#shell.read(shard).then(
      () => true,
      () => false,
    )
    const isAnswered = answered.finally(() => this.#reads.delete(shard))
    this.#reads.set(shard, { isAnswered, next: undefined })
    return isAnswered
  }
}
