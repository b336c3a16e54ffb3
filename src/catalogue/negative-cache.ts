/** Names that were not there a moment ago: who asks for them again and again does not ask the engine each time. */
import type { Clock } from '../base/clock.ts'

/** For how long a name is not looked up again, in ms; and where many processes may create it. */
const absentMs = 1000
const absentSharedMs = 10
const absentMax = 10_000

/** See the top of the file. */
export class NegativeCache {
  readonly #clock: Clock
  readonly #forMs: number
  /** Until when, on the monotonic clock in µs. */
  readonly #untilUs = new Map<string, number>()

  /** @param shared whether other processes may create generators as well. */
  constructor(clock: Clock, shared: boolean) {
    this.#clock = clock
    this.#forMs = shared ? absentSharedMs : absentMs
  }

  /** Whether the name was not there a moment ago. */
  has(name: string): boolean {
    return (this.#untilUs.get(name) ?? 0) > this.#clock.monoUs()
  }

  /** Counts from now on, not from when it was asked: those who wait for this answer shall not ask again one by one. */
  add(name: string): void {
    if (this.#untilUs.size >= absentMax) this.#untilUs.clear()
    this.#untilUs.set(name, this.#clock.monoUs() + this.#forMs * 1000)
  }

  /** It may be there now. */
  delete(name: string): void {
    this.#untilUs.delete(name)
  }
}
