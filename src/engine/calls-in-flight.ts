/**
 * The calls in flight of an engine. They keep the process alive, which connections and timers do not: an engine may be open
 * without a reason for the process to run on. An engine completes them before it closes.
 */
import { FahaoError } from '../base/errors.ts'

/** The calls in flight of one engine. */
export class CallsInFlight {
  readonly #port = new MessageChannel().port1
  #count = 0
  #onIdle: (() => void) | undefined
  #closing: Promise<void> | undefined

  /** Whether the engine is closed, or closes once the calls in flight have settled. */
  get isClosed(): boolean {
    return this.#closing !== undefined
  }

  /** Starts a call, and keeps the process alive until it settles. Rejects with UNAVAILABLE once the engine is closed. */
  async run<Value>(start: () => Promise<Value>): Promise<Value> {
    this.begin()
    try {
      return await start()
    } finally {
      this.end()
    }
  }

  /** Keeps the process alive until `end` is called as often. Throws UNAVAILABLE once the engine is closed. */
  begin(): void {
    if (this.isClosed) throw new FahaoError('UNAVAILABLE', 'the engine is closed')
    if (this.#count++ === 0) this.#port.ref()
  }

  /** Ends a call that `begin` has begun. */
  end(): void {
    if (--this.#count > 0) return
    this.#port.unref()
    this.#onIdle?.()
  }

  /** Refuses further calls, waits for those in flight, and then calls `release`. */
  close(release: () => Promise<void> | void = () => {}): Promise<void> {
    this.#closing ??= this.#close(release)
    return this.#closing
  }

  async #close(release: () => Promise<void> | void): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#port.ref()
    try {
      await release()
    } finally {
      this.#port.close()
    }
  }
}
