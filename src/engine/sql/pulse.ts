/**
 * The pulse of a store: a number that grows about once a second while a process writes. An older dump has a lower one
 * than what the processes have seen, and so gives itself away.
 *
 * Invariants
 *  1. After a write there is a beat, at once or a second after the last one of this process: what a dump lacks of what
 *     was written more than a second before the newest beat that somebody has seen, it lacks with that beat.
 *  2. A process that writes nothing beats nothing.
 */
import type { Clock, Timer } from '../../base/clock.ts'

const everyMs = 1000

/** See the invariants at the top of the file. */
export class Pulse {
  readonly #clock: Clock
  readonly #beat: () => Promise<unknown>
  #timer: Timer | undefined
  #beating: Promise<unknown> | undefined
  #dueUs = Number.NEGATIVE_INFINITY
  #owed = false

  /** @param beat beats once; what it rejects with is somebody else's to tell. */
  constructor(clock: Clock, beat: () => Promise<unknown>) {
    this.#clock = clock
    this.#beat = beat
  }

  /** A write was carried out. */
  wrote(): void {
    this.#owed = true
    if (this.#timer !== undefined || this.#beating !== undefined) return
    const waitMs = (this.#dueUs - this.#clock.monoUs()) / 1000
    if (waitMs > 0) this.#schedule(waitMs)
    else this.#run()
  }

  /** Beats a last time if a beat is owed. */
  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    await this.#beating
    if (this.#owed) await this.#once()
  }

  #schedule(waitMs: number): void {
    this.#timer = this.#clock.timer(waitMs, () => {
      this.#timer = undefined
      this.#run()
    })
  }

  #run(): void {
    this.#beating = this.#once().finally(() => {
      this.#beating = undefined
      if (this.#owed && this.#timer === undefined) this.#schedule(everyMs)
    })
  }

  async #once(): Promise<void> {
    this.#owed = false
    this.#dueUs = this.#clock.monoUs() + everyMs * 1000
    await this.#beat().catch(() => {
      this.#owed = true
    })
  }
}
