/**
 * The gate before the engine: how many refills, of all generators together, may be under way at once. Without it
 * ten thousand generators that run low together would queue in the engine, and the last of them miss its deadline.
 *
 * Invariants
 *  1. At most `widthMax` are inside.
 *  2. First come, first served; but those for whom callers wait go before those that only stock up.
 *  3. Once the engine has failed somebody, at most `narrow` are let in at once, and with each success twice as many
 *     as before: an engine that comes back is not run over, and one bad counter holds up nobody else.
 *  4. Everybody who went in comes out: `leave` is called once for each `enter` that gave true.
 */

/** A place in the queue. One per refill. */
export class Ticket {
  /** Set while it waits. */
  admit: ((admitted: boolean) => void) | undefined
}

const widthMax = 64
const narrow = 4

/** See the invariants at the top of the file. */
export class Limiter {
  readonly #urgent = new Set<Ticket>()
  readonly #calm = new Set<Ticket>()
  #inside = 0
  #width = widthMax

  /** How many wait outside. */
  get waiting(): number {
    return this.#urgent.size + this.#calm.size
  }

  /** True: it may go in. Otherwise it waits for its turn; resolves to false when it was forgotten meanwhile. */
  enter(ticket: Ticket, urgent: boolean): true | Promise<boolean> {
    if (this.#inside < this.#width) {
      this.#inside++
      return true
    }
    const queue = urgent ? this.#urgent : this.#calm
    queue.add(ticket)
    return new Promise((resolve) => {
      ticket.admit = resolve
    })
  }

  /** Somebody waits for it now. */
  hurry(ticket: Ticket): void {
    if (this.#calm.delete(ticket)) this.#urgent.add(ticket)
  }

  /** Sends it home, if it still waits. */
  forget(ticket: Ticket): void {
    if (this.#calm.delete(ticket) || this.#urgent.delete(ticket)) ticket.admit?.(false)
  }

  /** Lets the next ones in. `failed`: the engine could not be reached, or did not answer. */
  leave(failed: boolean): void {
    this.#inside--
    this.#width = failed ? narrow : Math.min(widthMax, this.#width * 2)
    while (this.#inside < this.#width) {
      const queue = this.#urgent.size > 0 ? this.#urgent : this.#calm
      const [next] = queue
      if (next === undefined) return
      queue.delete(next)
      this.#inside++
      next.admit?.(true)
    }
  }
}
