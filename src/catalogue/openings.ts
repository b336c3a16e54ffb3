/**
 * How many generators are opened at once. Ten thousand that are asked for together would each take one step in the
 * engine, wait behind all others for the next, and miss every deadline; so as many as travel to the engine together take
 * all their steps before others begin, and leave room for refills.
 *
 * Invariants
 *  1. At most `widthMax` are under way; first come, first served.
 *  2. Nobody waits longer than `waitMaxMs` for a turn.
 */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'

const widthMax = 64
const waitMaxMs = 10_000

/** See the top of the file. */
export class Openings {
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  #underWay = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs `open` when its turn has come. Rejects as it does, or with UNAVAILABLE when the turn does not come. */
  async run<Value>(open: () => Promise<Value>): Promise<Value> {
    if (this.#underWay < widthMax) this.#underWay++
    else await this.#turn()
    try {
      return await open()
    } finally {
      this.#next()
    }
  }

  /** Resolves when somebody has left their place to this one. */
  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        timer.cancel()
        resolve()
      }
      const timer = this.#clock.timer(waitMaxMs, () => {
        this.#waiting.delete(begin)
        const many = `too many generators are opened for the first time at once, and the engine is slow`
        reject(new FahaoError('UNAVAILABLE', `${many}; retry`))
      })
      this.#waiting.add(begin)
    })
  }

  #next(): void {
    const [begin] = this.#waiting
    if (begin === undefined) this.#underWay--
    else {
      this.#waiting.delete(begin)
      begin()
    }
  }
}
