/**
 * Keeps the process alive during calls, and lets it end otherwise. Connections and timers do not: an engine may be open
 * without a reason for the process to run on.
 */

/** Counts the calls during which the process stays alive. */
export class KeepAlive {
  readonly #port = new MessageChannel().port1
  readonly #idle: (() => void)[] = []
  #count = 0

  /** Keeps the process alive until the promise settles. */
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

  /** Resolves when no call is in flight. */
  drained(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Lets the process end whatever is in flight. */
  close(): void {
    this.#port.close()
  }
}
