/**
 * The heartbeat of a process that writes: it raises the pulse in the store's position about once a second. So an older
 * dump has a lower pulse than the processes have accepted.
 *
 * Invariants
 *  1. A heartbeat follows each write, at once or a second after the last heartbeat of this process. So a dump that lacks a
 *     write from more than a second before an accepted heartbeat lacks that heartbeat too.
 *  2. A process that writes nothing sends no heartbeat.
 */
import type { Clock, Timer } from '../../base/clock.ts'

const everyMs = 1000

/** The heartbeats of one process. */
export class Heartbeat {
  readonly #clock: Clock
  readonly #send: () => Promise<unknown>
  #timer: Timer | undefined
  #sending: Promise<unknown> | undefined
  #dueUs = Number.NEGATIVE_INFINITY
  #owed = false

  /** @param send sends one heartbeat, and reports its own failures. */
  constructor(clock: Clock, send: () => Promise<unknown>) {
    this.#clock = clock
    this.#send = send
  }

  /** A write was carried out. */
  wrote(): void {
    this.#owed = true
    if (this.#timer !== undefined || this.#sending !== undefined) return
    const waitMs = (this.#dueUs - this.#clock.monoUs()) / 1000
    if (waitMs > 0) this.#schedule(waitMs)
    else this.#run()
  }

  /** Sends the last heartbeat if one is owed. */
  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    await this.#sending
    if (this.#owed) await this.#once()
  }

  #schedule(waitMs: number): void {
    this.#timer = this.#clock.timer(waitMs, () => {
      this.#timer = undefined
      this.#run()
    })
  }

  #run(): void {
    this.#sending = this.#once().finally(() => {
      this.#sending = undefined
      if (this.#owed && this.#timer === undefined) this.#schedule(everyMs)
    })
  }

  async #once(): Promise<void> {
    this.#owed = false
    this.#dueUs = this.#clock.monoUs() + everyMs * 1000
    await this.#send().catch(() => {
      this.#owed = true
    })
  }
}
