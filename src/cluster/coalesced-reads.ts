/** Reads of leaderships for requests that must not be answered from a view that is behind. */
import { type Clock, sleep } from '../base/clock.ts'
import { withTimeout } from './pauses.ts'

/**
 * Lets those who ask at the same time share one read, which begins after all of them have asked: what it finds is
 * no older than their requests.
 */
export class CoalescedReads {
  readonly #clock: Clock
  readonly #retryMs: number
  readonly #read: (shard: number) => Promise<void>
  readonly #running = new Map<number, Promise<boolean>>()
  readonly #next = new Map<number, Promise<boolean>>()

  /** @param read reads a shard's leadership; what it rejects with is nobody's concern. */
  constructor(clock: Clock, retryMs: number, read: (shard: number) => Promise<void>) {
    this.#clock = clock
    this.#retryMs = retryMs
    this.#read = read
  }

  /** Looks until the engine has answered, for `waitMs` at most. Resolves to whether it has. */
  async fresh(shard: number, waitMs: number): Promise<boolean> {
    const untilUs = this.#clock.monoUs() + waitMs * 1000
    for (;;) {
      const leftMs = (untilUs - this.#clock.monoUs()) / 1000
      if (leftMs <= 0) return false
      if (await withTimeout(this.#clock, leftMs, this.look(shard)).catch(() => false)) return true
      await sleep(this.#clock, Math.min(this.#retryMs, Math.max(0, leftMs)))
    }
  }

  /** Resolves when a read that began from now on has ended, to whether it was answered. */
  look(shard: number): Promise<boolean> {
    const running = this.#running.get(shard)
    if (running === undefined) return this.#begin(shard)
    const next = this.#next.get(shard) ?? running.then(() => this.#begin(shard))
    this.#next.set(shard, next)
    return next
  }

  #begin(shard: number): Promise<boolean> {
    this.#next.delete(shard)
    const read = this.#read(shard)
      .then(
        () => true,
        () => false,
      )
      .finally(() => this.#running.delete(shard))
    this.#running.set(shard, read)
    return read
  }
}
