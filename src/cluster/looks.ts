/** Reads of leaderships for requests that must not be answered from a view that is behind. */

/**
 * Lets those who ask at the same time share one read, which begins after all of them have asked: what it finds is
 * no older than their requests.
 */
export class Looks {
  readonly #read: (shard: number) => Promise<void>
  readonly #running = new Map<number, Promise<void>>()
  readonly #next = new Map<number, Promise<void>>()

  /** @param read reads a shard's leadership; what it rejects with is nobody's concern. */
  constructor(read: (shard: number) => Promise<void>) {
    this.#read = read
  }

  /** Resolves when a read that began from now on has ended, one way or another. */
  look(shard: number): Promise<void> {
    const running = this.#running.get(shard)
    if (running === undefined) return this.#begin(shard)
    const next = this.#next.get(shard) ?? running.then(() => this.#begin(shard))
    this.#next.set(shard, next)
    return next
  }

  #begin(shard: number): Promise<void> {
    this.#next.delete(shard)
    const read = this.#read(shard)
      .catch(() => {})
      .then(() => void this.#running.delete(shard))
    this.#running.set(shard, read)
    return read
  }
}
