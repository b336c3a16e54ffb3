/**
 * A semaphore with priority: how many operations on the engine may be under way at once. One limiter admits the refills
 * of all generators of a process, another one their openings. Without it ten thousand generators that run low together
 * would queue in the engine, and the last of them would miss its deadline.
 *
 * Invariants
 *  1. At most `widthMax` permits are held.
 *  2. Permits are granted in the order of the requests, but urgent requests (a caller waits) go before all others.
 *  3. After a failure of the engine at most `narrow` permits are granted, and with each success twice as many as
 *     before: an engine that comes back is not overloaded, and one bad counter delays no other.
 *  4. Each granted permit is released exactly once.
 */
import type { Clock } from '../base/clock.ts'

/** The place of one operation in the queue. */
export class Ticket {
  /** Set while the operation waits. */
  admit: ((admitted: boolean) => void) | undefined
}

/** How long an operation waits for its permit at most, and the error when that was too long. */
export type WaitLimit = { readonly clock: Clock; readonly waitMaxMs: number; readonly onTimeout: () => Error }

const narrow = 4

/** A limiter with up to 64 permits, unless it is made with another number of them. */
export class Limiter {
  readonly #urgent = new Set<Ticket>()
  readonly #normal = new Set<Ticket>()
  readonly #widthMax: number
  #held = 0
  #width: number

  constructor(widthMax = 64) {
    this.#widthMax = widthMax
    this.#width = widthMax
  }

  /** How many operations wait for a permit. */
  get waiting(): number {
    return this.#urgent.size + this.#normal.size
  }

  /** True: the permit is granted. Otherwise a promise of it, which resolves to false if the request is cancelled. */
  acquire(ticket: Ticket, urgent: boolean): true | Promise<boolean> {
    if (this.#held < this.#width) {
      this.#held++
      return true
    }
    const queue = urgent ? this.#urgent : this.#normal
    queue.add(ticket)
    return new Promise((resolve) => {
      ticket.admit = resolve
    })
  }

  /** Makes a waiting request urgent. */
  prioritize(ticket: Ticket): void {
    if (this.#normal.delete(ticket)) this.#urgent.add(ticket)
  }

  /** Removes a waiting request from the queue. */
  cancel(ticket: Ticket): void {
    if (this.#normal.delete(ticket) || this.#urgent.delete(ticket)) ticket.admit?.(false)
  }

  /** Returns a permit and grants the next ones. `failed`: the engine was unreachable or did not answer. */
  release(failed: boolean): void {
    this.#held--
    this.#width = failed ? narrow : Math.min(this.#widthMax, this.#width * 2)
    while (this.#held < this.#width) {
      const queue = this.#urgent.size > 0 ? this.#urgent : this.#normal
      const [next] = queue
      if (next === undefined) return
      queue.delete(next)
      this.#held++
      next.admit?.(true)
    }
  }

  /** Runs `task` with a permit. Rejects as `task` does, or with the error of `onTimeout`. */
  async run<Value>(task: () => Promise<Value>, { clock, waitMaxMs, onTimeout }: WaitLimit): Promise<Value> {
    const ticket = new Ticket()
    const turn = this.acquire(ticket, false)
    if (turn !== true) {
      const timer = clock.timer(waitMaxMs, () => this.cancel(ticket))
      const admitted = await turn
      timer.cancel()
      if (!admitted) throw onTimeout()
    }
    try {
      return await task()
    } finally {
      this.release(false)
    }
  }
}
