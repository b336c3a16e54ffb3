/**
 * Keeps the process alive while somebody waits for a call, and lets it end when nobody does: connections are
 * no reason to stay, and timers are none either.
 */

/** Counts who waits. */
export class Waiters {
  readonly #port = new MessageChannel().port1
  readonly #idle: (() => void)[] = []
  #count = 0

  /** Waits along with a promise. */
  async during<Value>(promise: Promise<Value>): Promise<Value> {
    if (this.#count++ === 0) this.#port.ref()
    try {
      return await promise
    } finally {
      if (--this.#count === 0) {
        this.#port.unref()
        for (const resolve of this.#idle.splice(0)) resolve()
      }
    }
  }

  /** Resolves when nobody waits. */
  drained(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Lets go of everything. */
  close(): void {
    this.#port.close()
  }
}
