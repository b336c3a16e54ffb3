/** Waiting that ends: on a clock, when somebody rings, or with an answer that comes too late. */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'

/** A pause that can be cut short. For one waiter. */
export class Notify {
  readonly #clock: Clock
  #rung = false
  #wake: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Ends the pause under way, or the next one. */
  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Resolves after `delayMs`, or as soon as the bell has rung since the last pause. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.timer(delayMs, () => this.#wake?.())
      this.#wake = () => {
        timer.cancel()
        this.#wake = undefined
        this.#rung = false
        resolve()
      }
      if (this.#rung) this.#wake()
    })
  }
}

/** The promise, or UNKNOWN when it has not settled after `waitMs`: what it asked for may still be carried out. */
export function withTimeout<Value>(clock: Clock, waitMs: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(waitMs, () => {
      reject(new FahaoError('UNKNOWN', `the engine has not answered within ${Math.round(waitMs)} ms`))
    })
    promise.then(resolve, reject).finally(() => timer.cancel())
  })
}
