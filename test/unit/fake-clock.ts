/** A clock that stands still until a test moves it. */
import type { Clock, Timer } from '../../src/base/clock.ts'

type Pending = { readonly dueUs: number; readonly callback: () => void }

/** Wall and monotonic time are set apart at will; timers fire as monotonic time passes them. */
export class FakeClock implements Clock {
  /** Unix µs, and µs since an arbitrary start. */
  wall: number
  mono = 0
  readonly #timers = new Set<Pending>()

  constructor(wallUs: number = Date.UTC(2026, 5, 1) * 1000) {
    this.wall = wallUs
  }

  wallUs(): number {
    return this.wall
  }

  monoUs(): number {
    return this.mono
  }

  timer(delayMs: number, callback: () => void): Timer {
    const pending = { dueUs: this.mono + delayMs * 1000, callback }
    this.#timers.add(pending)
    return { cancel: () => void this.#timers.delete(pending) }
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size
  }

  /** Lets `ms` pass on both clocks: timers fire in order, each followed by what it set off. */
  async pass(ms: number): Promise<void> {
    const endUs = this.mono + ms * 1000
    await settled()
    for (let next = this.#next(endUs); next !== undefined; next = this.#next(endUs)) {
      this.#moveTo(Math.max(next.dueUs, this.mono))
      this.#timers.delete(next)
      next.callback()
      await settled()
    }
    this.#moveTo(endUs)
    await settled()
  }

  #moveTo(monoUs: number): void {
    this.wall += monoUs - this.mono
    this.mono = monoUs
  }

  #next(endUs: number): Pending | undefined {
    let next: Pending | undefined
    for (const each of this.#timers) {
      if (each.dueUs <= endUs && (next === undefined || each.dueUs < next.dueUs)) next = each
    }
    return next
  }
}

/** Resolves when everything that needs no time has happened. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
